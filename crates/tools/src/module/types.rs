//! The named types of a namespace: equal ones shared, different ones told apart.

use std::{borrow::Cow, collections::HashMap};

use super::{
    expr::{Dialect, push_type},
    notes::push_notes,
};
use crate::{
    names::suffix,
    schema::{DefKind, Ty, TypeDef, TypeId},
    text::push_repr,
};

/// All named types of a namespace.
#[derive(Debug)]
pub(crate) struct Types<'s, 'a> {
    /// In the order of their names.
    pub(crate) list: Vec<NamedType<'s, 'a>>,
    /// For each tool the places of its types in `list`.
    places: Vec<Vec<u32>>,
    /// For each tool whether one of its types has another name than it should have.
    renamed: Vec<bool>,
}

/// One type with its final name.
#[derive(Debug)]
pub(crate) struct NamedType<'s, 'a> {
    pub(crate) name: Cow<'s, str>,
    pub(crate) def: &'s TypeDef<'a>,
    /// The first tool that uses it.
    pub(crate) tool: usize,
    /// Its place among that tool's types.
    pub(crate) place: usize,
}

/// The types of one tool, and what they are called.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TypeNames<'n> {
    /// By the names that they should have.
    Base(&'n [TypeDef<'n>]),
    /// By their final names.
    Final(&'n [TypeDef<'n>], &'n [NamedType<'n, 'n>], &'n [u32]),
}

impl<'n> TypeNames<'n> {
    /// The name of `id`.
    pub(crate) fn name(self, id: TypeId) -> &'n str {
        let at = id.0 as usize;
        match self {
            Self::Base(defs) => &defs[at].base,
            Self::Final(_, list, places) => &list[places[at] as usize].name,
        }
    }

    /// All types with their names, each name once: a type of both input and output is in the list twice.
    pub(crate) fn all(self) -> impl Iterator<Item = (&'n str, &'n TypeDef<'n>)> {
        let (Self::Base(defs) | Self::Final(defs, ..)) = self;
        let ids = || (0u32..).map(TypeId).take(defs.len());
        ids().zip(defs).filter_map(move |(id, def)| {
            let name = self.name(id);
            let mut earlier = ids().take(id.0 as usize);
            let is_known = earlier.any(|earlier| self.name(earlier) == name);
            (!is_known).then_some((name, def))
        })
    }
}

/// Types that want one name, or that are one type: each a tool and its place there.
#[derive(Debug)]
struct Group {
    first: (usize, usize),
    rest: Vec<(usize, usize)>,
}

impl Group {
    fn of(first: (usize, usize)) -> Self {
        Self {
            first,
            rest: Vec::new(),
        }
    }
}

impl<'s, 'a> Types<'s, 'a> {
    /// Gives every type of all tools its name; `tools` has the types of each.
    ///
    /// Types that are equal to the last description, and all that they refer to with them, are one type. If
    /// different types want one name, the one with the smallest hash gets it and the others' hashes are
    /// added to theirs; so a name depends only on the types that want it.
    pub(crate) fn of(tools: &'s [Vec<TypeDef<'a>>]) -> Self {
        let mut by_base: HashMap<&'s str, Group> = HashMap::new();
        for (tool, defs) in tools.iter().enumerate() {
            for (place, def) in defs.iter().enumerate() {
                by_base
                    .entry(&def.base)
                    .and_modify(|group| group.rest.push((tool, place)))
                    .or_insert_with(|| Group::of((tool, place)));
            }
        }
        let mut list: Vec<(NamedType<'s, 'a>, Group)> = Vec::with_capacity(by_base.len());
        let mut add = |name: Cow<'s, str>, group: Group| {
            let (tool, place) = group.first;
            let def = &tools[tool][place];
            let named = NamedType {
                name,
                def,
                tool,
                place,
            };
            list.push((named, group));
        };
        for (base, group) in &by_base {
            if group.rest.is_empty() {
                add(Cow::Borrowed(base), Group::of(group.first));
                continue;
            }
            for (index, (hash, group)) in distinct(tools, group).into_iter().enumerate() {
                let name = match index {
                    0 => Cow::Borrowed(*base),
                    _ => Cow::Owned(free_name(base, &hash, &by_base)),
                };
                add(name, group);
            }
        }
        list.sort_unstable_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        let mut places: Vec<Vec<u32>> = tools.iter().map(|defs| vec![0; defs.len()]).collect();
        let mut renamed = vec![false; tools.len()];
        for (index, (named, group)) in (0u32..).zip(&list) {
            for &(tool, place) in [&group.first].into_iter().chain(&group.rest) {
                places[tool][place] = index;
                renamed[tool] |= named.name != named.def.base;
            }
        }
        Self {
            list: list.into_iter().map(|(named, _)| named).collect(),
            places,
            renamed,
        }
    }

    /// The final names of `defs`, the types of the tool at `tool`.
    pub(crate) fn names<'n>(&'n self, tool: usize, defs: &'n [TypeDef<'n>]) -> TypeNames<'n> {
        TypeNames::Final(defs, &self.list, &self.places[tool])
    }

    /// The places of the types of the tool at `tool`, in the order of their names.
    pub(crate) fn of_tool(&self, tool: usize) -> Vec<u32> {
        let mut places = self.places[tool].clone();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Whether what was written about the tool at `tool` with the names its types should have is wrong.
    pub(crate) fn is_renamed(&self, tool: usize) -> bool {
        self.renamed[tool]
    }

    /// Whether a type is called `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.list
            .binary_search_by(|named| named.name.as_ref().cmp(name))
            .is_ok()
    }
}

