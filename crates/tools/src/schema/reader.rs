//! Reads one tool's schemas: keeps the named types that it found, and the bounds.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    leaf::leaf,
    limits::{MAX_DEPTH, MAX_TYPE_NAME_CHARS, MAX_TYPES, MAX_VISITS},
    node::Node,
    problem::Problems,
    refs::{Slot, lone_reference},
    ty::{DefKind, Lit, Notes, Ty, TypeDef, TypeId},
};
use crate::names::{camel_case, suffix};

/// Turns the schemas of one tool into types.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    /// The document that references are resolved in.
    pub(super) root: &'a Value,
    /// Whether values of these types are written by the model rather than read.
    pub(super) is_input: bool,
    pub(super) slots: Vec<Slot<'a>>,
    pub(super) types: Vec<Option<TypeDef<'a>>>,
    /// Where the types of the current document start.
    first_type: usize,
    pub(super) fields: usize,
    pub(super) visits: usize,
    /// Lists, dicts and keys around the current place: a type may refer to itself only from within one.
    pub(super) level: usize,
    depth: usize,
    problems: Problems,
}

/// What a type is called after if its schema gives it no name: the tool and the keys that lead to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hint<'h> {
    parent: Option<&'h Self>,
    part: Part<'h>,
}

#[derive(Clone, Copy, Debug)]
enum Part<'h> {
    Word(&'h str),
    /// One of several: `Issue` of `Issues`.
    Item,
}

impl<'h> Hint<'h> {
    pub(super) fn root(part: &'h str) -> Self {
        Self {
            parent: None,
            part: Part::Word(part),
        }
    }

    pub(super) fn child(&'h self, part: &'h str) -> Self {
        Self {
            parent: Some(self),
            part: Part::Word(part),
        }
    }

    fn item(&'h self) -> Self {
        Self {
            parent: Some(self),
            part: Part::Item,
        }
    }

    fn push_to(&self, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.push_to(out);
        }
        match self.part {
            Part::Word(word) => camel_case(out, word),
            Part::Item if out.ends_with("ies") => {
                out.truncate(out.len() - 3);
                out.push('y');
            }
            Part::Item if out.ends_with('s') && !out.ends_with("ss") => {
                out.pop();
            }
            Part::Item => out.push_str("Item"),
        }
    }
}

/// A schema as a type, and what it says besides.
#[derive(Debug)]
pub(super) struct Converted<'a> {
    pub(super) ty: Ty<'a>,
    pub(super) notes: Notes<'a>,
    /// See [`Node::insists`].
    pub(super) insists: bool,
}

impl<'a> Reader<'a> {
    /// A reader that has seen nothing yet.
    pub(crate) fn new() -> Self {
        static NOTHING: Value = Value::Null;
        Self {
            root: &NOTHING,
            is_input: false,
            slots: Vec::new(),
            types: Vec::new(),
            first_type: 0,
            fields: 0,
            visits: 0,
            level: 0,
            depth: 0,
            problems: Problems::default(),
        }
    }

    /// The type of a tool's result.
    pub(crate) fn result(&mut self, tool: &str, schema: &'a Value) -> Ty<'a> {
        self.enter(schema, false);
        if !schema.is_object() {
            if !matches!(schema, Value::Bool(true) | Value::Null) {
                self.note(|| "the output schema is not an object".to_owned());
            }
            return Ty::Any;
        }
        self.target(schema, None, Hint::root(tool).child("Result"), None)
    }

    /// Ends the reading: the named types by their ids, and what was wrong.
    pub(crate) fn finish(self) -> (Vec<TypeDef<'a>>, Option<String>) {
        let unfinished = || TypeDef {
            base: Cow::Borrowed("Unknown"),
            kind: DefKind::Alias(Ty::Any),
        };
        let types = self.types.into_iter();
        (
            types.map(|def| def.unwrap_or_else(unfinished)).collect(),
            self.problems.into_text(),
        )
    }

    /// Starts another document. Named types go on counting.
    pub(super) fn enter(&mut self, root: &'a Value, is_input: bool) {
        self.root = root;
        self.is_input = is_input;
        self.slots.clear();
        self.first_type = self.types.len();
    }

    /// Notes a fault of the schemas.
    pub(super) fn note(&mut self, text: impl FnOnce() -> String) {
        self.problems.note(text());
    }

    /// Whether the schemas are larger than anybody will read.
    pub(super) fn is_spent(&mut self) -> bool {
        let spent = self.visits > MAX_VISITS;
        if spent {
            self.note(|| format!("more than {MAX_VISITS} schemas; the rest is `Any`"));
        }
        spent
    }

    /// Goes one schema deeper for the time of `inner`; `None` where that is too deep or too much.
    pub(super) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.visits += 1;
        if self.is_spent() {
            return None;
        }
        if self.depth == MAX_DEPTH {
            self.note(|| {
                format!("schemas nested more than {MAX_DEPTH} deep; the innermost are `Any`")
            });
            return None;
        }
        self.depth += 1;
        let value = inner(self);
        self.depth -= 1;
        Some(value)
    }

