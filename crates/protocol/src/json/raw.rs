//! One JSON value as text.

use std::{
    fmt,
    hash::{Hash, Hasher},
    ops::Range,
    sync::{Arc, LazyLock},
};

use super::{
    error::JsonError,
    scan::{Facts, Scanned, Scanner},
};

/// Bytes from which on a value may keep the whole line alive that it came in, and is not copied out of it.
const SHARED_BYTES: usize = 16 * 1024;

/// One JSON value, kept as the text that a peer or a tool wrote.
///
/// Integers of any size, `NaN` and the infinities, `1.0` against `1` and lone surrogates all survive,
/// because nothing is parsed into a narrower type until somebody asks for one. The text is known to be
/// one well-formed value, nested at most [`MAX_NESTING`](crate::MAX_NESTING) levels deep.
///
/// A clone shares the text: arguments and results go to a tool, to every reader of a turn's events and to the
/// record of the turn, and may have tens of megabytes. Two values are equal if their texts are: `1` and `1.0` differ.
#[derive(Clone)]
pub struct RawJson {
    /// What the text is a part of. A `String` behind the `Arc` and no `str`, so that one that was read or written
    /// is taken over without a copy: fresh memory for a large text costs more time than reading the text.
    source: Arc<String>,
    range: Range<usize>,
    facts: Facts,
}

/// What kind of value a JSON text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonType {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// An integer or a float, `NaN` and the infinities among them.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl RawJson {
    /// Takes `text` if it is one JSON value as Python's `json` module reads it. A `String` is not copied.
    pub fn parse(text: impl Into<String>) -> Result<Self, JsonError> {
        let text = text.into();
        let facts = Scanner::new(&text).only_value()?;
        Ok(Self::from_written(text, facts))
    }

    /// The value `null`.
    pub fn null() -> Self {
        static NULL: LazyLock<RawJson> =
            LazyLock::new(|| RawJson::from_written("null".to_owned(), Facts::default()));
        NULL.clone()
    }

    /// The value `{}`.
    pub fn empty_object() -> Self {
        static EMPTY: LazyLock<RawJson> = LazyLock::new(|| {
            let facts = Facts {
                depth: 1,
                ..Facts::default()
            };
            RawJson::from_written("{}".to_owned(), facts)
        });
        EMPTY.clone()
    }

    /// Copies a value that a [`Scanner`] has found.
    pub(crate) fn from_scanned(value: Scanned<'_>) -> Self {
        Self::from_written(value.text.to_owned(), value.facts)
    }

    /// Takes over a value that a [`Scanner`] has found in `source`. Copies it if it is small or only a small part,
    /// so that it does not keep much alive that is not its own.
    pub(crate) fn from_part(source: &Arc<String>, value: Scanned<'_>) -> Self {
        let length = value.text.len();
        if length < SHARED_BYTES || length < source.capacity() / 2 {
            return Self::from_scanned(value);
        }
        let start = value
            .text
            .as_ptr()
            .addr()
            .wrapping_sub(source.as_ptr().addr());
        let range = start..start.saturating_add(length);
        // A range within `source` is the very place that `value` was found at.
        if source.get(range.clone()).is_none() {
            return Self::from_scanned(value);
        }
        Self {
            source: Arc::clone(source),
            range,
            facts: value.facts,
        }
    }

    /// Takes text that was written as JSON, with the facts that a [`Scanner`] would find.
    pub(crate) fn from_written(text: String, facts: Facts) -> Self {
        Self {
            range: 0..text.len(),
            source: Arc::new(text),
            facts,
        }
    }

    /// The text of the value.
    pub fn get(&self) -> &str {
        self.source.get(self.range.clone()).unwrap_or_default()
    }

    /// The text of the value: without a copy if it is not shared.
    pub fn into_string(self) -> String {
        if self.range.len() < self.source.len() {
            return self.get().to_owned();
        }
        Arc::unwrap_or_clone(self.source)
    }

    /// Whether every JSON reader takes the text: no `NaN`, no infinity, no lone surrogate.
    pub fn is_standard(&self) -> bool {
        self.facts.is_standard()
    }

    /// A number of it with a fraction or an exponent that no `f64`, and so no Python `float`, can hold, such as
    /// `1e400`: the first one.
    pub fn overflowing_number(&self) -> Option<&str> {
        let mut rest = self.facts.overflow.then(|| self.get())?;
        loop {
            let at = rest.find(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])?;
            let mut scanner = Scanner::new(rest);
            scanner.seek(at);
            // A string as a whole, so that none of its digits is taken for a number.
            let found = scanner.value().ok()?;
            if found.facts.overflow {
                return Some(found.text);
            }
            rest = rest.get(scanner.offset()..)?;
        }
    }

    /// What kind of value it is.
    pub fn json_type(&self) -> JsonType {
        JsonType::of(self.get())
    }

    /// Whether the text is more than one line: a line break stands between two tokens of it.
    pub(crate) fn has_line_break(&self) -> bool {
        self.facts.line_break
    }

    pub(crate) fn facts(&self) -> Facts {
        self.facts
    }
}

