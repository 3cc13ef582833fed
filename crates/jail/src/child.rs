//! What happens between the fork and the interpreter: system calls only, in an order that matters.

use std::{
    convert::Infallible,
    ffi::{CStr, CString},
    os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd},
};

use rustix::{
    fs::{CWD, Mode, OFlags},
    io::Errno,
    mount::{
        MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
        mount_change, mount_remount, move_mount, open_tree, unmount,
    },
    process::{
        DumpableBehavior, Gid, Resource, Signal, Uid, set_dumpable_behavior,
        set_parent_process_death_signal,
    },
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};

use crate::{
    root::{AttachFlags, Op, Plan},
    sys::{self, Forked, Namespaces, Pointers, Result},
};

/// Namespaces of the zygote. Not a cgroup namespace: a session is put into its cgroup from here, and below a
/// namespace's root that would be refused.
pub(crate) const NAMESPACES: Namespaces = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS;

/// Stack of a thread that model code starts, in bytes: 2 MiB. Each counts against the memory limit in full.
const THREAD_STACK_BYTES: u64 = 2 * 1024 * 1024;

/// The zygote's control socket.
pub(crate) const CONTROL_FD: RawFd = 3;

/// Everything that the child needs, allocated before the fork.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) plan: Plan,
    /// Room for the opened sources of the plan.
    pub(crate) trees: Vec<Option<OwnedFd>>,
    /// An existing directory that the new root can be mounted on.
    pub(crate) base: CString,
    /// Namespaces of the zygote.
    pub(crate) namespaces: Namespaces,
    /// The root and the views of the host are read-only: always, but in builds that test what happens without.
    pub(crate) read_only_root: bool,
    /// As root: the unused user and group that the zygote becomes.
    pub(crate) become_user: Option<(u32, u32)>,
    /// `0 ID 1` for the zygote's user and group.
    pub(crate) uid_map: CString,
    pub(crate) gid_map: CString,
    pub(crate) program: CString,
    pub(crate) arguments: Pointers,
    pub(crate) variables: Pointers,
    /// Becomes [`CONTROL_FD`].
    pub(crate) control: OwnedFd,
    /// Becomes standard output and error.
    pub(crate) log: OwnedFd,
    /// Becomes standard input.
    pub(crate) null: OwnedFd,
    /// Gets a [`Report`].
    pub(crate) report: OwnedFd,
}

/// What the child tells the host before the interpreter takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The zygote's process id, if it is not the child that the host forked.
    Forked(i32),
    /// A step failed; `detail` is the index of a source or operation.
    Failed {
        step: LaunchStep,
        detail: u32,
        errno: i32,
    },
}

/// The steps of starting a zygote, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum LaunchStep {
    /// Being killed with the host.
    ParentDeath = 1,
    /// As root: a mount namespace of its own.
    MountNamespace,
    /// Mapping user and group.
    IdMap,
    /// Cutting mounts off from the host's.
    PrivateMounts,
    /// Opening a directory of the host.
    OpenSource,
    /// Mounting the new root.
    NewRoot,
    /// Filling it.
    FillRoot,
    /// Mounting `/proc`.
    Proc,
    /// Changing over to it.
    PivotRoot,
    /// Making it read-only.
    ReadOnlyRoot,
    /// As root: becoming an unused user.
    BecomeUser,
    /// The namespaces.
    Namespaces,
    /// A session without a terminal.
    NewSession,
    /// File descriptors.
    Descriptors,
    /// Resource limits.
    Limits,
    /// Starting the interpreter.
    Execute,
}

impl LaunchStep {
    const ALL: [Self; 16] = [
        Self::ParentDeath,
        Self::MountNamespace,
        Self::IdMap,
        Self::PrivateMounts,
        Self::OpenSource,
        Self::NewRoot,
        Self::FillRoot,
        Self::Proc,
        Self::PivotRoot,
        Self::ReadOnlyRoot,
        Self::BecomeUser,
        Self::Namespaces,
        Self::NewSession,
        Self::Descriptors,
        Self::Limits,
        Self::Execute,
    ];

