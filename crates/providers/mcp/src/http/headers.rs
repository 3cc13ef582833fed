//! Arguments that a tool wants mirrored in HTTP headers (`x-mcp-header`, revision 2026-07-28).

use std::collections::HashSet;

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::wire::{member, string};

/// One argument that goes into a header as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    path: Vec<String>,
    name: HeaderName,
}

impl ParamHeader {
    /// The annotations of an input schema, or what is wrong with them; then the tool must not be used.
    pub(crate) fn of_schema(schema: &Value) -> Result<Vec<Self>, String> {
        let mut found = Vec::new();
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            collect(properties, &mut Vec::new(), &mut found)?;
        }
        let mut seen = HashSet::new();
        match found.iter().find(|header| !seen.insert(&header.name)) {
            Some(twice) => Err(format!("two arguments share the header `{}`", twice.name)),
            None => Ok(found),
        }
    }

    /// The header for a call with these arguments; `None` if the argument is absent or null.
    pub(crate) fn of_call(&self, arguments: &str) -> Option<(HeaderName, HeaderValue)> {
        let found = self
            .path
            .iter()
            .try_fold(arguments, |text, key| member(text, key))?;
        let text = match found.as_bytes().first()? {
            b'n' | b'{' | b'[' => return None,
            b'"' => string(found)?.into_owned(),
            _ => found.to_owned(),
        };
        Some((
            self.name.clone(),
            HeaderValue::from_str(&encode(&text)).ok()?,
        ))
    }
}

fn collect(
    properties: &Map<String, Value>,
    path: &mut Vec<String>,
    found: &mut Vec<ParamHeader>,
) -> Result<(), String> {
    for (key, schema) in properties {
        path.push(key.clone());
        if let Some(annotation) = schema.get("x-mcp-header") {
            let name = annotation
                .as_str()
                .filter(|name| !name.is_empty())
                .and_then(|name| HeaderName::try_from(format!("mcp-param-{name}")).ok())
                .ok_or_else(|| format!("argument `{}` names no valid header", path.join(".")))?;
            if !matches!(
                schema.get("type").and_then(Value::as_str),
                Some("string" | "integer" | "boolean")
            ) {
                return Err(format!("argument `{}` cannot be a header", path.join(".")));
            }
            found.push(ParamHeader {
                path: path.clone(),
                name,
            });
        }
        if let Some(inner) = schema.get("properties").and_then(Value::as_object) {
            collect(inner, path, found)?;
        }
        path.pop();
    }
    Ok(())
}

/// Text that a header cannot hold as it is goes as base64 in a marker.
fn encode(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && text.trim_matches(' ').len() == text.len()
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if plain {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64_STANDARD.encode(text))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(schema: &Value, arguments: &str) -> Vec<(String, String)> {
        let found = ParamHeader::of_schema(schema).expect("valid annotations");
        let headers = found.iter().filter_map(|header| header.of_call(arguments));
        headers
            .map(|(name, value)| (name.to_string(), value.to_str().expect("ASCII").to_owned()))
            .collect()
    }

    #[test]
    fn annotated_arguments_are_mirrored_exactly() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "big": {"type": "integer", "x-mcp-header": "Big"},
            "at": {"type": "object", "properties": {"dry": {"type": "boolean", "x-mcp-header": "Dry"}}},
            "gone": {"type": "string", "x-mcp-header": "Gone"},
        }});
        let found = headers(
            &schema,
            r#"{"region":"Zürich","big":123456789012345678901234567890,"at":{"dry":true},"gone":null}"#,
        );
        let expected = [
            ("mcp-param-at".to_owned(), String::new()),
            (
                "mcp-param-big".to_owned(),
                "123456789012345678901234567890".to_owned(),
            ),
            ("mcp-param-dry".to_owned(), "true".to_owned()),
            (
                "mcp-param-region".to_owned(),
                "=?base64?WsO8cmljaA==?=".to_owned(),
            ),
        ];
        let mut found = found;
        found.sort();
        assert_eq!(found, expected[1..]);
    }

    #[test]
    fn bad_annotations_are_named() {
        for (annotation, kind) in [
            (json!(""), "string"),
            (json!("a b"), "string"),
            (json!("A"), "number"),
        ] {
            let schema = json!({"properties": {"x": {"type": kind, "x-mcp-header": annotation}}});
            assert!(ParamHeader::of_schema(&schema).is_err(), "{schema}");
        }
    }
}
