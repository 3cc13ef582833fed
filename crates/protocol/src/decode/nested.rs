//! Reads fields that have fields or entries of their own.

use super::{
    error::DecodeFault,
    field::{self, Fields, integer, wrong},
    key::Key,
    members::Members,
};
use crate::{
    caps::{MAX_DISTRIBUTIONS, MAX_EXTENSIONS, MAX_PACKAGES},
    frame::{BlockResult, Extensions, Packages, ResultContent, ToolErrorPayload},
    json::{JsonType, Scanned, decode_lossy, elements, members},
};

/// A list of names; an empty one if it is missing.
pub(super) fn extensions(fields: &Fields<'_>) -> Result<Extensions, DecodeFault> {
    let key = Key::Extensions;
    let Some(list) = fields.get(key) else {
        return Ok(Extensions::NONE);
    };
    if JsonType::of(list.text) != JsonType::Array {
        return Err(fields.wrong(key, list.text, "an array of strings"));
    }
    if elements(list.text).nth(MAX_EXTENSIONS).is_some() {
        return Err(too_many(fields, key, MAX_EXTENSIONS));
    }
    elements(list.text)
        .map(|name| field::text(fields.kind, "extensions[]", name))
        .collect::<Result<Vec<_>, _>>()
        .map(Extensions::from_iter)
}

/// Import names with their distributions; none if it is missing.
pub(super) fn packages(fields: &Fields<'_>) -> Result<Packages, DecodeFault> {
    let key = Key::Packages;
    let mut packages = Packages::new();
    let Some(object) = fields.get(key) else {
        return Ok(packages);
    };
    if JsonType::of(object.text) != JsonType::Object {
        return Err(fields.wrong(key, object.text, "an object"));
    }
    let mut distributions = 0usize;
    for (place, (raw_import, providers)) in members(object.text).enumerate() {
        if place >= MAX_PACKAGES {
            return Err(too_many(fields, key, MAX_PACKAGES));
        }
        if JsonType::of(providers.text) != JsonType::Object {
            return Err(wrong(
                fields.kind,
                "packages{}",
                providers.text,
                "an object",
            ));
        }
        let versions = packages
            .entry(decode_lossy(raw_import).into_owned())
            .or_default();
        // The last of two equal names counts, and it alone.
        versions.clear();
        for (raw_name, version) in members(providers.text) {
            distributions = distributions.saturating_add(1);
            if distributions > MAX_DISTRIBUTIONS {
                return Err(too_many(fields, key, MAX_DISTRIBUTIONS));
            }
            // `null` is what Python reports for a distribution whose metadata are broken.
            let version = if version.text == "null" {
                String::new()
            } else {
                field::text(fields.kind, "packages{}{}", version)?
            };
            versions.insert(decode_lossy(raw_name).into_owned(), version);
        }
    }
    Ok(packages)
}

/// The error of a tool call; none if it is missing or `null`.
pub(super) fn error(fields: &Fields<'_>) -> Result<Option<ToolErrorPayload>, DecodeFault> {
    let key = Key::Error;
    let Some(object) = present(fields, key) else {
        return Ok(None);
    };
    if JsonType::of(object.text) != JsonType::Object {
        return Err(fields.wrong(key, object.text, "an object or null"));
    }
    let (members, _) = Members::read(object.text);
    let kind = fields.kind;
    let text = |key, field| {
        members
            .get(key)
            .map(|value| field::text(kind, field, value))
            .transpose()
    };
    let inner = Fields {
        kind,
        members: &members,
        source: fields.source,
    };
    let trace = match present(&inner, Key::Trace) {
        Some(trace) => Some(field::text(kind, "error.trace", trace)?),
        None => None,
    };
    let status_code =
        match present(&inner, Key::StatusCode) {
            Some(status) => Some(integer(status.text).ok_or_else(|| {
                wrong(kind, "error.status_code", status.text, "an integer or null")
            })?),
            None => None,
        };
    Ok(Some(ToolErrorPayload {
        type_name: text(Key::Type, "error.type")?.unwrap_or_else(|| "Error".to_owned()),
        message: text(Key::Message, "error.message")?.unwrap_or_default(),
        trace,
        status_code,
        body: inner.value(Key::Body),
    }))
}

/// The value of a block's last expression; none if it is missing or `null`.
pub(super) fn result(fields: &Fields<'_>) -> Result<Option<BlockResult>, DecodeFault> {
    let key = Key::Result;
    let Some(object) = present(fields, key) else {
        return Ok(None);
    };
    if JsonType::of(object.text) != JsonType::Object {
        return Err(fields.wrong(key, object.text, "an object or null"));
    }
    let (members, _) = Members::read(object.text);
    let kind = fields.kind;
    let missing = |field, expected| DecodeFault::FieldMissing {
        kind,
        field,
        expected,
    };
    let Some(type_name) = members.get(Key::Type) else {
        return Err(missing("result.type", "the name of a Python type"));
    };
    let content = match (members.get(Key::Value), members.get(Key::Repr)) {
        (Some(value), _) => ResultContent::Value(fields.kept(value)),
        (None, Some(repr)) => ResultContent::Repr(field::text(kind, "result.repr", repr)?),
        (None, None) => return Err(missing("result.value", "any value, or `result.repr`")),
    };
    Ok(Some(BlockResult {
        type_name: field::text(kind, "result.type", type_name)?,
        content,
    }))
}

/// A field that is there and not `null`.
fn present<'a>(fields: &Fields<'a>, key: Key) -> Option<Scanned<'a>> {
    fields.get(key).filter(|value| value.text != "null")
}

fn too_many(fields: &Fields<'_>, key: Key, limit: usize) -> DecodeFault {
    DecodeFault::TooMany {
        kind: fields.kind,
        field: key.as_str(),
        limit,
    }
}
