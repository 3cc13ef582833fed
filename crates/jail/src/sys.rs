//! System calls that rustix has no safe form of: the only module with `unsafe`.
//!
//! What the child of a fork uses from here and from rustix are bare calls: they neither allocate nor lock.
#![expect(unsafe_code, reason = "system calls without a safe wrapper")]

use std::{
    ffi::{CStr, CString, c_char, c_int, c_long, c_uint},
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

use rustix::io::Errno;

/// A call's result: a value, or an errno.
pub(crate) type Result<T> = std::result::Result<T, Errno>;

fn check(status: c_long) -> Result<c_long> {
    if status >= 0 {
        return Ok(status);
    }
    // SAFETY: points to libc's errno of this thread.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    Err(Errno::from_raw_os_error(unsafe { *errno }))
}

/// Which side of a fork this is.
pub(crate) enum Forked {
    /// The child's id, and a descriptor that stands for it.
    Parent(i32, OwnedFd),
    Child,
}

/// Namespaces for [`fork_into`], `CLONE_NEW*`.
pub(crate) type Namespaces = c_int;

/// Forks with `clone3(2)`; the child has a copy of everything and this thread only. A `sibling` is a child of
/// this process's parent.
///
/// In the child libc believes to be the parent, and other threads may have held any lock: only bare system
/// calls may follow there.
pub(crate) fn fork_into(namespaces: Namespaces, sibling: bool) -> Result<Forked> {
    let mut pidfd: c_int = -1;
    // SAFETY: zero is a valid value for every field.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = u64::from((namespaces | libc::CLONE_PIDFD).cast_unsigned());
    args.pidfd = (&raw mut pidfd) as u64;
    if sibling {
        args.flags |= u64::from(libc::CLONE_PARENT.cast_unsigned());
    } else {
        args.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    }
    let size = size_of::<libc::clone_args>();
    // SAFETY: without CLONE_VM the child runs on its own copy of this stack; the struct is complete.
    let pid = check(unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size) })?;
    match i32::try_from(pid) {
        Ok(0) => Ok(Forked::Child),
        // SAFETY: the kernel has just opened it for this process.
        Ok(pid) => Ok(Forked::Parent(pid, unsafe { OwnedFd::from_raw_fd(pidfd) })),
        Err(_) => Err(Errno::INVAL),
    }
}

/// Moves this process, which has one thread, into new namespaces.
pub(crate) fn unshare(namespaces: Namespaces) -> Result<()> {
    // SAFETY: takes an integer; descriptors stay shared, as no flag for them is given.
    check(unsafe { libc::unshare(namespaces) }.into()).map(drop)
}

/// Ends the child at once, without any handler.
pub(crate) fn exit_child(status: c_int) -> ! {
    // SAFETY: takes an integer and does not return.
    unsafe { libc::_exit(status) }
}

/// Attributes of a mount, `MOUNT_ATTR_*`.
pub(crate) const RDONLY: u64 = 1;
pub(crate) const NOSUID: u64 = 2;
pub(crate) const NODEV: u64 = 4;
pub(crate) const NOEXEC: u64 = 8;

/// Sets attributes on every mount of a detached tree, and makes all of them private.
pub(crate) fn set_tree_attributes(tree: BorrowedFd<'_>, set: u64) -> Result<()> {
    const AT_RECURSIVE: c_int = 0x8000;
    // SAFETY: zero is a valid value for every field.
    let mut attributes: libc::mount_attr = unsafe { std::mem::zeroed() };
    attributes.attr_set = set;
    attributes.propagation = libc::MS_PRIVATE;
    // SAFETY: points to a complete struct mount_attr; the empty path names `tree` itself.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    })
    .map(drop)
}

/// Makes `from` available as `to`, which stays open across `execve`. Nothing that is owned may have `to`.
pub(crate) fn place_fd(from: BorrowedFd<'_>, to: RawFd) -> Result<()> {
    // SAFETY: takes integers; the callers choose targets that nothing owns.
    check(unsafe { libc::dup2(from.as_raw_fd(), to) }.into()).map(drop)
}

/// Has every descriptor from `first` on closed by `execve`.
pub(crate) fn close_on_exec_from(first: c_uint) -> Result<()> {
    const CLOSE_RANGE_CLOEXEC: c_uint = 4;
    // SAFETY: takes integers.
    check(unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            c_uint::MAX,
            CLOSE_RANGE_CLOEXEC,
        )
    })
    .map(drop)
}

/// Blocks or unblocks every signal of this thread.
pub(crate) fn block_signals(block: bool) {
    let set = if block { u64::MAX } else { 0 };
    // SAFETY: points to a kernel signal set of eight bytes.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const set,
            ptr::null_mut::<u64>(),
            size_of::<u64>(),
        )
    };
}

/// Gives a signal its default action.
pub(crate) fn default_signal(signal: c_int) {
    // SAFETY: sets no handler function.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Replaces the program. Returns only if that fails.
pub(crate) fn execute(program: &CStr, arguments: &Pointers, variables: &Pointers) -> Errno {
    let (arguments, variables) = (arguments.pointers.as_ptr(), variables.pointers.as_ptr());
    // SAFETY: `Pointers` owns its NUL-terminated strings and ends in a null pointer.
    let status = unsafe { libc::execve(program.as_ptr(), arguments, variables) };
    check(status.into()).err().unwrap_or(Errno::INVAL)
}

/// Strings for `execve`.
#[derive(Debug)]
pub(crate) struct Pointers {
    pointers: Vec<*const c_char>,
    _strings: Vec<CString>,
}

impl Pointers {
    pub(crate) fn new(strings: Vec<CString>) -> Self {
        let pointers = strings.iter().map(|string| string.as_ptr());
        Self {
            pointers: pointers.chain([ptr::null()]).collect(),
            _strings: strings,
        }
    }
}

/// Whether the system's user database knows `uid`.
pub(crate) fn user_exists(uid: u32) -> bool {
    let mut buffer = [0; 4096];
    let mut found = ptr::null_mut();
    // SAFETY: zero is a valid value for every field.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    // SAFETY: all pointers are to valid memory of the given size.
    unsafe {
        libc::getpwuid_r(
            uid,
            &raw mut entry,
            buffer.as_mut_ptr(),
            buffer.len(),
            &raw mut found,
        );
    }
    !found.is_null()
}

/// While it lives, this thread makes files as another user. For the tmpfs of a session, which knows no other.
#[derive(Debug)]
pub struct FileUser {
    before: (u32, u32),
}

impl FileUser {
    /// Takes on user and group `id` for files, which needs root.
    pub fn become_user(id: u32) -> std::io::Result<Self> {
        let before = (set_file_group(id), set_file_user(id));
        // These calls report the id before, and errors not at all: asking again tells.
        if set_file_user(id) != id {
            drop(Self { before });
            return Err(std::io::ErrorKind::PermissionDenied.into());
        }
        Ok(Self { before })
    }
}

impl Drop for FileUser {
    fn drop(&mut self) {
        let (group, user) = self.before;
        set_file_user(user);
        set_file_group(group);
    }
}

fn set_file_user(id: u32) -> u32 {
    // SAFETY: takes an integer, and touches this thread only.
    unsafe { libc::setfsuid(id) }.cast_unsigned()
}

fn set_file_group(id: u32) -> u32 {
    // SAFETY: takes an integer, and touches this thread only.
    unsafe { libc::setfsgid(id) }.cast_unsigned()
}
