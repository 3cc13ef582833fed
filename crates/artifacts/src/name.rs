//! What an artifact may be called.

use std::fmt;

use object_store::path::Path;

use crate::escape::{escape, mark};

/// Longest name, in bytes as stored: a character that has to be escaped counts three per byte.
pub const MAX_NAME_BYTES: usize = 512;
/// Longest segment between two `/`, in bytes as stored. File systems stop at 255.
pub const MAX_SEGMENT_BYTES: usize = 200;
/// Most segments in a name.
pub const MAX_SEGMENTS: usize = 16;

/// The name of an artifact: a relative path such as `reports/q1.csv`, kept to the letter.
///
/// Any UTF-8 text of 1 to 16 segments separated by `/`, without empty segments, `.`, `..`, backslashes or
/// control characters, and within [`MAX_NAME_BYTES`] and [`MAX_SEGMENT_BYTES`]. Names that differ at all,
/// if only in letter case or in how an accent is composed, are different artifacts on every store.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactName {
    text: Box<str>,
    directory: Path,
    file: Path,
}

impl ArtifactName {
    /// Takes `text` if it is a name.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        let refuse = |fault| InvalidName {
            name: text.chars().take(80).collect(),
            fault,
        };
        check(text).map_err(refuse)?;
        let file = text.rsplit('/').next().map(escape).unwrap_or_default();
        let mut directory = String::new();
        let mut stored = 0;
        for segment in text.split('/') {
            let escaped = escape(segment);
            if escaped.len() > MAX_SEGMENT_BYTES {
                let stored = escaped.len();
                return Err(refuse(NameFault::SegmentTooLong { stored }));
            }
            let separator = if directory.is_empty() { "" } else { "/" };
            stored += separator.len() + escaped.len();
            directory.push_str(separator);
            directory.push_str(&escaped);
            directory.push_str(&mark(segment));
        }
        if stored > MAX_NAME_BYTES {
            return Err(refuse(NameFault::TooLong { stored }));
        }
        // Of what `escape` writes, object stores refuse nothing but control characters.
        let path = |text: String| Path::parse(text).map_err(|_| refuse(NameFault::Control));
        Ok(Self {
            text: text.into(),
            directory: path(directory)?,
            file: path(file)?,
        })
    }

    /// The name as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Where its versions are, below the root of a store.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// What its bytes are called inside a version.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }
}

/// The rules that do not depend on how names are stored.
fn check(text: &str) -> Result<(), NameFault> {
    if text.is_empty() {
        return Err(NameFault::Empty);
    }
    // Before anything walks over it: the text may come from hostile code.
    if text.len() > MAX_NAME_BYTES {
        return Err(NameFault::TooLong { stored: text.len() });
    }
    if text.starts_with('/') {
        return Err(NameFault::Absolute);
    }
    if text.contains('\\') {
        return Err(NameFault::Backslash);
    }
    if text.contains(char::is_control) {
        return Err(NameFault::Control);
    }
    let segments = text.split('/').count();
    if segments > MAX_SEGMENTS {
        return Err(NameFault::TooDeep { segments });
    }
    if text.split('/').any(str::is_empty) {
        return Err(NameFault::EmptySegment);
    }
    if text.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err(NameFault::DotSegment);
    }
    Ok(())
}

impl fmt::Display for ArtifactName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ArtifactName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// A text that cannot be the name of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid artifact name {name:?}: {fault}")]
pub struct InvalidName {
    /// The text, cut after 80 characters.
    pub name: String,
    /// What is wrong with it.
    pub fault: NameFault,
}

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameFault {
    /// There is no text.
    #[error("it is empty")]
    Empty,
    /// It begins with `/`.
    #[error("it starts with `/`; names are relative, such as `reports/q1.csv`")]
    Absolute,
    /// Two `/` in a row, or one at the end.
    #[error("it has an empty segment; use single `/` between segments and none at the end")]
    EmptySegment,
    /// A segment is `.` or `..`.
    #[error("it has a `.` or `..` segment; write the path out")]
    DotSegment,
    /// A backslash, which some systems take for a separator.
    #[error("it has a backslash; separate segments with `/`")]
    Backslash,
    /// A control character such as a line feed.
    #[error("it has a control character; use printable characters")]
    Control,
    /// Longer than [`MAX_NAME_BYTES`].
    #[error("it takes {stored} bytes, the limit is {MAX_NAME_BYTES}; shorten it")]
    TooLong {
        /// Bytes it would take in a store.
        stored: usize,
    },
    /// A segment longer than [`MAX_SEGMENT_BYTES`].
    #[error("a segment takes {stored} bytes, the limit is {MAX_SEGMENT_BYTES}; shorten it")]
    SegmentTooLong {
        /// Bytes it would take in a store.
        stored: usize,
    },
    /// More segments than [`MAX_SEGMENTS`].
    #[error("it has {segments} segments, the limit is {MAX_SEGMENTS}; use fewer `/`")]
    TooDeep {
        /// Segments it has.
        segments: usize,
    },
}