    /// What was tried, to be read behind "cannot".
    pub fn describe(self) -> &'static str {
        match self {
            Self::ParentDeath => "tie the zygote to the host",
            Self::MountNamespace => "create a mount namespace",
            Self::IdMap => "map the zygote's user id",
            Self::PrivateMounts => "cut the zygote's mounts off from the host's",
            Self::OpenSource => "open a directory for the sandbox",
            Self::NewRoot => "mount the sandbox's root",
            Self::FillRoot => "fill the sandbox's root",
            Self::Proc => "mount /proc in the sandbox",
            Self::PivotRoot => "change the root directory",
            Self::ReadOnlyRoot => "make the sandbox's root read-only",
            Self::BecomeUser => "become an unused user",
            Self::Namespaces => "create the zygote's namespaces",
            Self::NewSession => "leave the terminal",
            Self::Descriptors => "place the zygote's file descriptors",
            Self::Limits => "set the zygote's resource limits",
            Self::Execute => "start the interpreter in the sandbox",
        }
    }
}

/// Bytes of a report.
pub(crate) const REPORT_BYTES: usize = 12;
/// In place of a step: [`Report::Forked`].
const FORKED: u32 = 0;

impl Report {
    fn to_bytes(self) -> [u8; REPORT_BYTES] {
        let (step, detail, value) = match self {
            Self::Forked(pid) => (FORKED, 0, pid),
            Self::Failed {
                step,
                detail,
                errno,
            } => (step as u32, detail, errno),
        };
        let mut bytes = [0; REPORT_BYTES];
        bytes[..4].copy_from_slice(&step.to_ne_bytes());
        bytes[4..8].copy_from_slice(&detail.to_ne_bytes());
        bytes[8..].copy_from_slice(&value.to_ne_bytes());
        bytes
    }

    pub(crate) fn parse(bytes: [u8; REPORT_BYTES]) -> Option<Self> {
        let word = |at: usize| {
            u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let value = word(8).cast_signed();
        match word(0) {
            FORKED => Some(Self::Forked(value)),
            number => {
                let step = *LaunchStep::ALL.get(usize::try_from(number).ok()? - 1)?;
                Some(Self::Failed {
                    step,
                    detail: word(4),
                    errno: value,
                })
            }
        }
    }
}

/// A failed step.
struct Failure(LaunchStep, u32, Errno);

type Outcome<T> = std::result::Result<T, Failure>;

trait At<T> {
    fn at(self, step: LaunchStep) -> Outcome<T>;
    fn at_detail(self, step: LaunchStep, detail: usize) -> Outcome<T>;
}

impl<T> At<T> for Result<T> {
    fn at(self, step: LaunchStep) -> Outcome<T> {
        self.at_detail(step, 0)
    }

