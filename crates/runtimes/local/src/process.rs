//! What the host's `/proc` says of a session's processes.

use std::{fs, io, os::fd::AsRawFd, time::Duration};

use codehatch_runtime::Usage;

/// Most processes that are looked at: a session cannot have many more.
const MAX_PROCESSES: usize = 4096;

/// The process id on the host of what a pidfd stands for. `None` if it has ended.
pub(crate) fn host_pid(pidfd: &impl AsRawFd) -> Option<i32> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    line.trim().parse().ok().filter(|&pid| pid > 0)
}

/// What `root` and all of its descendants use now.
pub(crate) fn usage_of_tree(root: i32) -> Usage {
    let mut usage = Usage {
        cpu: Some(Duration::ZERO),
        memory_bytes: Some(0),
    };
    for pid in tree(root) {
        if let Ok(memory) = private_bytes(pid) {
            usage.memory_bytes = usage.memory_bytes.map(|sum| sum.saturating_add(memory));
        }
        if let Ok(cpu) = cpu_time(pid) {
            usage.cpu = usage.cpu.map(|sum| sum.saturating_add(cpu));
        }
    }
    usage
}

/// Memory of `root` and all of its descendants in bytes, each page counted once however many share it.
///
/// Exact where [`usage_of_tree`] is an upper bound, and a hundred times dearer.
pub(crate) fn memory_of_tree(root: i32) -> u64 {
    tree(root)
        .into_iter()
        .filter_map(|pid| proportional_bytes(pid).ok())
        .sum()
}

/// `root` and its descendants. Orphans of a session are children of its init, so none is missed.
fn tree(root: i32) -> Vec<i32> {
    let mut found = vec![root];
    let mut at = 0;
    while let Some(&pid) = found.get(at) {
        at += 1;
        if found.len() < MAX_PROCESSES {
            found.extend(children(pid));
        }
    }
    found
}

/// The children of all threads of a process.
fn children(pid: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return found;
    };
    for thread in threads.flatten() {
        if let Ok(list) = fs::read_to_string(thread.path().join("children")) {
            found.extend(
                list.split_ascii_whitespace()
                    .filter_map(|pid| pid.parse::<i32>().ok()),
            );
        }
    }
    found
}

/// Memory that is in use by this process and not by a file: resident minus shared, see `proc_pid_statm(5)`.
fn private_bytes(pid: i32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm"))?;
    let mut pages = text.split_ascii_whitespace().skip(1).map(str::parse::<u64>);
    match (pages.next(), pages.next()) {
        (Some(Ok(resident)), Some(Ok(shared))) => {
            Ok(resident.saturating_sub(shared).saturating_mul(page_bytes()))
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Anonymous memory and memory files of a process, each page divided by the number of its users.
fn proportional_bytes(pid: i32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let kilobytes = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().trim_end_matches(" kB").parse::<u64>().ok()
    };
    let anonymous = kilobytes("Pss_Anon:").ok_or(io::ErrorKind::InvalidData)?;
    Ok((anonymous + kilobytes("Pss_Shmem:").unwrap_or_default()).saturating_mul(1024))
}

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// User and system time, of ended and reaped children as well, see `proc_pid_stat(5)`.
fn cpu_time(pid: i32) -> io::Result<Duration> {
    const FIRST_TIME: usize = 11; // utime, counted from behind the name
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let behind_name = text
        .rsplit_once(") ")
        .map(|(_, rest)| rest)
        .ok_or(io::ErrorKind::InvalidData)?;
    let ticks: u64 = behind_name
        .split_ascii_whitespace()
        .skip(FIRST_TIME)
        .take(4)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    let per_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_millis(
        ticks.saturating_mul(1000) / per_second.max(1),
    ))
}
