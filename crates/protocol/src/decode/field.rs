//! Reads single fields: what each accepts, and what it is when it is missing.

use std::sync::Arc;

use super::{
    error::DecodeFault,
    key::Key,
    members::{self, Members},
};
use crate::{
    frame::{CallId, CallIdError, CallTimeout, FrameKind},
    json::{JsonType, Number, RawJson, Scanned},
};

/// The fields of one frame.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    pub(super) kind: FrameKind,
    pub(super) members: &'a Members<'a>,
    /// The whole line, if values may keep it.
    pub(super) source: Option<&'a Arc<String>>,
}

impl<'a> Fields<'a> {
    pub(super) fn get(&self, key: Key) -> Option<Scanned<'a>> {
        self.members.get(key)
    }

    /// Text; `default` if it is missing.
    pub(super) fn text_or(&self, key: Key, default: &str) -> Result<String, DecodeFault> {
        match self.get(key) {
            Some(value) => text(self.kind, key.as_str(), value),
            None => Ok(default.to_owned()),
        }
    }

    /// Text; empty if it is missing.
    pub(super) fn text(&self, key: Key) -> Result<String, DecodeFault> {
        self.text_or(key, "")
    }

    pub(super) fn boolean_or(&self, key: Key, default: bool) -> Result<bool, DecodeFault> {
        match self.get(key).map(|value| value.text) {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => Err(self.wrong(key, other, "a boolean")),
        }
    }

    pub(super) fn integer_or(&self, key: Key, default: i64) -> Result<i64, DecodeFault> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => {
                integer(value.text).ok_or_else(|| self.wrong(key, value.text, "an integer"))
            }
        }
    }

    /// Of a key that the releases do not know: whatever else stands there is as meaningless as to them.
    pub(super) fn extension_integer(&self, key: Key) -> Option<i64> {
        self.get(key)?;
        self.integer_or(key, 0).ok()
    }

    /// Any value; `null` if it is missing.
    pub(super) fn value(&self, key: Key) -> RawJson {
        self.get(key)
            .map_or_else(RawJson::null, |value| self.kept(value))
    }

    /// A value as the frame keeps it.
    pub(super) fn kept(&self, value: Scanned<'_>) -> RawJson {
        match self.source {
            Some(source) => RawJson::from_part(source, value),
            None => RawJson::from_scanned(value),
        }
    }

    /// An object; an empty one if it is missing.
    pub(super) fn object(&self, key: Key) -> Result<RawJson, DecodeFault> {
        let Some(value) = self.get(key) else {
            return Ok(RawJson::empty_object());
        };
        if JsonType::of(value.text) != JsonType::Object {
            return Err(self.wrong(key, value.text, "an object"));
        }
        Ok(self.kept(value))
    }

    pub(super) fn call_id(&self) -> Result<CallId, DecodeFault> {
        let Some(value) = self.get(Key::Id) else {
            return Ok(CallId::default());
        };
        CallId::from_scalar(value.text).map_err(|error| match error {
            CallIdError::TooLong { bytes, limit } => DecodeFault::IdTooLong {
                kind: self.kind,
                bytes,
                limit,
            },
            CallIdError::NotScalar { .. } | CallIdError::Json { .. } => {
                self.wrong(Key::Id, value.text, "a string or another scalar")
            }
        })
    }

    pub(super) fn timeout(&self) -> Result<Option<CallTimeout>, DecodeFault> {
        let Some(value) = self.get(Key::Timeout) else {
            return Ok(None);
        };
        match JsonType::of(value.text) {
            JsonType::Null => Ok(None),
            JsonType::Number => Ok(CallTimeout::from_seconds(seconds(value.text))),
            JsonType::Bool | JsonType::String | JsonType::Array | JsonType::Object => {
                Err(self.wrong(Key::Timeout, value.text, "a number or null"))
            }
        }
    }

    pub(super) fn wrong(&self, key: Key, text: &str, expected: &'static str) -> DecodeFault {
        wrong(self.kind, key.as_str(), text, expected)
    }
}

pub(super) fn wrong(
    kind: FrameKind,
    field: &'static str,
    text: &str,
    expected: &'static str,
) -> DecodeFault {
    DecodeFault::Field {
        kind,
        field,
        found: JsonType::of(text),
        expected,
    }
}

pub(super) fn text(
    kind: FrameKind,
    field: &'static str,
    value: Scanned<'_>,
) -> Result<String, DecodeFault> {
    match members::text(value) {
        Some(text) => Ok(text.into_owned()),
        None => Err(wrong(kind, field, value.text, "a string")),
    }
}

/// An integer as Python has them: a boolean is one, and one beyond 64 bits is clamped.
pub(super) fn integer(text: &str) -> Option<i64> {
    match JsonType::of(text) {
        JsonType::Bool => Some((text == "true").into()),
        JsonType::Number => match Number::parse(text) {
            Number::Unsigned(value) => Some(i64::try_from(value).unwrap_or(i64::MAX)),
            Number::Negative(value) => Some(value),
            Number::Big if text.starts_with('-') => Some(i64::MIN),
            Number::Big => Some(i64::MAX),
            Number::Float(_) | Number::Overflow | Number::Underflow | Number::NonFinite(_) => None,
        },
        JsonType::Null | JsonType::String | JsonType::Array | JsonType::Object => None,
    }
}

/// A number as a float, rounded as need be.
fn seconds(text: &str) -> f64 {
    match Number::parse(text) {
        Number::Float(value) | Number::NonFinite(value) => value,
        // Both overflow to an infinity of the right sign, and underflow to zero.
        Number::Unsigned(_)
        | Number::Negative(_)
        | Number::Big
        | Number::Overflow
        | Number::Underflow => text.parse().unwrap_or(f64::NAN),
    }
}
