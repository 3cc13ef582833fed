//! The id that ties a `tool_result` to its `tool_call`.

use std::{fmt, sync::Arc};

use crate::{
    caps::MAX_CALL_ID_BYTES,
    json::{JsonError, JsonType, Scanner, write_string},
};

/// Names one tool call of a connection. The guest picks it; the host echoes it to the letter.
///
/// Guests send strings, but any JSON scalar of at most [`MAX_CALL_ID_BYTES`] bytes will do. Two ids are the same if
/// their texts are: `"a"` and `"\u0061"` are two.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(Arc<str>);

/// Why something cannot be a [`CallId`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallIdError {
    /// Its text is too long.
    #[error("call id of {bytes} bytes is longer than {limit}")]
    TooLong {
        /// The length of the text.
        bytes: usize,
        /// The longest that is accepted.
        limit: usize,
    },
    /// It is an array or an object.
    #[error("call id is {found}, expected a string or another scalar")]
    NotScalar {
        /// What it is.
        found: JsonType,
    },
    /// It is no JSON.
    #[error("call id is not JSON")]
    Json {
        /// Why not.
        source: JsonError,
    },
}

impl CallId {
    /// The id that is a JSON string of `text`.
    pub fn from_text(text: &str) -> Result<Self, CallIdError> {
        let mut json = String::new();
        // Checked before it is written: quoting makes nothing shorter.
        check_length(text.len())?;
        write_string(&mut json, text);
        check_length(json.len())?;
        Ok(Self(json.into()))
    }

    /// The id that is the scalar `json`, such as `"7f"` with its quotes, or `7`.
    pub fn from_json(json: &str) -> Result<Self, CallIdError> {
        check_length(json.len())?;
        let mut scanner = Scanner::new(json);
        let value = scanner.value();
        match value.and_then(|value| scanner.end().map(|()| value)) {
            Ok(value) => Self::from_scalar(value.text),
            Err(source) => Err(CallIdError::Json { source }),
        }
    }

    /// The id in a well-formed JSON value.
    pub(crate) fn from_scalar(json: &str) -> Result<Self, CallIdError> {
        check_length(json.len())?;
        match JsonType::of(json) {
            found @ (JsonType::Array | JsonType::Object) => Err(CallIdError::NotScalar { found }),
            JsonType::Null | JsonType::Bool | JsonType::Number | JsonType::String => {
                Ok(Self(json.into()))
            }
        }
    }

    /// The id as JSON: a string has its quotes.
    pub fn json(&self) -> &str {
        &self.0
    }
}

impl Default for CallId {
    /// The empty string: the id of a call that gives none.
    fn default() -> Self {
        Self("\"\"".into())
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallId({})", self.0)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn check_length(bytes: usize) -> Result<(), CallIdError> {
    if bytes > MAX_CALL_ID_BYTES {
        return Err(CallIdError::TooLong {
            bytes,
            limit: MAX_CALL_ID_BYTES,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonFault;

    #[test]
    fn any_scalar_is_an_id_and_keeps_its_text() {
        for json in [
            "\"7f\"",
            "\"\\u0061\"",
            "7",
            "-1.50e3",
            "NaN",
            "null",
            "true",
        ] {
            assert_eq!(CallId::from_json(json).expect("scalar").json(), json);
        }
        assert_eq!(CallId::from_json(" 7\t"), CallId::from_json("7"));
    }

    #[test]
    fn ids_are_compared_by_their_text() {
        let id = CallId::from_text("a\n").expect("short");
        assert_eq!(CallId::from_json("\"a\\n\""), Ok(id.clone()));
        assert_ne!(CallId::from_json("\"a\\u000a\""), Ok(id));
    }

    #[test]
    fn what_is_no_short_scalar_is_refused() {
        let found = JsonType::Array;
        assert_eq!(
            CallId::from_json("[1]"),
            Err(CallIdError::NotScalar { found })
        );
        let source = JsonError {
            offset: 1,
            fault: JsonFault::TrailingText,
        };
        assert_eq!(CallId::from_json("1,2"), Err(CallIdError::Json { source }));
    }

    #[test]
    fn an_id_one_byte_over_the_limit_is_refused() {
        let longest = "x".repeat(MAX_CALL_ID_BYTES - 2);
        assert!(CallId::from_text(&longest).is_ok());
        assert_eq!(
            CallId::from_text(&(longest + "x")),
            Err(CallIdError::TooLong {
                bytes: MAX_CALL_ID_BYTES + 1,
                limit: MAX_CALL_ID_BYTES,
            })
        );
    }
}
