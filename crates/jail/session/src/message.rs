//! The messages between the host, the zygote and a session's init. The host has the same in `wire.rs`.

/// Exit status of init when its own code is at fault.
pub(crate) const EXIT_PANIC: i32 = 70;
/// Exit status of init when the session could not be isolated.
pub(crate) const EXIT_SETUP: i32 = 71;

/// Host to zygote: fork a session.
pub(crate) const OP_FORK: u32 = 1;
/// Host to zygote: unpack a tools tree into a slot.
pub(crate) const OP_TOOLS: u32 = 2;

/// Descriptors that come with [`OP_FORK`], in this order; the cgroup only if the request says so.
pub(crate) const FORK_FDS: usize = 4;

/// One request of the host.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Request {
    /// [`OP_FORK`] or [`OP_TOOLS`].
    pub(crate) op: u32,
    /// Which tools tree the session sees or the request fills.
    pub(crate) slot: u32,
    /// 1 if a cgroup descriptor comes with a fork.
    pub(crate) has_cgroup: u32,
    /// `RLIMIT_NOFILE`; the control socket sits just above it.
    pub(crate) open_files: u32,
    /// `RLIMIT_NPROC`: processes and threads of the session.
    pub(crate) processes: u32,
    /// `RLIMIT_CPU` in seconds of each process; 0 for none.
    pub(crate) cpu_seconds: u32,
    /// `RLIMIT_DATA` in bytes of each process.
    pub(crate) data_bytes: u64,
    /// `RLIMIT_AS` in bytes of each process.
    pub(crate) address_bytes: u64,
    /// `RLIMIT_FSIZE` in bytes of one file.
    pub(crate) file_bytes: u64,
    /// Size of the workspace, in bytes.
    pub(crate) workspace_bytes: u64,
    /// Size of `/tmp` and of `/dev/shm`, in bytes each.
    pub(crate) temporary_bytes: u64,
    /// Files and directories in each of them.
    pub(crate) inodes: u64,
    /// What is left out: [`crate::weaken::Protection`]s.
    #[cfg(feature = "weaken")]
    pub(crate) without: u64,
}

/// Tells whether a part of the isolation is wanted: always, but in builds that test what happens without it.
#[cfg(feature = "weaken")]
macro_rules! wanted {
    ($request:expr, $protection:ident) => {
        $request.without & crate::weaken::Protection::$protection as u64 == 0
    };
}
#[cfg(not(feature = "weaken"))]
macro_rules! wanted {
    ($request:expr, $protection:ident) => {{
        let _: &crate::message::Request = $request;
        true
    }};
}
pub(crate) use wanted;

/// Zygote to host: the answer to a request. A fork's answer carries the pidfd of init.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Reply {
    /// Process id in the zygote's namespace, or a negated errno.
    pub(crate) result: i32,
    /// The [`Step`] that failed, for a tools request.
    pub(crate) step: u32,
}

/// Init to host: isolation is complete; carries a descriptor of the workspace directory.
pub(crate) const STATUS_STARTED: u32 = 1;
/// Init to host: `value` is an errno, `step` says where.
pub(crate) const STATUS_FAILED: u32 = 2;
/// Init to host: the interpreter ended; `value` is its wait status.
pub(crate) const STATUS_EXITED: u32 = 3;

/// Init to host.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Status {
    /// `STATUS_*`.
    pub(crate) kind: u32,
    /// The [`Step`] of a failure.
    pub(crate) step: u32,
    /// An errno or a wait status.
    pub(crate) value: i32,
}

/// Where isolation failed. The host has the same numbers in `wire.rs`, with names and remedies.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Step {
    /// `clone3` with the namespaces.
    Clone = 1,
    /// Dying with the zygote.
    ParentDeath = 2,
    /// Mapping the one user id.
    IdMap = 3,
    /// Limits of the user namespace.
    NamespaceLimits = 4,
    /// The host name.
    HostName = 5,
    /// The workspace.
    Workspace = 6,
    /// `/tmp`, `/dev/shm` and the home directory.
    Temporary = 7,
    /// The tools tree.
    Tools = 8,
    /// `/proc`.
    Proc = 9,
    /// Descriptors.
    Descriptors = 10,
    /// Resource limits.
    Limits = 11,
    /// Capabilities.
    Capabilities = 12,
    /// `no_new_privs`.
    NoNewPrivileges = 13,
    /// Landlock.
    Landlock = 14,
    /// The socket that gives descriptors back.
    Listener = 15,
    /// Seccomp.
    Seccomp = 16,
    /// The fork of the interpreter.
    Fork = 17,
}

/// Host to init: send `SIGINT` to the interpreter.
pub(crate) const COMMAND_INTERRUPT: u8 = b'I';
/// Host to init: kill every process but the interpreter.
pub(crate) const COMMAND_SWEEP: u8 = b'S';
