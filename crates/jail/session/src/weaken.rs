//! What a build with the feature `weaken` can leave out, so that tests show that they would notice.
//!
//! Compiled into the host's side and into the session module alike. No release has the feature.

/// A part of the isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Protection {
    /// A session's network namespace, and its zygote's.
    Network = 1,
    /// A session's namespace of System V and POSIX IPC objects, and its zygote's.
    Ipc = 1 << 1,
    /// The limits of a session's user namespace.
    NamespaceLimits = 1 << 2,
    /// The sizes of the workspace, `/tmp` and `/dev/shm`.
    Quotas = 1 << 3,
    /// The mount that hides the tools trees of other sessions.
    HiddenTrees = 1 << 4,
    /// `/proc` with processes only.
    ProcessesOnly = 1 << 5,
    /// Closing all descriptors that are the session's init's or its zygote's.
    Descriptors = 1 << 6,
    /// Resource limits.
    Limits = 1 << 7,
    /// Dropping capabilities.
    Capabilities = 1 << 8,
    /// Processes that cannot be traced or dumped.
    Undumpable = 1 << 9,
    /// `no_new_privs`.
    NoNewPrivileges = 1 << 10,
    /// Landlock.
    Landlock = 1 << 11,
    /// The seccomp filter as a whole.
    Seccomp = 1 << 12,
    /// The user id that is not root's inside.
    UserId = 1 << 13,
    /// A root directory, and views of the host, that are read-only.
    ReadOnlyRoot = 1 << 14,
    /// `nosuid` and `nodev` on what a session mounts.
    MountFlags = 1 << 15,
    /// A session's namespace of processes, and its own `/proc`.
    Processes = 1 << 16,
    /// A standard input of each session's own.
    Streams = 1 << 17,
    /// Resolving paths of the workspace below it only, on the host.
    Beneath = 1 << 18,
}
