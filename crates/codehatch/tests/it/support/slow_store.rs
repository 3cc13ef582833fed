//! A store that takes its time with each piece.

use std::time::Duration;

use bytes::Bytes;
use codehatch::{
    BoxFuture,
    artifacts::{
        Artifact, ArtifactError, ArtifactInfo, ArtifactLimits, ArtifactName, ArtifactReader,
        ArtifactStore, ArtifactWriter, ObjectArtifactStore, SaveOptions, Saved,
    },
};

#[derive(Debug)]
pub(crate) struct SlowStore {
    inner: ObjectArtifactStore,
    delay: Duration,
}

#[derive(Debug)]
struct SlowWriter {
    inner: Box<dyn ArtifactWriter>,
    delay: Duration,
}

impl SlowStore {
    pub(crate) fn new(delay: Duration) -> Self {
        Self {
            inner: ObjectArtifactStore::in_memory(ArtifactLimits::in_memory()),
            delay,
        }
    }
}

impl ArtifactStore for SlowStore {
    fn save<'a>(
        &'a self,
        name: &'a ArtifactName,
        bytes: Bytes,
        options: SaveOptions,
    ) -> BoxFuture<'a, Result<Saved, ArtifactError>> {
        self.inner.save(name, bytes, options)
    }

    fn writer<'a>(
        &'a self,
        name: &'a ArtifactName,
        options: SaveOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ArtifactWriter>, ArtifactError>> {
        Box::pin(async move {
            let inner = self.inner.writer(name, options).await?;
            let delay = self.delay;
            Ok(Box::new(SlowWriter { inner, delay }) as Box<dyn ArtifactWriter>)
        })
    }

    fn read<'a>(
        &'a self,
        name: &'a ArtifactName,
        version: Option<u32>,
    ) -> BoxFuture<'a, Result<Option<ArtifactReader>, ArtifactError>> {
        self.inner.read(name, version)
    }

    fn load<'a>(
        &'a self,
        name: &'a ArtifactName,
        version: Option<u32>,
    ) -> BoxFuture<'a, Result<Option<Artifact>, ArtifactError>> {
        self.inner.load(name, version)
    }

    fn stat<'a>(
        &'a self,
        name: &'a ArtifactName,
        version: Option<u32>,
    ) -> BoxFuture<'a, Result<Option<ArtifactInfo>, ArtifactError>> {
        self.inner.stat(name, version)
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<ArtifactName>, ArtifactError>> {
        self.inner.list()
    }

    fn versions<'a>(
        &'a self,
        name: &'a ArtifactName,
    ) -> BoxFuture<'a, Result<Vec<u32>, ArtifactError>> {
        self.inner.versions(name)
    }

    fn delete<'a>(&'a self, name: &'a ArtifactName) -> BoxFuture<'a, Result<bool, ArtifactError>> {
        self.inner.delete(name)
    }
}

impl ArtifactWriter for SlowWriter {
    fn write<'a>(&'a mut self, chunk: &'a [u8]) -> BoxFuture<'a, Result<(), ArtifactError>> {
        Box::pin(async move {
            tokio::time::sleep(self.delay).await;
            self.inner.write(chunk).await
        })
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<Saved, ArtifactError>> {
        self.inner.finish()
    }

    fn abort(self: Box<Self>) -> BoxFuture<'static, Result<(), ArtifactError>> {
        self.inner.abort()
    }
}
