//! To and from [`serde_json::Value`], and the tags that make that exact.

mod build;
mod rewrite;
mod tag;
mod write;

use serde_json::Value;

use super::{de::FromJsonError, raw::RawJson, ser::ToJsonError};

pub use rewrite::{tag_text, untag_text};

impl RawJson {
    /// The value as a [`serde_json::Value`], if that can hold it exactly.
    ///
    /// Integers outside `i64` and `u64`, floats that overflow or underflow, `NaN`, the infinities and lone surrogates
    /// are errors that name the path. Of members with one name the last is kept, as in Python.
    pub fn to_value(&self) -> Result<Value, FromJsonError> {
        build::exact(self.get())
    }

    /// Writes a [`serde_json::Value`] as JSON, without white space and without recursion.
    ///
    /// As [`from_serialize`](Self::from_serialize) does. Fails if the value is nested deeper than
    /// [`MAX_NESTING`](crate::MAX_NESTING).
    pub fn from_value(value: &Value) -> Result<Self, ToJsonError> {
        write::write(value, false)
    }

    /// The value as a [`serde_json::Value`] with tags for what that cannot hold.
    ///
    /// For carrying values through libraries that know `Value` only; [`from_tagged_value`](Self::from_tagged_value)
    /// takes the tags out again. A number that `Value` would change becomes an object with one member, whose name is
    /// U+FDD0 and `number`, and whose value is the number's text. A lone surrogate becomes U+FDD0 and its four
    /// hexadecimal digits within its string. U+FDD0, which is no character and has no business in text, is doubled
    /// where it occurs all the same, in names too, so that no value of a peer can pass for a tag.
    pub fn to_tagged_value(&self) -> Value {
        build::tagged(self.get())
    }

    /// Takes the tags out of a value from [`to_tagged_value`](Self::to_tagged_value).
    ///
    /// What only looks like a tag is taken as it is. Fails if the value is nested deeper than
    /// [`MAX_NESTING`](crate::MAX_NESTING).
    pub fn from_tagged_value(value: &Value) -> Result<Self, ToJsonError> {
        write::write(value, true)
    }
}

#[cfg(test)]
mod tests;
