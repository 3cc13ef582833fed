//! Where JSON is written to: text of our own, or the bytes of a line.

use std::{
    fmt::{Display, Write as _},
    io::Write as _,
};

/// Takes text; cannot fail, because it only grows memory.
pub(crate) trait Sink {
    /// Appends text as it is.
    fn put(&mut self, text: &str);

    /// Appends what a value displays as.
    fn put_display(&mut self, value: impl Display);
}

impl Sink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }

    fn put_display(&mut self, value: impl Display) {
        _ = write!(self, "{value}");
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }

    fn put_display(&mut self, value: impl Display) {
        _ = write!(self, "{value}");
    }
}
