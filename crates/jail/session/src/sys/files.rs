//! Files, directories and mounts.

use core::ffi::CStr;

use super::{CLOSE_RANGE, EINTR, EINVAL, Result, call, nr};

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

const AT_FDCWD: usize = (-100_isize).cast_unsigned();

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
