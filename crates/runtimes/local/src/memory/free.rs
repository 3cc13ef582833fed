//! How much memory is left for sandboxes.

use std::{
    fs,
    path::Path,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::cgroup;

/// How long a figure is good: finding it costs as much as a short block.
const GOOD_FOR: Duration = Duration::from_millis(100);

/// The memory that is left, looked up now and then.
#[derive(Debug, Default)]
pub(crate) struct FreeMemory {
    known: Mutex<Option<(Instant, Option<u64>)>>,
}

impl FreeMemory {
    /// Bytes that are left on this machine and in this process's control groups, whichever are fewer. `None` if
    /// neither is known.
    pub(crate) fn now(&self) -> Option<u64> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, free)) = *known
            && at.elapsed() < GOOD_FOR
        {
            return free;
        }
        let free = machine().into_iter().chain(groups()).min();
        *known = Some((Instant::now(), free));
        free
    }
}

/// What the machine has left without swapping, see `proc_meminfo(5)`.
fn machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// What this process's control group and those above it have left.
fn groups() -> Option<u64> {
    let mount = cgroup::mount_point()?;
    let own = mount.join(cgroup::own_group()?.trim_start_matches('/'));
    own.ancestors()
        .take_while(|group| group.starts_with(&mount))
        .filter_map(group)
        .min()
}

fn group(path: &Path) -> Option<u64> {
    let read = |name| -> Option<u64> {
        let text = fs::read_to_string(path.join(name)).ok()?;
        text.trim().parse().ok()
    };
    // A group without a limit says `max`.
    let limit = read("memory.max")?;
    // Pages of files are given back when memory is needed.
    let files = fs::read_to_string(path.join("memory.stat"))
        .ok()
        .and_then(|text| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("inactive_file "))?;
            line.trim().parse::<u64>().ok()
        });
    let used = read("memory.current")?.saturating_sub(files.unwrap_or_default());
    Some(limit.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_group_has_left_what_its_limit_and_its_use_without_files_leave() {
        let dir = TempDir::new().expect("a directory");
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text);
        write("memory.max", "1000\n").expect("written");
        write("memory.current", "700\n").expect("written");
        write("memory.stat", "anon 300\ninactive_file 100\nfile 400\n").expect("written");
        assert_eq!(group(dir.path()), Some(400));
        write("memory.max", "max\n").expect("written");
        assert_eq!(group(dir.path()), None);
    }

    #[test]
    fn this_machine_has_less_left_than_it_has() {
        let memory = fs::read_to_string("/proc/meminfo").expect("Linux");
        let total = memory.lines().next().expect("MemTotal");
        let total: u64 = total
            .trim_start_matches("MemTotal:")
            .trim_end_matches(" kB")
            .trim()
            .parse()
            .expect("a number");
        let free = FreeMemory::default();
        let now = free.now().expect("known");
        assert!((1..total * 1024).contains(&now), "{now} of {total} KiB");
        assert_eq!(free.now(), Some(now), "it is remembered for a moment");
    }
}
