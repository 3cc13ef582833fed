//! Reads server-sent events, each within the limit, and skips what is not understood.

use bytes::BytesMut;
use futures_util::{Stream, StreamExt, stream};
use sse_stream::{Error, Sse};

/// One event, or what is left of one beyond the limit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its fields. Without data if it was too long.
    pub(crate) fields: Sse,
    /// Whether its data was dropped, because it is longer than the limit.
    pub(crate) too_long: bool,
}

/// The events in `input`. Ends after the first error.
pub(crate) fn events<S, B, E>(input: S, limit: usize) -> impl Stream<Item = Result<Event, Error>>
where
    S: Stream<Item = Result<B, E>> + Unpin,
    B: AsRef<[u8]>,
    E: std::error::Error + Send + Sync + 'static,
{
    let start = (input, Events::new(limit), false);
    stream::unfold(start, |(mut input, mut events, done)| async move {
        if done {
            return None;
        }
        loop {
            if let Some(event) = events.next() {
                return Some((Ok(event), (input, events, false)));
            }
            match input.next().await? {
                Ok(bytes) => events.buffer.extend_from_slice(bytes.as_ref()),
                Err(error) => {
                    let error = Error::Body(Box::new(error));
                    return Some((Err(error), (input, events, true)));
                }
            }
        }
    })
}

/// Bytes not yet cut into lines, and the event that the lines build up.
#[derive(Debug, Default)]
struct Events {
    buffer: BytesMut,
    scanned: usize,
    after_cr: bool,
    skips_line: bool,
    event: Event,
    begun: bool,
    limit: usize,
}

impl Events {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// The next whole event in the buffer.
    fn next(&mut self) -> Option<Event> {
        while let Some(line) = self.line() {
            if !line.is_empty() {
                self.field(&line);
                self.bound(0);
            } else if std::mem::take(&mut self.begun) {
                return Some(std::mem::take(&mut self.event));
            }
        }
        self.bound(self.buffer.len());
        None
    }

    /// Drops what is beyond the limit, with `more` bytes on their way to the event.
    fn bound(&mut self, more: usize) {
        let size = self.event.fields.data.as_ref().map_or(0, String::len) + more;
        // A field name in front of the data does not count.
        if size > self.limit.saturating_add(64) {
            self.event.fields.data = None;
            self.event.too_long = true;
            self.begun = true;
            if more > 0 {
                self.skips_line = true;
                self.buffer.clear();
                self.scanned = 0;
            }
        }
    }

    /// Takes one line; it may end in LF, CR or both.
    fn line(&mut self) -> Option<BytesMut> {
        loop {
            if self.after_cr && !self.buffer.is_empty() {
                self.after_cr = false;
                if self.buffer[0] == b'\n' {
                    let _ = self.buffer.split_to(1);
                }
            }
            let Some(found) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.scanned..]) else {
                self.scanned = self.buffer.len();
                return None;
            };
            let line = self.buffer.split_to(self.scanned + found);
            self.after_cr = self.buffer.split_to(1)[0] == b'\r';
            self.scanned = 0;
            if !std::mem::take(&mut self.skips_line) {
                return Some(line);
            }
        }
    }

    /// Takes one field. Comments, unknown fields and text that is not UTF-8 are ignored, as the
    /// specification of event streams wants it.
    fn field(&mut self, line: &[u8]) {
        let Ok(line) = std::str::from_utf8(line) else {
            tracing::warn!(
                bytes = line.len(),
                "skipped a line of an event stream that is not UTF-8"
            );
            return;
        };
        let line = line.trim_start_matches('\u{feff}');
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        let fields = &mut self.event.fields;
        match name {
            "data" if self.event.too_long => {}
            "data" => match &mut fields.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                none => *none = Some(value.to_owned()),
            },
            "event" => fields.event = Some(value.to_owned()),
            "id" if !value.contains('\0') => fields.id = Some(value.to_owned()),
            "retry" => fields.retry = value.parse().ok(),
            _ => return,
        }
        self.begun = true;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    async fn read(text: &str, piece: usize, limit: usize) -> Vec<Event> {
        let pieces = text.as_bytes().chunks(piece).map(Ok::<_, Infallible>);
        let events = events(stream::iter(pieces), limit);
        events
            .map(|event| event.expect("memory can be read"))
            .collect()
            .await
    }

    fn whole(fields: Sse) -> Event {
        Event {
            fields,
            too_long: false,
        }
    }

    #[tokio::test]
    async fn events_are_read_whatever_the_pieces_and_line_ends() {
        let text = "\u{feff}: hello\nid: 1\r\ndata: a\rdata:b\r\n\r\nodd\nretry: 5\ndata\n\n\nevent: e\ndata: ü\n\nrest";
        let expected = [
            whole(Sse::default().id("1").data("a\nb")),
            whole(Sse::default().retry(5).data("")),
            whole(Sse::default().event("e").data("ü")),
        ];
        for piece in 1..text.len() {
            assert_eq!(read(text, piece, 100).await, expected, "pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn an_event_beyond_the_limit_loses_its_data_and_nothing_else_is_lost() {
        let long = "x".repeat(300);
        let text = format!("data: ok\n\nid: 2\ndata: {long}\ndata: y\n\ndata: late\n\n");
        for piece in [7, 1000] {
            let expected = [
                whole(Sse::default().data("ok")),
                Event {
                    fields: Sse::default().id("2"),
                    too_long: true,
                },
                whole(Sse::default().data("late")),
            ];
            assert_eq!(read(&text, piece, 100).await, expected, "pieces of {piece}");
        }
    }
}
