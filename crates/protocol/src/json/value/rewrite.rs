//! Puts tags into a text and takes them out, without building the value.

use std::borrow::Cow;

use super::{
    super::{number::Number, scan::Scanner, text},
    tag,
};

/// Puts tags into a JSON text, so that a library that parses it into a [`serde_json::Value`] loses nothing.
///
/// The result is what [`RawJson::to_tagged_value`](crate::RawJson::to_tagged_value) builds, as standard JSON.
/// `-0`, which is the integer 0 to Python but a float to such libraries, becomes `0`. A text that is not one JSON
/// value nested at most [`MAX_NESTING`](crate::MAX_NESTING) levels deep is returned as it is.
pub fn tag_text(text: &str) -> Cow<'_, str> {
    if Scanner::new(text).only_value().is_err() {
        return Cow::Borrowed(text);
    }
    rewrite(text, Scanner::new(text), |token| match token {
        Token::String(raw) if tag::needs_tags(raw) => Some(Replacement::String(tag::tagged(raw))),
        Token::Number("-0") => Some(Replacement::Text("0".to_owned())),
        Token::Number(number) => match Number::parse(number) {
            Number::Big | Number::Overflow | Number::Underflow | Number::NonFinite(_) => Some(
                Replacement::Text(format!("{{\"{}\":\"{number}\"}}", tag::NUMBER)),
            ),
            Number::Unsigned(_) | Number::Negative(_) | Number::Float(_) => None,
        },
        Token::String(_) | Token::Object(_) => None,
    })
}

/// Takes the tags out of a JSON text that a library wrote from a tagged [`serde_json::Value`].
///
/// What only looks like a tag is left as it is. A text that is not one JSON value, nested at most one level (a tag)
/// deeper than [`MAX_NESTING`](crate::MAX_NESTING), is returned as it is.
pub fn untag_text(text: &str) -> Cow<'_, str> {
    let scanner = Scanner::new(text).with_extra_level();
    if scanner.clone().only_value().is_err() {
        return Cow::Borrowed(text);
    }
    rewrite(text, scanner, |token| match token {
        Token::String(raw) if tag::may_have_tags(raw) => {
            let mut untagged = String::with_capacity(raw.len());
            tag::write_untagged(&mut untagged, &tag::maybe_tagged(raw));
            Some(Replacement::Text(untagged))
        }
        Token::Object(mut scanner) => {
            let (number, end) = tagged_number(&mut scanner)?;
            Some(Replacement::Value { text: number, end })
        }
        Token::String(_) | Token::Number(_) => None,
    })
}

#[derive(Debug)]
enum Token<'a> {
    /// Between its quotes.
    String(&'a str),
    Number(&'a str),
    /// A scanner in front of the opening bracket.
    Object(Scanner<'a>),
}

#[derive(Debug)]
enum Replacement {
    /// Stands for the token.
    Text(String),
    /// Stands for the token, once it is quoted.
    String(String),
    /// Stands for the whole value that begins with the token and ends at an offset.
    Value { text: String, end: usize },
}

/// Copies a well-formed text, but for the tokens that `replace` wants to be something else.
fn rewrite<'a>(
    text: &'a str,
    mut scanner: Scanner<'a>,
    replace: impl Fn(Token<'a>) -> Option<Replacement>,
) -> Cow<'a, str> {
    let mut out = String::new();
    // Bytes of `text` that are in `out`, or what stands for them.
    let mut done = 0;
    while let Some(first) = scanner.peek() {
        let start = scanner.offset();
        let token = match first {
            b'"' => scanner.string().map(Token::String),
            b'-' | b'0'..=b'9' | b'N' | b'I' => scanner.number().map(Token::Number),
            b'{' => {
                let at = scanner.clone();
                scanner.expect(first).map(|()| Token::Object(at))
            }
            // Punctuation, or a letter of a word.
            _ => match scanner.expect(first) {
                Ok(()) => continue,
                Err(error) => Err(error),
            },
        };
        let Ok(token) = token else {
            break;
        };
        let Some(replacement) = replace(token) else {
            continue;
        };
        out.push_str(text.get(done..start).unwrap_or_default());
        done = scanner.offset();
        match replacement {
            Replacement::Text(text) => out.push_str(&text),
            Replacement::String(text) => text::write_string(&mut out, &text),
            Replacement::Value { text, end } => {
                out.push_str(&text);
                done = end;
                scanner.seek(end);
            }
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

/// The number that an object stands for and the offset of its end, if it is a tag.
fn tagged_number(scanner: &mut Scanner<'_>) -> Option<(String, usize)> {
    let string = |scanner: &mut Scanner<'_>| {
        scanner.peek();
        scanner
            .string()
            .ok()
            .map(text::decode_lossy)
            .map(Cow::into_owned)
    };
    scanner.expect(b'{').ok()?;
    let name = string(scanner)?;
    scanner.expect(b':').ok()?;
    let value = string(scanner)?;
    scanner.expect(b'}').ok()?;
    let number = tag::tagged_number(&name, &value)?.to_owned();
    Some((number, scanner.offset()))
}
