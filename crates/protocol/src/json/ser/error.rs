//! Why a Rust value does not become JSON.

use std::fmt;

use super::super::{levels::MAX_NESTING, path::Path};

/// Why a Rust value cannot be written as JSON, and which part of it.
#[derive(Clone, PartialEq, Eq)]
pub struct ToJsonError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    path: Path,
    fault: ToJsonFault,
}

/// What is wrong with a part of a Rust value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToJsonFault {
    /// It would be nested beyond the limit.
    #[error("value nested deeper than {limit} levels")]
    TooDeep {
        /// The limit that was reached.
        limit: usize,
    },
    /// The key of a map is nothing that has a name.
    #[error("map key must be a string, an integer or a boolean, not {found}")]
    Key {
        /// What it is.
        found: &'static str,
    },
    /// The type's own writer gave up.
    #[error("{message}")]
    Custom {
        /// What it said.
        message: String,
    },
}

impl ToJsonError {
    pub(crate) fn new(fault: ToJsonFault) -> Self {
        Self(Box::new(Inner {
            path: Path::default(),
            fault,
        }))
    }

    pub(crate) fn too_deep() -> Self {
        Self::new(ToJsonFault::TooDeep { limit: MAX_NESTING })
    }

    /// What is wrong.
    pub fn fault(&self) -> &ToJsonFault {
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

impl fmt::Display for ToJsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.path.is_empty() {
            write!(f, "{}: ", self.0.path)?;
        }
        self.0.fault.fmt(f)
    }
}

impl fmt::Debug for ToJsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ToJsonError {}

impl serde::ser::Error for ToJsonError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(ToJsonFault::Custom {
            message: message.to_string(),
        })
    }
}
