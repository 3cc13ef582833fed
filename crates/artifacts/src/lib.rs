//! Artifacts: named, versioned files that outlive a turn, and the tools that a model's program has for them.
//!
//! Bytes are kept as they are. Nothing here reads from a sandbox: whoever collects files there hands in
//! bytes.

mod directory;
mod error;
mod escape;
mod layout;
mod limits;
mod mime;
mod name;
mod object;
mod record;
mod store;
mod tools;

pub use directory::DirectoryOptions;
pub use error::{ArtifactError, Cause, OptionFault, StorageProblem};
pub use limits::{ArtifactLimits, LimitFault, MAX_METADATA_BYTES};
pub use name::{
    ArtifactName, InvalidName, MAX_NAME_BYTES, MAX_SEGMENT_BYTES, MAX_SEGMENTS, NameFault,
};
pub use object::ObjectArtifactStore;
pub use object_store;
pub use store::{
    Artifact, ArtifactInfo, ArtifactReader, ArtifactStore, ArtifactWriter, SaveOptions, Saved,
};
pub use tools::ArtifactTools;
