//! One tool as a Python function.

use crate::{
    catalog::push_definition,
    module::{Dialect, Shadow, Shape, TypeNames, has_notes, push_notes, push_type},
    provider::Annotations,
    schema::{Extras, Param},
    text::{Docstring, clip, push_repr, push_str, push_value},
};

/// Characters of a tool's description that its docstring shows.
const MAX_DESCRIPTION_CHARS: usize = 6_000;
/// Characters of a parameter's description that the docstring shows.
const MAX_PARAMETER_CHARS: usize = 500;
/// Bytes of a docstring past which further parameters and types are left out.
const MAX_DOC_BYTES: usize = 16_000;
/// Bytes of the literal of a default that a stub sends.
const MAX_DEFAULT_BYTES: usize = 2_000;

/// Appends the function of a tool.
pub(crate) fn push_function(
    out: &mut String,
    shape: &Shape<'_>,
    names: TypeNames<'_>,
    shadow: Shadow,
) {
    out.push_str("def ");
    out.push_str(shape.tool.attribute);
    out.push('(');
    push_parameters(out, shape, names, shadow);
    out.push_str(") -> ");
    push_type(out, &shape.returns, names, Dialect::Annotation(shadow));
    out.push_str(":\n");
    push_docstring(out, shape, names);
    push_body(out, shape);
}

/// A required parameter whose name differs from the one that is sent: it may come by either, so only the
/// call can tell that it is missing.
fn is_checked_late(param: &Param<'_>) -> bool {
    param.required && param.renamed
}

fn push_parameters(out: &mut String, shape: &Shape<'_>, names: TypeNames<'_>, shadow: Shadow) {
    let parameters = &shape.parameters;
    for (index, param) in parameters.list.iter().enumerate() {
        let starts_keywords = index == usize::from(parameters.positional);
        if starts_keywords {
            out.push_str("*, ");
        }
        out.push_str(&param.name);
        out.push_str(": ");
        push_type(out, &param.ty, names, Dialect::Annotation(shadow));
        if is_checked_late(param) && sent_default(param).is_none() {
            out.push_str(" = _REQUIRED");
        } else if !param.required || sent_default(param).is_some() {
            out.push_str(" = _UNSET");
        }
        out.push_str(", ");
    }
    out.push_str("**");
    out.push_str(catch_all(shape));
    out.push_str(": ");
    match &parameters.extras {
        Extras::Allowed(ty) => push_type(out, ty, names, Dialect::Annotation(shadow)),
        Extras::Forbidden if renames(shape) => out.push_str("Any"),
        // Nothing is a `NoReturn`: a type checker refuses every keyword that the tool does not know.
        Extras::Forbidden => out.push_str("NoReturn"),
    }
}

fn renames(shape: &Shape<'_>) -> bool {
    let mut list = shape.parameters.list.iter();
    list.any(|param| param.renamed)
}

/// The parameter that takes all other keywords. No tool's parameter starts with `_` and a letter.
fn catch_all(shape: &Shape<'_>) -> &'static str {
    match shape.parameters.extras {
        Extras::Allowed(_) => "_more",
        Extras::Forbidden if renames(shape) => "_by_name",
        Extras::Forbidden => "_unknown",
    }
}

/// The literal of a default that has to be sent, because the schema requires the argument all the same.
fn sent_default(param: &Param<'_>) -> Option<String> {
    let default = param.usable_default().filter(|_| param.required)?;
    let mut literal = String::new();
    push_value(&mut literal, default, MAX_DEFAULT_BYTES, b'"').then_some(literal)
}

fn push_body(out: &mut String, shape: &Shape<'_>) {
    out.push_str("    return _send(");
    push_str(out, shape.tool.path);
    out.push_str(", {");
    for (index, param) in shape.parameters.list.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        push_str(out, param.wire);
        out.push_str(": ");
        out.push_str(&param.name);
    }
    out.push_str("}, ");
    out.push_str(catch_all(shape));
    push_nullable(out, shape);
    if matches!(shape.parameters.extras, Extras::Allowed(_)) {
        out.push_str(", is_open=True");
    }
    push_defaults(out, shape);
    out.push_str(")\n");
}

fn push_nullable(out: &mut String, shape: &Shape<'_>) {
    let mut before = ", nullable=(";
    let mut count = 0;
    for param in shape.parameters.list.iter().filter(|param| param.nullable) {
        out.push_str(before);
        push_str(out, param.wire);
        before = ", ";
        count += 1;
    }
    match count {
        0 => {}
        1 => out.push_str(",)"),
        _ => out.push(')'),
    }
}

fn push_defaults(out: &mut String, shape: &Shape<'_>) {
    let mut before = ", defaults={";
    for param in &shape.parameters.list {
        if let Some(literal) = sent_default(param) {
            out.push_str(before);
            push_str(out, param.wire);
            out.push_str(": ");
            out.push_str(&literal);
            before = ", ";
        }
    }
    if before == ", " {
        out.push('}');
    }
}

fn push_docstring(out: &mut String, shape: &Shape<'_>, names: TypeNames<'_>) {
    let start = out.len();
    let mut line = String::with_capacity(256);
    let mut doc = Docstring::new(out);
    let (shown, more) = clip(shape.tool.spec.description.trim(), MAX_DESCRIPTION_CHARS);
    doc.text(shown);
    if more > 0 {
        doc.line("", &format!("… ({more} more characters)"));
    }
    let has_line = |param: &&Param<'_>| has_notes(&param.notes) || param.renamed;
    let mut headed = false;
    for param in shape.parameters.list.iter().filter(has_line) {
        if !headed {
            doc.blank();
            doc.line("", "Args:");
            headed = true;
        }
        if doc.len() - start > MAX_DOC_BYTES {
            doc.line("    ", "…");
            break;
        }
        line.clear();
        line.push_str(&param.name);
        line.push_str(": ");
        push_notes(&mut line, &param.notes, MAX_PARAMETER_CHARS);
        if param.renamed {
            line.push_str(if line.ends_with(": ") {
                "(sent as "
            } else {
                " (sent as "
            });
            push_repr(&mut line, param.wire);
            line.push(')');
        }
        doc.line("    ", &line);
    }
    for (at, (name, def)) in names.all().enumerate() {
        if at == 0 {
            doc.blank();
            doc.line("", "Types:");
        }
        if doc.len() - start > MAX_DOC_BYTES {
            doc.line("    ", "…");
            break;
        }
        line.clear();
        push_definition(&mut line, name, def, names);
        doc.line("    ", &line);
    }
    if let Some(effects) = effects(shape.tool.spec.annotations) {
        doc.blank();
        doc.line("", effects);
    }
    doc.end();
}

/// What the provider says of the effects, where a caller would act on it.
fn effects(annotations: Annotations) -> Option<&'static str> {
    match (
        annotations.read_only,
        annotations.destructive,
        annotations.idempotent,
    ) {
        (Some(true), ..) => Some("Said to change nothing."),
        (_, Some(true), Some(true)) => Some("May delete or overwrite; said to be safe to repeat."),
        (_, Some(true), _) => Some("May delete or overwrite."),
        (_, _, Some(true)) => Some("Said to be safe to repeat."),
        _ => None,
    }
}