    fn at_detail(self, step: LaunchStep, detail: usize) -> Outcome<T> {
        self.map_err(|errno| Failure(step, u32::try_from(detail).unwrap_or(u32::MAX), errno))
    }
}

/// The namespaces that the host forks the child into: as root it builds the root file system first, so that
/// directories which only root may enter can be shown.
pub(crate) fn first_namespaces(prepared: &Prepared) -> Namespaces {
    if prepared.become_user.is_some() {
        0
    } else {
        prepared.namespaces
    }
}

/// Runs in the child, and ends in the interpreter or in a report.
pub(crate) fn run(prepared: &mut Prepared) -> ! {
    let Failure(step, detail, errno) = match isolate(prepared) {
        Ok(never) => match never {},
        Err(failure) => failure,
    };
    report(
        prepared,
        Report::Failed {
            step,
            detail,
            errno: errno.raw_os_error(),
        },
    );
    sys::exit_child(71)
}

fn report(prepared: &Prepared, report: Report) {
    // Nobody is left to tell if the host does not read it.
    let _ = rustix::io::write(&prepared.report, &report.to_bytes());
}

fn isolate(prepared: &mut Prepared) -> Outcome<Infallible> {
    rustix::process::umask(Mode::from_raw_mode(0o022));
    if let Some((uid, gid)) = prepared.become_user {
        die_with_parent()?;
        sys::unshare(libc::CLONE_NEWNS).at(LaunchStep::MountNamespace)?;
        build_root(prepared)?;
        // A whole /proc must be in sight, or the kernel refuses the zygote its own; that one covers it.
        mount_proc()?;
        enter_root(prepared.read_only_root)?;
        become_user(uid, gid).at(LaunchStep::BecomeUser)?;
        match sys::fork_into(prepared.namespaces, true).at(LaunchStep::Namespaces)? {
            Forked::Parent(pid, _) => {
                report(prepared, Report::Forked(pid));
                sys::exit_child(0);
            }
            Forked::Child => {}
        }
        die_with_parent()?;
        map_ids(prepared).at(LaunchStep::IdMap)?;
        mount_proc()?;
    } else {
        die_with_parent()?;
        map_ids(prepared).at(LaunchStep::IdMap)?;
        build_root(prepared)?;
        mount_proc()?;
        enter_root(prepared.read_only_root)?;
    }
    start(prepared)
}

/// Must come after every change of user, which clears it.
fn die_with_parent() -> Outcome<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).at(LaunchStep::ParentDeath)
}

/// Calls for this thread alone, which is the only one: libc's would signal the others.
fn become_user(uid: u32, gid: u32) -> Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    // Changing the user made this process undumpable, and /proc/self/uid_map root's.
    set_dumpable_behavior(DumpableBehavior::Dumpable)
}

fn map_ids(prepared: &Prepared) -> Result<()> {
    write_file(c"/proc/self/setgroups", OFlags::empty(), b"deny")?;
    write_file(
        c"/proc/self/uid_map",
        OFlags::empty(),
        prepared.uid_map.as_bytes(),
    )?;
    write_file(
        c"/proc/self/gid_map",
        OFlags::empty(),
        prepared.gid_map.as_bytes(),
    )
}

fn write_file(path: &CStr, flags: OFlags, mut contents: &[u8]) -> Result<()> {
    let flags = flags | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))?;
    while !contents.is_empty() {
        let written = rustix::io::write(&file, contents)?;
        contents = contents.get(written..).unwrap_or_default();
    }
    Ok(())
}

/// Builds the new root below its base directory and leaves it as the working directory.
fn build_root(prepared: &mut Prepared) -> Outcome<()> {
    mount_change(
        c"/",
        MountPropagationFlags::REC | MountPropagationFlags::PRIVATE,
    )
    .at(LaunchStep::PrivateMounts)?;
    // Before the base is covered, since a source may lie below it.
    let clone = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    for (at, source) in prepared.plan.sources.iter().enumerate() {
        let tree =
            open_tree(CWD, source.as_c_str(), clone).at_detail(LaunchStep::OpenSource, at)?;
        if let Some(room) = prepared.trees.get_mut(at) {
            *room = Some(tree);
        }
    }
    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    mount(
        c"root",
        prepared.base.as_c_str(),
        c"tmpfs",
        safe,
        c"mode=755,size=16m",
    )
    .at(LaunchStep::NewRoot)?;
    rustix::process::chdir(prepared.base.as_c_str()).at(LaunchStep::NewRoot)?;
    for (at, op) in prepared.plan.ops.iter().enumerate() {
        perform(op, &prepared.trees, prepared.read_only_root)
            .at_detail(LaunchStep::FillRoot, at)?;
    }
    Ok(())
}

