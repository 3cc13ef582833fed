//! Which object holds what. `docs/artifacts.md` shows the result to people.
//!
//! ```text
//! report.csv/v0/report.csv        the bytes of version 0
//! report.csv/v0/.artifact.json    its record: media type, metadata, size
//! .staging/<writer>/…             unfinished writes
//! ```
//!
//! No name of an artifact can reach a path that another one uses, because a stored segment never begins
//! with a dot and never reads `v` and digits.

use object_store::path::{Path, PathPart};

use crate::{
    escape::{escape, unescape, version_number},
    name::ArtifactName,
};

/// Below it are unfinished writes.
pub(crate) const STAGING: &str = ".staging";
/// The record of a version.
const RECORD: &str = ".artifact.json";

/// Where things are in a store whose artifacts begin at `root`.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    root: Path,
}

/// What an object of a version holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Record,
    Bytes,
}

impl Layout {
    pub(crate) fn new(root: Path) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where the versions of `name` are.
    pub(crate) fn artifact(&self, name: &ArtifactName) -> Path {
        self.root.parts().chain(name.directory().parts()).collect()
    }

    pub(crate) fn record(&self, name: &ArtifactName, version: u32) -> Path {
        self.version(name, version).join(RECORD)
    }

    pub(crate) fn bytes(&self, name: &ArtifactName, version: u32) -> Path {
        let directory = self.version(name, version);
        directory.parts().chain(name.file().parts()).collect()
    }

    /// Where an unfinished write of `writer` goes.
    pub(crate) fn temporary(&self, writer: &str, number: u64) -> Path {
        let staging = self.root.clone().join(STAGING).join(writer);
        staging.join(format!("upload-{number}"))
    }

    /// The version that a directory directly below [`Self::artifact`] is for.
    pub(crate) fn version_of(directory: &Path) -> Option<u32> {
        version_number(directory.filename()?)
    }

    /// What `object` is a part of; `None` if it is not of an artifact.
    pub(crate) fn parse(&self, object: &Path) -> Option<(ArtifactName, u32, Part)> {
        let parts: Vec<PathPart<'_>> = object.prefix_match(&self.root)?.collect();
        let [directory @ .., version, file] = parts.as_slice() else {
            return None;
        };
        let version = version_number(version.as_ref())?;
        let segments: Option<Vec<String>> = directory
            .iter()
            .map(|part| unescape(part.as_ref()))
            .collect();
        let segments = segments?;
        let name = ArtifactName::parse(&segments.join("/")).ok()?;
        if file.as_ref() == RECORD {
            Some((name, version, Part::Record))
        } else if file.as_ref() == escape(segments.last()?) {
            Some((name, version, Part::Bytes))
        } else {
            None
        }
    }

    fn version(&self, name: &ArtifactName, version: u32) -> Path {
        self.artifact(name).join(format!("v{version}"))
    }
}

#[cfg(test)]
mod tests;
