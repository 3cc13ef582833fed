//! How much a store takes. Checked here on the host, before anything is set aside.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Longest metadata of a version, in bytes of its JSON text (16 KiB).
pub const MAX_METADATA_BYTES: usize = 16 * 1024;

/// What a version costs beyond its objects: keys, map entries, blocks of the file system. In bytes.
const VERSION_OVERHEAD: u64 = 2 * 1024;

/// How much an artifact store takes. The store enforces it on every save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArtifactLimits {
    /// Length of one version, in bytes. Default 100 MiB.
    pub artifact_bytes: u64,
    /// All versions together, in bytes, each with its record and 2 KiB of overhead.
    /// Default 1 GiB; 256 MiB in memory.
    pub total_bytes: u64,
    /// Names. Default 10,000.
    pub artifacts: u64,
    /// Versions of one name. Default 1,000.
    pub versions: u64,
}

impl Default for ArtifactLimits {
    /// The limits of a store in a directory or an object store.
    fn default() -> Self {
        Self {
            artifact_bytes: 100 * 1024 * 1024,
            total_bytes: 1024 * 1024 * 1024,
            artifacts: 10_000,
            versions: 1_000,
        }
    }
}

impl ArtifactLimits {
    /// The default limits of a store in memory.
    pub fn in_memory() -> Self {
        Self::default().with_total_bytes(256 * 1024 * 1024)
    }

    /// Replaces the bound on the length of a version.
    #[must_use]
    pub fn with_artifact_bytes(mut self, bytes: u64) -> Self {
        self.artifact_bytes = bytes;
        self
    }

    /// Replaces the bound on all versions together.
    #[must_use]
    pub fn with_total_bytes(mut self, bytes: u64) -> Self {
        self.total_bytes = bytes;
        self
    }

    /// Replaces the bound on names.
    #[must_use]
    pub fn with_artifacts(mut self, artifacts: u64) -> Self {
        self.artifacts = artifacts;
        self
    }

    /// Replaces the bound on versions of a name.
    #[must_use]
    pub fn with_versions(mut self, versions: u64) -> Self {
        self.versions = versions;
        self
    }
}

/// Which limit a save would break, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitFault {
    /// [`ArtifactLimits::artifact_bytes`].
    #[error("{needed} bytes are over `artifact_bytes` = {limit}; save less")]
    ArtifactBytes {
        /// The limit.
        limit: u64,
        /// What the version would be long.
        needed: u64,
    },
    /// [`ArtifactLimits::total_bytes`].
    #[error(
        "all artifacts together would take {needed} bytes, over `total_bytes` = {limit}; save less"
    )]
    TotalBytes {
        /// The limit.
        limit: u64,
        /// What all versions would take.
        needed: u64,
    },
    /// [`ArtifactLimits::artifacts`].
    #[error("there are `artifacts` = {limit} names already; save to one of them")]
    Artifacts {
        /// The limit, which is reached.
        limit: u64,
    },
    /// [`ArtifactLimits::versions`].
    #[error("it has `versions` = {limit} already; save under another name")]
    Versions {
        /// The limit, which is reached.
        limit: u64,
    },
}

/// What a store holds, against its limits.
#[derive(Debug)]
pub(crate) struct Usage {
    limits: ArtifactLimits,
    bytes: AtomicU64,
    artifacts: AtomicU64,
}

impl Usage {
    pub(crate) fn new(limits: ArtifactLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            bytes: AtomicU64::new(0),
            artifacts: AtomicU64::new(0),
        })
    }

    pub(crate) fn limits(&self) -> &ArtifactLimits {
        &self.limits
    }

    /// Counts what was there before, even if it is over a limit.
    pub(crate) fn add(&self, artifacts: u64, versions: u64, object_bytes: u64) {
        let bytes = object_bytes + versions * VERSION_OVERHEAD;
        self.artifacts.fetch_add(artifacts, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Undoes [`Self::add`].
    pub(crate) fn remove(&self, artifacts: u64, versions: u64, object_bytes: u64) {
        let bytes = object_bytes + versions * VERSION_OVERHEAD;
        subtract(&self.artifacts, artifacts);
        subtract(&self.bytes, bytes);
    }
}

fn subtract(counter: &AtomicU64, amount: u64) {
    // Another process may have deleted what this one counts; never below zero.
    counter.update(Ordering::Relaxed, Ordering::Relaxed, |held| {
        held.saturating_sub(amount)
    });
}

/// Room set aside for one version; given back when dropped, unless it is kept.
#[derive(Debug)]
pub(crate) struct Reservation {
    usage: Arc<Usage>,
    bytes: u64,
    artifacts: u64,
    kept: bool,
}

impl Reservation {
    pub(crate) fn new(usage: &Arc<Usage>) -> Self {
        Self {
            usage: Arc::clone(usage),
            bytes: 0,
            artifacts: 0,
            kept: false,
        }
    }

    /// Makes room for a version of `length` bytes with a record of `record` bytes.
    pub(crate) fn resize(&mut self, length: u64, record: u64) -> Result<(), LimitFault> {
        let limits = self.usage.limits;
        if length > limits.artifact_bytes {
            return Err(LimitFault::ArtifactBytes {
                limit: limits.artifact_bytes,
                needed: length,
            });
        }
        let wanted = length.saturating_add(record + VERSION_OVERHEAD);
        let resized = |held: u64| held.saturating_sub(self.bytes).saturating_add(wanted);
        self.usage
            .bytes
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
                Some(resized(held)).filter(|&needed| needed <= limits.total_bytes)
            })
            .map_err(|held| LimitFault::TotalBytes {
                limit: limits.total_bytes,
                needed: resized(held),
            })?;
        self.bytes = wanted;
        Ok(())
    }

    /// Makes room for a name that the store does not have yet.
    pub(crate) fn add_artifact(&mut self) -> Result<(), LimitFault> {
        let limit = self.usage.limits.artifacts;
        self.usage
            .artifacts
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
                (held < limit).then_some(held + 1)
            })
            .map_err(|_| LimitFault::Artifacts { limit })?;
        self.artifacts = 1;
        Ok(())
    }

    /// From now on dropping it gives nothing back.
    ///
    /// Called before anything is written: if the write is dropped half-way, its outcome is unknown, and
    /// counting too much is safe where counting too little is not.
    pub(crate) fn keep(&mut self) {
        self.kept = true;
    }

    /// Undoes [`Self::keep`], because the write surely failed.
    pub(crate) fn unkeep(&mut self) {
        self.kept = false;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.kept {
            subtract(&self.usage.bytes, self.bytes);
            subtract(&self.usage.artifacts, self.artifacts);
        }
    }
}
