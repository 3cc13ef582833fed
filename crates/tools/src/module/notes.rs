//! What a schema says beside the type, in a few words.

use serde_json::Value;

use crate::{
    schema::Notes,
    text::{clip, push_line, push_repr, push_value},
};

/// Characters of one limit, such as a pattern.
const MAX_LIMIT_CHARS: usize = 80;
/// Bytes of a default that is shown.
const MAX_DEFAULT_BYTES: usize = 80;
/// Examples that are shown.
const MAX_EXAMPLES: usize = 2;

/// Whether there is anything to write.
pub(crate) fn has_notes(notes: &Notes<'_>) -> bool {
    notes.text.is_some() || notes.default.is_some() || !notes.limits.is_empty()
}

/// Appends description, limits and default as one line; the description is cut at `max` characters.
pub(crate) fn push_notes(out: &mut String, notes: &Notes<'_>, max: usize) {
    let start = out.len();
    if let Some(text) = notes.text {
        let (shown, more) = clip(text, max);
        push_line(out, shown);
        if more > 0 {
            out.push('…');
        }
    }
    let mut list = List::new(out, start);
    push_limits_to(&mut list, &notes.limits);
    if let Some(default) = notes.default {
        let mut text = String::new();
        if push_value(&mut text, default, MAX_DEFAULT_BYTES, '\'') {
            list.item(&["default ", &text]);
        }
    }
    list.end();
}

/// Appends the limits alone.
pub(crate) fn push_limits(out: &mut String, notes: &Notes<'_>) {
    let start = out.len();
    let mut list = List::new(out, start);
    push_limits_to(&mut list, &notes.limits);
    list.end();
}

/// A list that is in brackets if it stands behind something.
struct List<'o> {
    out: &'o mut String,
    /// Where the line began, to know whether a space is due.
    start: usize,
    state: State,
}

#[derive(PartialEq, Eq)]
enum State {
    Empty,
    /// Behind a description.
    Bracketed,
    /// On its own.
    Bare,
}

impl<'o> List<'o> {
    fn new(out: &'o mut String, start: usize) -> Self {
        Self {
            out,
            start,
            state: State::Empty,
        }
    }

    fn item(&mut self, parts: &[&str]) {
        let before = match self.state {
            State::Empty if self.out.len() > self.start => {
                self.state = State::Bracketed;
                " ("
            }
            State::Empty => {
                self.state = State::Bare;
                ""
            }
            State::Bracketed | State::Bare => ", ",
        };
        self.out.push_str(before);
        for part in parts {
            self.out.push_str(part);
        }
    }

    fn end(self) {
        if self.state == State::Bracketed {
            self.out.push(')');
        }
    }
}

fn push_limits_to(list: &mut List<'_>, limits: &[(&'static str, &Value)]) {
    if limits.is_empty() {
        return;
    }
    let get = |name: &str| {
        let found = limits.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| *value)
    };
    let text = |name: &str| get(name).and_then(short);
    for name in ["format", "contentEncoding", "contentMediaType"] {
        if let Some(text) = text(name) {
            list.item(&[&text]);
        }
    }
    range(list, text("minimum"), text("maximum"), "");
    if let Some(bound) = text("exclusiveMinimum") {
        list.item(&["more than ", &bound]);
    }
    if let Some(bound) = text("exclusiveMaximum") {
        list.item(&["less than ", &bound]);
    }
    range(list, text("minLength"), text("maxLength"), " character");
    range(list, text("minItems"), text("maxItems"), " item");
    range(list, text("minProperties"), text("maxProperties"), " key");
    if let Some(step) = text("multipleOf") {
        list.item(&["multiple of ", &step]);
    }
    if let Some(pattern) = text("pattern") {
        list.item(&["matches ", &pattern]);
    }
    for (name, words) in [
        ("uniqueItems", "no repeats"),
        ("deprecated", "deprecated"),
        ("readOnly", "read-only"),
        ("writeOnly", "write-only"),
    ] {
        if get(name) == Some(&Value::Bool(true)) {
            list.item(&[words]);
        }
    }
    let examples = get("examples").and_then(Value::as_array);
    let examples = examples.map_or(&[][..], Vec::as_slice).iter();
    let mut before = "for example ";
    for example in get("example")
        .into_iter()
        .chain(examples)
        .take(MAX_EXAMPLES)
    {
        let mut text = String::new();
        if push_value(&mut text, example, MAX_LIMIT_CHARS, '\'') {
            list.item(&[before, &text]);
            before = "";
        }
    }
}

fn range(list: &mut List<'_>, min: Option<String>, max: Option<String>, unit: &str) {
    let last = max.as_deref().or(min.as_deref());
    let plural = if unit.is_empty() || last == Some("1") {
        ""
    } else {
        "s"
    };
    match (&min, &max) {
        (Some(min), Some(max)) => list.item(&[min, " to ", max, unit, plural]),
        (Some(min), None) => list.item(&["at least ", min, unit, plural]),
        (None, Some(max)) => list.item(&["at most ", max, unit, plural]),
        (None, None) => {}
    }
}

/// A number as it is, a string as a line; anything else is no limit.
fn short(value: &Value) -> Option<String> {
    let mut out = String::new();
    match value {
        Value::Number(number) => match number.as_f64() {
            // Some servers widen integers to floats.
            Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => {
                out = format!("{float:.0}");
            }
            _ => out = number.to_string(),
        },
        Value::String(text) if text.len() <= MAX_LIMIT_CHARS => {
            push_repr(&mut out, text);
            // Words such as `date-time` need no quotes.
            if text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-/+.".contains(&byte))
            {
                out.clear();
                out.push_str(text);
            }
        }
        _ => return None,
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_are_said_in_words() {
        let (one, ten, pattern, format) = (json!(1), json!(10.0), json!("^a b$"), json!("uuid"));
        let default = json!("x");
        let notes = Notes {
            text: Some("How\nmany."),
            default: Some(&default),
            limits: vec![
                ("minimum", &one),
                ("maximum", &ten),
                ("pattern", &pattern),
                ("format", &format),
                ("maxLength", &ten),
            ],
        };
        let mut out = String::new();
        push_notes(&mut out, &notes, 100);
        assert_eq!(
            out,
            "How many. (uuid, 1 to 10, at most 10 characters, matches '^a b$', default 'x')"
        );
    }

    #[test]
    fn a_long_description_is_cut() {
        let notes = Notes {
            text: Some("abcdef"),
            ..Notes::default()
        };
        let mut out = String::new();
        push_notes(&mut out, &notes, 3);
        assert_eq!(out, "abc…");
    }
}
