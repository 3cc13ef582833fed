//! What a schema says beside the type, in a few words.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    schema::{Limit, Notes},
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
    let mut list = describe(out, notes, max);
    if let Some(default) = notes.default {
        list.value("default ", default, MAX_DEFAULT_BYTES);
    }
    list.end();
}

/// Appends description and limits as one line.
pub(crate) fn push_description(out: &mut String, notes: &Notes<'_>, max: usize) {
    describe(out, notes, max).end();
}

/// Appends the limits alone.
pub(crate) fn push_limits(out: &mut String, notes: &Notes<'_>) {
    let start = out.len();
    let mut list = List::new(out, start);
    push_limits_to(&mut list, &notes.limits);
    list.end();
}

fn describe<'o>(out: &'o mut String, notes: &Notes<'_>, max: usize) -> List<'o> {
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
    list
}

/// A list that is in brackets if it stands behind something.
struct List<'o> {
    out: &'o mut String,
    /// Where the line began, to know whether a space is due.
    start: usize,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
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

    /// Adds an item that begins with `words`.
    fn item(&mut self, words: &str) {
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
        self.out.push_str(words);
    }

    /// Adds a value, unless it is longer than `max` bytes.
    fn value(&mut self, words: &str, value: &Value, max: usize) -> bool {
        let (end, state) = (self.out.len(), self.state);
        self.item(words);
        let fits = push_value(self.out, value, max, b'\'');
        if !fits {
            self.out.truncate(end);
            self.state = state;
        }
        fits
    }

    fn end(self) {
        if self.state == State::Bracketed {
            self.out.push(')');
        }
    }
}

fn push_limits_to(list: &mut List<'_>, limits: &[(Limit, &Value)]) {
    if limits.is_empty() {
        return;
    }
    let get = |limit: Limit| {
        let found = limits.iter().find(|(known, _)| *known == limit);
        found.map(|(_, value)| *value)
    };
    let bound = |limit: Limit| get(limit).filter(|value| is_short(value));
    for (limit, words) in [
        (Limit::Format, ""),
        (Limit::ContentEncoding, ""),
        (Limit::ContentMediaType, ""),
        (Limit::ExclusiveMinimum, "more than "),
        (Limit::ExclusiveMaximum, "less than "),
        (Limit::MultipleOf, "multiple of "),
        (Limit::Pattern, "matches "),
    ] {
        if let Some(value) = bound(limit) {
            list.item(words);
            push_short(list.out, value);
        }
    }
    for (min, max, unit) in [
        (Limit::Minimum, Limit::Maximum, ""),
        (Limit::MinLength, Limit::MaxLength, " character"),
        (Limit::MinItems, Limit::MaxItems, " item"),
        (Limit::MinProperties, Limit::MaxProperties, " key"),
    ] {
        push_range(list, bound(min), bound(max), unit);
    }
    for (limit, words) in [
        (Limit::UniqueItems, "no repeats"),
        (Limit::Deprecated, "deprecated"),
        (Limit::ReadOnly, "read-only"),
        (Limit::WriteOnly, "write-only"),
    ] {
        if get(limit) == Some(&Value::Bool(true)) {
            list.item(words);
        }
    }
    let examples = get(Limit::Examples).and_then(Value::as_array);
    let examples = examples.map_or(&[][..], Vec::as_slice).iter();
    let mut words = "for example ";
    for example in get(Limit::Example)
        .into_iter()
        .chain(examples)
        .take(MAX_EXAMPLES)
    {
        if list.value(words, example, MAX_LIMIT_CHARS) {
            words = "";
        }
    }
}

fn push_range(list: &mut List<'_>, min: Option<&Value>, max: Option<&Value>, unit: &str) {
    let Some(last) = max.or(min) else {
        return;
    };
    match (min, max) {
        (Some(min), Some(_)) => {
            list.item("");
            push_short(list.out, min);
            list.out.push_str(" to ");
        }
        (Some(_), None) => list.item("at least "),
        _ => list.item("at most "),
    }
    push_short(list.out, last);
    list.out.push_str(unit);
    if !unit.is_empty() && last.as_u64() != Some(1) {
        list.out.push('s');
    }
}

/// Whether a limit is one that can be shown.
fn is_short(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::String(text) => text.len() <= MAX_LIMIT_CHARS,
        _ => false,
    }
}

/// Appends a number as it is, a word such as `date-time` without quotes, any other string with them.
fn push_short(out: &mut String, value: &Value) {
    match value {
        Value::Number(number) => {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "{number}");
            // Some servers widen integers to floats.
            if number.is_f64() && out.ends_with(".0") {
                out.truncate(out.len() - 2);
            }
        }
        Value::String(text) => {
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-/+.".contains(&byte);
            if text.bytes().all(is_word) {
                out.push_str(text);
            } else {
                push_repr(out, text);
            }
        }
        _ => {}
    }
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
                (Limit::Minimum, &one),
                (Limit::Maximum, &ten),
                (Limit::Pattern, &pattern),
                (Limit::Format, &format),
                (Limit::MaxLength, &ten),
            ],
        };
        let mut out = String::new();
        push_notes(&mut out, &notes, 100);
        assert_eq!(
            out,
            "How many. (uuid, matches '^a b$', 1 to 10, at most 10 characters, default 'x')"
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
