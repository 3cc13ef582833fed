//! One tool, or one type, as a model reads it.

use crate::{
    module::{Dialect, NamedType, Shape, TypeNames, Types, push_limits, push_notes, push_type},
    names::{is_identifier, parameter_ident},
    schema::{DefKind, Extras, Field, Param, Ty},
    text::{clip, first_sentence, push_line, push_repr, push_value},
};

/// Characters of a tool's description.
const MAX_DESCRIPTION_CHARS: usize = 800;
/// Characters of a description where space is short.
const MAX_SENTENCE_CHARS: usize = 120;
/// Characters of a parameter's description.
const MAX_PARAMETER_CHARS: usize = 160;
/// Bytes of a default in a signature.
const MAX_DEFAULT_BYTES: usize = 40;
/// Bytes of a signature past which optional parameters are left out.
const MAX_SIGNATURE_BYTES: usize = 1_500;
/// Bytes of a type's definition past which further keys are left out.
const MAX_DEFINITION_BYTES: usize = 1_000;
/// Bytes of all that is said of one tool; past it, its parameters are not described.
const MAX_ENTRY_BYTES: usize = 4_000;

/// A tool's lines in the catalog.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Signature, description and parameters, each line ended.
    pub(crate) full: String,
    /// Bytes of the signature in `full`, without its line end.
    pub(crate) signature: usize,
    /// Signature and first sentence.
    pub(crate) brief: String,
}

impl Entry {
    /// Writes the lines of the tool at `index`.
    pub(crate) fn of(index: usize, shape: &Shape<'_>, types: &Types<'_, '_>) -> Self {
        let names = types.names(index);
        let description = shape.tool.spec.description.as_str();
        let mut full = String::with_capacity(256);
        push_signature(&mut full, shape, names);
        let signature = full.len();
        full.push('\n');
        let mut brief = full.clone();
        push_text(&mut brief, first_sentence(description), MAX_SENTENCE_CHARS);
        push_text(&mut full, description, MAX_DESCRIPTION_CHARS);
        let described = full.len();
        for param in &shape.parameters.list {
            push_parameter_notes(&mut full, param);
        }
        if full.len() > MAX_ENTRY_BYTES {
            full.truncate(described);
        }
        Self {
            full,
            signature,
            brief,
        }
    }
}

fn push_text(out: &mut String, text: &str, max: usize) {
    let (shown, more) = clip(text.trim(), max);
    if shown.is_empty() {
        return;
    }
    out.push_str("    ");
    push_line(out, shown);
    if more > 0 {
        out.push('…');
    }
    out.push('\n');
}

fn push_signature(out: &mut String, shape: &Shape<'_>, names: TypeNames<'_>) {
    let start = out.len();
    let parameters = &shape.parameters;
    out.push_str("def ");
    out.push_str(shape.tool.attribute);
    out.push('(');
    for (index, param) in parameters.list.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        if index == usize::from(parameters.positional) {
            out.push_str("*, ");
        }
        if !param.required && out.len() - start > MAX_SIGNATURE_BYTES {
            out.push_str("...");
            break;
        }
        push_parameter(out, param, names);
    }
    if let Extras::Allowed(ty) = &parameters.extras {
        if !parameters.list.is_empty() {
            out.push_str(", ");
        }
        out.push_str("**more");
        push_annotation(out, ty, names);
    }
    out.push(')');
    if shape.returns != Ty::Any {
        out.push_str(" -> ");
        push_type(out, &shape.returns, names, Dialect::Catalog);
    }
}

fn push_annotation(out: &mut String, ty: &Ty<'_>, names: TypeNames<'_>) {
    if *ty != Ty::Any {
        out.push_str(": ");
        push_type(out, ty, names, Dialect::Catalog);
    }
}

