//! Types as Python has them, still borrowing their texts from the schema.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// A named type of one tool: its place in that tool's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeId(pub(crate) u32);

/// A Python type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ty<'a> {
    /// Anything: nothing is known, or it cannot be said in Python.
    Any,
    /// `None`.
    Null,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `float`, which takes integers too.
    Float,
    /// `str`.
    Str,
    /// `list[…]`.
    List(Box<Self>),
    /// `dict[str, …]`.
    Dict(Box<Self>),
    /// `tuple[…]`.
    Tuple(Vec<Self>),
    /// `Literal[…]`.
    Literal(Vec<Lit<'a>>),
    /// Two or more different types, none of them `Any` or a union.
    Union(Vec<Self>),
    /// A type with a name.
    Named(TypeId),
}

/// A value that `Literal` can hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Lit<'a> {
    /// A string.
    Str(&'a str),
    /// An integer.
    Int(&'a Number),
    /// `True` or `False`.
    Bool(bool),
}

impl<'a> Ty<'a> {
    /// The union of `members`: flat, without repeats, `Any` if one of them is.
    pub(crate) fn union(members: impl IntoIterator<Item = Self>) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        let mut literals: Vec<Lit<'a>> = Vec::new();
        let mut push = |member: Self| match member {
            Self::Literal(values) => {
                for value in values {
                    if !literals.contains(&value) {
                        literals.push(value);
                    }
                }
            }
            member if flat.contains(&member) => {}
            member => flat.push(member),
        };
        for member in members {
            match member {
                Self::Union(inner) => inner.into_iter().for_each(&mut push),
                member => push(member),
            }
        }
        if flat.contains(&Self::Any) {
            return Self::Any;
        }
        if flat.contains(&Self::Float) {
            flat.retain(|member| *member != Self::Int);
        }
        if !literals.is_empty() {
            flat.insert(0, Self::Literal(literals));
        }
        // `X | None` reads better than `None | X`.
        if let Some(at) = flat.iter().position(|member| *member == Self::Null) {
            flat[at..].rotate_left(1);
        }
        match flat.len() {
            0 => Self::Any,
            1 => flat.swap_remove(0),
            _ => Self::Union(flat),
        }
    }

    /// This type, or `None`.
    pub(crate) fn or_none(self) -> Self {
        if matches!(self, Self::Any | Self::Null) {
            return self;
        }
        Self::union([self, Self::Null])
    }

    /// How much there is to read in it, roughly in words.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::List(inner) | Self::Dict(inner) => 1 + inner.weight(),
            Self::Tuple(members) | Self::Union(members) => members.iter().map(Self::weight).sum(),
            Self::Literal(values) => values.len(),
            _ => 1,
        }
    }
}

/// What a schema says in words and limits, beside its type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Notes<'a> {
    /// `description`, else `title`.
    pub(crate) text: Option<&'a str>,
    /// `default`.
    pub(crate) default: Option<&'a Value>,
    /// Limits such as `minimum`, in the schema's order.
    pub(crate) limits: Vec<(Limit, &'a Value)>,
}

/// A keyword that no type can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Format,
    ContentEncoding,
    ContentMediaType,
    Minimum,
    Maximum,
    ExclusiveMinimum,
    ExclusiveMaximum,
    MinLength,
    MaxLength,
    MinItems,
    MaxItems,
    MinProperties,
    MaxProperties,
    MultipleOf,
    Pattern,
    UniqueItems,
    Deprecated,
    ReadOnly,
    WriteOnly,
    Example,
    Examples,
}

impl Limit {
    /// The limit that a keyword stands for; Gemini spells some with `_`.
    pub(super) fn of(key: &str) -> Option<Self> {
        Some(match key {
            "format" => Self::Format,
            "contentEncoding" => Self::ContentEncoding,
            "contentMediaType" => Self::ContentMediaType,
            "minimum" => Self::Minimum,
            "maximum" => Self::Maximum,
            "exclusiveMinimum" => Self::ExclusiveMinimum,
            "exclusiveMaximum" => Self::ExclusiveMaximum,
            "minLength" | "min_length" => Self::MinLength,
            "maxLength" | "max_length" => Self::MaxLength,
            "minItems" | "min_items" => Self::MinItems,
            "maxItems" | "max_items" => Self::MaxItems,
            "minProperties" | "min_properties" => Self::MinProperties,
            "maxProperties" | "max_properties" => Self::MaxProperties,
            "multipleOf" => Self::MultipleOf,
            "pattern" => Self::Pattern,
            "uniqueItems" => Self::UniqueItems,
            "deprecated" => Self::Deprecated,
            "readOnly" => Self::ReadOnly,
            "writeOnly" => Self::WriteOnly,
            "example" => Self::Example,
            "examples" => Self::Examples,
            _ => return None,
        })
    }
}

/// A named type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TypeDef<'a> {
    /// The name it should have; unlike any other of the same tool.
    pub(crate) base: Cow<'a, str>,
    /// What it is.
    pub(crate) kind: DefKind<'a>,
}

/// What a named type is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DefKind<'a> {
    /// A `TypedDict`.
    Object(Vec<Field<'a>>),
    /// Another name for a type.
    Alias(Ty<'a>),
}

/// One key of a `TypedDict`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field<'a> {
    /// The key as it is sent.
    pub(crate) key: &'a str,
    /// The type of its value.
    pub(crate) ty: Ty<'a>,
    /// Whether it is always there.
    pub(crate) required: bool,
    /// What the schema says of it.
    pub(crate) notes: Notes<'a>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_union_is_flat_and_has_none_last() {
        let inner = Ty::union([Ty::Null, Ty::Str]);
        assert_eq!(
            Ty::union([inner, Ty::Int, Ty::Str]),
            Ty::Union(vec![Ty::Str, Ty::Int, Ty::Null])
        );
        assert_eq!(Ty::union([Ty::Int, Ty::Float]), Ty::Float);
        assert_eq!(Ty::union([Ty::Int, Ty::Any]), Ty::Any);
        assert_eq!(Ty::union([Ty::Str, Ty::Str]), Ty::Str);
    }

    #[test]
    fn literals_of_a_union_are_one_literal() {
        let literal = |text| Ty::Literal(vec![Lit::Str(text)]);
        assert_eq!(
            Ty::union([Ty::Null, literal("a"), literal("b"), literal("a")]),
            Ty::Union(vec![
                Ty::Literal(vec![Lit::Str("a"), Lit::Str("b")]),
                Ty::Null
            ])
        );
    }
}
