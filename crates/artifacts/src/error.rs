//! Why an artifact could not be kept or read.

use std::{error::Error as StdError, fmt, io};

use crate::{
    limits::{LimitFault, MAX_METADATA_BYTES},
    name::{ArtifactName, InvalidName},
};

/// What caused an error of a store.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// Why an artifact could not be kept or read. Versions that were there before are untouched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The text is no name.
    #[error(transparent)]
    InvalidName(#[from] InvalidName),
    /// What came with the bytes cannot be kept. Nothing was saved.
    #[error("cannot save artifact `{name}`: {fault}")]
    InvalidOption {
        /// The artifact.
        name: ArtifactName,
        /// What cannot be kept.
        fault: OptionFault,
    },
    /// A limit of the store. Nothing was saved.
    #[error("cannot save artifact `{name}`: {fault}, or raise the limit on the host")]
    LimitExceeded {
        /// The artifact.
        name: ArtifactName,
        /// Which limit, and by what.
        fault: LimitFault,
    },
    /// The version is there, but not as it was saved.
    #[error(
        "artifact `{name}` version {version} in `{place}` is damaged: {damage}; \
         restore it from a backup, or delete the artifact"
    )]
    Damaged {
        /// The artifact.
        name: ArtifactName,
        /// The version.
        version: u32,
        /// The store.
        place: String,
        /// What is wrong with it.
        damage: String,
    },
    /// Whatever keeps the bytes failed.
    #[error("cannot {action} in `{place}`: {problem}")]
    Storage {
        /// What was tried, such as "save artifact `a`".
        action: String,
        /// The directory or object store.
        place: String,
        /// What went wrong and what to do.
        problem: StorageProblem,
        /// The cause.
        source: Cause,
    },
    /// The writer had failed before. Nothing was saved.
    #[error(
        "artifact `{name}` is incomplete, because a write failed or was cancelled; write it anew"
    )]
    Incomplete {
        /// The artifact.
        name: ArtifactName,
    },
}

impl ArtifactError {
    /// A failure of the storage at `place` while doing `action`.
    pub fn storage(
        action: impl Into<String>,
        place: impl Into<String>,
        source: impl Into<Cause>,
    ) -> Self {
        let source = source.into();
        Self::Storage {
            action: action.into(),
            place: place.into(),
            problem: StorageProblem::of(&*source),
            source,
        }
    }

    /// The message without places on the host, for a program that is not trusted with them.
    pub fn public_message(&self) -> String {
        match self {
            Self::Storage {
                action, problem, ..
            } => format!("cannot {action}: {problem}"),
            Self::Damaged {
                name,
                version,
                damage,
                ..
            } => format!("artifact `{name}` version {version} is damaged: {damage}"),
            other => other.to_string(),
        }
    }
}

/// What came with the bytes and cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionFault {
    /// The media type is not `type/subtype` in at most 255 printable ASCII characters.
    #[error("its media type is not like `text/csv`, in at most 255 printable ASCII characters")]
    MimeType,
    /// The metadata is longer than [`MAX_METADATA_BYTES`].
    #[error("its metadata takes {bytes} bytes, the limit is {MAX_METADATA_BYTES}")]
    MetadataTooLong {
        /// How long it is.
        bytes: usize,
    },
    /// The metadata is not an object, or has `NaN`, an infinity or half a surrogate pair in it.
    #[error("its metadata is not a standard JSON object")]
    MetadataNotObject,
}

/// What went wrong in a directory or object store, and what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StorageProblem {
    /// No space, or the quota is used up.
    Full,
    /// The file system is read-only.
    ReadOnly,
    /// This user or these credentials may not.
    Denied,
    /// The directory or bucket is not there.
    Vanished,
    /// The object store cannot create something only where nothing is.
    NoCreateNew,
    /// Anything else; the cause says what.
    Other,
}

impl fmt::Display for StorageProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "its disk or quota is full; free space there, or choose another place",
            Self::ReadOnly => {
                "its file system is read-only; mount it writable, or choose another directory"
            }
            Self::Denied => {
                "permission denied; make it writable for this user, or choose another place"
            }
            Self::Vanished => {
                "it is not there; restore or mount it again, then open the store again"
            }
            Self::NoCreateNew => {
                "it has no conditional puts, so versions could be overwritten; choose another store"
            }
            Self::Other => "the storage failed; see the cause in the host's log, then try again",
        })
    }
}

impl StorageProblem {
    /// Finds the problem in an error or its causes.
    fn of(error: &(dyn StdError + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            let found = if let Some(error) = error.downcast_ref::<io::Error>() {
                Self::of_io(error.kind())
            } else if let Some(error) = error.downcast_ref::<object_store::Error>() {
                Self::of_object_store(error)
            } else {
                None
            };
            if let Some(problem) = found {
                return problem;
            }
            next = error.source();
        }
        Self::Other
    }

    fn of_io(kind: io::ErrorKind) -> Option<Self> {
        match kind {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(Self::Full),
            io::ErrorKind::ReadOnlyFilesystem => Some(Self::ReadOnly),
            io::ErrorKind::PermissionDenied => Some(Self::Denied),
            io::ErrorKind::NotFound => Some(Self::Vanished),
            _ => None,
        }
    }

    fn of_object_store(error: &object_store::Error) -> Option<Self> {
        match error {
            object_store::Error::NotFound { .. } => Some(Self::Vanished),
            object_store::Error::PermissionDenied { .. }
            | object_store::Error::Unauthenticated { .. } => Some(Self::Denied),
            object_store::Error::NotImplemented { .. } => Some(Self::NoCreateNew),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage(source: impl Into<Cause>) -> ArtifactError {
        ArtifactError::storage("save artifact `a`", "/srv/kept", source)
    }

    #[test]
    fn a_message_names_the_place_and_the_next_step() {
        let kinds = [
            io::ErrorKind::StorageFull,
            io::ErrorKind::ReadOnlyFilesystem,
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::NotFound,
            io::ErrorKind::TimedOut,
        ];
        let messages: Vec<String> = kinds
            .map(|kind| storage(io::Error::from(kind)).to_string())
            .into();
        insta::assert_debug_snapshot!(messages, @r#"
        [
            "cannot save artifact `a` in `/srv/kept`: its disk or quota is full; free space there, or choose another place",
            "cannot save artifact `a` in `/srv/kept`: its file system is read-only; mount it writable, or choose another directory",
            "cannot save artifact `a` in `/srv/kept`: permission denied; make it writable for this user, or choose another place",
            "cannot save artifact `a` in `/srv/kept`: it is not there; restore or mount it again, then open the store again",
            "cannot save artifact `a` in `/srv/kept`: the storage failed; see the cause in the host's log, then try again",
        ]
        "#);
    }

    #[test]
    fn the_problem_is_found_below_an_object_stores_error() {
        let error = storage(object_store::Error::Generic {
            store: "S",
            source: Box::new(io::Error::from(io::ErrorKind::QuotaExceeded)),
        });
        let ArtifactError::Storage { problem, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(problem, StorageProblem::Full);
    }

    #[test]
    fn the_public_message_has_no_path() {
        let error = storage(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(
            error.public_message(),
            "cannot save artifact `a`: its disk or quota is full; free space there, or choose \
             another place"
        );
    }
}