fn push_parameter(out: &mut String, param: &Param<'_>, names: TypeNames<'_>) {
    out.push_str(&param.name);
    let default = param.usable_default();
    let none_by_default = default.is_some_and(serde_json::Value::is_null);
    match &param.ty {
        // `x: int = None` says all that `x: int | None = None` says.
        Ty::Union(members) if none_by_default && members.len() == 2 && members[1] == Ty::Null => {
            push_annotation(out, &members[0], names);
        }
        ty => push_annotation(out, ty, names),
    }
    let typed = param.ty != Ty::Any;
    let equals = if typed { " = " } else { "=" };
    let mut literal = String::new();
    match default {
        Some(default) if push_value(&mut literal, default, MAX_DEFAULT_BYTES, '\'') => {
            out.push_str(equals);
            out.push_str(&literal);
        }
        None if param.required => {}
        _ => {
            out.push_str(equals);
            out.push_str("...");
        }
    }
}

/// Says what the signature does not: what the parameter is for, and its limits.
fn push_parameter_notes(out: &mut String, param: &Param<'_>) {
    let text = param.notes.text.filter(|text| says_more(text, &param.name));
    let odd_name = is_odd_name(param);
    if text.is_none() && param.notes.limits.is_empty() && !odd_name {
        return;
    }
    let start = out.len();
    out.push_str("    ");
    out.push_str(&param.name);
    out.push_str(": ");
    let before = out.len();
    if text.is_some() {
        let mut notes = param.notes.clone();
        notes.default = None;
        push_notes(out, &notes, MAX_PARAMETER_CHARS);
    } else {
        push_limits(out, &param.notes);
    }
    if odd_name {
        out.push_str(if out.len() > before {
            " (sent as "
        } else {
            "sent as "
        });
        push_repr(out, param.wire);
        if !out[before..].starts_with("sent") {
            out.push(')');
        }
    }
    if out.len() == before {
        out.truncate(start);
    } else {
        out.push('\n');
    }
}

/// Whether the name that is sent cannot be guessed from the one in the signature.
fn is_odd_name(param: &Param<'_>) -> bool {
    param.name != param.wire
        && (parameter_ident(param.wire) != param.name
            || !param.wire.bytes().any(|byte| byte.is_ascii_alphanumeric()))
}

/// Whether a description is more than the name again: "The owner" says nothing of `owner`.
fn says_more(text: &str, name: &str) -> bool {
    let words = |text: &str| {
        let mut out = String::new();
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            if !matches!(
                word,
                "" | "the" | "The" | "a" | "A" | "an" | "An" | "of" | "to"
            ) {
                out.extend(word.chars().flat_map(char::to_lowercase));
            }
        }
        out
    };
    // Longer texts say something else, whatever it is.
    text.len() > 2 * name.len() + 8 || words(text) != words(name)
}

/// Appends what a named type is, as `Issue = {id: int, note?: str}`.
pub(crate) fn push_definition(out: &mut String, named: &NamedType<'_, '_>, types: &Types<'_, '_>) {
    let names = types.names(named.tool);
    let start = out.len();
    out.push_str(&named.name);
    out.push_str(" = ");
    let fields = match &named.def.kind {
        DefKind::Alias(ty) => return push_type(out, ty, names, Dialect::Catalog),
        DefKind::Object(fields) => fields,
    };
    out.push('{');
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        if out.len() - start > MAX_DEFINITION_BYTES {
            out.push_str("...");
            break;
        }
        push_field(out, field, names);
    }
    out.push('}');
}

fn push_field(out: &mut String, field: &Field<'_>, names: TypeNames<'_>) {
    if is_identifier(field.key) {
        out.push_str(field.key);
    } else {
        push_repr(out, field.key);
    }
    if !field.required {
        out.push('?');
    }
    push_annotation(out, &field.ty, names);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_that_repeats_the_name_is_left_out() {
        assert!(!says_more("The owner", "owner"));
        assert!(!says_more("Issue number.", "issue_number"));
        assert!(says_more("Owner of the repository", "owner"));
        assert!(says_more("A repository", "owner"));
    }
}
