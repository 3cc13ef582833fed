//! Files and directories for this user alone, on systems that have such modes.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

/// Makes a directory and what is missing above it, each 0700.
pub(super) fn create_private_dirs(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens a file for writing, making it 0600 if it is missing.
pub(super) fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    options.mode(0o600).open(path)
}

/// Makes a file 0600.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o600))
}

/// Makes new and removed entries of a directory survive a power failure.
pub(super) fn flush_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
