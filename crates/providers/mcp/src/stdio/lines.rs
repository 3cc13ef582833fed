//! Cuts a server's output into lines, and keeps none that is longer than the limit.

use std::io;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::wire::Envelope;

/// Bytes asked for at a time.
const READ_BYTES: usize = 64 * 1024;

/// Reads lines from a byte stream.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    buffer: BytesMut,
    scanned: usize,
    limit: usize,
    overlong: Option<Envelope>,
}

/// What came next.
#[derive(Debug)]
pub(crate) enum Line {
    /// One line without its end.
    Whole(BytesMut),
    /// A line beyond the limit. It is gone; this is what could be told of it.
    TooLong(Envelope),
    /// The stream ended; what is left has no line end.
    End(BytesMut),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `limit` bytes.
    pub(crate) fn new(input: R, limit: usize) -> Self {
        Self {
            input,
            buffer: BytesMut::new(),
            scanned: 0,
            limit,
            overlong: None,
        }
    }

    /// The next line. Cancel-safe: what was read stays for the next call.
    pub(crate) async fn next(&mut self) -> io::Result<Line> {
        loop {
            if let Some(line) = self.cut() {
                return Ok(line);
            }
            self.buffer.reserve(READ_BYTES);
            if self.input.read_buf(&mut self.buffer).await? == 0 {
                self.scanned = 0;
                return Ok(Line::End(std::mem::take(&mut self.buffer)));
            }
        }
    }

    /// Takes a line from the buffer, or makes sure that the buffer stays within the limit.
    fn cut(&mut self) -> Option<Line> {
        let end = memchr::memchr(b'\n', &self.buffer[self.scanned..]);
        if let Some(envelope) = &mut self.overlong {
            let taken = end.unwrap_or(self.buffer.len());
            envelope.feed(&self.buffer[..taken]);
            self.buffer.advance(taken + usize::from(end.is_some()));
            self.scanned = 0;
            end?;
            return self.overlong.take().map(Line::TooLong);
        }
        if let Some(end) = end {
            let end = self.scanned + end;
            let line = self.buffer.split_to(end);
            self.buffer.advance(1);
            self.scanned = 0;
            if line.len() > self.limit {
                return Some(Line::TooLong(Envelope::of(&line)));
            }
            return Some(Line::Whole(line));
        }
        self.scanned = self.buffer.len();
        if self.scanned > self.limit {
            self.overlong = Some(Envelope::of(&self.buffer));
            self.buffer.clear();
            self.scanned = 0;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8], limit: usize) -> Vec<String> {
        let mut lines = Lines::new(bytes, limit);
        let mut seen = Vec::new();
        loop {
            match lines.next().await.expect("memory can be read") {
                Line::Whole(line) => seen.push(String::from_utf8_lossy(&line).into_owned()),
                Line::TooLong(envelope) => seen.push(format!("too long: {:?}", envelope.number())),
                Line::End(rest) => {
                    seen.push(format!("end: {}", String::from_utf8_lossy(&rest)));
                    return seen;
                }
            }
        }
    }

    #[tokio::test]
    async fn lines_and_the_unfinished_rest_come_in_order() {
        assert_eq!(
            read(b"a\r\n\nbc\nrest", 10).await,
            ["a\r", "", "bc", "end: rest"]
        );
    }

    #[tokio::test]
    async fn a_line_at_the_limit_passes_and_one_byte_more_does_not() {
        assert_eq!(
            read(b"12345\n123456\nok\n", 5).await,
            ["12345", "too long: None", "ok", "end: "]
        );
    }

    #[tokio::test]
    async fn a_line_far_beyond_the_limit_is_dropped_and_its_id_kept() {
        let line = format!(
            "{{\"result\":\"{}\",\"id\":17}}\nnext\n",
            "x".repeat(1 << 20)
        );
        assert_eq!(
            read(line.as_bytes(), 1000).await,
            ["too long: Some(17)", "next", "end: "]
        );
    }
}
