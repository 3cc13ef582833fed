//! What both peers must name before either uses it.

/// `done` carries the value of the block's last expression.
pub const EXTENSION_RESULT: &str = "result";

/// `image` frames carry pictures that a block made.
pub const EXTENSION_IMAGE: &str = "image";

/// `chunk` frames carry output while the block runs.
pub const EXTENSION_CHUNK: &str = "chunk";

/// Names of extensions that a peer knows, in the order it gave them.
///
/// A guest names its own in `ready`, a host in `run`. A frame of an extension is sent only when both named it, so
/// that a peer that knows none never sees an unknown kind. Names that are unknown here are kept: they belong to
/// a newer peer, and mean nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extensions(Vec<String>);

impl Extensions {
    /// None at all: the frame is written without the field.
    pub const NONE: Self = Self(Vec::new());

    /// Whether this one is named.
    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|each| each == name)
    }

    /// Those that the other peer names too: what may be used.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        self.0
            .iter()
            .filter(|name| other.contains(name))
            .cloned()
            .collect()
    }

    /// Whether none is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl<S: Into<String>> FromIterator<S> for Extensions {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_name_is_common() {
        let ours = Extensions::from_iter([EXTENSION_RESULT, EXTENSION_IMAGE]);
        let theirs = Extensions::from_iter(["later", EXTENSION_IMAGE]);
        assert_eq!(
            ours.common(&theirs),
            Extensions::from_iter([EXTENSION_IMAGE])
        );
        assert_eq!(ours.common(&Extensions::NONE), Extensions::NONE);
    }
}