    /// Reads one schema.
    pub(super) fn convert(&mut self, schema: &'a Value, hint: Hint<'_>) -> Converted<'a> {
        let plain = schema.as_object().and_then(leaf);
        if let Some(plain) = plain {
            self.visits += 1;
            return plain;
        }
        let converted = self.deeper(|reader| {
            if let Some(lone) = lone_reference(schema) {
                let (ty, text) = reader.follow(lone.reference, hint, None);
                let mut notes = lone.notes;
                notes.text = notes.text.or(text);
                return Converted {
                    ty: if lone.nullable { ty.or_none() } else { ty },
                    notes,
                    insists: false,
                };
            }
            reader.convert_all(&[schema], hint)
        });
        converted.unwrap_or_else(|| Converted {
            ty: Ty::Any,
            notes: Notes::default(),
            insists: false,
        })
    }

    /// Reads schemas that apply to the same value.
    pub(super) fn convert_all(&mut self, schemas: &[&'a Value], hint: Hint<'_>) -> Converted<'a> {
        let node = self.node(schemas);
        let ty = self.node_type(&node, hint, None);
        Converted {
            ty,
            notes: node.notes,
            insists: node.insists,
        }
    }

    /// The type of a value that `node` describes. `slot` is where a named type of it is kept.
    pub(super) fn node_type(
        &mut self,
        node: &Node<'a>,
        hint: Hint<'_>,
        slot: Option<usize>,
    ) -> Ty<'a> {
        // A reference back to a nullable object means the object or `None`: that needs a name of its own.
        let slot = slot.filter(|_| !node.nullable);
        let ty = if let Some(value) = node.constant {
            values_type(std::slice::from_ref(value))
        } else if let Some(values) = node.values {
            values_type(values)
        } else if let Some(ty) = self.union_type(node, hint) {
            ty
        } else {
            self.declared_type(node, hint, slot)
        };
        if node.nullable { ty.or_none() } else { ty }
    }

    fn declared_type(&mut self, node: &Node<'a>, hint: Hint<'_>, slot: Option<usize>) -> Ty<'a> {
        match node.types {
            Some(Value::String(name)) => self.type_named(name, node, hint, slot),
            Some(Value::Array(names)) => {
                let slot = slot.filter(|_| names.len() == 1);
                let members: Vec<_> = names
                    .iter()
                    .take(super::limits::MAX_MEMBERS)
                    .map(|name| match name {
                        Value::String(name) => self.type_named(name, node, hint, slot),
                        other => self.convert(other, hint).ty,
                    })
                    .collect();
                Ty::union(members)
            }
            None => self.implied_type(node, hint, slot),
            Some(other) => {
                let kind = super::node::kind_of(other);
                self.note(|| format!("`type` is {kind} instead of a name"));
                self.implied_type(node, hint, slot)
            }
        }
    }

    /// The type where none is declared: what the other keywords are about.
    fn implied_type(&mut self, node: &Node<'a>, hint: Hint<'_>, slot: Option<usize>) -> Ty<'a> {
        let is_map = matches!(node.additional, Some(Value::Object(_))) || node.patterns.is_some();
        if is_map || node.properties.iter().any(|map| !map.is_empty()) {
            self.object(node, hint, slot)
        } else if node.items.is_some() || node.prefix.is_some() {
            self.array(node, hint)
        } else {
            Ty::Any
        }
    }

    fn type_named(
        &mut self,
        name: &str,
        node: &Node<'a>,
        hint: Hint<'_>,
        slot: Option<usize>,
    ) -> Ty<'a> {
        match name {
            "string" => Ty::Str,
            "integer" => Ty::Int,
            "number" => Ty::Float,
            "boolean" => Ty::Bool,
            "null" => Ty::Null,
            "object" => self.object(node, hint, slot),
            "array" => self.array(node, hint),
            "any" | "" => Ty::Any,
            "file" => Ty::Str,
            name if name.bytes().any(|byte| byte.is_ascii_uppercase()) => {
                self.type_named(&name.to_ascii_lowercase(), node, hint, slot)
            }
            // Gemini's way of saying nothing.
            "type_unspecified" => Ty::Any,
            name => {
                let shown = crate::text::clip(name, 40).0;
                self.note(|| format!("unknown type {shown:?}"));
                Ty::Any
            }
        }
    }

    fn array(&mut self, node: &Node<'a>, hint: Hint<'_>) -> Ty<'a> {
        let tuple = node.prefix.or(match node.items {
            Some(Value::Array(items)) if !items.is_empty() => Some(items.as_slice()),
            _ => None,
        });
        self.level += 1;
        let hint = hint.item();
        let ty = if let Some(members) = tuple {
            let shown = members.iter().take(super::limits::MAX_MEMBERS);
            let members: Vec<_> = shown.map(|item| self.convert(item, hint).ty).collect();
            let mixed = Ty::List(Box::new(Ty::union(members.iter().cloned())));
            // JSON knows no tuples: they go out as arrays, but what comes in is a list.
            if self.is_input {
                Ty::union([Ty::Tuple(members), mixed])
            } else {
                mixed
            }
        } else {
            let items = node.items.filter(|items| items.is_object());
            let item = items.map_or(Ty::Any, |items| self.convert(items, hint).ty);
            Ty::List(Box::new(item))
        };
        self.level -= 1;
        ty
    }

    /// Sets an id aside for a named type; `None` if there are too many.
    pub(super) fn reserve(&mut self) -> Option<TypeId> {
        if self.types.len() == MAX_TYPES {
            self.note(|| format!("more than {MAX_TYPES} named types; the rest is `Any`"));
            return None;
        }
        self.types.push(None);
        u32::try_from(self.types.len() - 1).ok().map(TypeId)
    }

    /// Fills a reserved id.
    pub(super) fn define(&mut self, id: TypeId, base: String, kind: DefKind<'a>) {
        let base = self.distinct(base);
        self.types[id.0 as usize] = Some(TypeDef {
            base: Cow::Owned(base),
            kind,
        });
    }

    /// A name for a type: `title` if it looks like one, else what leads to it.
    pub(super) fn type_name(title: Option<&str>, hint: Hint<'_>) -> String {
        let mut name = String::with_capacity(32);
        match title.filter(|title| is_type_name(title)) {
            Some(title) => name.push_str(title),
            None => hint.push_to(&mut name),
        }
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            name.insert(0, 'T');
        }
        if name.len() > MAX_TYPE_NAME_CHARS {
            let hash = suffix(&[b"type", name.as_bytes()], 8);
            name.truncate(MAX_TYPE_NAME_CHARS - hash.len() - 1);
            name.push('_');
            name.push_str(&hash);
        }
        if is_taken(&name) {
            name.push_str("Type");
        }
        name
    }

    /// Tells types of one document apart. Those of input and output may share a name: they are often equal.
    fn distinct(&self, mut base: String) -> String {
        let types = &self.types[self.first_type..];
        let taken = |name: &str| types.iter().flatten().any(|def| def.base == name);
        if !taken(&base) {
            return base;
        }
        let stem = base.len();
        for number in 2..=MAX_TYPES + 1 {
            base.truncate(stem);
            base.push_str(&number.to_string());
            if !taken(&base) {
                break;
            }
        }
        base
    }
}

