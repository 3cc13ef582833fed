//! System calls without libc: the only module with `unsafe`, apart from the Python interface.
#![expect(
    unsafe_code,
    reason = "system calls, in a process where libc must not be trusted to be consistent"
)]
#![expect(
    clippy::cast_sign_loss,
    reason = "descriptors, process ids and errnos go to the kernel as they are"
)]

use core::{arch::asm, ffi::CStr};

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
    pub(super) const ACCEPT4: usize = 288;
    pub(super) const SIGNALFD4: usize = 289;
    pub(super) const DUP3: usize = 292;
    pub(super) const PRLIMIT64: usize = 302;
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

pub(crate) const O_RDONLY: usize = 0;
pub(crate) const O_WRONLY: usize = 1;
pub(crate) const O_CREAT: usize = 0o100;
pub(crate) const O_EXCL: usize = 0o200;
pub(crate) const O_CLOEXEC: usize = 0o2_000_000;
pub(crate) const O_PATH: usize = 0o10_000_000;
#[cfg(target_arch = "x86_64")]
pub(crate) const O_DIRECTORY: usize = 0o200_000;
#[cfg(target_arch = "aarch64")]
pub(crate) const O_DIRECTORY: usize = 0o40_000;
#[cfg(target_arch = "x86_64")]
pub(crate) const O_NOFOLLOW: usize = 0o400_000;
#[cfg(target_arch = "aarch64")]
pub(crate) const O_NOFOLLOW: usize = 0o100_000;

pub(crate) const MS_RDONLY: usize = 1;
pub(crate) const MS_NOSUID: usize = 2;
pub(crate) const MS_NODEV: usize = 4;
pub(crate) const MS_NOEXEC: usize = 8;
pub(crate) const MS_REMOUNT: usize = 32;
pub(crate) const MS_BIND: usize = 4096;
pub(crate) const MNT_DETACH: usize = 2;

pub(crate) const SIGINT: usize = 2;
pub(crate) const SIGKILL: usize = 9;
pub(crate) const SIGCHLD: usize = 17;

const AT_FDCWD: usize = (-100_isize).cast_unsigned();

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

pub(crate) fn open(path: &CStr, flags: usize, mode: usize) -> Result<i32> {
    open_at(AT_FDCWD, path, flags, mode)
}

fn open_at(dir: usize, path: &CStr, flags: usize, mode: usize) -> Result<i32> {
    // SAFETY: `path` is NUL-terminated and outlives the call.
    let fd = unsafe {
        call(
            nr::OPENAT,
            [dir, path.as_ptr() as usize, flags | O_CLOEXEC, mode, 0, 0],
        )
    }?;
    i32::try_from(fd).map_err(|_| EINVAL)
}

pub(crate) fn close(fd: i32) {
    // SAFETY: takes an integer; every descriptor here has one owner.
    let _ = unsafe { call(nr::CLOSE, [fd as usize, 0, 0, 0, 0, 0]) };
}

/// Closes all descriptors from `first` to `last`.
pub(crate) fn close_range(first: u32, last: u32) -> Result<()> {
    // SAFETY: takes integers only.
    unsafe { call(CLOSE_RANGE, [first as usize, last as usize, 0, 0, 0, 0]) }.map(drop)
}

pub(crate) fn dup3(from: i32, to: i32, flags: usize) -> Result<()> {
    // SAFETY: takes integers only.
    unsafe { call(nr::DUP3, [from as usize, to as usize, flags, 0, 0, 0]) }.map(drop)
}

