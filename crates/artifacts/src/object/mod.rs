//! Artifacts over any object store: memory, a directory, a bucket.

mod read;
mod save;
mod writer;

use std::{
    fmt,
    hash::{BuildHasher as _, RandomState},
    path::PathBuf,
    sync::{Arc, atomic::AtomicU64},
};

use bytes::Bytes;
use codehatch_tools::BoxFuture;
use object_store::{ObjectStore, memory::InMemory, path::Path};
use tokio::sync::Mutex;

use self::{save::Pending, writer::ObjectWriter};
use crate::{
    directory::{self, DirectoryOptions, Presence},
    error::{ArtifactError, Cause},
    layout::Layout,
    limits::{ArtifactLimits, Usage},
    name::ArtifactName,
    store::{
        Artifact, ArtifactInfo, ArtifactReader, ArtifactStore, ArtifactWriter, SaveOptions, Saved,
    },
};

/// What a writer holds back before it writes, in bytes. Buckets refuse smaller parts (5 MiB).
const PART_BYTES: usize = 5 * 1024 * 1024;
/// The same for a directory, which takes pieces of any length (1 MiB).
const DIRECTORY_PART_BYTES: usize = 1024 * 1024;

/// Artifacts in memory, in a directory or in an object store. Clones share one store.
#[derive(Clone, Debug)]
pub struct ObjectArtifactStore {
    shared: Arc<Shared>,
}

/// What the clones of a store and its writers share.
struct Shared {
    objects: Arc<dyn ObjectStore>,
    layout: Layout,
    /// How errors call the store.
    place: String,
    part_bytes: usize,
    /// Whether stored bytes stay in this process, and so must not keep a larger buffer of the caller alive.
    in_memory: bool,
    /// This open store, different from every other one.
    writer: String,
    usage: Arc<Usage>,
    /// Held while a version number is picked, so that savers of one process do not race for it.
    claims: Mutex<()>,
    uploads: AtomicU64,
    /// Keeps others from clearing up behind this store while it lives.
    _presence: Option<Presence>,
}

impl ObjectArtifactStore {
    /// Keeps artifacts in memory until the last clone is dropped. [`ArtifactLimits::in_memory`] has the
    /// usual limits; while a streamed artifact is put together, it is there twice.
    pub fn in_memory(limits: ArtifactLimits) -> Self {
        let shared = Shared {
            place: "memory".to_owned(),
            in_memory: true,
            ..Shared::new(Arc::new(InMemory::new()), Path::ROOT, limits)
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Keeps artifacts below the directory `path`, which is made if it is missing, for this user alone
    /// (0700). Fails unless a file can be created there and removed again.
    ///
    /// Removes what stores that were killed left unfinished. Several processes may share the directory;
    /// each counts against its limits what was there when it opened the directory and what it saves itself.
    /// Must be called in a tokio runtime.
    pub async fn open_directory(
        path: impl Into<PathBuf>,
        options: DirectoryOptions,
    ) -> Result<Self, ArtifactError> {
        let path = path.into();
        let writer = unique();
        let opened = directory::open(path, writer.clone(), options.sync).await?;
        let gone = opened.presence.gone();
        let shared = Shared {
            place: opened.place,
            part_bytes: DIRECTORY_PART_BYTES,
            writer,
            _presence: Some(opened.presence),
            ..Shared::new(Arc::new(opened.objects), Path::ROOT, options.limits)
        };
        shared.count(gone).await?;
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Keeps artifacts in `objects` below `root`. The store must be able to create an object only where
    /// none is (`PutMode::Create`).
    ///
    /// What a crash leaves unfinished lies below `root/.staging/` and in the store's own list of unfinished
    /// uploads; let the bucket's life cycle expire both. Limits count as in a shared directory.
    pub async fn open(
        objects: Arc<dyn ObjectStore>,
        root: Path,
        limits: ArtifactLimits,
    ) -> Result<Self, ArtifactError> {
        let shared = Shared::new(objects, root, limits);
        shared.count(|_| false).await?;
        Ok(Self {
            shared: Arc::new(shared),
        })
    }
}

impl Shared {
    fn new(objects: Arc<dyn ObjectStore>, root: Path, limits: ArtifactLimits) -> Self {
        Self {
            place: format!("{objects}/{root}"),
            objects,
            layout: Layout::new(root),
            part_bytes: PART_BYTES,
            in_memory: false,
            writer: unique(),
            usage: Usage::new(limits),
            claims: Mutex::new(()),
            uploads: AtomicU64::new(0),
            _presence: None,
        }
    }

    /// Makes an error of what failed in doing `action`.
    fn failed<E: Into<Cause>>(&self, action: impl Into<String>) -> impl FnOnce(E) -> ArtifactError {
        let (action, place) = (action.into(), self.place.clone());
        move |cause| ArtifactError::storage(action, place, cause)
    }

    fn failed_to_read<E: Into<Cause>>(
        &self,
        name: &ArtifactName,
    ) -> impl FnOnce(E) -> ArtifactError {
        self.failed(format!("read artifact `{name}`"))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectArtifactStore")
            .field("place", &self.place)
            .field("usage", &self.usage)
            .finish_non_exhaustive()
    }
}

/// A text that no other call returns, here or in any other process: 128 random bits.
fn unique() -> String {
    // The standard library seeds these from the operating system.
    let random = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", random(), random())
}

impl ArtifactStore for ObjectArtifactStore {
    fn save<'a>(
        &'a self,
        name: &'a ArtifactName,
        bytes: Bytes,
        options: SaveOptions,
    ) -> BoxFuture<'a, Result<Saved, ArtifactError>> {
        Box::pin(async move {
            let pending = Pending::new(&self.shared, name, options)?;
            pending.save(bytes).await
        })
    }

    fn writer<'a>(
        &'a self,
        name: &'a ArtifactName,
        options: SaveOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ArtifactWriter>, ArtifactError>> {
        Box::pin(async move {
            let writer = ObjectWriter::new(Pending::new(&self.shared, name, options)?);
            Ok(Box::new(writer) as Box<dyn ArtifactWriter>)
        })
    }

    fn read<'a>(
        &'a self,
        name: &'a ArtifactName,
        version: Option<u32>,
    ) -> BoxFuture<'a, Result<Option<ArtifactReader>, ArtifactError>> {
        Box::pin(self.shared.read(name, version))
    }

    fn load<'a>(
        &'a self,
        name: &'a ArtifactName,
        version: Option<u32>,
    ) -> BoxFuture<'a, Result<Option<Artifact>, ArtifactError>> {
        Box::pin(self.shared.load(name, version))
    }

    fn stat<'a>(
        &'a self,
        name: &'a ArtifactName,
        version: Option<u32>,
    ) -> BoxFuture<'a, Result<Option<ArtifactInfo>, ArtifactError>> {
        Box::pin(self.shared.stat(name, version))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<ArtifactName>, ArtifactError>> {
        Box::pin(self.shared.list())
    }

    fn versions<'a>(
        &'a self,
        name: &'a ArtifactName,
    ) -> BoxFuture<'a, Result<Vec<u32>, ArtifactError>> {
        Box::pin(self.shared.versions(name))
    }

    fn delete<'a>(&'a self, name: &'a ArtifactName) -> BoxFuture<'a, Result<bool, ArtifactError>> {
        Box::pin(self.shared.delete(name))
    }
}
