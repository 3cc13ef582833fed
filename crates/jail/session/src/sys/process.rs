//! Processes: their forks, ends, signals, limits and privileges.

use core::ffi::CStr;

use super::{CLONE3, EINVAL, O_CLOEXEC, Result, call, nr};

pub(crate) const SIGINT: usize = 2;
pub(crate) const SIGKILL: usize = 9;
pub(crate) const SIGCHLD: usize = 17;

pub(crate) fn exit(status: i32) -> ! {
    loop {
        // SAFETY: takes an integer and does not return.
        let _ = unsafe {
            call(
                nr::EXIT_GROUP,
                [status.cast_unsigned() as usize, 0, 0, 0, 0, 0],
            )
        };
    }
}

pub(crate) fn set_host_name(name: &[u8]) -> Result<()> {
    // SAFETY: the buffer is valid for its length.
    unsafe {
        call(
            nr::SETHOSTNAME,
            [name.as_ptr() as usize, name.len(), 0, 0, 0, 0],
        )
    }
    .map(drop)
}

/// Sets soft and hard limit of this process to `value`.
pub(crate) fn set_limit(resource: usize, value: u64) -> Result<()> {
    let limit = [value, value];
    // SAFETY: points to a struct rlimit64 of two u64.
    unsafe {
        call(
            nr::PRLIMIT64,
            [0, resource, limit.as_ptr() as usize, 0, 0, 0],
        )
    }
    .map(drop)
}

pub(crate) fn prctl(option: usize, a: usize, b: usize) -> Result<()> {
    // SAFETY: only options that take integers, or a pointer to a static string, are used here.
    unsafe { call(nr::PRCTL, [option, a, b, 0, 0, 0]) }.map(drop)
}

/// Names this process in the process list.
pub(crate) fn set_process_name(name: &'static CStr) -> Result<()> {
    const PR_SET_NAME: usize = 15;
    prctl(PR_SET_NAME, name.as_ptr() as usize, 0)
}

/// Gives up all capabilities for good, except through a new user namespace, which is forbidden later.
pub(crate) fn drop_capabilities() -> Result<()> {
    const PR_CAPBSET_DROP: usize = 24;
    const VERSION_3: u32 = 0x2008_0522;
    for capability in 0..64 {
        if prctl(PR_CAPBSET_DROP, capability, 0) == Err(EINVAL) {
            break;
        }
    }
    let header = [VERSION_3, 0];
    let sets = [0u32; 6];
    // SAFETY: points to a capability header and two empty sets of three u32.
    unsafe {
        call(
            nr::CAPSET,
            [header.as_ptr() as usize, sets.as_ptr() as usize, 0, 0, 0, 0],
        )
    }
    .map(drop)
}

pub(crate) fn kill(pid: i32, signal: usize) -> Result<()> {
    // SAFETY: takes integers only.
    unsafe { call(nr::KILL, [pid as usize, signal, 0, 0, 0, 0]) }.map(drop)
}

/// Reaps one ended child, if there is one: its id and wait status.
pub(crate) fn reap() -> Result<Option<(i32, i32)>> {
    const WNOHANG: usize = 1;
    let mut status = 0i32;
    // SAFETY: points to an int that outlives the call.
    let pid = unsafe {
        call(
            nr::WAIT4,
            [usize::MAX, (&raw mut status) as usize, WNOHANG, 0, 0, 0],
        )
    }?;
    Ok(i32::try_from(pid)
        .ok()
        .filter(|&pid| pid != 0)
        .map(|pid| (pid, status)))
}

/// Blocks `SIGCHLD` and returns a descriptor that turns readable when one is pending.
pub(crate) fn child_signal_fd() -> Result<i32> {
    const SIG_BLOCK: usize = 0;
    const SFD_NONBLOCK: usize = 0o4_000;
    let set = 1u64 << (SIGCHLD - 1);
    let addr = (&raw const set) as usize;
    // SAFETY: points to a kernel signal set of eight bytes.
    unsafe { call(nr::RT_SIGPROCMASK, [SIG_BLOCK, addr, 0, 8, 0, 0]) }?;
    let args = [usize::MAX, addr, 8, SFD_NONBLOCK | O_CLOEXEC, 0, 0];
    // SAFETY: as above.
    let fd = unsafe { call(nr::SIGNALFD4, args) }?;
    i32::try_from(fd).map_err(|_| EINVAL)
}

/// Unblocks every signal in this thread.
pub(crate) fn unblock_signals() -> Result<()> {
    const SIG_SETMASK: usize = 2;
    let set = 0u64;
    // SAFETY: points to a kernel signal set of eight bytes.
    unsafe {
        call(
            nr::RT_SIGPROCMASK,
            [SIG_SETMASK, (&raw const set) as usize, 0, 8, 0, 0],
        )
    }
    .map(drop)
}

/// Sets the action for a signal to the default, or to being ignored.
pub(crate) fn set_signal_ignored(signal: usize, ignored: bool) -> Result<()> {
    // struct kernel_sigaction: handler, flags, restorer, mask (x86-64); aarch64 lacks the restorer,
    // and reads the first three words only.
    let action = [usize::from(ignored), 0, 0, 0];
    // SAFETY: points to a kernel_sigaction with no handler function.
    unsafe {
        call(
            nr::RT_SIGACTION,
            [signal, action.as_ptr() as usize, 0, 8, 0, 0],
        )
    }
    .map(drop)
}

/// `struct clone_args` of clone3(2).
#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

const CLONE_PIDFD: u64 = 0x1000;
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Which side of a fork this is.
pub(crate) enum Forked {
    /// The child's id and pidfd.
    Parent(i32, i32),
    Child,
}

/// Forks with new namespaces. The child shares nothing and has this thread only; libc in it still
/// believes to be the parent, so it must make no use of libc other than to fork again.
pub(crate) fn fork_into(namespaces: u64, cgroup: Option<i32>) -> Result<Forked> {
    let mut pidfd = -1i32;
    let mut args = CloneArgs {
        flags: namespaces | CLONE_PIDFD,
        pidfd: (&raw mut pidfd) as u64,
        exit_signal: SIGCHLD as u64,
        ..CloneArgs::default()
    };
    if let Some(cgroup) = cgroup {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = u64::from(cgroup.cast_unsigned());
    }
    // SAFETY: without CLONE_VM the child has its own copy of this stack; the struct is complete.
    let pid = unsafe {
        call(
            CLONE3,
            [
                (&raw const args) as usize,
                size_of::<CloneArgs>(),
                0,
                0,
                0,
                0,
            ],
        )
    }?;
    Ok(match i32::try_from(pid) {
        Ok(0) => Forked::Child,
        Ok(pid) => Forked::Parent(pid, pidfd),
        Err(_) => return Err(EINVAL),
    })
}

/// A network namespace.
const CLONE_NEWNET: usize = 0x4000_0000;

/// Puts this process into a new network namespace, which has nothing in it.
pub(crate) fn new_network() -> Result<()> {
    // SAFETY: takes an integer.
    unsafe { call(nr::UNSHARE, [CLONE_NEWNET, 0, 0, 0, 0, 0]) }.map(drop)
}

/// Puts this process into the network namespace that `fd` is open on.
pub(crate) fn enter_network(fd: i32) -> Result<()> {
    // SAFETY: takes integers only.
    unsafe { call(nr::SETNS, [fd as usize, CLONE_NEWNET, 0, 0, 0, 0]) }.map(drop)
}
