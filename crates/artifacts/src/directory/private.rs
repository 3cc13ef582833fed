//! The object store below: files and directories that only this user can read, and no half-written ones
//! outside of the staging area.

use std::{
    fmt, fs, io,
    io::Write as _,
    path::{Path as FilePath, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use futures_util::{StreamExt as _, TryFutureExt as _, stream::BoxStream};
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions,
    Result, local::LocalFileSystem, path::Path,
};

use super::system;

/// Times that the directories above a new one are made.
const CREATE_RETRIES: usize = 8;

/// Files below one directory, where `PutMode::Create` makes the directory of an object together with it, and
/// fails if there is one that is not empty. [`LocalFileSystem`] alone would give files the modes that the umask leaves,
/// put temporary files beside the real ones, make a root anew that was unmounted, and list one as empty.
#[derive(Clone, Debug)]
pub(crate) struct PrivateFiles {
    files: LocalFileSystem,
    place: Arc<Place>,
}

#[derive(Debug)]
struct Place {
    root: PathBuf,
    /// Where unfinished files go: on the same file system, cleared up after a crash.
    staging: PathBuf,
    sync: bool,
    temporaries: AtomicU64,
}

impl PrivateFiles {
    pub(super) fn new(files: LocalFileSystem, root: PathBuf, staging: PathBuf, sync: bool) -> Self {
        Self {
            files,
            place: Arc::new(Place {
                root,
                staging,
                sync,
                temporaries: AtomicU64::new(0),
            }),
        }
    }

    /// Runs file operations where they may block.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Place) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = Arc::clone(&self.place);
        tokio::task::spawn_blocking(move || work(&place)).await?
    }

    /// Makes the directories that `location` needs, for this user alone.
    async fn make_parents(&self, location: &Path) -> Result<()> {
        let path = self.files.path_to_filesystem(location)?;
        self.blocking(move |place| {
            place.check()?;
            place.make_parents(&path).map_err(generic)
        })
        .await
    }

    /// Fails if the directory is gone. Otherwise it would pass for an empty one.
    async fn present(self) -> Result<()> {
        self.blocking(Place::check).await
    }
}

impl Place {
    fn check(&self) -> Result<()> {
        fs::metadata(&self.staging).map(drop).map_err(generic)
    }

    /// Makes the directories above `path`, which is below the root, and flushes those that changed.
    fn make_parents(&self, path: &FilePath) -> io::Result<()> {
        let missing: Vec<&FilePath> = path
            .ancestors()
            .skip(1)
            .take_while(|directory| *directory != self.root && !directory.exists())
            .collect();
        let Some(last) = missing.first() else {
            return Ok(());
        };
        system::create_private_dirs(last)?;
        if self.sync {
            for parent in missing.iter().filter_map(|directory| directory.parent()) {
                system::flush_directory(parent)?;
            }
        }
        Ok(())
    }

    /// Writes `payload` to `path` as a whole or not at all.
    fn put(&self, path: &FilePath, payload: &PutPayload, create: bool) -> Result<()> {
        self.check()?;
        let number = self.temporaries.fetch_add(1, Ordering::Relaxed);
        let temporary = self.staging.join(format!("put-{number}"));
        let file = temporary.join(path.file_name().unwrap_or_default());
        let written = self.write(&temporary, &file, payload);
        let published = match written {
            Ok(()) if create => self.create(&temporary, path),
            Ok(()) => self.replace(&file, path),
            Err(error) => Err(error),
        };
        // Often it has been moved away; and nothing is lost if it stays until the store is closed.
        let _ = fs::remove_dir_all(&temporary);
        published.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::AlreadyExists {
                path: path.display().to_string(),
                source: Box::new(error),
            },
            _ => generic(error),
        })
    }

    fn write(&self, directory: &FilePath, file: &FilePath, payload: &PutPayload) -> io::Result<()> {
        system::create_private_dirs(directory)?;
        let mut file = system::open_private(file)?;
        for chunk in payload {
            file.write_all(chunk)?;
        }
        if self.sync { file.sync_all() } else { Ok(()) }
    }

    /// Moves a directory with a file in it to where `path` has to be, unless somebody else has put
    /// something there: systems replace an empty directory at most.
    ///
    /// So a version's directory appears together with its record, and needs no hard links.
    fn create(&self, temporary: &FilePath, path: &FilePath) -> io::Result<()> {
        if self.sync {
            system::flush_directory(temporary)?;
        }
        let target = path.parent().unwrap_or(&self.root);
        for _ in 0..CREATE_RETRIES {
            self.make_parents(target)?;
            match fs::rename(temporary, target) {
                Ok(()) => return self.flush_parent(target),
                // Another process just deleted an artifact, and the empty directories above it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let taken = error.kind() == io::ErrorKind::DirectoryNotEmpty || target.exists();
                    let exists = io::Error::new(io::ErrorKind::AlreadyExists, "something is there");
                    return Err(if taken { exists } else { error });
                }
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn replace(&self, file: &FilePath, path: &FilePath) -> io::Result<()> {
        self.make_parents(path)?;
        fs::rename(file, path)?;
        self.flush_parent(path)
    }

    fn flush_parent(&self, path: &FilePath) -> io::Result<()> {
        match path.parent() {
            Some(parent) if self.sync => system::flush_directory(parent),
            _ => Ok(()),
        }
    }
}

fn generic(error: io::Error) -> Error {
    Error::Generic {
        store: "directory",
        source: Box::new(error),
    }
}

impl fmt::Display for PrivateFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.root.display().fmt(f)
    }
}

#[async_trait]
impl ObjectStore for PrivateFiles {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let create = match options.mode {
            PutMode::Create => true,
            PutMode::Overwrite => false,
            // Refused there, with the words for it.
            PutMode::Update(_) => return self.files.put_opts(location, payload, options).await,
        };
        let path = self.files.path_to_filesystem(location)?;
        self.blocking(move |place| place.put(&path, &payload, create))
            .await?;
        Ok(PutResult {
            e_tag: None,
            version: None,
            extensions: options.extensions,
        })
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.make_parents(location).await?;
        self.files.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let found = self.files.get_opts(location, options).await;
        if let Err(Error::NotFound { .. }) = found {
            self.clone().present().await?;
        }
        found
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.files.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let listing = self.files.list(prefix);
        let present = self.clone().present();
        present
            .map_ok(move |()| listing)
            .try_flatten_stream()
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.clone().present().await?;
        self.files.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.make_parents(to).await?;
        self.files.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.make_parents(to).await?;
        let source = self.files.path_to_filesystem(from)?;
        self.blocking(move |_| system::make_private(&source).map_err(generic))
            .await?;
        self.files.rename_opts(from, to, options).await
    }
}
