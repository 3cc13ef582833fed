//! Objects: a `TypedDict` where keys are declared, a `dict` where they are not.

use serde_json::Value;

use super::{
    limits::{KEYS_PER_VISIT, MAX_FIELDS, MAX_KEY_CHARS, MAX_REQUIRED},
    node::Node,
    reader::{Converted, Hint, Reader},
    ty::{DefKind, Field, Ty},
};

/// One declared key and all that is said of its value.
#[derive(Debug)]
pub(super) struct Property<'a> {
    pub(super) key: &'a str,
    pub(super) schema: &'a Value,
    /// Schemas that apply as well.
    pub(super) also: Vec<&'a Value>,
}

impl<'a> Reader<'a> {
    /// The type of an object.
    pub(super) fn object(
        &mut self,
        node: &Node<'a>,
        hint: Hint<'_>,
        slot: Option<usize>,
    ) -> Ty<'a> {
        let properties = properties(node);
        if properties.is_empty() {
            return self.map_type(node, hint);
        }
        let Some(id) = self.slot_id(slot) else {
            return Ty::Dict(Box::new(Ty::Any));
        };
        self.visits += properties.len() / KEYS_PER_VISIT;
        let base = Self::type_name(node.title, hint);
        self.level += 1;
        let mut fields = Vec::with_capacity(properties.len());
        for property in properties {
            if self.fields == MAX_FIELDS {
                self.note(|| format!("more than {MAX_FIELDS} keys; the rest is left out"));
                break;
            }
            if property.key.len() > MAX_KEY_CHARS {
                self.note(|| format!("a key of more than {MAX_KEY_CHARS} characters is left out"));
                continue;
            }
            // `false` as a schema: the key must not be there.
            if property.schema == &Value::Bool(false) {
                continue;
            }
            self.fields += 1;
            let converted = self.property(&property, hint.child(property.key));
            fields.push(Field {
                required: converted.insists || is_required(node, property.key),
                key: property.key,
                ty: converted.ty,
                notes: converted.notes,
            });
        }
        self.level -= 1;
        fields.sort_by_key(|field| !field.required);
        self.define(id, base, DefKind::Object(fields));
        // Further keys that a model may write would not pass a type checker as a `TypedDict`.
        if self.is_input && allows_more(node) {
            return Ty::union([Ty::Named(id), Ty::Dict(Box::new(Ty::Any))]);
        }
        Ty::Named(id)
    }

    /// The type of one declared key's value.
    pub(super) fn property(&mut self, property: &Property<'a>, hint: Hint<'_>) -> Converted<'a> {
        if property.also.is_empty() {
            return self.convert(property.schema, hint);
        }
        let mut schemas = vec![property.schema];
        schemas.extend(&property.also);
        self.convert_all(&schemas, hint)
    }

    fn map_type(&mut self, node: &Node<'a>, hint: Hint<'_>) -> Ty<'a> {
        let additional = node.additional.filter(|schema| schema.is_object());
        let mut patterns: Vec<_> = node.patterns.into_iter().flatten().collect();
        patterns.sort_unstable_by_key(|(pattern, _)| *pattern);
        self.level += 1;
        let hint = hint.child("Value");
        let values: Vec<_> = patterns
            .into_iter()
            .map(|(_, schema)| schema)
            .chain(additional)
            .take(super::limits::MAX_MEMBERS)
            .map(|schema| self.convert(schema, hint).ty)
            .collect();
        self.level -= 1;
        Ty::Dict(Box::new(Ty::union(values)))
    }
}

/// The declared keys in the order of the alphabet: maps do not keep the order in which they were sent.
pub(super) fn properties<'a>(node: &Node<'a>) -> Vec<Property<'a>> {
    let count = node.properties.iter().map(serde_json::Map::len).sum();
    let mut all = Vec::with_capacity(count);
    for map in node.properties.iter() {
        all.extend(map.iter().map(|(key, schema)| Property {
            key: key.as_str(),
            schema,
            also: Vec::new(),
        }));
    }
    if all.is_sorted_by(|a, b| a.key < b.key) {
        return all;
    }
    // Stable, so that of one key the outer schema stays first.
    all.sort_by(|a, b| a.key.cmp(b.key));
    all.dedup_by(|later, kept| {
        let same = later.key == kept.key;
        if same && !std::ptr::eq(later.schema, kept.schema) {
            kept.also.push(later.schema);
        }
        same
    });
    all
}

/// Whether `required` lists `key`.
pub(super) fn is_required(node: &Node<'_>, key: &str) -> bool {
    let mut names = node.required.iter().flatten().take(MAX_REQUIRED);
    names.any(|name| name.as_str() == Some(key))
}

/// Whether the schema says that there may be keys beside the declared ones.
fn allows_more(node: &Node<'_>) -> bool {
    matches!(node.additional, Some(Value::Bool(true) | Value::Object(_))) || node.patterns.is_some()
}
