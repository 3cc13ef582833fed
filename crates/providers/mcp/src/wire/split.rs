//! Takes objects and arrays apart without parsing what is in them. For text known to be one JSON value.

use std::borrow::Cow;

use codehatch_protocol::RawJson;

/// The members of an object, in order; nothing if `text` is something else.
pub(crate) fn members(text: &str) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
    let mut parts = Parts::of(text, b'{');
    std::iter::from_fn(move || {
        let key = parts.next()?;
        let value = parts.next()?;
        Some((string(key).unwrap_or(Cow::Borrowed(key)), value))
    })
}

/// The elements of an array, in order; nothing if `text` is something else.
pub(crate) fn elements(text: &str) -> impl Iterator<Item = &str> {
    Parts::of(text, b'[')
}

/// The last member called `name`.
pub(crate) fn member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let found = members(text).filter(|(key, _)| key == name).last();
    found.map(|(_, value)| value)
}

/// The text of a string value; half surrogates become U+FFFD. `None` for any other value.
pub(crate) fn string(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    let exact = serde_json::from_str::<String>(text).ok();
    Some(Cow::Owned(exact.unwrap_or_else(|| decode_lossy(inner))))
}

/// The value as its own text, checked.
pub(crate) fn raw(text: &str) -> Option<RawJson> {
    RawJson::parse(text).ok()
}

/// Decodes string content in which serde met half of a surrogate pair.
fn decode_lossy(inner: &str) -> String {
    let mut units = Vec::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(char) = rest.next() {
        let plain = match (char, (char == '\\').then(|| rest.next()).flatten()) {
            (_, Some('u')) => {
                let unit = rest
                    .as_str()
                    .get(..4)
                    .and_then(|hex| u16::from_str_radix(hex, 16).ok());
                units.push(unit.unwrap_or(0xfffd));
                rest = rest.as_str().get(4..).unwrap_or_default().chars();
                continue;
            }
            (_, Some('b')) => '\u{8}',
            (_, Some('f')) => '\u{c}',
            (_, Some('n')) => '\n',
            (_, Some('r')) => '\r',
            (_, Some('t')) => '\t',
            (_, Some(other)) => other,
            (char, None) => char,
        };
        units.extend_from_slice(plain.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16_lossy(&units)
}

/// Cuts at the commas and colons of the outermost level.
struct Parts<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str, open: u8) -> Self {
        let text = text.trim();
        let inner = (text.as_bytes().first() == Some(&open) && text.len() >= 2)
            .then(|| &text[1..text.len() - 1]);
        Self {
            text: inner.unwrap_or_default(),
            at: 0,
        }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let (mut depth, mut at) = (0_usize, start);
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => at = string_end(bytes, at),
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                b',' | b':' if depth == 0 => break,
                _ => {}
            }
            at += 1;
        }
        let part = self.text.get(start..at)?.trim();
        self.at = at + 1;
        (!part.is_empty()).then_some(part)
    }
}

/// Where the string that opens at `open` has its closing quote.
fn string_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while let Some(found) = bytes
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        at += found;
        if bytes[at] == b'"' {
            return at;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_cut_at_its_own_commas_only() {
        let text = r#" { "a" : [1,{"b":2}] ,"c\"":"x,:}\\" , "d" :1e400 } "#;
        let found: Vec<_> = members(text)
            .map(|(key, value)| (key.into_owned(), value))
            .collect();
        assert_eq!(
            found,
            [
                ("a".to_owned(), r#"[1,{"b":2}]"#),
                ("c\"".to_owned(), r#""x,:}\\""#),
                ("d".to_owned(), "1e400")
            ]
        );
    }

    #[test]
    fn an_array_is_cut_into_its_elements() {
        assert_eq!(elements("[ ]").count(), 0);
        assert_eq!(
            elements(r#"[1,[2,3],"a]"]"#).collect::<Vec<_>>(),
            ["1", "[2,3]", "\"a]\""]
        );
        assert_eq!(elements("{}").count(), 0);
    }

    #[test]
    fn half_a_surrogate_pair_costs_that_character_only() {
        let text = r#""a\ud800b \ud83d\ude00 \u00e9\n \\ud800 \udc80""#;
        assert_eq!(
            string(text).as_deref(),
            Some("a\u{fffd}b \u{1f600} é\n \\ud800 \u{fffd}")
        );
    }
}
