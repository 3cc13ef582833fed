//! Saving what does not fit in memory: parts go to a temporary object, which becomes a version at the end.

use std::{fmt, sync::atomic::Ordering};

use codehatch_tools::BoxFuture;
use object_store::{Error, MultipartUpload, ObjectStoreExt as _, PutPayload, path::Path};

use super::save::Pending;
use crate::{
    error::ArtifactError,
    mime::TextCheck,
    store::{ArtifactWriter, Saved},
};

/// Writes one version. Holds at most one part of it.
pub(super) struct ObjectWriter {
    pending: Pending,
    text: Option<TextCheck>,
    /// What was not written yet; shorter than a part.
    buffer: Vec<u8>,
    /// Begun with the first whole part.
    upload: Option<Upload>,
    /// A write is under way or failed, so that it is unknown what was written.
    broken: bool,
}

struct Upload {
    temporary: Path,
    parts: Box<dyn MultipartUpload>,
}

impl ObjectWriter {
    pub(super) fn new(pending: Pending) -> Self {
        Self {
            text: pending.record.mime_type.is_empty().then(TextCheck::new),
            pending,
            buffer: Vec::new(),
            upload: None,
            broken: false,
        }
    }

    async fn append(&mut self, mut chunk: &[u8]) -> Result<(), ArtifactError> {
        self.check()?;
        let bytes = self.bytes().saturating_add(chunk.len() as u64);
        self.pending.resize(bytes)?;
        self.broken = true;
        if let Some(text) = &mut self.text {
            text.add(chunk);
        }
        let part_bytes = self.pending.shared.part_bytes;
        while self.buffer.len() + chunk.len() >= part_bytes {
            let (head, tail) = chunk.split_at(part_bytes - self.buffer.len());
            self.buffer.extend_from_slice(head);
            chunk = tail;
            self.flush().await.map_err(self.pending.failed())?;
        }
        self.buffer.extend_from_slice(chunk);
        self.broken = false;
        Ok(())
    }

    /// Writes the buffer as one part.
    async fn flush(&mut self) -> Result<(), Error> {
        let part = PutPayload::from(std::mem::take(&mut self.buffer));
        let upload = match &mut self.upload {
            Some(upload) => upload,
            none => {
                let shared = &self.pending.shared;
                let number = shared.uploads.fetch_add(1, Ordering::Relaxed);
                let temporary = shared.layout.temporary(&shared.writer, number);
                let parts = shared.objects.put_multipart(&temporary).await?;
                none.insert(Upload { temporary, parts })
            }
        };
        upload.parts.put_part(part).await
    }

    async fn commit(mut self) -> Result<Saved, ArtifactError> {
        self.check()?;
        if let Some(text) = &self.text {
            text.mime_type()
                .clone_into(&mut self.pending.record.mime_type);
        }
        if self.upload.is_some() && !self.buffer.is_empty() {
            self.flush().await.map_err(self.pending.failed())?;
        }
        let Some(mut upload) = self.upload else {
            return self.pending.save(self.buffer.into()).await;
        };
        // Claimed before the temporary object is completed: until then, dropping the upload removes it.
        let object = self.pending.claim().await?;
        let objects = &self.pending.shared.objects;
        let written = match upload.parts.complete().await {
            // The claim makes the target ours alone.
            Ok(_) => objects.rename(&upload.temporary, &object).await,
            Err(error) => Err(error),
        };
        if written.is_err() {
            // It may not be there; if it stays, it is cleared up as any temporary is.
            let _ = objects.delete(&upload.temporary).await;
        }
        self.pending.settle(written).await
    }

    fn check(&self) -> Result<(), ArtifactError> {
        if self.broken {
            let name = self.pending.name.clone();
            return Err(ArtifactError::Incomplete { name });
        }
        Ok(())
    }
}

impl ArtifactWriter for ObjectWriter {
    fn write<'a>(&'a mut self, chunk: &'a [u8]) -> BoxFuture<'a, Result<(), ArtifactError>> {
        Box::pin(self.append(chunk))
    }

    fn bytes(&self) -> u64 {
        self.pending.record.bytes
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<Saved, ArtifactError>> {
        Box::pin(self.commit())
    }

    fn abort(mut self: Box<Self>) -> BoxFuture<'static, Result<(), ArtifactError>> {
        Box::pin(async move {
            let Some(mut upload) = self.upload.take() else {
                return Ok(());
            };
            let name = &self.pending.name;
            let failed = self
                .pending
                .shared
                .failed(format!("give up artifact `{name}`"));
            upload.parts.abort().await.map_err(failed)
        })
    }
}

impl fmt::Debug for ObjectWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectWriter")
            .field("name", &self.pending.name)
            .field("bytes", &self.pending.record.bytes)
            .field("store", &self.pending.shared)
            .finish_non_exhaustive()
    }
}
