//! Tests that count what their process holds: each runs in a process of its own, whoever runs it.

use std::{
    env,
    process::{Command, Stdio},
};

use super::block_on;

/// Names the test that a process of its own was started for.
const ALONE: &str = "CODEHATCH_ALONE";

/// Runs `body` as the only test of a process. `test` is the test's full name.
pub(crate) fn alone(test: &str, body: impl Future<Output = ()>) {
    if env::var(ALONE).is_ok_and(|name| name == test) {
        return block_on(body);
    }
    let program = env::current_exe().expect("the path of this program");
    let output = Command::new(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ALONE, test)
        .stdin(Stdio::null())
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
