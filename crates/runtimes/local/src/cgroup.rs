//! Control groups (v2), where the system delegates them: one for each session, with limits that hold for all of
//! its processes together.
//!
//! Below the group that this process may manage there is `codehatch.PID`, with the zygotes in `zygote` and each
//! session in a group of its own. See "Delegation" in cgroups(7).

use std::{
    fmt, fs, io,
    io::Write,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use codehatch_runtime::Limits;
use rustix::fs::{CWD, Mode, OFlags, openat};

/// Controllers that are of use, in the order of their importance.
const WANTED: [&str; 3] = ["memory", "pids", "cpu"];
/// Period of the processor limit, in microseconds: the kernel's default.
const CPU_PERIOD_US: u64 = 100_000;

/// Runtimes of this process that have made groups.
static TREES: AtomicU64 = AtomicU64::new(0);

/// The groups of one runtime.
#[derive(Debug)]
pub(crate) struct CgroupTree {
    root: PathBuf,
    controllers: Vec<&'static str>,
    sessions: AtomicU64,
    /// Groups whose processes were still on their way out when they were given up.
    left: Mutex<Vec<PathBuf>>,
    /// Removes the groups when its standard input closes: when this process ends, however it does.
    keeper: Option<Child>,
}

/// Why there are no control groups, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoCgroups(pub(crate) String);

impl fmt::Display for NoCgroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl CgroupTree {
    /// Finds a group that this process may manage, and makes the runtime's own below it.
    pub(crate) fn open() -> Result<Self, NoCgroups> {
        let mount = mount_point().ok_or_else(|| NoCgroups("no cgroup v2 is mounted".into()))?;
        let own = own_group().ok_or_else(|| NoCgroups("this process has no cgroup v2".into()))?;
        let own = mount.join(own.trim_start_matches('/'));
        let mut reasons = Vec::new();
        let mut candidates = vec![own.clone()];
        if rustix::process::geteuid().is_root() && own != mount {
            candidates.push(mount);
        }
        for base in candidates {
            match Self::below(&base) {
                Ok(tree) => return Ok(tree),
                Err(reason) => reasons.push(format!("{}: {reason}", base.display())),
            }
        }
        Err(NoCgroups(reasons.join("; ")))
    }

    fn below(base: &Path) -> Result<Self, String> {
        let available = read(&base.join("cgroup.controllers"))?;
        let has = |name: &&str| {
            available
                .split_ascii_whitespace()
                .any(|known| known == *name)
        };
        let controllers: Vec<&'static str> = WANTED.into_iter().filter(has).collect();
        if !controllers.contains(&"memory") && !controllers.contains(&"pids") {
            return Err("neither the memory nor the pids controller is delegated".into());
        }
        remove_stale(base);
        enable(base, &controllers)?;
        let number = TREES.fetch_add(1, Ordering::Relaxed);
        let root = base.join(format!("codehatch.{}.{number}", std::process::id()));
        make(&root)?;
        let tree = Self {
            keeper: keeper(&root),
            root,
            controllers,
            sessions: AtomicU64::new(0),
            left: Mutex::default(),
        };
        make(&tree.root.join("zygote"))?;
        write(
            &tree.root.join("cgroup.subtree_control"),
            &enabling(&tree.controllers),
        )?;
        Ok(tree)
    }

    /// Whether the kernel bounds the memory of a session as a whole.
    pub(crate) fn bounds_memory(&self) -> bool {
        self.controllers.contains(&"memory")
    }

    /// What it bounds, for people.
    pub(crate) fn describe(&self) -> String {
        format!("{} in {}", self.controllers.join(", "), self.root.display())
    }

    /// Puts a zygote into its group and lets it, running as `user`, start sessions in theirs.
    pub(crate) fn adopt_zygote(&self, pid: i32, user: Option<u32>) -> io::Result<()> {
        fs::write(self.root.join("zygote/cgroup.procs"), pid.to_string())?;
        // Starting a process in a group needs the right to write here and in their common parent.
        give(&self.root.join("cgroup.procs"), user)
    }

    /// Makes the group of a session.
    pub(crate) fn session(
        self: &Arc<Self>,
        limits: &Limits,
        user: Option<u32>,
    ) -> io::Result<SessionGroup> {
        self.left
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|path| !remove(path));
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let path = self.root.join(format!("session.{number}"));
        fs::create_dir(&path)?;
        // From here on it is removed again, whatever fails.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, &path, flags, Mode::empty())?;
        let group = SessionGroup {
            tree: Arc::clone(self),
            path,
            directory,
        };
        for (file, value) in settings(&self.controllers, limits) {
            fs::write(group.path.join(file), value)?;
        }
        give(&group.path.join("cgroup.procs"), user)?;
        Ok(group)
    }
}

