//! Notes what is wrong with a tool's schemas, as one sentence for the person who runs the provider.

use std::fmt::Write as _;

/// Places that are described; more are only counted.
const MAX_DESCRIBED: usize = 3;

/// What is wrong with one tool's schemas. Costs nothing while nothing is.
#[derive(Debug, Default)]
pub(super) struct Problems {
    described: Vec<String>,
    more: usize,
}

impl Problems {
    /// Notes one fault. The same sentence is noted once.
    pub(super) fn note(&mut self, text: String) {
        if self.described.contains(&text) {
            return;
        }
        if self.described.len() < MAX_DESCRIBED {
            self.described.push(text);
        } else {
            self.more += 1;
        }
    }

    /// All of them as one text, if there are any.
    pub(super) fn into_text(self) -> Option<String> {
        if self.described.is_empty() {
            return None;
        }
        let mut text = self.described.join("; ");
        if self.more > 0 {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "; and {} more", self.more);
        }
        Some(text)
    }
}