/// The distinct types of a group with their hashes, in the order of these.
fn distinct(tools: &[Vec<TypeDef<'_>>], group: &Group) -> Vec<(String, Group)> {
    let mut by_hash: HashMap<String, Group> = HashMap::new();
    for &(tool, place) in [&group.first].into_iter().chain(&group.rest) {
        by_hash
            .entry(closure_hash(&tools[tool], place))
            .and_modify(|group| group.rest.push((tool, place)))
            .or_insert_with(|| Group::of((tool, place)));
    }
    let mut distinct: Vec<_> = by_hash.into_iter().collect();
    distinct.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    distinct
}

/// `base` with as much of `hash` as no other type's name has.
fn free_name<T>(base: &str, hash: &str, taken: &HashMap<&str, T>) -> String {
    for len in [4, 8, hash.len()] {
        let name = format!("{base}_{}", &hash[..len]);
        if !taken.contains_key(name.as_str()) {
            return name;
        }
    }
    format!("{base}__{hash}")
}

/// A hash of the type at `place` and of all types that it refers to.
fn closure_hash(types: &[TypeDef<'_>], place: usize) -> String {
    let mut text = String::new();
    let mut queue = vec![place];
    let mut next = 0;
    while let Some(&at) = queue.get(next) {
        next += 1;
        push_definition(&mut text, &types[at], types, &mut queue);
    }
    suffix(&[text.as_bytes()], 26)
}

/// Appends all that is said of one type, and adds the types that it refers to to `queue`.
fn push_definition(
    text: &mut String,
    def: &TypeDef<'_>,
    types: &[TypeDef<'_>],
    queue: &mut Vec<usize>,
) {
    let names = TypeNames::Base(types);
    text.push_str(&def.base);
    text.push('\n');
    match &def.kind {
        DefKind::Alias(ty) => {
            push_type(text, ty, names, Dialect::Catalog);
            enqueue(ty, queue);
        }
        DefKind::Object(fields) => {
            for field in fields {
                push_repr(text, field.key);
                text.push(if field.required { ' ' } else { '?' });
                push_type(text, &field.ty, names, Dialect::Catalog);
                text.push(' ');
                push_notes(text, &field.notes, usize::MAX);
                text.push('\n');
                enqueue(&field.ty, queue);
            }
        }
    }
}

fn enqueue(ty: &Ty<'_>, queue: &mut Vec<usize>) {
    match ty {
        Ty::Named(id) => {
            let at = id.0 as usize;
            if !queue.contains(&at) {
                queue.push(at);
            }
        }
        Ty::List(inner) | Ty::Dict(inner) => enqueue(inner, queue),
        Ty::Tuple(members) | Ty::Union(members) => {
            for member in members {
                enqueue(member, queue);
            }
        }
        _ => {}
    }
}