impl JsonType {
    /// Tells by the first character of a well-formed value.
    pub(crate) fn of(text: &str) -> Self {
        match text.trim_ascii_start().as_bytes() {
            [b'n', ..] => Self::Null,
            [b't' | b'f', ..] => Self::Bool,
            [b'"', ..] => Self::String,
            [b'[', ..] => Self::Array,
            [b'{', ..] => Self::Object,
            _ => Self::Number,
        }
    }
}

impl fmt::Display for JsonType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson {}

impl Hash for RawJson {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.get().hash(state);
    }
}

impl fmt::Debug for RawJson {
    /// Shows the size only: values of tools must not reach a log by way of `{:?}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({} bytes)", self.range.len())
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
    fn the_first_number_that_no_float_holds_is_found() {
        for (text, found) in [
            (
                "[1, \"1e400 \\\" 2\", {\"3e500\": [-Infinity, -2.5e999, 1e400]}]",
                Some("-2.5e999"),
            ),
            ("1e400", Some("1e400")),
            ("[1e308, \"1e400\"]", None),
        ] {
            let value = RawJson::parse(text).expect("well-formed");
            assert_eq!(value.overflowing_number(), found, "{text}");
        }
    }

    #[test]
    fn the_kind_is_told_by_the_text() {
        for (text, kind) in [
            (" null", JsonType::Null),
            ("false", JsonType::Bool),
            ("\n-1", JsonType::Number),
            ("Infinity", JsonType::Number),
            ("NaN", JsonType::Number),
            ("\"\"", JsonType::String),
            ("\t[]", JsonType::Array),
            ("\r{}", JsonType::Object),
        ] {
            let value = RawJson::parse(text).expect("well-formed");
            assert_eq!(value.json_type(), kind, "{text}");
        }
    }

    #[test]
    fn a_clone_shares_the_text() {
        let value = RawJson::parse("[1,2,3]").expect("well-formed");
        assert!(std::ptr::eq(value.clone().get(), value.get()));
    }

    #[test]
    fn a_string_is_taken_over_and_given_back_without_a_copy() {
        let text = "[1,2,3]".to_owned();
        let place = text.as_ptr();
        let value = RawJson::parse(text).expect("well-formed");
        assert_eq!(value.clone().into_string(), "[1,2,3]");
        assert!(std::ptr::eq(value.into_string().as_ptr(), place));
    }

    #[test]
    fn a_large_part_of_a_text_is_shared_and_a_small_one_copied() {
        for (bytes, shared) in [(SHARED_BYTES, true), (SHARED_BYTES - 3, false)] {
            let mut text = format!("{{\"x\":\"{}\"}}", "a".repeat(bytes - 2));
            text.shrink_to_fit();
            let source = Arc::new(text);
            let mut scanner = Scanner::new(&source);
            scanner.seek(5);
            let scanned = scanner.value().expect("well-formed");
            let value = RawJson::from_part(&source, scanned);
            assert_eq!(value, RawJson::from_scanned(scanned));
            assert_eq!(std::ptr::eq(value.get(), scanned.text), shared, "{bytes}");
            assert_eq!(value.into_string(), scanned.text);
        }
    }

    #[test]
    fn debug_output_shows_no_content() {
        let value = RawJson::parse("\"secret\"").expect("well-formed");
        assert_eq!(format!("{value:?}"), "RawJson(8 bytes)");
    }
}
