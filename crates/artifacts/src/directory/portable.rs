//! Files and directories on systems without Unix modes: they get what their parent directory hands down.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
};

/// Makes a directory and what is missing above it.
pub(super) fn create_private_dirs(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Opens a file for writing, making it if it is missing.
pub(super) fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).open(path)
}

/// Does nothing: there is no mode to set.
#[expect(
    clippy::unnecessary_wraps,
    reason = "stands in for a call that can fail"
)]
pub(super) fn make_private(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Does nothing: directories cannot be opened here.
#[expect(
    clippy::unnecessary_wraps,
    reason = "stands in for a call that can fail"
)]
pub(super) fn flush_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}
