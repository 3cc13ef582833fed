//! Saving: a version number is claimed by creating its record where none is, then its bytes follow.
//!
//! Creating only where nothing is, is the one thing that all stores do atomically, so no two savers, in
//! whatever process, get one version. A version without its bytes does not exist for readers.

use std::sync::Arc;

use bytes::Bytes;
use object_store::{Error, ObjectMeta, ObjectStoreExt as _, PutMode, PutPayload, path::Path};

use super::Shared;
use crate::{
    error::{ArtifactError, Cause},
    limits::{LimitFault, Reservation},
    mime::TextCheck,
    name::ArtifactName,
    record::{MAX_RECORD_BYTES, Record},
    store::{SaveOptions, Saved},
};

/// A version on its way in.
pub(super) struct Pending {
    pub(super) shared: Arc<Shared>,
    pub(super) name: ArtifactName,
    pub(super) record: Record,
    room: Reservation,
}

impl Pending {
    pub(super) fn new(
        shared: &Arc<Shared>,
        name: &ArtifactName,
        options: SaveOptions,
    ) -> Result<Self, ArtifactError> {
        let name = name.clone();
        match Record::new(&name, options, &shared.writer) {
            Ok(record) => Ok(Self {
                shared: Arc::clone(shared),
                name,
                record,
                room: Reservation::new(&shared.usage),
            }),
            Err(fault) => Err(ArtifactError::InvalidOption { name, fault }),
        }
    }

    /// Makes room for as many bytes, in place of what there was room for before.
    pub(super) fn resize(&mut self, bytes: u64) -> Result<(), ArtifactError> {
        let resized = self.room.resize(bytes, 0);
        resized.map_err(|fault| self.over_limit(fault))?;
        self.record.bytes = bytes;
        Ok(())
    }

    /// Keeps bytes that are all there.
    pub(super) async fn save(mut self, mut bytes: Bytes) -> Result<Saved, ArtifactError> {
        if self.record.mime_type.is_empty() {
            let mut text = TextCheck::new();
            text.add(&bytes);
            text.mime_type().clone_into(&mut self.record.mime_type);
        }
        self.resize(bytes.len() as u64)?;
        let object = self.claim().await?;
        if self.shared.in_memory {
            bytes = Bytes::copy_from_slice(&bytes);
        }
        let objects = &self.shared.objects;
        // The claim makes the place ours alone.
        let put = objects.put(&object, PutPayload::from(bytes)).await;
        self.settle(put.map(drop)).await
    }

    /// Claims the next version, and says where its bytes go. Room is kept until [`Self::settle`].
    pub(super) async fn claim(&mut self) -> Result<Path, ArtifactError> {
        let shared = Arc::clone(&self.shared);
        let _turn = shared.claims.lock().await;
        let taken = shared.claimed(&self.name).await.map_err(self.failed())?;
        let limit = shared.usage.limits().versions;
        let mut count = taken.len() as u64;
        if count == 0 {
            let added = self.room.add_artifact();
            added.map_err(|fault| self.over_limit(fault))?;
        }
        let mut next = taken.last().map_or(Some(0), |last| last.checked_add(1));
        loop {
            let version = next
                .filter(|_| count < limit)
                .ok_or_else(|| self.over_limit(LimitFault::Versions { limit }))?;
            self.record.version = version;
            let json = self.record.stamp().map_err(self.failed())?;
            let resized = self.room.resize(self.record.bytes, json.len() as u64);
            resized.map_err(|fault| self.over_limit(fault))?;
            self.room.keep();
            let object = shared.layout.record(&self.name, version);
            let create = PutMode::Create.into();
            let Err(error) = shared.objects.put_opts(&object, json.into(), create).await else {
                return Ok(shared.layout.bytes(&self.name, version));
            };
            self.room.unkeep();
            match error {
                // Another process was quicker.
                Error::AlreadyExists { .. } | Error::Precondition { .. } => {
                    next = version.checked_add(1);
                    count += 1;
                }
                error => return Err(self.failed()(error)),
            }
        }
    }

    /// Ends a claimed save whose bytes were written, or not.
    pub(super) async fn settle(
        mut self,
        written: Result<(), Error>,
    ) -> Result<Saved, ArtifactError> {
        let (shared, version) = (&self.shared, self.record.version);
        if let Err(error) = written {
            // The bytes first: without a record, nobody would find them again.
            let bytes = shared.layout.bytes(&self.name, version);
            for object in [bytes, shared.layout.record(&self.name, version)] {
                // They may well not be there, or the storage may be gone altogether.
                let _ = shared.objects.delete(&object).await;
            }
            self.room.unkeep();
            return Err(self.failed()(error));
        }
        Ok(Saved {
            name: self.name,
            version,
            bytes: self.record.bytes,
            mime_type: self.record.mime_type,
        })
    }

    pub(super) fn failed<E: Into<Cause>>(&self) -> impl FnOnce(E) -> ArtifactError {
        self.shared.failed(format!("save artifact `{}`", self.name))
    }

    fn over_limit(&self, fault: LimitFault) -> ArtifactError {
        ArtifactError::LimitExceeded {
            name: self.name.clone(),
            fault,
        }
    }
}

impl Shared {
    /// Deletes all versions that are complete. One that is being saved now comes after the deletion.
    pub(super) async fn delete(&self, name: &ArtifactName) -> Result<bool, ArtifactError> {
        let failed = || self.failed(format!("delete artifact `{name}`"));
        let _turn = self.claims.lock().await;
        let claimed = self.claimed(name).await.map_err(failed())?;
        let mut deleted = 0;
        for &version in &claimed {
            let bytes = self.layout.bytes(name, version);
            let size = match self.objects.head(&bytes).await {
                Ok(ObjectMeta { size, .. }) => size,
                Err(Error::NotFound { .. }) => continue,
                Err(error) => return Err(failed()(error)),
            };
            let record = self.layout.record(name, version);
            let record_size = self.objects.head(&record).await.map_or(0, |meta| meta.size);
            // The bytes first: half a deletion must not leave a version that lost its record.
            for object in [bytes, record] {
                match self.objects.delete(&object).await {
                    Ok(()) | Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(failed()(error)),
                }
            }
            deleted += 1;
            let last = u64::from(deleted == claimed.len());
            self.usage.remove(last, 1, size + record_size);
        }
        Ok(deleted > 0)
    }

    /// Counts what the store holds, and removes versions that `gone` writers will never complete.
    pub(super) async fn count(&self, gone: impl Fn(&str) -> bool) -> Result<(), ArtifactError> {
        let failed = || self.failed("open the artifact store");
        let mut previous = None;
        for ((name, version), held) in self.scan().await.map_err(failed())? {
            let record = self.layout.record(&name, version);
            if held.bytes.is_none() && self.is_abandoned(&record, &gone).await {
                let _ = self.objects.delete(&record).await;
                continue;
            }
            let first = u64::from(previous.as_ref() != Some(&name));
            self.usage.add(first, 1, held.total());
            previous = Some(name);
        }
        Ok(())
    }

    /// Whether the writer of a record without bytes is `gone`.
    async fn is_abandoned(&self, record: &Path, gone: &impl Fn(&str) -> bool) -> bool {
        let Ok(found) = self.objects.get(record).await else {
            return false;
        };
        if found.meta.size > MAX_RECORD_BYTES {
            return false;
        }
        let json = found.bytes().await.unwrap_or_default();
        Record::writer_of(&json).is_some_and(|writer| gone(&writer))
    }
}
