//! A directory as an object store: opening it, and clearing up after stores that were killed.

mod private;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "portable.rs")]
mod system;

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use object_store::local::LocalFileSystem;

use self::private::PrivateFiles;
use crate::{error::ArtifactError, layout::STAGING, limits::ArtifactLimits};

/// Held by an opening store while it clears up, below [`STAGING`]; and by each store for its life, below
/// its own directory there.
const LOCK: &str = "lock";

/// How to keep artifacts in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectoryOptions {
    /// How much it takes. Default [`ArtifactLimits::default`].
    pub limits: ArtifactLimits,
    /// Whether a version that was reported as saved survives a power failure: files and directories are
    /// flushed to disk before. Default `true`. A crash of the process never harms a saved version.
    pub sync: bool,
}

impl Default for DirectoryOptions {
    fn default() -> Self {
        Self {
            limits: ArtifactLimits::default(),
            sync: true,
        }
    }
}

impl DirectoryOptions {
    /// Replaces how much it takes.
    #[must_use]
    pub fn with_limits(mut self, limits: ArtifactLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets whether saved versions survive a power failure.
    #[must_use]
    pub fn with_sync(mut self, sync: bool) -> Self {
        self.sync = sync;
        self
    }
}

/// A directory that is ready for use.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) objects: PrivateFiles,
    pub(crate) presence: Presence,
    pub(crate) place: String,
}

/// Opens the directory at `path`, making it if it is missing, for the store called `writer`.
pub(crate) async fn open(
    path: PathBuf,
    writer: String,
    sync: bool,
) -> Result<Opened, ArtifactError> {
    let opened = tokio::task::spawn_blocking(move || open_blocking(&path, &writer, sync)).await;
    opened.unwrap_or_else(|error| {
        Err(ArtifactError::storage(
            "open the artifact store",
            "directory",
            error,
        ))
    })
}

fn open_blocking(path: &Path, writer: &str, sync: bool) -> Result<Opened, ArtifactError> {
    let mut place = path.display().to_string();
    let failed = |place: &str, error: io::Error| {
        ArtifactError::storage("open the artifact directory", place, error)
    };
    system::create_private_dirs(path).map_err(|error| failed(&place, error))?;
    let root = fs::canonicalize(path).map_err(|error| failed(&place, error))?;
    place = root.display().to_string();
    let presence = Presence::announce(&root, writer).map_err(|error| failed(&place, error))?;
    probe(&presence.directory, &place)?;
    let files = LocalFileSystem::new_with_prefix(&root)
        .map_err(|error| ArtifactError::storage("open the artifact directory", &*place, error))?
        .with_automatic_cleanup(true)
        .with_fsync(sync);
    Ok(Opened {
        objects: PrivateFiles::new(files, root, presence.directory.clone(), sync),
        presence,
        place,
    })
}

/// Does once, in a place of its own, what a save needs the file system for.
fn probe(directory: &Path, place: &str) -> Result<(), ArtifactError> {
    let (file, moved) = (directory.join("probe"), directory.join("probed"));
    fs::write(&file, "probe")
        .and_then(|()| fs::rename(&file, &moved))
        .and_then(|()| fs::remove_file(&moved))
        .map_err(|error| ArtifactError::storage("write to the artifact directory", place, error))
}

/// Shows other processes that a store is alive, and holds its unfinished writes. Ends with it.
#[derive(Debug)]
pub(crate) struct Presence {
    directory: PathBuf,
    /// The lock falls with the process, however that ends.
    _lock: File,
}

impl Presence {
    /// Announces `writer` in `root`, and removes what stores left there that are gone.
    fn announce(root: &Path, writer: &str) -> io::Result<Self> {
        let staging = root.join(STAGING);
        system::create_private_dirs(&staging)?;
        // One store opens at a time, so that none is taken for dead before it holds its own lock.
        let gate = system::open_private(&staging.join(LOCK))?;
        let locks = match gate.lock() {
            Ok(()) => true,
            // Without locks nobody can be told to be dead: everything stays.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => false,
            Err(error) => return Err(error),
        };
        if locks {
            remove_dead(&staging)?;
        }
        let directory = staging.join(writer);
        system::create_private_dirs(&directory)?;
        let lock = system::open_private(&directory.join(LOCK))?;
        if locks {
            lock.lock()?;
        }
        Ok(Self {
            directory,
            _lock: lock,
        })
    }

    /// Tells whether a writer that is named in a record is gone.
    pub(crate) fn gone(&self) -> impl Fn(&str) -> bool + use<> {
        let staging = self.directory.parent().map(Path::to_path_buf);
        move |writer| {
            // The record may be anybody's work: it must not make a path of its own.
            let plain = writer.bytes().all(|byte| byte.is_ascii_hexdigit());
            plain
                && staging
                    .as_ref()
                    .is_some_and(|staging| !staging.join(writer).exists())
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next store that opens the directory.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Removes the directories of stores whose lock is free.
fn remove_dead(staging: &Path) -> io::Result<()> {
    for entry in fs::read_dir(staging)? {
        let directory = entry?.path();
        if !directory.is_dir() {
            continue;
        }
        let dead = match File::open(directory.join(LOCK)).map(|lock| lock.try_lock()) {
            Ok(Ok(())) => true,
            Ok(Err(TryLockError::WouldBlock)) => false,
            Ok(Err(TryLockError::Error(error))) => return Err(error),
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(error),
        };
        if dead {
            match fs::remove_dir_all(&directory) {
                // It was not dead, it was just being closed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
    }
    Ok(())
}
