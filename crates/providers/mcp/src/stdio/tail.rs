//! Keeps the last of what a server wrote beside the protocol, to say why it died.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Bytes kept. A traceback fits; a log of hours does not.
const TAIL_BYTES: usize = 4 * 1024;

/// The end of a server's stderr and of the noise on its stdout.
pub(crate) struct Tail {
    kept: Mutex<VecDeque<u8>>,
    secrets: Vec<String>,
}

impl std::fmt::Debug for Tail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tail").finish_non_exhaustive()
    }
}

impl Tail {
    /// `secrets` never show in [`Tail::text`].
    pub(crate) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        Self {
            kept: Mutex::default(),
            // A short value, such as `1`, is no secret and would riddle the text.
            secrets: secrets
                .into_iter()
                .filter(|secret| secret.len() >= 6)
                .collect(),
        }
    }

    /// Adds what was just written.
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut kept = self.kept();
        let new = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
        let excess = (kept.len() + new.len()).saturating_sub(TAIL_BYTES);
        kept.drain(..excess);
        kept.extend(new);
    }

    /// The text kept, from the start of a line on, without secrets. Empty if there is none.
    pub(crate) fn text(&self) -> String {
        let bytes: Vec<u8> = self.kept().iter().copied().collect();
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        for secret in &self.secrets {
            text = text.replace(secret, "[redacted]");
        }
        if bytes.len() == TAIL_BYTES
            && let Some(end) = text.find('\n')
        {
            text.drain(..=end);
        }
        text.trim_end().to_owned()
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_from_a_whole_line_on() {
        let tail = Tail::new([]);
        for line in 0..1000 {
            tail.push(format!("line {line}\n").as_bytes());
        }
        let text = tail.text();
        assert!(text.starts_with("line "), "{text}");
        assert!(text.ends_with("line 999"), "{text}");
        assert!(text.len() < TAIL_BYTES);
    }

    #[test]
    fn one_write_beyond_the_limit_leaves_its_end() {
        let tail = Tail::new([]);
        tail.push(&[b'x'; TAIL_BYTES * 3]);
        tail.push(b"\nend");
        assert_eq!(tail.text(), "end");
    }

    #[test]
    fn secrets_are_not_shown() {
        let tail = Tail::new(["hunter22".to_owned(), "1".to_owned()]);
        tail.push(b"login 1 failed for hunter22\n");
        assert_eq!(tail.text(), "login 1 failed for [redacted]");
    }
}
