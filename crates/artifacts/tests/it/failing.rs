//! An object store whose operations fail on demand.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use codehatch_artifacts::object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, memory::InMemory,
    path::Path,
};
use futures_util::stream::BoxStream;

/// Memory whose writes succeed `left` times and then find the disk full.
#[derive(Debug, Default)]
pub(crate) struct FullAfter {
    pub(crate) left: AtomicUsize,
    pub(crate) objects: InMemory,
}

impl FullAfter {
    pub(crate) fn new(writes: usize) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicUsize::new(writes),
            objects: InMemory::new(),
        })
    }

    fn write(&self) -> Result<()> {
        let left = self
            .left
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
        left.map(drop).map_err(|_| Error::Generic {
            store: "FullAfter",
            source: Box::new(io::Error::from(io::ErrorKind::StorageFull)),
        })
    }
}

impl fmt::Display for FullAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("small disk")
    }
}

#[async_trait]
impl ObjectStore for FullAfter {
    async fn put_opts(
        &self,
        to: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.write()?;
        self.objects.put_opts(to, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        to: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.write()?;
        self.objects.put_multipart_opts(to, options).await
    }

    async fn get_opts(&self, from: &Path, options: GetOptions) -> Result<GetResult> {
        self.objects.get_opts(from, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.objects.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.objects.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.write()?;
        self.objects.copy_opts(from, to, options).await
    }
}
