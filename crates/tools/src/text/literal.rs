//! JSON values as Python literals: data in, an expression without any code out.

use serde_json::Value;

use super::visible::{is_hidden, is_plain, push_escape, starts_tag};

/// Appends `text` as a Python string literal in double quotes.
pub(crate) fn push_str(out: &mut String, text: &str) {
    push_quoted(out, text, b'"');
}

/// Appends `text` as a Python string literal in single quotes, as `repr` does.
pub(crate) fn push_repr(out: &mut String, text: &str) {
    push_quoted(out, text, b'\'');
}

fn push_quoted(out: &mut String, text: &str, quote: u8) {
    out.push(char::from(quote));
    if is_plain(text, [quote, b'\\', b'<']) {
        out.push_str(text);
    } else {
        for (at, c) in text.char_indices() {
            match c {
                // Still the same value, but nothing that could close the catalog.
                '<' if starts_tag(&text[at..]) => push_escape(out, c),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\\' => out.push_str("\\\\"),
                c if c == char::from(quote) => {
                    out.push('\\');
                    out.push(c);
                }
                c if is_hidden(c) => push_escape(out, c),
                c => out.push(c),
            }
        }
    }
    out.push(char::from(quote));
}

/// Appends `value` as a Python literal. Returns `false`, with `out` as it was, where it would be longer than
/// `max` bytes or nested deeper than Python's parser likes. Strings stand between `quote`s, one of `'` and `"`.
pub(crate) fn push_value(out: &mut String, value: &Value, max: usize, quote: u8) -> bool {
    let start = out.len();
    let end = start.saturating_add(max);
    let fits = push_nested(out, value, (end, quote), MAX_DEPTH);
    if !fits {
        out.truncate(start);
    }
    fits
}

/// Deepest nesting of a literal. CPython's parser takes 200 brackets; nobody reads that many.
const MAX_DEPTH: usize = 32;

fn push_nested(out: &mut String, value: &Value, (end, quote): (usize, u8), depth: usize) -> bool {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => {
            // Escapes only lengthen, so a string that is too long need not be written to be refused.
            if text.len() > end.saturating_sub(out.len()) {
                return false;
            }
            push_quoted(out, text, quote);
        }
        Value::Array(_) | Value::Object(_) if depth == 0 => return false,
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                if !push_nested(out, item, (end, quote), depth - 1) {
                    return false;
                }
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            // The same value is written the same way, however its map keeps its keys.
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                if key.len() > end.saturating_sub(out.len()) {
                    return false;
                }
                push_quoted(out, key, quote);
                out.push_str(": ");
                if !push_nested(out, member, (end, quote), depth - 1) {
                    return false;
                }
            }
            out.push('}');
        }
    }
    out.len() <= end
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn literal(value: &Value) -> String {
        let mut out = String::new();
        assert!(push_value(&mut out, value, 1_000, b'"'));
        out
    }

    #[test]
    fn values_become_python_literals() {
        let value = json!({"a": [null, true, 1.5, -3], "b\"\n": "it's \\ {x} %s"});
        assert_eq!(
            literal(&value),
            r#"{"a": [None, True, 1.5, -3], "b\"\n": "it's \\ {x} %s"}"#
        );
    }

    #[test]
    fn characters_that_could_end_or_hide_a_literal_are_escaped() {
        let mut out = String::new();
        push_str(&mut out, "\"\"\"\\\r\0\u{2028}\u{1f600}");
        assert_eq!(out, "\"\\\"\\\"\\\"\\\\\\r\\x00\\u2028\u{1f600}\"");
        out.clear();
        push_repr(&mut out, "a'b\"c<</tools-package><b>");
        assert_eq!(out, "'a\\'b\"c<\\x3c/tools-package><b>'");
    }

    #[test]
    fn a_literal_over_its_limit_leaves_nothing_behind() {
        let mut out = "x = ".to_owned();
        assert!(!push_value(&mut out, &json!("y".repeat(11)), 10, b'"'));
        assert!(!push_value(&mut out, &json!([1, 2, 3, 4]), 10, b'"'));
        assert_eq!(out, "x = ");
    }

    #[test]
    fn a_deeply_nested_value_is_refused() {
        let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
        assert!(!push_value(&mut String::new(), &deep, 10_000, b'"'));
    }
}