/// Whether a title was written as a type's name: `PullRequest`, but not `Pull request` or `Labels of it`.
pub(super) fn is_type_name(title: &str) -> bool {
    title.starts_with(|c: char| c.is_ascii_uppercase())
        && title.len() <= MAX_TYPE_NAME_CHARS
        && title.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && title.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
}

/// Names that a type must not have: what stubs import, and Python's own capitalised names.
fn is_taken(name: &str) -> bool {
    matches!(
        name,
        "Any"
            | "Literal"
            | "NoReturn"
            | "NotRequired"
            | "TypedDict"
            | "Union"
            | "None"
            | "True"
            | "False"
            | "Ellipsis"
            | "NotImplemented"
            | "HTTPStatusError"
            | "ToolError"
            | "Exception"
            | "Warning"
            | "StopIteration"
            | "StopAsyncIteration"
            | "KeyboardInterrupt"
            | "SystemExit"
            | "GeneratorExit"
            | "BaseException"
            | "BaseExceptionGroup"
            | "ExceptionGroup"
    ) || name.ends_with("Error")
        || name.ends_with("Warning")
}

/// The type of an enumeration.
pub(super) fn values_type(values: &[Value]) -> Ty<'_> {
    let chars: usize = values.iter().filter_map(Value::as_str).map(str::len).sum();
    let spelled =
        values.len() <= super::limits::MAX_VALUES && chars <= super::limits::MAX_VALUES_CHARS;
    let mut literals = Vec::new();
    let mut members: Vec<Ty<'_>> = Vec::new();
    for value in values {
        let literal = match value {
            Value::Bool(value) => Some(Lit::Bool(*value)),
            Value::Number(number) if !number.is_f64() => Some(Lit::Int(number)),
            Value::String(text) => Some(Lit::Str(text)),
            _ => None,
        };
        if let Some(literal) = literal.filter(|_| spelled) {
            if !literals.contains(&literal) {
                literals.push(literal);
            }
            continue;
        }
        let member = match value {
            Value::Null => Ty::Null,
            Value::Bool(_) => Ty::Bool,
            Value::Number(number) if number.is_f64() => Ty::Float,
            Value::Number(_) => Ty::Int,
            Value::String(_) => Ty::Str,
            Value::Array(_) => Ty::List(Box::new(Ty::Any)),
            Value::Object(_) => Ty::Dict(Box::new(Ty::Any)),
        };
        if !members.contains(&member) {
            members.push(member);
        }
    }
    if !literals.is_empty() {
        let literals = Ty::Literal(literals);
        if members.is_empty() {
            return literals;
        }
        members.push(literals);
    }
    Ty::union(members)
}
