//! References: each schema that is referred to becomes a type once, with a name of its own where it needs one.

use serde_json::{Map, Value};

use super::{
    node::{is_annotation, limit},
    reader::{Hint, Reader},
    ty::{DefKind, Notes, Ty, TypeId},
};
use crate::text::clip;

/// Words in a type from which on a referenced schema gets a name instead of being spelled out again.
const NAMED_FROM_WEIGHT: usize = 7;

/// A schema that was referred to.
#[derive(Debug)]
pub(super) struct Slot<'a> {
    /// The schema's address.
    schema: *const Value,
    /// The tag that a discriminator gives it; another tag makes another type.
    tag: Option<&'a str>,
    state: State<'a>,
}

#[derive(Debug)]
enum State<'a> {
    /// Being read. The id is set as soon as the type is known to need a name.
    Open { level: usize, id: Option<TypeId> },
    /// Read.
    Done(Ty<'a>),
}

/// A value of the key by which a union's members are told apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tag<'a> {
    pub(super) key: &'a str,
    pub(super) value: &'a str,
}

/// A schema that is nothing but a reference, and remarks.
#[derive(Debug)]
pub(super) struct LoneReference<'a> {
    pub(super) reference: &'a str,
    pub(super) nullable: bool,
    pub(super) notes: Notes<'a>,
}

/// Whether `schema` is only a reference: `$ref`, or an `allOf` of one `$ref`, to which `OpenAPI` 3.0 can add
/// remarks.
pub(super) fn lone_reference(schema: &Value) -> Option<LoneReference<'_>> {
    let map = schema.as_object()?;
    // Most schemas are no references: they should cost no more than a look at their keys.
    if !map.keys().any(|key| key.starts_with('$') || key == "allOf") {
        return None;
    }
    let mut reference = None;
    let mut nullable = false;
    for (key, value) in map {
        match key.as_str() {
            "$ref" | "$dynamicRef" | "$recursiveRef" => reference = Some(value.as_str()?),
            "allOf" if reference.is_none() => reference = Some(only_reference(value)?),
            "nullable" | "x-nullable" => nullable = value == &Value::Bool(true),
            key if is_annotation(key) => {}
            _ => return None,
        }
    }
    Some(LoneReference {
        reference: reference?,
        nullable,
        notes: remarks(map),
    })
}

fn only_reference(all: &Value) -> Option<&str> {
    match all.as_array()?.as_slice() {
        [Value::Object(only)] if only.len() == 1 => only.get("$ref")?.as_str(),
        _ => None,
    }
}

fn remarks(map: &Map<String, Value>) -> Notes<'_> {
    let mut notes = Notes::default();
    for (key, value) in map {
        match key.as_str() {
            "description" => notes.text = value.as_str(),
            "default" => notes.default = Some(value),
            key => limit(&mut notes, key, value),
        }
    }
    notes
}