/// Files of a session's group, and what is written to them.
fn settings(controllers: &[&str], limits: &Limits) -> Vec<(&'static str, String)> {
    let mut settings = Vec::new();
    if controllers.contains(&"memory") {
        settings.push(("memory.max", limits.memory_bytes.to_string()));
    }
    if controllers.contains(&"pids") {
        // Init is one more.
        settings.push(("pids.max", limits.processes.saturating_add(1).to_string()));
    }
    if let Some(milli) = limits.cpu_milli.filter(|_| controllers.contains(&"cpu")) {
        let quota = u64::from(milli) * CPU_PERIOD_US / 1000;
        settings.push(("cpu.max", format!("{} {CPU_PERIOD_US}", quota.max(1000))));
    }
    settings
}

/// The group of one session. Dropping it kills what is left in it, and removes it once that is gone.
#[derive(Debug)]
pub(crate) struct SessionGroup {
    tree: Arc<CgroupTree>,
    path: PathBuf,
    directory: OwnedFd,
}

impl SessionGroup {
    /// Whether the kernel bounds the memory of the session as a whole.
    pub(crate) fn bounds_memory(&self) -> bool {
        self.tree.bounds_memory()
    }

    /// How often the kernel has killed a process of it for want of memory.
    pub(crate) fn out_of_memory_kills(&self) -> u64 {
        let events = fs::read_to_string(self.path.join("memory.events")).unwrap_or_default();
        let count = events
            .lines()
            .find_map(|line| line.strip_prefix("oom_kill "));
        count
            .and_then(|count| count.trim().parse().ok())
            .unwrap_or_default()
    }
}

/// Removes a group, if no process is left in it.
fn remove(path: &Path) -> bool {
    match fs::remove_dir(path) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

impl AsFd for SessionGroup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

impl Drop for SessionGroup {
    fn drop(&mut self) {
        if remove(&self.path) {
            return;
        }
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
        let path = std::mem::take(&mut self.path);
        self.tree
            .left
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(path);
    }
}

impl Drop for CgroupTree {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            // It waits for the last processes, which nobody else need wait for.
            std::thread::spawn(move || keeper.wait());
        }
    }
}

/// Has every group in `base` offer `controllers` to its children.
fn enable(base: &Path, controllers: &[&str]) -> Result<(), String> {
    let file = base.join("cgroup.subtree_control");
    let enabled = read(&file)?;
    let missing = controllers
        .iter()
        .any(|name| !enabled.split_ascii_whitespace().any(|on| on == *name));
    if !missing || write(&file, &enabling(controllers)).is_ok() {
        return Ok(());
    }
    // A group with processes cannot offer controllers, but for the root. If this is the only one, it moves.
    let own = std::process::id().to_string();
    let processes = read(&base.join("cgroup.procs"))?;
    if processes.split_ascii_whitespace().any(|pid| pid != own) {
        return Err(
            "other processes are in it; start this one in a group of its own, for example with \
             `systemd-run --user --scope -p Delegate=yes`"
                .into(),
        );
    }
    let host = base.join("codehatch-host");
    make(&host)?;
    write(&host.join("cgroup.procs"), &own)?;
    write(&file, &enabling(controllers))
}

