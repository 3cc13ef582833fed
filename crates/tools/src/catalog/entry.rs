//! One tool, or one type, as a model reads it.

use std::ops::Range;

use crate::{
    module::{Dialect, Shape, TypeNames, push_description, push_limits, push_type},
    names::{MAX_NAME_CHARS, is_identifier, parameter_ident},
    provider::ToolSpec,
    schema::{DefKind, Extras, Field, Param, Ty, TypeDef},
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

/// Appends the lines of a tool: to `full` all that is said of it, to `brief` its signature and
/// first sentence. Returns where its signature stands in `full`.
pub(crate) fn push_entry(
    (full, brief): (&mut String, &mut String),
    shape: &Shape<'_>,
    names: TypeNames<'_>,
) -> Range<usize> {
    let description = shape.tool.spec.description.as_str();
    let start = full.len();
    push_signature(full, shape, names);
    let signature = start..full.len();
    full.push('\n');
    brief.push_str(&full[start..]);
    push_text(brief, first_sentence(description), MAX_SENTENCE_CHARS);
    push_text(full, description, MAX_DESCRIPTION_CHARS);
    let described = full.len();
    for param in &shape.parameters.list {
        push_parameter_notes(full, param);
    }
    if full.len() - start > MAX_ENTRY_BYTES {
        full.truncate(described);
    }
    signature
}

/// A length that the signature of `spec`, called `attribute`, has at least, in bytes. Reads no more than the
/// names of its parameters.
pub(crate) fn least_bytes(attribute: &str, spec: &ToolSpec) -> usize {
    let properties = spec.input_schema.get("properties");
    let properties = properties.and_then(serde_json::Value::as_object);
    let named = properties.into_iter().flat_map(|map| map.keys());
    let parameters: usize = named
        .map(|key| {
            // Characters that cannot stand in a name go at its ends, and a long one is cut.
            let is_kept = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
            let bytes = key.as_bytes();
            if is_kept(bytes.first()) && is_kept(bytes.last()) {
                key.chars().count().min(MAX_NAME_CHARS)
            } else {
                1
            }
        })
        .sum();
    "def ()".len() + attribute.len() + parameters.min(MAX_SIGNATURE_BYTES)
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
        Some(default) if push_value(&mut literal, default, MAX_DEFAULT_BYTES, b'\'') => {
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
        push_description(out, &param.notes, MAX_PARAMETER_CHARS);
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
    param.renamed
        && (parameter_ident(param.wire) != param.name
            || !param.wire.bytes().any(|byte| byte.is_ascii_alphanumeric()))
}

/// Whether a description is more than the name again: "The owner" says nothing of `owner`.
fn says_more(text: &str, name: &str) -> bool {
    // Longer texts say something else, whatever it is.
    text.len() > 2 * name.len() + 8 || !letters(text).eq(letters(name))
}

/// The letters and digits of all words that carry meaning, in lower case.
fn letters(text: &str) -> impl Iterator<Item = char> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !matches!(*word, "the" | "The" | "a" | "A" | "an" | "An" | "of" | "to"))
        .flat_map(|word| word.chars().flat_map(char::to_lowercase))
}

/// Appends what a named type is, as `Issue = {id: int, note?: str}`.
pub(crate) fn push_definition(
    out: &mut String,
    name: &str,
    def: &TypeDef<'_>,
    names: TypeNames<'_>,
) {
    let start = out.len();
    out.push_str(name);
    out.push_str(" = ");
    let fields = match &def.kind {
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
