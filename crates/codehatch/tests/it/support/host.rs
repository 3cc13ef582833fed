//! What the host's kernel says of what tests have started, and waiting for it with a bound.

use std::{
    collections::BTreeMap,
    fs, process,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Longest wait for something that must happen soon.
const SOON: Duration = Duration::from_secs(10);

/// A number that no other test and no other run has: an argument of `sleep` by which a process is known.
pub(crate) fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("4321.{}{count:03}", process::id())
}

/// Waits until `condition` holds.
pub(crate) async fn until(what: &str, condition: impl FnMut() -> bool) {
    until_within(SOON, what, condition).await;
}

/// Waits until `condition` holds, at most for `limit`.
pub(crate) async fn until_within(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// One process of the host.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    /// As in `ps`: `Z` is a zombie.
    pub(crate) state: char,
    /// The name of its program, as the kernel has it.
    pub(crate) name: String,
    pub(crate) command: String,
    /// Processor time that it has used, in clock ticks.
    pub(crate) ticks: u64,
}

impl PartialEq for Process {
    fn eq(&self, other: &Self) -> bool {
        self.pid == other.pid
    }
}

/// All processes that can be seen.
pub(crate) fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("a /proc");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(process_of).collect()
}

fn process_of(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let (start, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        state: fields.first()?.chars().next()?,
        name: start.split_once('(')?.1.to_owned(),
        command: String::from_utf8_lossy(&command)
            .replace('\0', " ")
            .trim()
            .to_owned(),
        ticks: fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?,
    })
}

/// Processes whose command line contains `marker`, but for those that the tests themselves run in.
pub(crate) fn processes_with(marker: &str) -> Vec<Process> {
    let mut found = processes();
    found
        .retain(|process| process.command.contains(marker) && !process.command.contains("--exact"));
    found
}

/// The descendants of this process.
pub(crate) fn processes_below() -> Vec<Process> {
    processes_below_of(i32::try_from(process::id()).expect("a pid"))
}

/// The descendants of a process.
pub(crate) fn processes_below_of(root: i32) -> Vec<Process> {
    let all = processes();
    let mut parents = vec![root];
    let mut found = Vec::new();
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|process| process.parent == parent);
        for child in children {
            parents.push(child.pid);
            found.push(child.clone());
        }
    }
    found.sort_by_key(|process| process.pid);
    found
}

/// The first processes of the sandboxes below this process: killing one kills its sandbox.
pub(crate) fn sandboxes() -> Vec<Process> {
    let mut found = processes_below();
    found.retain(|process| process.name == "codehatch-init" && process.state != 'Z');
    found
}

/// Kills every sandbox that there is below this process, from outside: for tests that run alone. Another may get
/// ready in the meantime.
pub(crate) async fn kill_sandboxes() {
    let all = sandboxes();
    assert!(!all.is_empty(), "no sandbox");
    for process in &all {
        kill(process.pid);
    }
    until("the sandboxes are dead", || {
        sandboxes().iter().all(|process| !all.contains(process))
    })
    .await;
}

/// Kills a process.
pub(crate) fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
}

/// The most memory that this process has had so far, in bytes.
pub(crate) fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.expect("VmHWM") * 1024
}

/// The memory that this process has now, in bytes.
pub(crate) fn memory() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").expect("its memory");
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("resident pages") * rustix::param::page_size() as u64
}

/// What this process holds of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// What its descriptors lead to, without the numbers of pipes and sockets, and how many do.
    files: BTreeMap<String, usize>,
    threads: usize,
    /// Its descendants, by what they run; zombies by themselves.
    processes: BTreeMap<String, usize>,
    mounts: Vec<String>,
    temporary: Vec<String>,
}

impl Footprint {
    pub(crate) fn now() -> Self {
        let mut processes = BTreeMap::new();
        for process in processes_below() {
            let dead = if process.state == 'Z' {
                " (zombie)"
            } else {
                ""
            };
            *processes.entry(process.name + dead).or_default() += 1;
        }
        Self {
            files: open_files(),
            threads: fs::read_dir("/proc/self/task").expect("threads").count(),
            processes,
            mounts: mounts(),
            temporary: temporary_files(),
        }
    }

    /// As it is when nothing is under way: a session may still be made ready in advance.
    pub(crate) async fn at_rest() -> Self {
        let began = Instant::now();
        let mut last = Self::now();
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let now = Self::now();
            if now == last {
                return now;
            }
            assert!(began.elapsed() < SOON, "no rest:\n{last:#?}\n{now:#?}");
            last = now;
        }
    }

    /// Waits until the process holds no more than this again.
    pub(crate) async fn is_back(&self) {
        let began = Instant::now();
        loop {
            let now = Self::now();
            if now.is_within(self) {
                return;
            }
            assert!(
                began.elapsed() < SOON,
                "something is left\n--- before\n{self:#?}\n--- now\n{now:#?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn is_within(&self, other: &Self) -> bool {
        let within = |ours: &BTreeMap<String, usize>, theirs: &BTreeMap<String, usize>| {
            ours.iter()
                .all(|(name, count)| theirs.get(name).is_some_and(|most| count <= most))
        };
        within(&self.files, &other.files)
            && within(&self.processes, &other.processes)
            && self.threads <= other.threads
            && self.mounts == other.mounts
            && self.temporary == other.temporary
    }
}

fn open_files() -> BTreeMap<String, usize> {
    let mut files = BTreeMap::new();
    let own = format!("/proc/{}/fd", process::id());
    for entry in fs::read_dir("/proc/self/fd")
        .expect("descriptors")
        .flatten()
    {
        let Ok(target) = fs::read_link(entry.path()) else {
            continue;
        };
        let target = target.to_string_lossy();
        // This very listing.
        if target == own {
            continue;
        }
        let kind = target.split_once(":[").map_or(&*target, |(kind, _)| kind);
        *files.entry(kind.to_owned()).or_default() += 1;
    }
    files
}

/// The mounts that this process sees.
pub(crate) fn mounts() -> Vec<String> {
    let text = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    text.lines().map(str::to_owned).collect()
}

/// Everything in the directory for temporary files, which is this process's own if it runs one test alone.
pub(crate) fn temporary_files() -> Vec<String> {
    if std::env::var_os(super::alone::ALONE).is_none() {
        return Vec::new();
    }
    let entries = fs::read_dir(std::env::temp_dir()).expect("a temporary directory");
    let mut found: Vec<String> = entries
        .flatten()
        .map(|entry| entry.path().display().to_string())
        .collect();
    found.sort();
    found
}
