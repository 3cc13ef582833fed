//! Finds the members of a JSON-RPC message in its bytes, which may come in pieces and need not be kept.

use std::ops::Range;

/// Longest member name that is told apart; the ones that matter are shorter.
const KEY_BYTES: usize = 16;
/// Longest id that is read. Ours are short numbers.
const ID_BYTES: usize = 64;

/// Where the interesting members of a message stand.
///
/// Fed with the bytes of one message. Checks brackets and strings only: what it points at must still be
/// parsed. Works on messages too large to keep, whose id alone is wanted.
#[derive(Debug, Default)]
pub(crate) struct Envelope {
    seen: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
    place: Place,
    key: Vec<u8>,
    id: Vec<u8>,
    value_start: usize,
    found: Found,
}

/// The members of the outermost object, as byte ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Text of `method`, with its quotes.
    pub(crate) method: Option<Range<usize>>,
    /// Text of `result`.
    pub(crate) result: Option<Range<usize>>,
    /// Text of `error`.
    pub(crate) error: Option<Range<usize>>,
    /// Whether `id` occurred, even as `null`.
    pub(crate) has_id: bool,
    /// Whether the outermost value was closed.
    pub(crate) complete: bool,
}

/// Where in the outermost object the next byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    BeforeKey,
    Key,
    BeforeColon,
    BeforeValue,
    Value,
}

impl Envelope {
    /// Reads one whole message.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut envelope = Self::default();
        envelope.feed(bytes);
        envelope
    }

    /// Takes the next bytes of the message.
    pub(crate) fn feed(&mut self, chunk: &[u8]) {
        let mut at = 0;
        while let Some(&byte) = chunk.get(at) {
            if self.in_string && !self.escaped {
                let rest = &chunk[at..];
                let run = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                if run > 0 {
                    self.keep(&rest[..run]);
                    at += run;
                    continue;
                }
            }
            self.byte(byte, self.seen + at);
            at += 1;
        }
        self.seen += chunk.len();
    }

    /// What was found so far.
    pub(crate) fn found(&self) -> &Found {
        &self.found
    }

    /// The id, if it is a number or a string of one, as ours are.
    pub(crate) fn number(&self) -> Option<i64> {
        let text = std::str::from_utf8(&self.id).ok()?.trim();
        let bare = text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        bare.unwrap_or(text).parse().ok()
    }

    fn byte(&mut self, byte: u8, at: usize) {
        if self.in_string {
            self.keep(&[byte]);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                _ => self.close_string(),
            }
            return;
        }
        match byte {
            b'"' => {
                if self.depth == 1 && self.place == Place::BeforeKey {
                    self.place = Place::Key;
                    self.key.clear();
                } else {
                    self.open_value(at);
                }
                self.in_string = true;
                self.keep(&[byte]);
            }
            b'{' | b'[' => {
                self.open_value(at);
                self.depth += 1;
            }
            b'}' | b']' => {
                self.close_value(at);
                self.depth = self.depth.saturating_sub(1);
                self.found.complete = self.depth == 0;
            }
            b',' => self.close_value(at),
            b':' if self.depth == 1 && self.place == Place::BeforeColon => {
                self.place = Place::BeforeValue;
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => {
                self.open_value(at);
                self.keep(&[byte]);
            }
        }
    }

    /// Remembers bytes of a key or of the id.
    fn keep(&mut self, bytes: &[u8]) {
        let (kept, limit) = match self.place {
            Place::Key => (&mut self.key, KEY_BYTES),
            Place::Value if self.depth == 1 && self.key == b"\"id\"" => (&mut self.id, ID_BYTES),
            _ => return,
        };
        let room = limit.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn close_string(&mut self) {
        self.in_string = false;
        if self.place == Place::Key {
            self.place = Place::BeforeColon;
        }
    }

    fn open_value(&mut self, at: usize) {
        if self.depth == 1 && self.place == Place::BeforeValue {
            self.place = Place::Value;
            self.value_start = at;
            if self.key == b"\"id\"" {
                self.id.clear();
                self.found.has_id = true;
            }
        }
    }

    fn close_value(&mut self, at: usize) {
        if self.depth != 1 {
            return;
        }
        if self.place == Place::Value {
            let range = Some(self.value_start..at);
            match self.key.as_slice() {
                b"\"method\"" => self.found.method = range,
                b"\"result\"" => self.found.result = range,
                b"\"error\"" => self.found.error = range,
                _ => {}
            }
        }
        self.place = Place::BeforeKey;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = r#" {"a":{"id":9,"result":[1,"}"]}, "result" : {"id":"x\"","k":[{}]} ,"jsonrpc":"2.0","id":42}"#;

    fn text(range: Option<&Range<usize>>) -> Option<&'static str> {
        range.map(|range| MESSAGE[range.clone()].trim())
    }

    #[test]
    fn members_of_inner_objects_are_not_taken_for_the_messages_own() {
        let envelope = Envelope::of(MESSAGE.as_bytes());
        assert_eq!(envelope.number(), Some(42));
        assert_eq!(
            text(envelope.found().result.as_ref()),
            Some(r#"{"id":"x\"","k":[{}]}"#)
        );
        assert_eq!(envelope.found().method, None);
        assert!(envelope.found().complete);
    }

    #[test]
    fn pieces_of_any_size_give_the_same_result() {
        let whole = Envelope::of(MESSAGE.as_bytes());
        for size in 1..=MESSAGE.len() {
            let mut envelope = Envelope::default();
            for piece in MESSAGE.as_bytes().chunks(size) {
                envelope.feed(piece);
            }
            assert_eq!(envelope.found(), whole.found(), "pieces of {size}");
            assert_eq!(envelope.number(), whole.number(), "pieces of {size}");
        }
    }

    #[test]
    fn a_cut_message_is_known_to_be_cut_and_keeps_its_id() {
        let envelope = Envelope::of(br#"{"id":"7","result":{"a":"#);
        assert_eq!(envelope.number(), Some(7));
        assert!(!envelope.found().complete);
    }

    #[test]
    fn ids_that_are_not_ours_have_no_number() {
        for id in ["null", "1.5", "\"a\"", "{}", "99999999999999999999"] {
            let envelope = Envelope::of(format!(r#"{{"id":{id},"method":"ping"}}"#).as_bytes());
            assert_eq!(envelope.number(), None, "{id}");
            assert!(envelope.found().has_id, "{id}");
        }
    }
}
