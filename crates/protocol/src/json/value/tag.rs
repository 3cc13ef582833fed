//! The tags: what stands in a `Value` for what it cannot hold.

use super::super::{
    number,
    sink::Sink as _,
    text::{self, Piece},
};

/// Begins every tag. A noncharacter, which no text for interchange should have; doubled where one has it.
const MARK: char = '\u{FDD0}';

/// The name of the only member of an object that stands for a number.
///
/// A mark in a tagged string is followed by a mark or a hexadecimal digit. `n` is neither, so that no tagged string
/// is like this name by chance.
pub(super) const NUMBER: &str = "\u{FDD0}number";

/// A string, given as it is between its quotes, with tags.
pub(super) fn tagged(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for piece in text::pieces(raw) {
        match piece {
            Piece::Plain(plain) if plain.contains(MARK) => {
                out.push_str(&plain.replace(MARK, "\u{FDD0}\u{FDD0}"));
            }
            Piece::Plain(plain) => out.push_str(plain),
            Piece::Char(MARK) => out.extend([MARK, MARK]),
            Piece::Char(character) => out.push(character),
            Piece::LoneSurrogate(unit) => push_surrogate(&mut out, unit),
        }
    }
    out
}

/// A string that may have tags, given as it is between its quotes. Surrogates that are escaped in it get their tag
/// too, so that taking out the tags keeps them.
pub(super) fn maybe_tagged(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for piece in text::pieces(raw) {
        match piece {
            Piece::Plain(plain) => out.push_str(plain),
            Piece::Char(character) => out.push(character),
            Piece::LoneSurrogate(unit) => push_surrogate(&mut out, unit),
        }
    }
    out
}

fn push_surrogate(out: &mut String, unit: u16) {
    out.push(MARK);
    out.put_display(format_args!("{unit:04x}"));
}

/// Whether a string, given as it is between its quotes, is another one with tags.
pub(super) fn needs_tags(raw: &str) -> bool {
    raw.contains(MARK)
        || memchr::memchr(b'\\', raw.as_bytes()).is_some()
            && text::pieces(raw)
                .any(|piece| matches!(piece, Piece::Char(MARK) | Piece::LoneSurrogate(_)))
}

/// Whether a string, given as it is between its quotes, may have tags.
pub(super) fn may_have_tags(raw: &str) -> bool {
    raw.contains(MARK)
        || memchr::memchr(b'\\', raw.as_bytes()).is_some()
            && text::pieces(raw).any(|piece| matches!(piece, Piece::Char(MARK)))
}

/// The number that a member stands for, if it is a tag.
pub(super) fn tagged_number<'a>(name: &str, value: &'a str) -> Option<&'a str> {
    (name == NUMBER && number::is_number(value)).then_some(value)
}

/// Appends a tagged string as a JSON string without its tags; returns whether it has lone surrogates.
pub(super) fn write_untagged(out: &mut String, tagged: &str) -> bool {
    let mut lone = false;
    out.push('"');
    let mut rest = tagged;
    while let Some((plain, tail)) = rest.split_once(MARK) {
        text::write_inside(out, plain);
        if let Some((unit, tail)) = surrogate(tail) {
            lone = true;
            text::write_lone_surrogate(out, unit);
            rest = tail;
        } else {
            out.push(MARK);
            rest = tail.strip_prefix(MARK).unwrap_or(tail);
        }
    }
    text::write_inside(out, rest);
    out.push('"');
    lone
}

/// Four hexadecimal digits of a surrogate at the start of `text`.
fn surrogate(text: &str) -> Option<(u16, &str)> {
    let (digits, tail) = text.split_at_checked(4)?;
    // `from_str_radix` would take a sign.
    let unit = digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u16::from_str_radix(digits, 16).ok())??;
    (0xD800..=0xDFFF).contains(&unit).then_some((unit, tail))
}
