//! What the host's kernel says.

use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// A number that no other test and no other run has.
pub(crate) fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("4321.{}{count:03}", std::process::id())
}

/// How many processes have `marker` in their command line.
pub(crate) fn processes_with(marker: &str) -> usize {
    let entries = fs::read_dir("/proc").expect("a /proc").flatten();
    entries
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .filter(|command| String::from_utf8_lossy(command).contains(marker))
        .count()
}

/// The most memory that this process has had so far, in MiB.
pub(crate) fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.expect("VmHWM") / 1024
}

/// Runs Python on the host, outside of any sandbox.
pub(crate) fn python(code: &str) {
    let output = Command::new("/usr/bin/python3")
        .args(["-I", "-c", code])
        .output()
        .expect("Python on the host");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{code}\n{told}");
}

/// Waits until something holds that must hold soon.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "not soon: {what}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
