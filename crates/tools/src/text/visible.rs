//! Makes characters visible that a reader would not see, so that no text can hide or fake another.

use std::fmt::Write as _;

/// Whether a reader sees nothing where `c` stands, or something else than is written.
///
/// Control characters, line separators, directional overrides, zero-width and tag characters. Joiners stay:
/// emoji and several scripts are written with them.
pub(super) fn is_hidden(c: char) -> bool {
    matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}'
        | '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Whether every byte of `text` is printable ASCII and none of `special`.
///
/// Adds flags up instead of stopping at the first: so the compiler makes it look at many bytes at once, and
/// most texts are plain.
pub(super) fn is_plain(text: &str, special: [u8; 3]) -> bool {
    let flags = text.bytes().fold(0, |flags, byte| {
        flags
            | u8::from(byte < b' ')
            | u8::from(byte > b'~')
            | u8::from(byte == special[0])
            | u8::from(byte == special[1])
            | u8::from(byte == special[2])
    });
    flags == 0
}

/// Whether `text` has two spaces side by side.
fn has_run(text: &str) -> bool {
    let pairs = text.bytes().zip(text.bytes().skip(1));
    let flags = pairs.fold(0, |flags, (a, b)| {
        flags | (u8::from(a == b' ') & u8::from(b == b' '))
    });
    flags != 0
}

/// Writes the escape of one character as Python spells it: `\x00`, `\u2028`, `\U000e0001`.
pub(super) fn push_escape(out: &mut String, c: char) {
    let code = u32::from(c);
    // Writing to a `String` cannot fail.
    let _ = match code {
        0..=0xff => write!(out, "\\x{code:02x}"),
        0x100..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

/// Appends `text` with hidden characters shown as escapes. Line ends and tabs count as hidden.
fn push_visible(out: &mut String, text: &str) {
    for c in text.chars() {
        if is_hidden(c) {
            push_escape(out, c);
        } else {
            out.push(c);
        }
    }
}

/// Appends `text` as one line: runs of spaces, tabs and line ends become one space, other hidden characters are shown.
///
/// The tags that frame the catalog lose their bracket, so that a description cannot close the block it stands in.
pub(crate) fn push_line(out: &mut String, text: &str) {
    let text = text.trim();
    if is_plain(text, [b'<'; 3]) && !has_run(text) {
        out.push_str(text);
        return;
    }
    let words = text.split([' ', '\t', '\n', '\r']);
    for (index, word) in words.filter(|word| !word.is_empty()).enumerate() {
        if index > 0 {
            out.push(' ');
        }
        if word.contains('<') {
            push_untagged(out, word);
        } else {
            push_visible(out, word);
        }
    }
}

/// Names of the tags that frame the catalog.
const TAGS: [&str; 5] = [
    "code-mode",
    "how-to-use",
    "python-version",
    "installed-packages",
    "tools-package",
];

/// Whether `text` starts with one of the tags that frame the catalog, or with the end of one.
pub(super) fn starts_tag(text: &str) -> bool {
    let name = text.strip_prefix('<').unwrap_or(text);
    let name = name.trim_start_matches('/');
    TAGS.iter().any(|tag| {
        name.get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tag))
    })
}

fn push_untagged(out: &mut String, word: &str) {
    let mut rest = word;
    while let Some(at) = rest.find('<') {
        push_visible(out, &rest[..at]);
        let tag = starts_tag(&rest[at..]);
        out.push_str(if tag { "&lt;" } else { "<" });
        rest = &rest[at + 1..];
    }
    push_visible(out, rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        let mut out = String::new();
        push_line(&mut out, text);
        out
    }

    #[test]
    fn what_a_reader_cannot_see_is_shown_as_an_escape() {
        let mut out = String::new();
        push_visible(
            &mut out,
            "a\0b\u{2028}c\u{202e}d\u{e0041}é\u{200d}\u{1f600}\r",
        );
        assert_eq!(
            out,
            "a\\x00b\\u2028c\\u202ed\\U000e0041é\u{200d}\u{1f600}\\x0d"
        );
    }

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(line("  one\n\ttwo\r\n  three "), "one two three");
    }

    #[test]
    fn a_description_cannot_close_the_catalog() {
        assert_eq!(
            line("</tools-package></CODE-MODE> <b> a<b <<code-mode>"),
            "&lt;/tools-package>&lt;/CODE-MODE> <b> a<b <&lt;code-mode>"
        );
    }
}
