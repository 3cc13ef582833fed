//! System calls without libc: the only module with `unsafe`, apart from the Python interface.
#![expect(
    unsafe_code,
    reason = "system calls, in a process where libc must not be trusted to be consistent"
)]
#![expect(
    clippy::cast_sign_loss,
    reason = "descriptors, process ids and errnos go to the kernel as they are"
)]

use core::arch::asm;

mod confine;
mod files;
mod process;
mod socket;

pub(crate) use self::{
    confine::{
        forbid_new_privileges, install_filter, landlock_abi, landlock_allow, landlock_restrict,
        landlock_ruleset,
    },
    files::{
        MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_RDONLY, MS_REMOUNT, O_CLOEXEC, O_CREAT,
        O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_PATH, O_RDONLY, O_WRONLY, change_dir, close,
        close_range, detach_mount, dup3, make_dir, mount, open, read_dir, read_full, write_all,
        write_file,
    },
    process::{
        Forked, SIGCHLD, SIGINT, SIGKILL, child_signal_fd, drop_capabilities, enter_network, exit,
        fork_into, kill, new_network, prctl, reap, set_host_name, set_limit, set_process_name,
        set_signal_ignored, unblock_signals,
    },
    socket::{MAX_FDS, POLLIN, PollFd, accept, listen_abstract, poll, poll_now, receive, send},
};

/// A system call's result: a value, or an errno.
pub(crate) type Result<T> = core::result::Result<T, i32>;

#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
mod nr {
    pub(super) const READ: usize = 0;
    pub(super) const WRITE: usize = 1;
    pub(super) const CLOSE: usize = 3;
    pub(super) const RT_SIGPROCMASK: usize = 14;
    pub(super) const RT_SIGACTION: usize = 13;
    pub(super) const SOCKET: usize = 41;
    pub(super) const SENDMSG: usize = 46;
    pub(super) const RECVMSG: usize = 47;
    pub(super) const BIND: usize = 49;
    pub(super) const LISTEN: usize = 50;
    pub(super) const WAIT4: usize = 61;
    pub(super) const KILL: usize = 62;
    pub(super) const CHDIR: usize = 80;
    pub(super) const CAPSET: usize = 126;
    pub(super) const PRCTL: usize = 157;
    pub(super) const MOUNT: usize = 165;
    pub(super) const UMOUNT2: usize = 166;
    pub(super) const SETHOSTNAME: usize = 170;
    pub(super) const GETDENTS64: usize = 217;
    pub(super) const EXIT_GROUP: usize = 231;
    pub(super) const OPENAT: usize = 257;
    pub(super) const MKDIRAT: usize = 258;
    pub(super) const PPOLL: usize = 271;
    pub(super) const UNSHARE: usize = 272;
    pub(super) const ACCEPT4: usize = 288;
    pub(super) const SIGNALFD4: usize = 289;
    pub(super) const DUP3: usize = 292;
    pub(super) const PRLIMIT64: usize = 302;
    pub(super) const SETNS: usize = 308;
    pub(super) const SECCOMP: usize = 317;
}

#[cfg(target_arch = "aarch64")]
#[rustfmt::skip]
mod nr {
    pub(super) const DUP3: usize = 24;
    pub(super) const MKDIRAT: usize = 34;
    pub(super) const UMOUNT2: usize = 39;
    pub(super) const MOUNT: usize = 40;
    pub(super) const CHDIR: usize = 49;
    pub(super) const OPENAT: usize = 56;
    pub(super) const CLOSE: usize = 57;
    pub(super) const GETDENTS64: usize = 61;
    pub(super) const READ: usize = 63;
    pub(super) const WRITE: usize = 64;
    pub(super) const PPOLL: usize = 73;
    pub(super) const SIGNALFD4: usize = 74;
    pub(super) const CAPSET: usize = 91;
    pub(super) const EXIT_GROUP: usize = 94;
    pub(super) const UNSHARE: usize = 97;
    pub(super) const KILL: usize = 129;
    pub(super) const RT_SIGACTION: usize = 134;
    pub(super) const RT_SIGPROCMASK: usize = 135;
    pub(super) const SETHOSTNAME: usize = 161;
    pub(super) const PRCTL: usize = 167;
    pub(super) const SOCKET: usize = 198;
    pub(super) const BIND: usize = 200;
    pub(super) const LISTEN: usize = 201;
    pub(super) const SENDMSG: usize = 211;
    pub(super) const RECVMSG: usize = 212;
    pub(super) const ACCEPT4: usize = 242;
    pub(super) const WAIT4: usize = 260;
    pub(super) const PRLIMIT64: usize = 261;
    pub(super) const SETNS: usize = 268;
    pub(super) const SECCOMP: usize = 277;
}

// These have one number on every architecture.
const CLONE3: usize = 435;
const CLOSE_RANGE: usize = 436;
const LANDLOCK_CREATE_RULESET: usize = 444;
const LANDLOCK_ADD_RULE: usize = 445;
const LANDLOCK_RESTRICT_SELF: usize = 446;

pub(crate) const EINTR: i32 = 4;
pub(crate) const EINVAL: i32 = 22;

/// The raw call: `Ok` with its value or `Err` with its errno.
///
/// # Safety
///
/// The arguments must be what the kernel expects for call `number`, with memory that stays valid.
unsafe fn call(number: usize, args: [usize; 6]) -> Result<usize> {
    let [first, second, third, fourth, fifth, sixth] = args;
    let result: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller vouches for the arguments; the kernel clobbers rcx and r11 only.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") first, in("rsi") second, in("rdx") third,
            in("r10") fourth, in("r8") fifth, in("r9") sixth,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the caller vouches for the arguments; the kernel preserves all but x0.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") first => result,
            in("x1") second, in("x2") third, in("x3") fourth, in("x4") fifth, in("x5") sixth,
            options(nostack),
        );
    }
    if result < 0 {
        Err(i32::try_from(-result).unwrap_or(EINVAL))
    } else {
        Ok(result.cast_unsigned())
    }
}

/// The bytes of a message struct.
pub(crate) fn bytes_of<T: Copy>(value: &T) -> &[u8] {
    // SAFETY: the messages are repr(C) without padding, so every byte is initialised.
    unsafe { core::slice::from_raw_parts((&raw const *value).cast(), size_of::<T>()) }
}

/// The bytes of a message struct, to be filled.
pub(crate) fn bytes_of_mut<T: Copy>(value: &mut T) -> &mut [u8] {
    // SAFETY: the messages are repr(C) of integers, valid for any bytes, and without padding.
    unsafe { core::slice::from_raw_parts_mut((&raw mut *value).cast(), size_of::<T>()) }
}
