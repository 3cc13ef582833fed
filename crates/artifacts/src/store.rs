//! The seam between the engine and wherever artifacts are kept.

use std::{fmt, time::SystemTime};

use bytes::Bytes;
use codehatch_protocol::RawJson;
use codehatch_tools::BoxFuture;
use futures_util::stream::BoxStream;

use crate::{error::ArtifactError, name::ArtifactName};

/// Keeps named, versioned files. Versions of a name count up from 0; none is ever overwritten.
///
/// Object-safe, so that an application can keep artifacts in a service of its own. Every method may be
/// called at any time from any task.
pub trait ArtifactStore: fmt::Debug + Send + Sync {
    /// Keeps `bytes`, unaltered, as the next version of `name`.
    ///
    /// Dropping the future leaves the version there in full or not at all.
    fn save<'a>(
        &'a self,
        name: &'a ArtifactName,
        bytes: Bytes,
        options: SaveOptions,
    ) -> BoxFuture<'a, Result<Saved, ArtifactError>>;

    /// Begins to keep what is too large to hold in memory. Nothing is there before
    /// [`ArtifactWriter::finish`], which also picks the version.
    fn writer<'a>(
        &'a self,
        name: &'a ArtifactName,
        options: SaveOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ArtifactWriter>, ArtifactError>>;

    /// Opens a version, or the latest where none is given; `None` if there is no such version.
    /// Cancel-safe.
    fn read<'a>(
        &'a self,
        name: &'a ArtifactName,
        version: Option<u32>,
    ) -> BoxFuture<'a, Result<Option<ArtifactReader>, ArtifactError>>;

    /// Reads a whole version as [`Self::read`] does. Cancel-safe.
    fn load<'a>(
        &'a self,
        name: &'a ArtifactName,
        version: Option<u32>,
    ) -> BoxFuture<'a, Result<Option<Artifact>, ArtifactError>>;

    /// Describes a version as [`Self::read`] picks it, without its bytes. Cancel-safe.
    fn stat<'a>(
        &'a self,
        name: &'a ArtifactName,
        version: Option<u32>,
    ) -> BoxFuture<'a, Result<Option<ArtifactInfo>, ArtifactError>>;

    /// The names that have a version, sorted by their text. Cancel-safe.
    fn list(&self) -> BoxFuture<'_, Result<Vec<ArtifactName>, ArtifactError>>;

    /// The versions of `name`, ascending; empty if there is none. Cancel-safe.
    fn versions<'a>(
        &'a self,
        name: &'a ArtifactName,
    ) -> BoxFuture<'a, Result<Vec<u32>, ArtifactError>>;

    /// Deletes all versions of `name` and says whether there were any. The next save is version 0 again.
    ///
    /// Dropping the future may leave some versions behind.
    fn delete<'a>(&'a self, name: &'a ArtifactName) -> BoxFuture<'a, Result<bool, ArtifactError>>;
}

/// Takes the bytes of one version in pieces. Dropping it gives the version up.
pub trait ArtifactWriter: fmt::Debug + Send {
    /// Appends `chunk`.
    ///
    /// A chunk that would break a limit is refused as a whole and the writer stays as it was, so its
    /// owner can still keep what came before. After any other error, or if the future was dropped, the
    /// writer can only be given up.
    fn write<'a>(&'a mut self, chunk: &'a [u8]) -> BoxFuture<'a, Result<(), ArtifactError>>;

    /// Bytes taken so far.
    fn bytes(&self) -> u64;

    /// Makes what was written the next version of its name. Dropping the future leaves the version there
    /// in full or not at all.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<Saved, ArtifactError>>;

    /// Gives the version up and waits until nothing of it is left.
    fn abort(self: Box<Self>) -> BoxFuture<'static, Result<(), ArtifactError>>;
}

/// What is known of an artifact beside its bytes.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SaveOptions {
    /// Its media type, at most 255 printable ASCII characters. Default: guessed from the name, else from
    /// the bytes as `text/plain` or `application/octet-stream`. It never changes the bytes.
    pub mime_type: Option<String>,
    /// A JSON object of the caller's, kept to the letter. At most
    /// [`MAX_METADATA_BYTES`](crate::MAX_METADATA_BYTES). Default: none.
    pub metadata: Option<RawJson>,
}

impl SaveOptions {
    /// Sets the media type.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the caller's JSON object.
    #[must_use]
    pub fn with_metadata(mut self, metadata: RawJson) -> Self {
        self.metadata = Some(metadata);
        self
    }
}

/// A version that was just kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Its artifact.
    pub name: ArtifactName,
    /// Its number, from 0.
    pub version: u32,
    /// Its length.
    pub bytes: u64,
    /// Its media type, given or guessed.
    pub mime_type: String,
}

/// What is kept of a version beside its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactInfo {
    /// Its artifact.
    pub name: ArtifactName,
    /// Its number, from 0.
    pub version: u32,
    /// Its length.
    pub bytes: u64,
    /// Its media type, given or guessed when it was saved.
    pub mime_type: String,
    /// The JSON object that was saved with it.
    pub metadata: Option<RawJson>,
    /// When it was saved, to the millisecond, by the clock of the host that saved it.
    pub saved_at: SystemTime,
}

/// One version, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// What is known of it.
    pub info: ArtifactInfo,
    /// Its bytes, as they were saved.
    pub bytes: Bytes,
}

/// One version, to be read in pieces.
pub struct ArtifactReader {
    /// What is known of it.
    pub info: ArtifactInfo,
    /// Its bytes, in order. Ends after [`ArtifactInfo::bytes`] or with an error, never early without one.
    pub bytes: BoxStream<'static, Result<Bytes, ArtifactError>>,
}

impl fmt::Debug for ArtifactReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactReader")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}
