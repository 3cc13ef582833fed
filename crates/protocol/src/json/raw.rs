//! One JSON value as text.

use std::fmt;

use super::{
    error::JsonError,
    scan::{Facts, Scanner},
};

/// One JSON value, kept as the text that a peer or a tool wrote.
///
/// Integers of any size, `NaN` and the infinities, `1.0` against `1` and lone surrogates all survive,
/// because nothing is parsed into a narrower type until somebody asks for one. The text is known to be
/// one well-formed value, nested at most [`MAX_NESTING`](crate::MAX_NESTING) levels deep.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson {
    text: Box<str>,
    standard: bool,
}

impl RawJson {
    /// Takes `text` if it is one JSON value as Python's `json` module reads it.
    pub fn parse(text: impl Into<Box<str>>) -> Result<Self, JsonError> {
        let text = text.into();
        let mut scanner = Scanner::new(&text);
        scanner.value()?;
        scanner.end()?;
        let facts = scanner.facts();
        Ok(Self::from_scanned(text, facts))
    }

    /// The value `null`.
    pub fn null() -> Self {
        Self::from_scanned("null".into(), Facts::default())
    }

    /// Takes text that a [`Scanner`] has accepted.
    pub(crate) fn from_scanned(text: Box<str>, facts: Facts) -> Self {
        Self {
            text,
            standard: facts == Facts::default(),
        }
    }

    /// The text of the value.
    pub fn get(&self) -> &str {
        &self.text
    }

    /// Whether every JSON reader takes the text: no `NaN`, no infinity, no lone surrogate.
    pub fn is_standard(&self) -> bool {
        self.standard
    }
}

impl fmt::Debug for RawJson {
    /// Shows the size only: values of tools must not reach a log by way of `{:?}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({} bytes)", self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_kept_to_the_letter() {
        let text = "{\"n\": 1e400, \"big\":123456789012345678901234567890, \"x\":1.0}";
        assert_eq!(RawJson::parse(text).expect("well-formed").get(), text);
    }

    #[test]
    fn only_standard_text_is_called_standard() {
        for (text, standard) in [("[1]", true), ("[NaN]", false), ("\"\\udc80\"", false)] {
            let value = RawJson::parse(text).expect("well-formed");
            assert_eq!(value.is_standard(), standard, "{text}");
        }
    }

    #[test]
    fn debug_output_shows_no_content() {
        let value = RawJson::parse("\"secret\"").expect("well-formed");
        assert_eq!(format!("{value:?}"), "RawJson(8 bytes)");
    }
}