pub(crate) fn write_all(fd: i32, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        // SAFETY: the buffer is valid for its length.
        let written = unsafe {
            call(
                nr::WRITE,
                [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0],
            )
        };
        match written {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Reads until `buffer` is full or the file ends; returns the bytes read.
pub(crate) fn read_full(fd: i32, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        // SAFETY: the buffer is valid and writable for its length.
        let read = unsafe {
            call(
                nr::READ,
                [fd as usize, rest.as_mut_ptr() as usize, rest.len(), 0, 0, 0],
            )
        };
        match read {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(filled)
}

/// Writes a whole small file that exists, as those of /proc do.
pub(crate) fn write_file(path: &CStr, text: &[u8]) -> Result<()> {
    let fd = open(path, O_WRONLY, 0)?;
    let result = write_all(fd, text);
    close(fd);
    result
}

pub(crate) fn make_dir(path: &CStr, mode: usize) -> Result<()> {
    // SAFETY: `path` is NUL-terminated and outlives the call.
    unsafe {
        call(
            nr::MKDIRAT,
            [AT_FDCWD, path.as_ptr() as usize, mode, 0, 0, 0],
        )
    }
    .map(drop)
}

pub(crate) fn change_dir(path: &CStr) -> Result<()> {
    // SAFETY: `path` is NUL-terminated and outlives the call.
    unsafe { call(nr::CHDIR, [path.as_ptr() as usize, 0, 0, 0, 0, 0]) }.map(drop)
}

/// Mounts; `options` may be empty.
pub(crate) fn mount(
    source: &CStr,
    target: &CStr,
    kind: &CStr,
    flags: usize,
    options: &CStr,
) -> Result<()> {
    let args = [
        source.as_ptr() as usize,
        target.as_ptr() as usize,
        kind.as_ptr() as usize,
        flags,
        options.as_ptr() as usize,
        0,
    ];
    // SAFETY: all strings are NUL-terminated and outlive the call.
    unsafe { call(nr::MOUNT, args) }.map(drop)
}

pub(crate) fn detach_mount(path: &CStr) -> Result<()> {
    // SAFETY: `path` is NUL-terminated and outlives the call.
    unsafe {
        call(
            nr::UMOUNT2,
            [path.as_ptr() as usize, MNT_DETACH, 0, 0, 0, 0],
        )
    }
    .map(drop)
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

pub(crate) fn forbid_new_privileges() -> Result<()> {
    const PR_SET_NO_NEW_PRIVS: usize = 38;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0)
}

/// Installs a seccomp program of `instructions` entries of eight bytes.
pub(crate) fn install_filter(program: &[u8]) -> Result<()> {
    #[repr(C)]
    struct FilterProgram {
        length: u16,
        instructions: *const u8,
    }
    const SET_MODE_FILTER: usize = 1;
    let program = FilterProgram {
        length: u16::try_from(program.len() / 8).map_err(|_| EINVAL)?,
        instructions: program.as_ptr(),
    };
    // SAFETY: points to a struct sock_fprog whose program outlives the call.
    unsafe {
        call(
            nr::SECCOMP,
            [SET_MODE_FILTER, 0, (&raw const program) as usize, 0, 0, 0],
        )
    }
    .map(drop)
}

/// The landlock ABI that the kernel speaks, from 1.
pub(crate) fn landlock_abi() -> Result<usize> {
    const VERSION: usize = 1;
    // SAFETY: a null pointer with length 0 asks for the version.
    unsafe { call(LANDLOCK_CREATE_RULESET, [0, 0, VERSION, 0, 0, 0]) }
}

pub(crate) fn landlock_ruleset(fs: u64, net: u64, scoped: u64, bytes: usize) -> Result<i32> {
    let attributes = [fs, net, scoped];
    let bytes = bytes.min(size_of_val(&attributes));
    // SAFETY: points to a struct landlock_ruleset_attr of at least `bytes` bytes.
    let fd = unsafe {
        call(
            LANDLOCK_CREATE_RULESET,
            [attributes.as_ptr() as usize, bytes, 0, 0, 0, 0],
        )
    }?;
    i32::try_from(fd).map_err(|_| EINVAL)
}

/// Allows `access` below the file or directory that `parent` is open on.
pub(crate) fn landlock_allow(ruleset: i32, access: u64, parent: i32) -> Result<()> {
    #[repr(C, packed)]
    struct PathBeneath {
        access: u64,
        parent: i32,
    }
    const RULE_PATH_BENEATH: usize = 1;
    let rule = PathBeneath { access, parent };
    let args = [
        ruleset as usize,
        RULE_PATH_BENEATH,
        (&raw const rule) as usize,
        0,
        0,
        0,
    ];
    // SAFETY: points to a struct landlock_path_beneath_attr.
    unsafe { call(LANDLOCK_ADD_RULE, args) }.map(drop)
}

pub(crate) fn landlock_restrict(ruleset: i32) -> Result<()> {
    // SAFETY: takes integers only.
    unsafe { call(LANDLOCK_RESTRICT_SELF, [ruleset as usize, 0, 0, 0, 0, 0]) }.map(drop)
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

/// One descriptor to wait for.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct PollFd {
    pub(crate) fd: i32,
    pub(crate) events: i16,
    pub(crate) revents: i16,
}

pub(crate) const POLLIN: i16 = 1;

/// Waits without a time limit until one of `fds` has something.
pub(crate) fn poll(fds: &mut [PollFd]) -> Result<()> {
    // SAFETY: the slice is valid and writable for its length; no timeout and no mask.
    match unsafe {
        call(
            nr::PPOLL,
            [fds.as_mut_ptr() as usize, fds.len(), 0, 0, 0, 0],
        )
    } {
        Ok(_) | Err(EINTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Reads the names of directory `fd` into `buffer`: whole entries, 0 bytes at the end.
pub(crate) fn read_dir(fd: i32, buffer: &mut [u8]) -> Result<usize> {
    let args = [
        fd as usize,
        buffer.as_mut_ptr() as usize,
        buffer.len(),
        0,
        0,
        0,
    ];
    // SAFETY: the buffer is valid and writable for its length.
    unsafe { call(nr::GETDENTS64, args) }
}

/// A listening socket with an abstract name in this network namespace.
pub(crate) fn listen_abstract(name: &[u8]) -> Result<i32> {
    const AF_UNIX: u16 = 1;
    const SOCK_STREAM: usize = 1;
    let mut address = [0u8; 32];
    let [low, high] = AF_UNIX.to_ne_bytes();
    address[0] = low;
    address[1] = high;
    let Some(room) = address.get_mut(3..3 + name.len()) else {
        return Err(EINVAL);
    };
    room.copy_from_slice(name);
    // SAFETY: takes integers only.
    let fd = unsafe {
        call(
            nr::SOCKET,
            [AF_UNIX as usize, SOCK_STREAM | O_CLOEXEC, 0, 0, 0, 0],
        )
    }?;
    // SAFETY: points to a sockaddr_un of the given length.
    unsafe {
        call(
            nr::BIND,
            [fd, address.as_ptr() as usize, 3 + name.len(), 0, 0, 0],
        )
    }?;
    // SAFETY: takes integers only.
    unsafe { call(nr::LISTEN, [fd, 4, 0, 0, 0, 0]) }?;
    i32::try_from(fd).map_err(|_| EINVAL)
}

pub(crate) fn accept(fd: i32) -> Result<i32> {
    // SAFETY: takes integers only; the peer's address is not asked for.
    let fd = unsafe { call(nr::ACCEPT4, [fd as usize, 0, 0, O_CLOEXEC, 0, 0]) }?;
    i32::try_from(fd).map_err(|_| EINVAL)
}

#[repr(C)]
struct IoVec {
    base: *mut u8,
    length: usize,
}

#[repr(C)]
struct MessageHeader {
    name: usize,
    name_length: u32,
    parts: *mut IoVec,
    part_count: usize,
    control: *mut ControlMessage,
    control_length: usize,
    flags: i32,
}

/// Most descriptors in one message.
pub(crate) const MAX_FDS: usize = 6;

#[repr(C)]
struct ControlMessage {
    length: usize,
    level: i32,
    kind: i32,
    fds: [i32; MAX_FDS],
}

const CONTROL_HEADER: usize = 16;
const SOL_SOCKET: i32 = 1;
const SCM_RIGHTS: i32 = 1;

/// Sends `bytes` as one message with `fds`. A peer that is gone is an error, never a signal.
pub(crate) fn send(socket: i32, bytes: &[u8], fds: &[i32]) -> Result<()> {
    const MSG_NOSIGNAL: usize = 0x4000;
    let mut control = ControlMessage {
        length: CONTROL_HEADER + size_of_val(fds),
        level: SOL_SOCKET,
        kind: SCM_RIGHTS,
        fds: [-1; MAX_FDS],
    };
    for (slot, fd) in control.fds.iter_mut().zip(fds) {
        *slot = *fd;
    }
    let mut part = IoVec {
        base: bytes.as_ptr().cast_mut(),
        length: bytes.len(),
    };
    let header = MessageHeader {
        name: 0,
        name_length: 0,
        parts: &raw mut part,
        part_count: 1,
        control: &raw mut control,
        control_length: if fds.is_empty() {
            0
        } else {
            (control.length + 7) & !7
        },
        flags: 0,
    };
    // SAFETY: the header points to a buffer and a control message that outlive the call.
    unsafe {
        call(
            nr::SENDMSG,
            [
                socket as usize,
                (&raw const header) as usize,
                MSG_NOSIGNAL,
                0,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// Receives one message into `buffer`: its length and the descriptors that came along (-1 for none).
pub(crate) fn receive(socket: i32, buffer: &mut [u8]) -> Result<(usize, [i32; MAX_FDS])> {
    const MSG_CMSG_CLOEXEC: usize = 0x4000_0000;
    let mut control = ControlMessage {
        length: 0,
        level: 0,
        kind: 0,
        fds: [-1; MAX_FDS],
    };
    let mut part = IoVec {
        base: buffer.as_mut_ptr(),
        length: buffer.len(),
    };
    let mut header = MessageHeader {
        name: 0,
        name_length: 0,
        parts: &raw mut part,
        part_count: 1,
        control: &raw mut control,
        control_length: size_of::<ControlMessage>(),
        flags: 0,
    };
    let args = [
        socket as usize,
        (&raw mut header) as usize,
        MSG_CMSG_CLOEXEC,
        0,
        0,
        0,
    ];
    let length = loop {
        // SAFETY: the header points to a buffer and a control message that outlive the call.
        match unsafe { call(nr::RECVMSG, args) } {
            Err(EINTR) => {}
            other => break other?,
        }
    };
    let mut fds = [-1; MAX_FDS];
    if control.level == SOL_SOCKET && control.kind == SCM_RIGHTS {
        let count = control.length.saturating_sub(CONTROL_HEADER) / size_of::<i32>();
        for (slot, fd) in fds.iter_mut().zip(control.fds).take(count) {
            *slot = fd;
        }
    }
    Ok((length, fds))
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
