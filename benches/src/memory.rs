//! Memory of this process, which is the host.

use std::fs;

use anyhow::Context;

/// What is resident now, in bytes; the peak is counted from here on.
pub(crate) fn begin() -> anyhow::Result<u64> {
    // 5 resets the peak: proc_pid_clear_refs(5).
    fs::write("/proc/self/clear_refs", "5").context("resetting the peak of memory")?;
    field("VmRSS:")
}

/// How far the peak is above `before`, in megabytes.
#[expect(clippy::cast_precision_loss, reason = "sizes far below 2^53")]
pub(crate) fn growth(before: u64) -> anyhow::Result<f64> {
    Ok(field("VmHWM:")?.saturating_sub(before) as f64 / 1e6)
}

fn field(name: &str) -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kibibytes = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.trim().strip_suffix(" kB"))
        .with_context(|| format!("no {name} in /proc/self/status"))?;
    Ok(kibibytes.parse::<u64>()? * 1024)
}