fn enabling(controllers: &[&str]) -> String {
    let enabled: Vec<String> = controllers.iter().map(|name| format!("+{name}")).collect();
    enabled.join(" ")
}

/// Removes groups of hosts that are gone.
fn remove_stale(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let rest = name
            .to_str()
            .and_then(|name| name.strip_prefix("codehatch."));
        let pid = rest.and_then(|rest| rest.split('.').next());
        if let Some(pid) = pid.filter(|pid| pid.parse::<u32>().is_ok())
            && !Path::new("/proc").join(pid).exists()
        {
            remove_tree(&entry.path());
        }
    }
}

fn remove_tree(path: &Path) {
    for child in fs::read_dir(path).into_iter().flatten().flatten() {
        if child.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_tree(&child.path());
        }
    }
    let _ = fs::remove_dir(path);
}

/// Starts the process that removes the groups when this one is gone, even by SIGKILL: it waits for the end of
/// its standard input, then for the processes in the groups. It has no right or secret of its own.
fn keeper(root: &Path) -> Option<Child> {
    const SCRIPT: &str = r#"
read -r _
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  for group in "$1"/*/ "$1"; do rmdir "$group" 2>/dev/null; done
  [ -d "$1" ] || exit 0
  sleep 0.1
done"#;
    let started = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "codehatch-keeper"])
        .arg(root)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(child) => Some(child),
        Err(error) => {
            tracing::warn!(%error, "control groups are not removed if this process is killed");
            None
        }
    }
}

pub(crate) fn mount_point() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let (mount, source) = line.split_once(" - ")?;
        let is_v2 = source.starts_with("cgroup2 ");
        is_v2
            .then(|| mount.split(' ').nth(4))
            .flatten()
            .map(PathBuf::from)
    })
}

pub(crate) fn own_group() -> Option<String> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .map(str::to_owned)
}

fn make(path: &Path) -> Result<(), String> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| error.to_string())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let opened = fs::OpenOptions::new().write(true).open(path);
    opened
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| error.to_string())
}

fn give(path: &Path, user: Option<u32>) -> io::Result<()> {
    match user {
        Some(user) => std::os::unix::fs::chown(path, Some(user), Some(user)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_controller_that_is_there_gets_its_limit() {
        let limits = Limits::default()
            .with_memory_bytes(1 << 20)
            .with_processes(10)
            .with_cpu_milli(Some(1500));
        assert_eq!(
            settings(&["memory", "pids", "cpu"], &limits),
            [
                ("memory.max", "1048576".to_owned()),
                ("pids.max", "11".to_owned()),
                ("cpu.max", "150000 100000".to_owned()),
            ]
        );
        assert_eq!(
            settings(&["pids"], &limits),
            [("pids.max", "11".to_owned())]
        );
        assert_eq!(settings(&["cpu"], &Limits::default()), []);
    }

    #[test]
    fn groups_of_hosts_that_are_gone_are_removed() {
        let base = tempfile::tempdir().expect("a directory");
        // No process has an id beyond the kernel's limit.
        let stale = base.path().join("codehatch.4194305.0");
        let alive = base
            .path()
            .join(format!("codehatch.{}", std::process::id()));
        let other = base.path().join("other");
        for path in [&stale.join("session.1"), &alive, &other] {
            fs::create_dir_all(path).expect("made");
        }
        remove_stale(base.path());
        assert_eq!(
            [stale.exists(), alive.exists(), other.exists()],
            [false, true, true]
        );
    }

    #[test]
    fn a_group_without_useful_controllers_is_passed_over() {
        let base = tempfile::tempdir().expect("a directory");
        fs::write(base.path().join("cgroup.controllers"), "hugetlb rdma\n").expect("written");
        let error = CgroupTree::below(base.path()).expect_err("useless");
        assert_eq!(
            error,
            "neither the memory nor the pids controller is delegated"
        );
    }
}
