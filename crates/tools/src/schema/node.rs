//! One schema with everything that applies to the same value: its keywords, its references and its `allOf`.

use serde_json::{Map, Value};

use super::{
    few::Few,
    limits::{KEYS_PER_VISIT, MAX_HOPS},
    reader::{Reader, is_type_name},
    ty::{Limit, Notes},
};

/// What applies to one value. Where two parts say the same keyword, the outer one wins; properties,
/// requirements and alternatives add up.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a keyword that is there or not"
)]
pub(super) struct Node<'a> {
    pub(super) types: Option<&'a Value>,
    pub(super) nullable: bool,
    pub(super) values: Option<&'a [Value]>,
    pub(super) constant: Option<&'a Value>,
    pub(super) properties: Few<&'a Map<String, Value>>,
    pub(super) required: Few<&'a [Value]>,
    /// `required: true` in a property itself, as drafts before the fourth had it.
    pub(super) insists: bool,
    pub(super) additional: Option<&'a Value>,
    pub(super) patterns: Option<&'a Map<String, Value>>,
    pub(super) items: Option<&'a Value>,
    pub(super) prefix: Option<&'a [Value]>,
    pub(super) unions: Few<&'a [Value]>,
    pub(super) discriminator: Option<&'a Map<String, Value>>,
    pub(super) title: Option<&'a str>,
    pub(super) notes: Notes<'a>,
    /// Keywords that can allow keys which no `properties` names.
    pub(super) conditional: bool,
    /// `properties` was there, whatever was in it.
    pub(super) has_properties: bool,
}

/// Keywords that say nothing of the type. Beside a reference they leave it a plain reference.
pub(super) fn is_annotation(key: &str) -> bool {
    matches!(
        key,
        "description"
            | "title"
            | "default"
            | "example"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$comment"
            | "$defs"
            | "definitions"
            | "components"
            | "$schema"
            | "$id"
            | "$anchor"
            | "nullable"
    ) || key.starts_with("x-")
}

impl<'a> Reader<'a> {
    /// All that applies where the schemas `parts` apply together.
    pub(super) fn node(&mut self, parts: &[&'a Value]) -> Node<'a> {
        let mut node = Node::default();
        for part in parts {
            self.absorb(&mut node, part, 0);
        }
        node
    }

    /// Adds a schema and all that it refers to.
    pub(super) fn absorb(&mut self, node: &mut Node<'a>, schema: &'a Value, hops: usize) {
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(_) => return,
            other => {
                let kind = kind_of(other);
                self.note(|| format!("a schema is {kind} instead of an object"));
                return;
            }
        };
        if hops > MAX_HOPS {
            self.note(|| "references or `allOf` within each other without end".to_owned());
            return;
        }
        self.visits += map.len() / KEYS_PER_VISIT;
        let (mut reference, mut all) = (None, None);
        for (key, value) in map {
            match key.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => reference = value.as_str(),
                "allOf" | "all_of" => all = value.as_array(),
                key => self.keyword(node, key, value),
            }
        }
        if let Some(reference) = reference {
            match self.resolve(reference) {
                Some(target) => self.absorb(node, target, hops + 1),
                None => self.note_dangling(reference),
            }
        }
        for part in all.into_iter().flatten() {
            self.visits += 1;
            if self.is_spent() {
                return;
            }
            self.absorb(node, part, hops + 1);
        }
    }

    fn keyword(&mut self, node: &mut Node<'a>, key: &'a str, value: &'a Value) {
        match key {
            "type" => set(&mut node.types, Some(value)),
            "nullable" | "x-nullable" => node.nullable |= value == &Value::Bool(true),
            "enum" => set(&mut node.values, list(value)),
            "const" => set(&mut node.constant, Some(value)),
            "properties" => {
                node.has_properties = true;
                match value {
                    Value::Object(map) => node.properties.push(map),
                    other => {
                        let kind = kind_of(other);
                        node.conditional = true;
                        self.note(|| format!("`properties` is {kind} instead of an object"));
                    }
                }
            }
            "required" => match value {
                Value::Array(names) => node.required.push(names),
                other => node.insists |= other == &Value::Bool(true),
            },
            "additionalProperties" | "additional_properties" => {
                set(&mut node.additional, Some(value));
            }
            "patternProperties" => set(&mut node.patterns, value.as_object()),
            "items" => set(&mut node.items, Some(value)),
            "prefixItems" | "prefix_items" => set(&mut node.prefix, list(value)),
            "anyOf" | "oneOf" | "any_of" | "one_of" => {
                if let Some(members) = list(value) {
                    node.unions.push(members);
                }
            }
            "discriminator" => set(&mut node.discriminator, value.as_object()),
            "if" | "then" | "else" | "dependentSchemas" => node.conditional = true,
            "title" => {
                set(&mut node.title, value.as_str());
                set(
                    &mut node.notes.text,
                    said(value).filter(|title| !is_type_name(title)),
                );
            }
            "description" => {
                // Keys come sorted or as they were sent: either way a description beats a title.
                if node.notes.text.is_none() || node.notes.text == node.title.map(str::trim) {
                    node.notes.text = said(value).or(node.notes.text);
                }
            }
            "default" => set(&mut node.notes.default, Some(value)),
            key => limit(&mut node.notes, key, value),
        }
    }
}

/// Keeps what an outer schema said.
fn set<T>(slot: &mut Option<T>, value: Option<T>) {
    if slot.is_none() {
        *slot = value;
    }
}

fn list(value: &Value) -> Option<&[Value]> {
    value
        .as_array()
        .map(Vec::as_slice)
        .filter(|items| !items.is_empty())
}

pub(super) fn said(value: &Value) -> Option<&str> {
    value
        .as_str()
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

/// Keeps a limit or a remark that no type can express.
pub(super) fn limit<'a>(notes: &mut Notes<'a>, key: &str, value: &'a Value) {
    let Some(limit) = Limit::of(key) else {
        return;
    };
    if !notes.limits.iter().any(|(known, _)| *known == limit) {
        notes.limits.push((limit, value));
    }
}

/// What kind of JSON value stands where a schema should.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
