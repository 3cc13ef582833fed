//! Reading: only versions whose record and bytes are both there exist.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::{
    StreamExt as _, TryStreamExt as _,
    stream::{self, BoxStream},
};
use object_store::{Error, GetOptions, GetResult, ObjectStoreExt as _};

use super::Shared;
use crate::{
    error::ArtifactError,
    layout::{Layout, Part},
    name::ArtifactName,
    record::{MAX_RECORD_BYTES, Record},
    store::{Artifact, ArtifactInfo, ArtifactReader},
};

/// Versions that are looked at at once.
const PARALLEL: usize = 16;

/// The objects of one version that were found, by their length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub(super) record: Option<u64>,
    pub(super) bytes: Option<u64>,
}

impl Held {
    pub(super) fn total(self) -> u64 {
        self.record.unwrap_or(0) + self.bytes.unwrap_or(0)
    }
}

impl Shared {
    pub(super) async fn read(
        &self,
        name: &ArtifactName,
        version: Option<u32>,
    ) -> Result<Option<ArtifactReader>, ArtifactError> {
        let found = self.find(name, version, GetOptions::default()).await?;
        Ok(found.map(|(info, object)| ArtifactReader {
            bytes: self.checked(&info, object),
            info,
        }))
    }

    pub(super) async fn load(
        &self,
        name: &ArtifactName,
        version: Option<u32>,
    ) -> Result<Option<Artifact>, ArtifactError> {
        let Some((info, object)) = self.find(name, version, GetOptions::default()).await? else {
            return Ok(None);
        };
        let bytes = object.bytes().await.map_err(self.failed_to_read(name))?;
        Ok(Some(Artifact { info, bytes }))
    }

    pub(super) async fn stat(
        &self,
        name: &ArtifactName,
        version: Option<u32>,
    ) -> Result<Option<ArtifactInfo>, ArtifactError> {
        let head = GetOptions::default().with_head(true);
        let found = self.find(name, version, head).await?;
        Ok(found.map(|(info, _)| info))
    }

    pub(super) async fn list(&self) -> Result<Vec<ArtifactName>, ArtifactError> {
        let found = self.scan().await.map_err(self.failed("list artifacts"))?;
        let complete = found
            .into_iter()
            .filter(|(_, held)| held.record.is_some() && held.bytes.is_some());
        // Sorted by name first, as the keys of the map are.
        let mut names: Vec<ArtifactName> = complete.map(|((name, _), _)| name).collect();
        names.dedup();
        Ok(names)
    }

    pub(super) async fn versions(&self, name: &ArtifactName) -> Result<Vec<u32>, ArtifactError> {
        let claimed = self
            .claimed(name)
            .await
            .map_err(self.failed_to_read(name))?;
        let complete: Result<Vec<Option<u32>>, Error> = stream::iter(claimed)
            .map(|version| async move {
                match self.objects.head(&self.layout.bytes(name, version)).await {
                    Ok(_) => Ok(Some(version)),
                    Err(Error::NotFound { .. }) => Ok(None),
                    Err(error) => Err(error),
                }
            })
            .buffered(PARALLEL)
            .try_collect()
            .await;
        let complete = complete.map_err(self.failed_to_read(name))?;
        Ok(complete.into_iter().flatten().collect())
    }

    /// The version numbers of `name` that are taken, complete or not, ascending.
    pub(super) async fn claimed(&self, name: &ArtifactName) -> Result<Vec<u32>, Error> {
        let directory = self.layout.artifact(name);
        let listing = self.objects.list_with_delimiter(Some(&directory)).await?;
        let found = listing
            .common_prefixes
            .iter()
            .filter_map(Layout::version_of);
        let mut versions: Vec<u32> = found.collect();
        versions.sort_unstable();
        Ok(versions)
    }

    /// All versions of all artifacts, complete or not.
    pub(super) async fn scan(&self) -> Result<BTreeMap<(ArtifactName, u32), Held>, Error> {
        let mut found = BTreeMap::<_, Held>::new();
        let mut objects = self.objects.list(Some(self.layout.root()));
        while let Some(object) = objects.try_next().await? {
            if let Some((name, version, part)) = self.layout.parse(&object.location) {
                let held = found.entry((name, version)).or_default();
                match part {
                    Part::Record => held.record = Some(object.size),
                    Part::Bytes => held.bytes = Some(object.size),
                }
            }
        }
        Ok(found)
    }

    /// Finds a version, or the latest complete one.
    async fn find(
        &self,
        name: &ArtifactName,
        version: Option<u32>,
        options: GetOptions,
    ) -> Result<Option<(ArtifactInfo, GetResult)>, ArtifactError> {
        let candidates = match version {
            Some(version) => vec![version],
            None => self
                .claimed(name)
                .await
                .map_err(self.failed_to_read(name))?,
        };
        for version in candidates.into_iter().rev() {
            let found = self.version(name, version, options.clone()).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    async fn version(
        &self,
        name: &ArtifactName,
        version: u32,
        options: GetOptions,
    ) -> Result<Option<(ArtifactInfo, GetResult)>, ArtifactError> {
        let damaged = |damage| self.damaged(name, version, damage);
        let bytes = self.layout.bytes(name, version);
        let object = match self.objects.get_opts(&bytes, options).await {
            Ok(object) => object,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(self.failed_to_read(name)(error)),
        };
        let json = match self.objects.get(&self.layout.record(name, version)).await {
            Ok(record) if record.meta.size > MAX_RECORD_BYTES => {
                let size = record.meta.size;
                return Err(damaged(format!("its record is {size} bytes long")));
            }
            Ok(record) => record.bytes().await.map_err(self.failed_to_read(name))?,
            // Deleted between the two requests.
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(self.failed_to_read(name)(error)),
        };
        let info = Record::parse(&json, name, version)
            .and_then(|record| record.into_info(name.clone()))
            .map_err(damaged)?;
        if object.meta.size != info.bytes {
            let (size, saved) = (object.meta.size, info.bytes);
            return Err(damaged(format!(
                "it is {size} bytes long, but {saved} were saved"
            )));
        }
        Ok(Some((info, object)))
    }

    /// The bytes of `object`, which must be as many as `info` says.
    fn checked(
        &self,
        info: &ArtifactInfo,
        object: GetResult,
    ) -> BoxStream<'static, Result<Bytes, ArtifactError>> {
        let short = self.damaged(&info.name, info.version, "it ends too early".to_owned());
        let read = format!("read artifact `{}`", info.name);
        let place = self.place.clone();
        let chunks = object
            .into_stream()
            .map_err(move |error| ArtifactError::storage(&*read, &*place, error));
        let state = (chunks, info.bytes, Some(short));
        let checked = stream::try_unfold(state, async |(mut chunks, left, mut short)| {
            if left == 0 {
                return Ok(None);
            }
            let chunk = chunks.try_next().await?.unwrap_or_default();
            // A file that was cut short meanwhile yields empty chunks for ever.
            match left.checked_sub(chunk.len() as u64) {
                Some(rest) if !chunk.is_empty() => Ok(Some((chunk, (chunks, rest, short)))),
                _ => short.take().map_or(Ok(None), Err),
            }
        });
        checked.boxed()
    }

    fn damaged(&self, name: &ArtifactName, version: u32, damage: String) -> ArtifactError {
        ArtifactError::Damaged {
            name: name.clone(),
            version,
            place: self.place.clone(),
            damage,
        }
    }
}
