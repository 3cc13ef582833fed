//! What a block writes: shown up to a limit, kept whole beyond it.

use std::collections::VecDeque;

use bytes::Bytes;

/// The part of the limit that goes to the beginning, in percent; the end has the rest.
const HEAD_PERCENT: usize = 70;

/// One stream of one block.
#[derive(Debug)]
pub(crate) struct Capture {
    limit: usize,
    /// Everything, as long as that is within the limit; the beginning, afterwards.
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    /// Shows at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    /// Whether more was written than is shown.
    pub(crate) fn is_over(&self) -> bool {
        self.total > self.limit as u64
    }

    /// Takes bytes. When they first go over the limit: everything so far, of which a part is forgotten now.
    pub(crate) fn push(&mut self, bytes: &Bytes) -> Option<Bytes> {
        let was_over = self.is_over();
        self.total = self.total.saturating_add(bytes.len() as u64);
        if !self.is_over() {
            self.head.extend_from_slice(bytes);
            return None;
        }
        if was_over {
            self.push_tail(bytes);
            return None;
        }
        let whole = Bytes::from([&self.head, &bytes[..]].concat());
        self.head = whole.slice(..self.head_limit().min(whole.len())).to_vec();
        self.push_tail(&whole.slice(self.head.len()..));
        Some(whole)
    }

    fn head_limit(&self) -> usize {
        self.limit * HEAD_PERCENT / 100
    }

    fn push_tail(&mut self, bytes: &[u8]) {
        let room = self.limit - self.head_limit();
        let kept = &bytes[bytes.len().saturating_sub(room)..];
        let excess = (self.tail.len() + kept.len()).saturating_sub(room);
        self.tail.drain(..excess);
        self.tail.extend(kept);
    }

    /// Bytes that were written.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The text to show; `note` says where the whole is, if that is cut.
    pub(crate) fn text(&self, note: &str) -> String {
        if !self.is_over() {
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        let head = whole_characters(&self.head);
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        // A character that is cut in the middle starts with bytes that continue one.
        let cut = tail
            .iter()
            .take(3)
            .take_while(|&&byte| byte & 0xC0 == 0x80)
            .count();
        let tail = &tail[cut..];
        let left_out = self.total - (head.len() + tail.len()) as u64;
        let head = String::from_utf8_lossy(head);
        let tail = String::from_utf8_lossy(tail);
        let newline = if head.ends_with('\n') { "" } else { "\n" };
        format!("{head}{newline}[... {left_out} bytes left out; {note} ...]\n{tail}")
    }
}

/// `bytes` without a last character that is not whole.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(limit: usize, parts: &[&str]) -> (Capture, Option<Bytes>) {
        let mut capture = Capture::new(limit);
        let mut whole = None;
        for part in parts {
            whole = capture
                .push(&Bytes::copy_from_slice(part.as_bytes()))
                .or(whole);
        }
        (capture, whole)
    }

    #[test]
    fn output_up_to_the_limit_is_shown_whole() {
        let (capture, whole) = capture(10, &["12345", "67890"]);
        assert_eq!(
            (capture.text("note"), whole),
            ("1234567890".to_owned(), None)
        );
    }

    #[test]
    fn beyond_the_limit_head_and_tail_are_shown_and_the_whole_is_handed_out_once() {
        let (capture, whole) = capture(10, &["1234567890", "abc", "defgh", "XYZ"]);
        assert_eq!(whole.as_deref(), Some(&b"1234567890abc"[..]));
        assert_eq!(
            capture.text("note"),
            "1234567\n[... 11 bytes left out; note ...]\nXYZ"
        );
        assert_eq!(capture.total(), 21);
    }

    #[test]
    fn a_cut_takes_no_character_apart() {
        let (capture, _) = capture(10, &["ééééé", "ééééé"]);
        assert_eq!(capture.text("n"), "ééé\n[... 12 bytes left out; n ...]\né");
    }

    #[test]
    fn one_large_part_is_cut_as_many_small_ones_are() {
        let text = "0123456789".repeat(100);
        let (at_once, _) = capture(20, &[&text]);
        let mut by_byte = Capture::new(20);
        for byte in text.bytes() {
            by_byte.push(&Bytes::copy_from_slice(&[byte]));
        }
        assert_eq!(at_once.text("n"), by_byte.text("n"));
    }
}
