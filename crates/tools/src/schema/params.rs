//! The arguments of a tool: each property of its input schema as a parameter.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    limits::{
        KEYS_PER_VISIT, MAX_CANDIDATES, MAX_HOPS, MAX_KEY_CHARS, MAX_PARAMETERS, MAX_REQUIRED,
    },
    node::{Node, kind_of},
    object::{Property, is_required, properties},
    reader::{Hint, Reader},
    ty::{DefKind, Notes, Ty},
    union::only_requires,
};
use crate::names::{Candidate, assign, parameter_ident};

/// The parameters of a tool.
#[derive(Debug)]
pub(crate) struct Parameters<'a> {
    /// Required ones first, each group in the order of the alphabet.
    pub(crate) list: Vec<Param<'a>>,
    /// Whether the first may be given by position.
    pub(crate) positional: bool,
    /// What else is accepted.
    pub(crate) extras: Extras<'a>,
}

/// One parameter.
#[derive(Debug)]
pub(crate) struct Param<'a> {
    /// The name as it is sent.
    pub(crate) wire: &'a str,
    /// The name in Python.
    pub(crate) name: Cow<'a, str>,
    /// Its type.
    pub(crate) ty: Ty<'a>,
    /// Whether the two differ.
    pub(crate) renamed: bool,
    /// Whether it must be given.
    pub(crate) required: bool,
    /// Whether `None` may be sent.
    pub(crate) nullable: bool,
    /// What the schema says of it.
    pub(crate) notes: Notes<'a>,
}

impl<'a> Param<'a> {
    /// The schema's default, unless it is a null that the schema does not allow.
    pub(crate) fn usable_default(&self) -> Option<&'a Value> {
        let default = self.notes.default;
        default.filter(|default| self.nullable || !default.is_null())
    }
}

/// Arguments that the schema does not name.
#[derive(Debug, PartialEq)]
pub(crate) enum Extras<'a> {
    /// There are none.
    Forbidden,
    /// Sent as they are given.
    Allowed(Ty<'a>),
}

impl<'a> Reader<'a> {
    /// The parameters that `schema` declares. Whatever the schema, the tool can be called.
    pub(crate) fn parameters(&mut self, tool: &str, schema: &'a Value) -> Parameters<'a> {
        self.enter(schema, true);
        let mut node = Node::default();
        match schema {
            Value::Object(_) => self.absorb(&mut node, schema, 0),
            Value::Null => self.note(|| "it has no input schema".to_owned()),
            other => {
                let kind = kind_of(other);
                self.note(|| format!("its input schema is {kind} instead of an object"));
            }
        }
        let tool = Hint::root(tool);
        if !describes_object(&node) {
            self.note(|| "its input schema describes no object".to_owned());
            return any_arguments();
        }
        let mut found = Found::default();
        found.add(&node, None);
        if !node.unions.is_empty() {
            self.alternatives(&node, &mut found, 0);
        }
        if !schema.is_object() || !found.has_properties {
            found.open |= node.additional != Some(&Value::Bool(false));
        }
        self.finish_parameters(&node, found, tool)
    }

    /// Collects the properties of a union's members: a call uses those of one, so each becomes optional
    /// unless all members require it.
    fn alternatives(&mut self, node: &Node<'a>, found: &mut Found<'a>, hops: usize) {
        for members in node.unions.iter() {
            if members.iter().all(only_requires) {
                continue;
            }
            let mut required: Option<Vec<&'a str>> = None;
            for member in members {
                let mut inner = Node::default();
                self.absorb(&mut inner, member, 0);
                if !describes_object(&inner) {
                    self.note(|| "an alternative of its input schema is no object".to_owned());
                    found.open = true;
                    required = Some(Vec::new());
                    continue;
                }
                found.add(&inner, Some(()));
                let keys: usize = inner.properties.iter().map(serde_json::Map::len).sum();
                self.visits += 1 + keys / KEYS_PER_VISIT;
                if self.is_spent() {
                    found.open = true;
                    return;
                }
                if !inner.unions.is_empty() && hops < MAX_HOPS {
                    self.alternatives(&inner, found, hops + 1);
                }
                let names = inner.required.iter().flatten();
                let names: Vec<_> = names.filter_map(Value::as_str).take(MAX_REQUIRED).collect();
                required = Some(match required {
                    None => names,
                    Some(all) => all
                        .into_iter()
                        .filter(|name| names.contains(name))
                        .collect(),
                });
            }
            found.required.extend(required.into_iter().flatten());
        }
    }

    fn finish_parameters(
        &mut self,
        node: &Node<'a>,
        found: Found<'a>,
        tool: Hint<'_>,
    ) -> Parameters<'a> {
        let Found {
            mut entries,
            mut required,
            mut open,
            ..
        } = found;
        entries.retain(|entry| {
            let names = misplaced_required(entry);
            if let Some(names) = names {
                required.extend(names.iter().filter_map(Value::as_str));
                self.note(|| "`required` stands inside `properties`".to_owned());
            }
            names.is_none() && entry.property.schema != &Value::Bool(false)
        });
        for entry in &mut entries {
            let key = entry.property.key;
            entry.is_listed = is_required(node, key) || required.contains(&key);
        }
        if entries.len() > MAX_PARAMETERS {
            entries.sort_by_key(|entry| !entry.is_listed);
        }
        let mut list = Vec::with_capacity(entries.len().min(MAX_PARAMETERS));
        for entry in &entries {
            let key = entry.property.key;
            if list.len() == MAX_PARAMETERS || key.len() > MAX_KEY_CHARS {
                self.note(|| {
                    format!(
                        "parameters past {MAX_PARAMETERS}, or with names over {MAX_KEY_CHARS} \
                         characters, are accepted but not shown"
                    )
                });
                open = true;
                continue;
            }
            list.push(self.parameter(entry, tool));
        }
        // Stable: the alphabet's order stays within each group.
        list.sort_by_key(|param| !param.required);
        give_names(&mut list);
        let extras = match node.additional {
            Some(schema @ Value::Object(_)) if !open => {
                Extras::Allowed(self.convert(schema, tool.child("Value")).ty)
            }
            Some(Value::Bool(true) | Value::Object(_)) => Extras::Allowed(Ty::Any),
            _ if open => Extras::Allowed(Ty::Any),
            _ => Extras::Forbidden,
        };
        let needed = list.iter().filter(|param| param.required).count();
        Parameters {
            positional: needed == 1 || list.len() == 1,
            list,
            extras,
        }
    }

