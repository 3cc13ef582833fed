//! Types as text: as Python reads them, and as a model does.

use crate::{
    schema::{Lit, Ty},
    text::{push_repr, push_str},
};

use super::types::TypeNames;

/// Which language a type is written in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dialect {
    /// An annotation that is never evaluated: `list[Issue] | None`.
    Annotation(Shadow),
    /// An expression that Python 3.9 can evaluate before other types exist: `Union[list["Issue"], None]`.
    Runtime(Shadow),
    /// As short as can be: `'open' | 'closed'` for `Literal["open", "closed"]`.
    Catalog,
}

/// Names of built-in types that tools of the same module have taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shadow(u8);

/// The built-in types that annotations use.
const BUILTINS: [&str; 7] = ["bool", "dict", "float", "int", "list", "str", "tuple"];

impl Shadow {
    /// Notes that a tool is called `name`.
    pub(crate) fn add(&mut self, name: &str) {
        if let Some(bit) = BUILTINS.iter().position(|builtin| *builtin == name) {
            self.0 |= 1 << bit;
        }
    }

    /// Whether `name` is a built-in type that annotations use.
    pub(crate) fn is_builtin(name: &str) -> bool {
        BUILTINS.contains(&name)
    }

    fn hides(self, name: &str) -> bool {
        self.0 != 0
            && BUILTINS
                .iter()
                .position(|builtin| *builtin == name)
                .is_some_and(|bit| self.0 & 1 << bit != 0)
    }
}

impl Dialect {
    fn push_builtin(self, out: &mut String, name: &str) {
        if let Self::Annotation(shadow) | Self::Runtime(shadow) = self
            && shadow.hides(name)
        {
            out.push_str("_b.");
        }
        out.push_str(name);
    }
}

/// Appends `ty`.
pub(crate) fn push_type(out: &mut String, ty: &Ty<'_>, names: TypeNames<'_>, dialect: Dialect) {
    match ty {
        Ty::Any => out.push_str("Any"),
        Ty::Null => out.push_str("None"),
        Ty::Bool => dialect.push_builtin(out, "bool"),
        Ty::Int => dialect.push_builtin(out, "int"),
        Ty::Float => dialect.push_builtin(out, "float"),
        Ty::Str => dialect.push_builtin(out, "str"),
        Ty::List(item) => {
            dialect.push_builtin(out, "list");
            if !matches!((dialect, &**item), (Dialect::Catalog, Ty::Any)) {
                out.push('[');
                push_type(out, item, names, dialect);
                out.push(']');
            }
        }
        Ty::Dict(value) => {
            dialect.push_builtin(out, "dict");
            if !matches!((dialect, &**value), (Dialect::Catalog, Ty::Any)) {
                out.push('[');
                dialect.push_builtin(out, "str");
                out.push_str(", ");
                push_type(out, value, names, dialect);
                out.push(']');
            }
        }
        Ty::Tuple(members) => {
            dialect.push_builtin(out, "tuple");
            out.push('[');
            push_separated(out, members, ", ", names, dialect);
            out.push(']');
        }
        Ty::Literal(values) => push_literal(out, values, dialect),
        Ty::Union(members) => match dialect {
            Dialect::Runtime(_) => {
                out.push_str("Union[");
                push_separated(out, members, ", ", names, dialect);
                out.push(']');
            }
            _ => push_separated(out, members, " | ", names, dialect),
        },
        Ty::Named(id) => {
            let quote = matches!(dialect, Dialect::Runtime(_));
            if quote {
                out.push('"');
            }
            out.push_str(names.name(*id));
            if quote {
                out.push('"');
            }
        }
    }
}

fn push_separated(
    out: &mut String,
    members: &[Ty<'_>],
    separator: &str,
    names: TypeNames<'_>,
    dialect: Dialect,
) {
    for (index, member) in members.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        push_type(out, member, names, dialect);
    }
}

fn push_literal(out: &mut String, values: &[Lit<'_>], dialect: Dialect) {
    let (open, separator, close) = match dialect {
        Dialect::Catalog => ("", " | ", ""),
        _ => ("Literal[", ", ", "]"),
    };
    out.push_str(open);
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        match value {
            Lit::Str(text) if matches!(dialect, Dialect::Catalog) => push_repr(out, text),
            Lit::Str(text) => push_str(out, text),
            Lit::Int(number) => out.push_str(&number.to_string()),
            Lit::Bool(true) => out.push_str("True"),
            Lit::Bool(false) => out.push_str("False"),
        }
    }
    out.push_str(close);
}
