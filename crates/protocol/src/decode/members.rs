//! Where the fields of an object stand in its text.

use std::borrow::Cow;

use super::key::Key;
use crate::json::{JsonError, JsonType, Scanned, Scanner, decode_lossy};

/// Bytes of the longest name of a field, if each of them is escaped.
const MAX_NAME_BYTES: usize = 6 * 16;

/// The members of an object whose names are known here; the last one of each name.
#[derive(Debug)]
pub(super) struct Members<'a> {
    slots: [Option<Scanned<'a>>; Key::COUNT],
}

impl<'a> Members<'a> {
    /// Reads an object, and says whether it is well-formed. If not, the members before the fault are there.
    pub(super) fn read(text: &'a str) -> (Self, Result<(), JsonError>) {
        let mut members = Self {
            slots: [None; Key::COUNT],
        };
        let result = members.fill(text);
        (members, result)
    }

    /// The value of a member.
    pub(super) fn get(&self, key: Key) -> Option<Scanned<'a>> {
        self.slots.get(key as usize).copied().flatten()
    }

    fn fill(&mut self, text: &'a str) -> Result<(), JsonError> {
        let mut scanner = Scanner::new(text);
        scanner.expect(b'{')?;
        if scanner.eat(b'}') {
            return scanner.end();
        }
        loop {
            let key = key(scanner.string()?);
            scanner.expect(b':')?;
            let value = scanner.value()?;
            // What stands at the end of a text that breaks off may be the beginning of a longer number, so that a
            // value counts only once something follows it.
            let is_last = !scanner.eat(b',');
            if is_last {
                scanner.expect(b'}')?;
            }
            if let Some(slot) = key.and_then(|key| self.slots.get_mut(key as usize)) {
                *slot = Some(value);
            }
            if is_last {
                return scanner.end();
            }
        }
    }
}

/// The key that a name, given as it is between its quotes, spells.
fn key(raw_name: &str) -> Option<Key> {
    if raw_name.len() > MAX_NAME_BYTES {
        return None;
    }
    Key::from_name(&decode_lossy(raw_name))
}

/// The characters of a value that is a string, with U+FFFD for each lone surrogate.
pub(super) fn text(value: Scanned<'_>) -> Option<Cow<'_, str>> {
    if JsonType::of(value.text) != JsonType::String {
        return None;
    }
    let raw = value.text.strip_prefix('"')?.strip_suffix('"')?;
    Some(decode_lossy(raw))
}