    fn parameter(&mut self, entry: &Entry<'a>, tool: Hint<'_>) -> Param<'a> {
        let key = entry.property.key;
        self.level += 1;
        let first = self.property(&entry.property, tool.child(key));
        let ty = if entry.other.is_empty() {
            first.ty
        } else {
            let other = entry.other.iter().take(super::limits::MAX_MEMBERS);
            let mut members = vec![first.ty];
            members.extend(other.map(|schema| self.convert(schema, tool.child(key)).ty));
            Ty::union(members)
        };
        self.level -= 1;
        Param {
            wire: key,
            name: Cow::Borrowed(key),
            renamed: false,
            nullable: self.takes_none(&ty, 0),
            ty,
            required: entry.is_listed || first.insists,
            notes: first.notes,
        }
    }

    fn takes_none(&self, ty: &Ty<'a>, hops: usize) -> bool {
        match ty {
            Ty::Any | Ty::Null => true,
            Ty::Union(members) => members.iter().any(|member| self.takes_none(member, hops)),
            Ty::Named(id) if hops < MAX_HOPS => match self.types.get(id.0 as usize) {
                Some(Some(def)) => match &def.kind {
                    DefKind::Alias(ty) => self.takes_none(ty, hops + 1),
                    DefKind::Object(_) => false,
                },
                _ => true,
            },
            _ => false,
        }
    }
}

/// Properties found so far.
#[derive(Debug, Default)]
struct Found<'a> {
    entries: Vec<Entry<'a>>,
    /// Names that must be given, beside those of the outermost schema.
    required: Vec<&'a str>,
    /// Whether there may be others.
    open: bool,
    has_properties: bool,
}

#[derive(Debug)]
struct Entry<'a> {
    property: Property<'a>,
    /// What alternatives say of the same name.
    other: Vec<&'a Value>,
    /// Whether `required` names it.
    is_listed: bool,
}

impl<'a> Found<'a> {
    /// Adds the properties of `node`. Those of an `alternative` that are known already are one more choice.
    fn add(&mut self, node: &Node<'a>, alternative: Option<()>) {
        self.has_properties |= node.has_properties;
        self.open |= node.conditional || node.patterns.is_some();
        let properties = properties(node);
        self.entries.reserve(properties.len().min(MAX_CANDIDATES));
        for property in properties {
            if self.entries.len() == MAX_CANDIDATES {
                self.open = true;
                break;
            }
            let known = alternative.and_then(|()| {
                self.entries
                    .iter_mut()
                    .find(|entry| entry.property.key == property.key)
            });
            match known {
                Some(entry) if std::ptr::eq(entry.property.schema, property.schema) => {}
                Some(entry) => entry.other.push(property.schema),
                None => self.entries.push(Entry {
                    property,
                    other: Vec::new(),
                    is_listed: false,
                }),
            }
        }
        if alternative.is_some() {
            self.entries
                .sort_by(|a, b| a.property.key.cmp(b.property.key));
        }
    }
}

fn describes_object(node: &Node<'_>) -> bool {
    let is_object = |name: &Value| {
        name.as_str()
            .is_some_and(|name| name.eq_ignore_ascii_case("object"))
    };
    match node.types {
        None => true,
        Some(Value::Array(names)) => names.iter().any(is_object),
        Some(name) => is_object(name),
    }
}

fn any_arguments<'a>() -> Parameters<'a> {
    Parameters {
        list: Vec::new(),
        positional: false,
        extras: Extras::Allowed(Ty::Any),
    }
}

/// `required` written among the properties, where it is taken for one.
fn misplaced_required<'a>(entry: &Entry<'a>) -> Option<&'a [Value]> {
    let names = entry.property.schema.as_array()?;
    (entry.property.key == "required" && names.iter().all(Value::is_string)).then_some(names)
}

/// Gives every parameter a name in Python; most have one already.
fn give_names(list: &mut [Param<'_>]) {
    // Borrowed: as it was.
    let is_plain = |param: &Param<'_>| matches!(parameter_ident(param.wire), Cow::Borrowed(_));
    if list.iter().all(is_plain) {
        return;
    }
    let candidates: Vec<_> = list
        .iter()
        .map(|param| Candidate {
            ident: parameter_ident(param.wire),
            raw: param.wire,
            rank: 0,
            repeat: 0,
        })
        .collect();
    for (param, name) in list.iter_mut().zip(assign(&candidates)) {
        param.renamed = name != param.wire;
        param.name = name;
    }
}