fn perform(op: &Op, trees: &[Option<OwnedFd>], read_only: bool) -> Result<()> {
    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    match op {
        Op::Dir { path } => rustix::fs::mkdir(path.as_c_str(), Mode::from_raw_mode(0o755)),
        Op::Link { to, path } => rustix::fs::symlink(to.as_c_str(), path.as_c_str()),
        Op::File { path, contents } => write_file(path, OFlags::CREATE | OFlags::EXCL, &contents.0),
        Op::Attach {
            source,
            path,
            flags,
        } => {
            let tree = trees
                .get(*source)
                .and_then(Option::as_ref)
                .ok_or(Errno::INVAL)?;
            sys::set_tree_attributes(
                tree.as_fd(),
                match flags {
                    AttachFlags::ReadOnly if read_only => sys::RDONLY | sys::NOSUID | sys::NODEV,
                    AttachFlags::ReadOnly => sys::NOSUID | sys::NODEV,
                    AttachFlags::Device => sys::NOSUID | sys::NOEXEC,
                },
            )?;
            let whole = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
            move_mount(tree, c"", CWD, path.as_c_str(), whole)
        }
        Op::Tmpfs { path } => mount(
            c"stage",
            path.as_c_str(),
            c"tmpfs",
            safe,
            c"mode=755,size=1m",
        ),
        Op::Overlay { options, path } => {
            let flags = safe | MountFlags::RDONLY;
            mount(
                c"overlay",
                path.as_c_str(),
                c"overlay",
                flags,
                options.as_c_str(),
            )
        }
        Op::Detach { path } => unmount(path.as_c_str(), UnmountFlags::DETACH),
    }
}

/// Below the working directory before [`enter_root`], at the root after it.
fn mount_proc() -> Outcome<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(c"proc", c"proc", c"proc", flags, c"").at(LaunchStep::Proc)
}

/// Makes the working directory the root, for good.
fn enter_root(read_only: bool) -> Outcome<()> {
    // The old root comes to lie over the new one and is detached; see pivot_root(2).
    rustix::process::pivot_root(c".", c".").at(LaunchStep::PivotRoot)?;
    unmount(c".", UnmountFlags::DETACH).at(LaunchStep::PivotRoot)?;
    rustix::process::chdir(c"/").at(LaunchStep::PivotRoot)?;
    if !read_only {
        return Ok(());
    }
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    mount_remount(c"/", flags, c"").at(LaunchStep::ReadOnlyRoot)
}

fn start(prepared: &Prepared) -> Outcome<Infallible> {
    rustix::process::setsid().at(LaunchStep::NewSession)?;
    let places: [(BorrowedFd<'_>, RawFd); 4] = [
        (prepared.null.as_fd(), 0),
        (prepared.log.as_fd(), 1),
        (prepared.log.as_fd(), 2),
        (prepared.control.as_fd(), CONTROL_FD),
    ];
    for (from, to) in places {
        sys::place_fd(from, to).at(LaunchStep::Descriptors)?;
    }
    // The report's descriptor as well: that it closes tells the host that the interpreter has started.
    sys::close_on_exec_from(CONTROL_FD.cast_unsigned() + 1).at(LaunchStep::Descriptors)?;
    set_soft_limit(Resource::Nofile, None).at(LaunchStep::Limits)?;
    // Read by libc when the program starts, as the size of thread stacks.
    set_soft_limit(Resource::Stack, Some(THREAD_STACK_BYTES)).at(LaunchStep::Limits)?;
    set_soft_limit(Resource::Core, Some(0)).at(LaunchStep::Limits)?;
    sys::default_signal(libc::SIGPIPE);
    sys::block_signals(false);
    let errno = sys::execute(&prepared.program, &prepared.arguments, &prepared.variables);
    Err(Failure(LaunchStep::Execute, 0, errno))
}

/// Sets a soft limit, at most to the hard one; `None` sets it to that.
fn set_soft_limit(resource: Resource, wanted: Option<u64>) -> Result<()> {
    let mut limit = rustix::process::getrlimit(resource);
    limit.current = match (wanted, limit.maximum) {
        (Some(wanted), Some(hard)) => Some(wanted.min(hard)),
        (Some(wanted), None) => Some(wanted),
        (None, hard) => hard,
    };
    rustix::process::setrlimit(resource, limit)
}
