//! How one segment of a name is spelled in a store, so that nothing there can mistake or mangle it.
//!
//! Safe characters stay as they are, the rest is `%XX` per byte. File systems that ignore letter case or
//! compose accents would take different names for one, so a segment with capitals or characters beyond
//! ASCII also gets a mark: `~` and a hash of the exact text.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Bytes of a hash that a mark shows.
///
/// Short, to stay readable: a collision can only join names that a file system takes for one already,
/// and the record of each version tells them apart.
const MARK_HASH_BYTES: usize = 8;

/// Spells `segment` in safe characters.
pub(crate) fn escape(segment: &str) -> String {
    let mut stored = String::with_capacity(segment.len());
    let last = segment.chars().count().saturating_sub(1);
    let whole_is_special = is_version(segment) || is_device(segment);
    for (index, char) in segment.chars().enumerate() {
        let literal = match char {
            // Hidden files, options of commands, and names that mean something here or on Windows.
            _ if index == 0 && (whole_is_special || matches!(char, '.' | '-' | ' ')) => false,
            // Windows drops them at the end.
            '.' | ' ' => index != last,
            _ if char.is_ascii() => char.is_ascii_alphanumeric() || "-_+=,@()".contains(char),
            _ => !is_invisible(char),
        };
        if literal {
            stored.push(char);
        } else {
            for byte in char.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(stored, "%{byte:02X}");
            }
        }
    }
    stored
}

/// What a stored segment ends in to keep it apart from similar ones; empty if there can be none.
pub(crate) fn mark(segment: &str) -> String {
    let is_ambiguous = |char: char| char.is_ascii_uppercase() || !char.is_ascii();
    if !segment.contains(is_ambiguous) {
        return String::new();
    }
    let hash = Sha256::digest(segment.as_bytes());
    let mut mark = String::from("~");
    for byte in hash.iter().take(MARK_HASH_BYTES) {
        let _ = write!(mark, "{byte:02x}");
    }
    mark
}

/// Reads a stored segment back; `None` if it was not written by [`escape`] and [`mark`].
pub(crate) fn unescape(stored: &str) -> Option<String> {
    let escaped = stored.split('~').next().unwrap_or_default();
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'%' {
            let (digits, tail) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(byte);
        }
    }
    let segment = String::from_utf8(bytes).ok()?;
    (escape(&segment) + &mark(&segment) == stored).then_some(segment)
}

/// The number in `v0`, `v1` … as directories of versions are called.
pub(crate) fn version_number(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('v')?;
    let number = digits.parse().ok()?;
    // One spelling each: no `v01`, no `v+1`.
    (format!("{number}") == digits).then_some(number)
}

fn is_version(segment: &str) -> bool {
    segment
        .strip_prefix('v')
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether Windows takes the name for a device, whatever its extension.
fn is_device(segment: &str) -> bool {
    let stem = segment.split('.').next().unwrap_or_default().trim_end();
    let stem = stem.to_ascii_lowercase();
    let numbered = |prefix: &str| {
        let number = stem.strip_prefix(prefix).map(str::as_bytes);
        matches!(number, Some([b'0'..=b'9']))
    };
    matches!(&*stem, "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

/// Characters that show nothing or turn the text around, and so disguise a name in a listing.
///
/// A fixed set: if it followed the Unicode tables, a newer compiler would spell old names anew.
fn is_invisible(char: char) -> bool {
    matches!(
        char,
        '\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stay_readable() {
        for name in ["report.csv", "q1_sales-final (2).xlsx", "a", "x=1,y@2+3"] {
            assert_eq!(escape(name) + &mark(name), name);
        }
    }

    #[test]
    fn what_a_store_could_mistake_is_escaped() {
        for (name, stored) in [
            ("100%.txt", "100%25.txt"),
            (".env", "%2Eenv"),
            ("...", "%2E.%2E"),
            ("-rf", "%2Drf"),
            (" x ", "%20x%20"),
            ("v3", "%763"),
            ("v", "%76"),
            ("vat", "vat"),
            ("nul.txt", "%6Eul.txt"),
            ("com1", "%63om1"),
            ("command", "command"),
            ("a:b?*\"<>|#1", "a%3Ab%3F%2A%22%3C%3E%7C%231"),
            ("a~b", "a%7Eb"),
            ("a\u{202e}b", "a%E2%80%AEb"),
        ] {
            assert_eq!(escape(name), stored, "{name:?}");
        }
    }

    #[test]
    fn names_that_could_be_taken_for_others_are_marked() {
        assert_eq!(mark("README.md"), "~b335630551682c19");
        assert_ne!(mark("README.md"), mark("Readme.md"));
        // The same accent, composed and not.
        assert_ne!(mark("\u{e9}"), mark("e\u{301}"));
    }

    #[test]
    fn what_was_not_written_here_is_not_read() {
        for stored in [
            "%2",
            "%zz",
            "%61",
            "README.md",
            "a~b335630551682c19",
            "%ff",
            "v0",
            "a~",
        ] {
            assert_eq!(unescape(stored), None, "{stored}");
        }
    }
}