impl<'a> Reader<'a> {
    /// The schema that `reference` points to within the current document.
    pub(super) fn resolve(&self, reference: &str) -> Option<&'a Value> {
        let pointer = reference.strip_prefix('#')?;
        if pointer.contains('%') {
            return self.root.pointer(&percent_decoded(pointer));
        }
        self.root.pointer(pointer)
    }

    /// Notes a reference that leads nowhere.
    pub(super) fn note_dangling(&mut self, reference: &str) {
        let shown = clip(reference, 80).0;
        self.note(|| format!("reference {shown:?} leads nowhere"));
    }

    /// The type that `reference` points to, and what its schema says of it.
    pub(super) fn follow(
        &mut self,
        reference: &'a str,
        hint: Hint<'_>,
        tag: Option<Tag<'a>>,
    ) -> (Ty<'a>, Option<&'a str>) {
        let Some(target) = self.resolve(reference) else {
            self.note_dangling(reference);
            return (Ty::Any, None);
        };
        let name = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let name = percent_decoded(name).replace("~1", "/");
        let ty = self.target(target, Some(&name), hint, tag);
        let text = target.get("description").and_then(Value::as_str);
        (ty, text)
    }

    /// The type of a schema that can be referred to; `name` is what references call it.
    pub(super) fn target(
        &mut self,
        schema: &'a Value,
        name: Option<&str>,
        hint: Hint<'_>,
        tag: Option<Tag<'a>>,
    ) -> Ty<'a> {
        let value = tag.map(|tag| tag.value);
        let known = self
            .slots
            .iter()
            .position(|slot| std::ptr::eq(slot.schema, schema) && slot.tag == value);
        if let Some(slot) = known {
            return self.known_target(slot);
        }
        let slot = self.slots.len();
        self.slots.push(Slot {
            schema,
            tag: value,
            state: State::Open {
                level: self.level,
                id: None,
            },
        });
        let named = name.filter(|name| name.bytes().any(|byte| byte.is_ascii_alphanumeric()));
        let own = named.map_or(hint, Hint::root);
        let ty = self.deeper(|reader| {
            if let Some(lone) = lone_reference(schema) {
                let (ty, _) = reader.follow(lone.reference, own, tag);
                return if lone.nullable { ty.or_none() } else { ty };
            }
            let mut node = reader.node(&[schema]);
            if named.is_some() {
                node.title = None;
            }
            let ty = reader.node_type(&node, own, Some(slot));
            if let (Some(tag), Ty::Named(id)) = (tag, &ty) {
                reader.set_tag(*id, tag);
            }
            ty
        });
        let ty = self.settle(slot, ty.unwrap_or(Ty::Any), named.is_some(), own);
        self.slots[slot].state = State::Done(ty.clone());
        ty
    }

    fn known_target(&mut self, slot: usize) -> Ty<'a> {
        match &self.slots[slot].state {
            State::Done(ty) => ty.clone(),
            State::Open { level, .. } if *level == self.level => {
                self.note(|| "a reference leads back to itself".to_owned());
                Ty::Any
            }
            State::Open { id: Some(id), .. } => Ty::Named(*id),
            State::Open { .. } => self.slot_id(Some(slot)).map_or(Ty::Any, Ty::Named),
        }
    }

    /// The id for the named type of `slot`, reserved now if it has none yet.
    pub(super) fn slot_id(&mut self, slot: Option<usize>) -> Option<TypeId> {
        let open = slot.and_then(|slot| match &self.slots[slot].state {
            State::Open { id, .. } => *id,
            State::Done(_) => None,
        });
        if open.is_some() {
            return open;
        }
        let id = self.reserve()?;
        if let Some(State::Open { id: place, .. }) = slot.map(|slot| &mut self.slots[slot].state) {
            *place = Some(id);
        }
        Some(id)
    }

    /// Gives a type that was just read a name if something refers to it by one, or if it is long.
    fn settle(&mut self, slot: usize, ty: Ty<'a>, named: bool, hint: Hint<'_>) -> Ty<'a> {
        let id = match &self.slots[slot].state {
            State::Open { id: Some(id), .. } if ty == Ty::Named(*id) => return ty,
            State::Open { id, .. } => *id,
            State::Done(_) => return ty,
        };
        let is_long = named && ty.weight() >= NAMED_FROM_WEIGHT;
        let id = match id {
            Some(id) => id,
            None if is_long => match self.reserve() {
                Some(id) => id,
                None => return ty,
            },
            None => return ty,
        };
        let base = Self::type_name(None, hint);
        self.define(id, base, DefKind::Alias(ty));
        Ty::Named(id)
    }

    /// Narrows the key that tells a union's members apart to this member's value, unless its schema does.
    fn set_tag(&mut self, id: TypeId, tag: Tag<'a>) {
        let def = self.types.get_mut(id.0 as usize).and_then(Option::as_mut);
        let Some(DefKind::Object(fields)) = def.map(|def| &mut def.kind) else {
            return;
        };
        if let Some(field) = fields.iter_mut().find(|field| field.key == tag.key)
            && field.ty == Ty::Str
        {
            field.ty = Ty::Literal(vec![super::ty::Lit::Str(tag.value)]);
        }
    }
}

/// Decodes `%20` and the like; what is no such escape stays.
fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => hex(*high).zip(hex(*low)),
            _ => None,
        };
        if let Some((high, low)) = escaped {
            bytes.push(high << 4 | low);
            rest = &rest[3..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}
