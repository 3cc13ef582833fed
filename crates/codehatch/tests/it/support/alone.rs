//! Tests that count what their process holds: each runs in a process of its own, whoever runs it.

use std::{
    env,
    process::{Command, Stdio},
};

/// Names the test that a process of its own was started for.
pub(crate) const ALONE: &str = "CODEHATCH_ALONE";

/// Runs `body` as the only test of a process. `test` is the test's full name.
pub(crate) fn alone(test: &str, body: impl Future<Output = ()>) {
    if env::var(ALONE).is_ok_and(|name| name == test) {
        return block_on(body);
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = again(test)
        .env(ALONE, test)
        .env("TMPDIR", directory.path())
        .output()
        .expect("this program, once more");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{test}: {}\n{text}", output.status);
    assert!(text.contains("1 passed"), "{test} did not run:\n{text}");
}

/// This program, to run one test of it again.
pub(crate) fn again(test: &str) -> Command {
    let program = env::current_exe().expect("the path of this program");
    let mut command = Command::new(program);
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .stdin(Stdio::null());
    command
}

/// Runs `body` as `#[tokio::test]` does, with two threads.
pub(crate) fn block_on(body: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(body);
}
