//! Why a line is no frame.

use std::{error::Error, fmt};

use crate::{
    frame::{CallId, FrameKind},
    json::{JsonError, JsonType},
};

/// Why a line was refused, and the call that waits for an answer all the same.
///
/// Its message and its cause are those of the fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// What is wrong with the line.
    pub fault: DecodeFault,
    /// The id of the tool call that the line was about, if it could be made out. A host answers the call with an
    /// error, so that its caller does not wait for ever.
    pub call: Option<CallId>,
}

impl DecodeError {
    /// Whether the line has nothing in it. To be skipped without a word.
    pub fn is_blank(&self) -> bool {
        self.fault == DecodeFault::Blank
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl Error for DecodeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.fault.source()
    }
}

impl From<DecodeFault> for DecodeError {
    fn from(fault: DecodeFault) -> Self {
        Self { fault, call: None }
    }
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeFault {
    /// Nothing but white space.
    #[error("line is blank")]
    Blank,
    /// More bytes than [`Caps::frame_bytes`](crate::Caps::frame_bytes).
    #[error("frame of {bytes} bytes is longer than the limit of {limit}")]
    TooLong {
        /// Its length without the end of the line.
        bytes: u64,
        /// The longest that is accepted.
        limit: usize,
    },
    /// A byte that is not UTF-8.
    #[error("frame is not UTF-8 at byte {offset}")]
    NotUtf8 {
        /// Bytes before it.
        offset: usize,
    },
    /// A byte order mark, which JSON lines must not have.
    #[error("frame begins with a byte order mark")]
    ByteOrderMark,
    /// Not one JSON value as Python reads it.
    #[error("frame is not JSON")]
    Json {
        /// Why, and where.
        source: JsonError,
    },
    /// A JSON value, but no object.
    #[error("frame is {found}, expected an object")]
    NotAnObject {
        /// What it is.
        found: JsonType,
    },
    /// No member `kind`.
    #[error("frame has no `kind`")]
    KindMissing,
    /// The member `kind` is no string.
    #[error("`kind` of the frame is {found}, expected a string")]
    KindNotText {
        /// What it is.
        found: JsonType,
    },
    /// A kind that no version and no extension here has.
    #[error("frame has the unknown kind {kind:?}")]
    UnknownKind {
        /// The kind, at most 40 characters of it.
        kind: String,
    },
    /// A kind that only the other peer sends.
    #[error("`{kind}` frames are sent by the {}", kind.sender())]
    WrongDirection {
        /// The kind.
        kind: FrameKind,
    },
    /// A field is of the wrong type.
    #[error("`{field}` of the `{kind}` frame is {found}, expected {expected}")]
    Field {
        /// The kind of frame.
        kind: FrameKind,
        /// The name of the field, like `error.message` for one inside another.
        field: &'static str,
        /// What it is.
        found: JsonType,
        /// What it should be.
        expected: &'static str,
    },
    /// A field that must be there is not.
    #[error("`{field}` of the `{kind}` frame is missing, expected {expected}")]
    FieldMissing {
        /// The kind of frame.
        kind: FrameKind,
        /// The name of the field.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// The id of a call has too many bytes.
    #[error("`id` of the `{kind}` frame has {bytes} bytes, more than the limit of {limit}")]
    IdTooLong {
        /// The kind of frame.
        kind: FrameKind,
        /// The length of its text.
        bytes: usize,
        /// The longest that is accepted.
        limit: usize,
    },
    /// A list or a map has too many entries.
    #[error("`{field}` of the `{kind}` frame has more than {limit} entries")]
    TooMany {
        /// The kind of frame.
        kind: FrameKind,
        /// The name of the field.
        field: &'static str,
        /// The most that are accepted.
        limit: usize,
    },
}
