//! The inside of a JSON string: from escapes to characters and back.

use std::borrow::Cow;

use super::{run::plain_run, sink::Sink, token::code_unit};

/// A stretch of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text that stands for itself.
    Plain(&'a str),
    /// What one escape, or two that make a surrogate pair, stand for.
    Char(char),
    /// Half of a surrogate pair without its other half.
    LoneSurrogate(u16),
}

/// Half of a surrogate pair was met where none can be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoneSurrogate;

/// Takes a string apart, given without its quotes. It must have passed a scanner.
pub(crate) fn pieces(raw: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = raw;
    std::iter::from_fn(move || {
        let run = match rest.as_bytes() {
            [] => return None,
            [b'\\', ..] => 0,
            bytes => plain_run(bytes),
        };
        if run > 0 {
            let (plain, tail) = rest.split_at(run);
            rest = tail;
            return Some(Piece::Plain(plain));
        }
        let (piece, tail) = escape(rest);
        rest = tail;
        Some(piece)
    })
}

fn escape(text: &str) -> (Piece<'_>, &str) {
    let tail = |bytes: usize| text.get(bytes..).unwrap_or_default();
    let simple = match text.as_bytes() {
        [_, b'b', ..] => '\u{8}',
        [_, b'f', ..] => '\u{c}',
        [_, b'n', ..] => '\n',
        [_, b'r', ..] => '\r',
        [_, b't', ..] => '\t',
        [_, b'u', ..] => return unicode_escape(text),
        // `"`, `\` and `/`; nothing else passes a scanner.
        [_, byte, ..] if byte.is_ascii() => char::from(*byte),
        _ => return (Piece::Char(char::REPLACEMENT_CHARACTER), ""),
    };
    (Piece::Char(simple), tail(2))
}

fn unicode_escape(text: &str) -> (Piece<'_>, &str) {
    let tail = |bytes: usize| text.get(bytes..).unwrap_or_default();
    let Some((unit, after)) = code_unit(text.as_bytes()) else {
        return (Piece::Char(char::REPLACEMENT_CHARACTER), "");
    };
    if let Some(character) = char::from_u32(unit.into()) {
        return (Piece::Char(character), tail(6));
    }
    let pair = [unit, code_unit(after).map_or(0, |(low, _)| low)];
    match char::decode_utf16(pair).next() {
        Some(Ok(character)) => (Piece::Char(character), tail(12)),
        _ => (Piece::LoneSurrogate(unit), tail(6)),
    }
}

/// The characters of a string, with U+FFFD for each lone surrogate.
pub(crate) fn decode_lossy(raw: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\\', raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len());
    for piece in pieces(raw) {
        match piece {
            Piece::Plain(plain) => text.push_str(plain),
            Piece::Char(character) => text.push(character),
            Piece::LoneSurrogate(_) => text.push(char::REPLACEMENT_CHARACTER),
        }
    }
    Cow::Owned(text)
}

/// The characters of a string, unless one of them is a lone surrogate.
pub(crate) fn decode_strict(raw: &str) -> Result<Cow<'_, str>, LoneSurrogate> {
    if memchr::memchr(b'\\', raw.as_bytes()).is_none() {
        return Ok(Cow::Borrowed(raw));
    }
    let mut text = String::with_capacity(raw.len());
    for piece in pieces(raw) {
        match piece {
            Piece::Plain(plain) => text.push_str(plain),
            Piece::Char(character) => text.push(character),
            Piece::LoneSurrogate(_) => return Err(LoneSurrogate),
        }
    }
    Ok(Cow::Owned(text))
}

/// Appends `text` as a JSON string, quotes included, escaped as Python does without `ensure_ascii`.
pub(crate) fn write_string(out: &mut impl Sink, text: &str) {
    out.put("\"");
    write_inside(out, text);
    out.put("\"");
}

/// As [`write_string`], without the quotes.
pub(crate) fn write_inside(out: &mut impl Sink, text: &str) {
    let mut rest = text;
    // Everything special is ASCII, so that each cut is between two characters.
    while let Some((plain, tail)) = rest.split_at_checked(plain_run(rest.as_bytes())) {
        out.put(plain);
        let [special, ..] = tail.as_bytes() else {
            break;
        };
        write_escape(out, *special);
        rest = tail.get(1..).unwrap_or_default();
    }
}

/// Appends the escape of a code unit that is no character.
pub(crate) fn write_lone_surrogate(out: &mut impl Sink, unit: u16) {
    out.put_display(format_args!("\\u{unit:04x}"));
}

fn write_escape(out: &mut impl Sink, special: u8) {
    match special {
        b'"' => out.put("\\\""),
        b'\\' => out.put("\\\\"),
        0x08 => out.put("\\b"),
        0x0C => out.put("\\f"),
        b'\n' => out.put("\\n"),
        b'\r' => out.put("\\r"),
        b'\t' => out.put("\\t"),
        _ => out.put_display(format_args!("\\u{special:04x}")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        let mut out = String::new();
        write_string(&mut out, text);
        out
    }

    #[test]
    fn escapes_become_the_characters_they_stand_for() {
        let raw = r#"a\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00é"#;
        assert_eq!(decode_lossy(raw), "a\"\\/\u{8}\u{c}\n\r\té😀é");
        assert_eq!(decode_strict(raw), Ok(decode_lossy(raw)));
    }

    #[test]
    fn a_lone_surrogate_is_replaced_or_refused() {
        for (raw, lossy) in [
            (r"a\ud800b", "a\u{fffd}b"),
            (r"\udc00", "\u{fffd}"),
            (r"\ud800\ud83d\ude00", "\u{fffd}😀"),
            (r"\ud800\n", "\u{fffd}\n"),
        ] {
            assert_eq!(decode_lossy(raw), lossy, "{raw}");
            assert_eq!(decode_strict(raw), Err(LoneSurrogate), "{raw}");
        }
    }

    #[test]
    fn text_without_escapes_is_borrowed() {
        assert!(matches!(decode_lossy("naïve"), Cow::Borrowed("naïve")));
        assert!(matches!(decode_strict("naïve"), Ok(Cow::Borrowed("naïve"))));
    }

    #[test]
    fn control_characters_are_escaped_as_python_does() {
        assert_eq!(
            written("\0\u{1f}\u{8}\u{c}\n\r\t\"\\/\u{7f}\u{2028}é"),
            "\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\/\u{7f}\u{2028}é\""
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(text in any::<String>()) {
            let quoted = written(&text);
            let raw = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).expect("quotes");
            prop_assert_eq!(decode_strict(raw), Ok(Cow::Borrowed(text.as_str())));
        }
    }
}
