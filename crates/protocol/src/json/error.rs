//! Why a text is not one JSON value.

/// Why a text was refused as JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {offset}")]
pub struct JsonError {
    /// Bytes before the fault.
    pub offset: usize,
    /// What is wrong there.
    pub fault: JsonFault,
}

/// What is wrong with a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonFault {
    /// The text ends inside a value.
    #[error("unexpected end of JSON")]
    UnexpectedEnd,
    /// A byte that cannot stand there.
    #[error("unexpected byte in JSON")]
    UnexpectedByte,
    /// A control character inside a string, which JSON wants escaped.
    #[error("unescaped control character in a JSON string")]
    ControlCharacter,
    /// A backslash that starts no escape.
    #[error("invalid escape in a JSON string")]
    InvalidEscape,
    /// Arrays and objects within each other beyond the limit.
    #[error("JSON nested deeper than {limit} levels")]
    TooDeep {
        /// The limit that was reached.
        limit: usize,
    },
    /// More text behind the value.
    #[error("unexpected text behind the JSON value")]
    TrailingText,
}
