//! Named types as blocks of a module.

use crate::{
    module::{Dialect, NamedType, Shadow, TypeNames, Types, has_notes, push_notes, push_type},
    names::is_identifier,
    schema::{DefKind, Field},
    text::push_str,
};

/// Characters of a key's description.
const MAX_NOTE_CHARS: usize = 200;

/// Appends the block of one type.
pub(crate) fn push_type_block(
    out: &mut String,
    named: &NamedType<'_, '_>,
    names: TypeNames<'_>,
    types: &Types<'_, '_>,
    shadow: Shadow,
) {
    match &named.def.kind {
        DefKind::Alias(ty) => {
            out.push_str(&named.name);
            out.push_str(" = ");
            push_type(out, ty, names, Dialect::Runtime(shadow));
            out.push('\n');
        }
        DefKind::Object(fields) if fields.iter().all(|field| is_class_key(field.key, types)) => {
            push_class(out, &named.name, fields, names, shadow);
        }
        DefKind::Object(fields) => push_call(out, &named.name, fields, names, shadow),
    }
}

/// Whether `key` can be written as an attribute without hiding a name that annotations need.
fn is_class_key(key: &str, types: &Types<'_, '_>) -> bool {
    is_identifier(key)
        && !key.starts_with('_')
        && !Shadow::is_builtin(key)
        && !matches!(key, "Any" | "Literal" | "NotRequired" | "Union")
        && !types.has(key)
}

fn push_class(
    out: &mut String,
    name: &str,
    fields: &[Field<'_>],
    names: TypeNames<'_>,
    shadow: Shadow,
) {
    let none_required = fields.iter().all(|field| !field.required);
    out.push_str("class ");
    out.push_str(name);
    out.push_str("(TypedDict");
    out.push_str(if none_required {
        ", total=False):\n"
    } else {
        "):\n"
    });
    if fields.is_empty() {
        out.push_str("    pass\n");
    }
    for field in fields {
        out.push_str("    ");
        out.push_str(field.key);
        out.push_str(": ");
        push_field_type(
            out,
            field,
            names,
            Dialect::Annotation(shadow),
            none_required,
        );
        push_comment(out, field);
        out.push('\n');
    }
}

/// The form for keys that are no identifiers.
fn push_call(
    out: &mut String,
    name: &str,
    fields: &[Field<'_>],
    names: TypeNames<'_>,
    shadow: Shadow,
) {
    out.push_str(name);
    out.push_str(" = TypedDict(\"");
    out.push_str(name);
    out.push_str("\", {\n");
    for field in fields {
        out.push_str("    ");
        push_str(out, field.key);
        out.push_str(": ");
        // Evaluated when the module is imported, unlike the annotations of a class.
        push_field_type(out, field, names, Dialect::Runtime(shadow), false);
        out.push(',');
        push_comment(out, field);
        out.push('\n');
    }
    out.push_str("    })\n");
}

fn push_field_type(
    out: &mut String,
    field: &Field<'_>,
    names: TypeNames<'_>,
    dialect: Dialect,
    none_required: bool,
) {
    let optional = !field.required && !none_required;
    if optional {
        out.push_str("NotRequired[");
    }
    push_type(out, &field.ty, names, dialect);
    if optional {
        out.push(']');
    }
}

fn push_comment(out: &mut String, field: &Field<'_>) {
    if has_notes(&field.notes) {
        out.push_str("  # ");
        push_notes(out, &field.notes, MAX_NOTE_CHARS);
    }
}
