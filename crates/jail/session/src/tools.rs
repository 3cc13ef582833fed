//! Trees of generated stubs: unpacked once in the zygote, seen read-only by the sessions that use them.

use core::ffi::CStr;

use crate::{
    isolate::Writer,
    sys::{self, Result},
};

/// No tools tree.
const NO_SLOT: u32 = u32::MAX;
/// In an archive: the entry is a directory.
const DIRECTORY: u64 = u64::MAX;
/// Longest path of an entry, with its NUL.
const MAX_PATH: usize = 512;

/// The mount point of a slot; `None` for no slot.
pub(crate) fn slot_path(text: &mut [u8], slot: u32) -> Option<&CStr> {
    if slot == NO_SLOT {
        return None;
    }
    let mut writer = Writer { text, at: 0 };
    writer.put(b"/run/tools/")?;
    writer.put_number(u64::from(slot))?;
    writer.finish()
}

/// Replaces the tree in `slot` by the archive that `archive` is open on.
///
/// An archive is a row of entries: path length with its NUL (u32), length of the contents or [`DIRECTORY`]
/// (u64), path, contents; numbers in the machine's byte order. The host writes it.
pub(crate) fn unpack(slot: u32, archive: i32) -> Result<()> {
    let mut text = [0; 32];
    let target = slot_path(&mut text, slot).ok_or(sys::EINVAL)?;
    let flags = sys::MS_NOSUID | sys::MS_NODEV | sys::MS_NOEXEC;
    // Sessions that use the old tree have it in their own mount namespace.
    let _ = sys::detach_mount(target);
    sys::mount(c"tools", target, c"tmpfs", flags, c"mode=755")?;
    sys::change_dir(target)?;
    let result = unpack_here(archive);
    sys::change_dir(c"/")?;
    result?;
    let read_only = sys::MS_REMOUNT | sys::MS_BIND | sys::MS_RDONLY | flags;
    sys::mount(c"", target, c"", read_only, c"")
}

fn unpack_here(archive: i32) -> Result<()> {
    let mut path = [0u8; MAX_PATH];
    let mut buffer = [0u8; 16 * 1024];
    loop {
        let mut head = [0u8; 12];
        match sys::read_full(archive, &mut head)? {
            0 => return Ok(()),
            12 => {}
            _ => return Err(sys::EINVAL),
        }
        let [a, b, c, d, length @ ..] = head;
        let path_length = u32::from_ne_bytes([a, b, c, d]) as usize;
        let length = u64::from_ne_bytes(length);
        let name = path.get_mut(..path_length).ok_or(sys::EINVAL)?;
        if sys::read_full(archive, name)? != path_length {
            return Err(sys::EINVAL);
        }
        let name = CStr::from_bytes_with_nul(name).map_err(|_| sys::EINVAL)?;
        if length == DIRECTORY {
            sys::make_dir(name, 0o755)?;
            continue;
        }
        let flags = sys::O_WRONLY | sys::O_CREAT | sys::O_EXCL | sys::O_NOFOLLOW;
        let file = sys::open(name, flags, 0o644)?;
        let result = copy(archive, file, length, &mut buffer);
        sys::close(file);
        result?;
    }
}

fn copy(from: i32, to: i32, mut length: u64, buffer: &mut [u8]) -> Result<()> {
    while length > 0 {
        let wanted = usize::try_from(length)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let part = buffer.get_mut(..wanted).ok_or(sys::EINVAL)?;
        if sys::read_full(from, part)? != wanted {
            return Err(sys::EINVAL);
        }
        sys::write_all(to, part)?;
        length -= wanted as u64;
    }
    Ok(())
}
