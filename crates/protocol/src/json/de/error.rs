//! Why a JSON value does not become a Rust value.

use std::fmt;

use super::super::{error::JsonError, path::Path, text::LoneSurrogate};

/// Why a JSON value cannot be held by what was asked for, and which part of it.
///
/// Names of members may show in its message, and values of scalars where a type's own reader puts them there.
#[derive(Clone, PartialEq, Eq)]
pub struct FromJsonError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    path: Path,
    fault: FromJsonFault,
}

/// What is wrong with a part of a JSON value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FromJsonFault {
    /// An integer is outside the range of the type.
    #[error("integer of {digits} digits does not fit {wanted}")]
    IntegerOutOfRange {
        /// How many digits it has.
        digits: usize,
        /// What could have held it.
        wanted: &'static str,
    },
    /// A float is too large for the type, or so small that the type would hold zero.
    #[error("float is outside the range of {wanted}")]
    FloatOutOfRange {
        /// What could have held it.
        wanted: &'static str,
    },
    /// `NaN` or an infinity where no float was asked for.
    #[error("NaN and infinities fit only a float field")]
    NonFinite,
    /// A string has half of a surrogate pair, which no UTF-8 text can hold.
    #[error("string has a lone surrogate, which is no character")]
    LoneSurrogate,
    /// The value has another shape than the type, in the words of the type's own reader.
    #[error("{message}")]
    Shape {
        /// What was found and what was expected.
        message: String,
    },
}

impl FromJsonError {
    pub(crate) fn new(fault: FromJsonFault) -> Self {
        Self::at(Path::default(), fault)
    }

    pub(crate) fn at(path: Path, fault: FromJsonFault) -> Self {
        Self(Box::new(Inner { path, fault }))
    }

    /// What is wrong.
    pub fn fault(&self) -> &FromJsonFault {
        &self.0.fault
    }

    /// The part that is wrong, like `items[3].name`; empty for the value as a whole.
    pub fn path(&self) -> String {
        self.0.path.to_string()
    }

    /// Says that the value was itself the member `name` of something: its path then begins with that name.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        self.0.path.in_member(name);
        self
    }

    pub(super) fn in_element(mut self, index: usize) -> Self {
        self.0.path.in_element(index);
        self
    }

    pub(super) fn in_raw_member(mut self, raw_name: &str) -> Self {
        self.0.path.in_raw_member(raw_name);
        self
    }
}

impl fmt::Display for FromJsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.path.is_empty() {
            write!(f, "{}: ", self.0.path)?;
        }
        self.0.fault.fmt(f)
    }
}

impl fmt::Debug for FromJsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for FromJsonError {}

impl serde::de::Error for FromJsonError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(FromJsonFault::Shape {
            message: message.to_string(),
        })
    }
}

impl From<LoneSurrogate> for FromJsonError {
    fn from(_: LoneSurrogate) -> Self {
        Self::new(FromJsonFault::LoneSurrogate)
    }
}

impl From<JsonError> for FromJsonError {
    /// The text was found well-formed before, so this is never seen; yet it is no reason to panic.
    fn from(error: JsonError) -> Self {
        Self::new(FromJsonFault::Shape {
            message: error.to_string(),
        })
    }
}
