//! Cuts a stream of bytes into lines, and passes over lines that are too long. No I/O.

use std::borrow::Cow;

use crate::{caps::Caps, decode::PREFIX_BYTES};

/// Bytes asked for by the first read, and by all as long as reads stay small.
const FIRST_READ: usize = 8 * 1024;

/// Bytes asked for at most by one read, once reads fill what is offered.
const LARGEST_READ: usize = 256 * 1024;

/// Bytes from which on a line is given away with the buffer that it was read into.
const LARGE_LINE: usize = 64 * 1024;

/// What a [`LineSplitter`] yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line without its `\n`. A large one is usually owned: the splitter gives its buffer away, and a frame can
    /// keep it, which saves a copy.
    Whole(Cow<'a, [u8]>),
    /// A line beyond the limit, which was passed over. The connection is as good as before.
    TooLong {
        /// Its first bytes, 1,024 at most.
        prefix: &'a [u8],
        /// Its length without its `\n`.
        bytes: u64,
    },
}

/// Cuts a stream into lines.
///
/// Give it bytes, then take lines until there are no more:
///
/// ```
/// # use codehatch_protocol::{Caps, Line, LineSplitter};
/// # use std::io::Read;
/// # let mut stream = &b"{\"kind\":\"shutdown\"}\n"[..];
/// let mut splitter = LineSplitter::new(Caps::default());
/// loop {
///     let read = stream.read(splitter.spare_mut())?;
///     if read == 0 {
///         break;
///     }
///     splitter.commit(read);
///     while let Some(line) = splitter.next_line() {
///         assert_eq!(line, Line::Whole(b"{\"kind\":\"shutdown\"}".into()));
///     }
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Reading into [`spare_mut`](Self::spare_mut) copies nothing but the part of a line that a read breaks off at. Each
/// byte is looked at once and moved a bounded number of times, however small the reads are. Memory stays below the
/// limit of a line plus two reads, as long as lines are taken after every read, and goes back once lines are short.
#[derive(Debug)]
pub struct LineSplitter {
    /// Bytes from `start` to `end` are read but not yielded; the rest is room for more.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes from `start` on that have no `\n` in them.
    searched: usize,
    /// Room that is offered for the next read.
    read: usize,
    /// The longest line, in bytes.
    limit: usize,
    /// The line that is being passed over, or was last.
    long: LongLine,
    skipping: bool,
}

#[derive(Debug, Default)]
struct LongLine {
    prefix: Vec<u8>,
    bytes: u64,
}

/// What is found in the bytes at hand.
#[derive(Clone, Copy)]
enum Found {
    Whole { start: usize, end: usize },
    TooLong,
}

impl LineSplitter {
    /// A splitter at the beginning of a stream. Of the caps, the length of a frame is used.
    pub fn new(caps: Caps) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            end: 0,
            searched: 0,
            read: FIRST_READ,
            limit: caps.frame_bytes,
            long: LongLine::default(),
            skipping: false,
        }
    }

    /// Room to read into: 8 KiB at first, more once reads fill it. Never empty. Contents are left over and mean
    /// nothing.
    pub fn spare_mut(&mut self) -> &mut [u8] {
        self.make_room(self.read);
        self.buffer.get_mut(self.end..).unwrap_or_default()
    }

    /// Takes the first `bytes` bytes of [`spare_mut`](Self::spare_mut) as read. More than it has is all of it.
    pub fn commit(&mut self, bytes: usize) {
        let room = self.buffer.len().saturating_sub(self.end);
        self.end = self.end.saturating_add(bytes.min(room));
        if bytes >= self.read {
            self.read = self.read.saturating_mul(2).min(LARGEST_READ);
        } else if bytes < self.read / 4 {
            self.read = (self.read / 2).max(FIRST_READ);
        }
    }

    /// Takes a chunk as read, by copying it.
    pub fn push(&mut self, chunk: &[u8]) {
        self.make_room(chunk.len());
        let end = self.end.saturating_add(chunk.len());
        if let Some(room) = self.buffer.get_mut(self.end..end) {
            room.copy_from_slice(chunk);
            self.end = end;
        }
    }

    /// The next line, if its `\n` has been read.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        let found = self.find()?;
        Some(self.line(found))
    }

    /// What is left once the stream has ended: a line without its `\n`, unless nothing is.
    pub fn finish(&mut self) -> Option<Line<'_>> {
        let found = match self.find() {
            Some(found) => found,
            None if self.skipping => {
                self.skipping = false;
                Found::TooLong
            }
            None if self.start == self.end => return None,
            None => {
                let (start, end) = (self.start, self.end);
                self.start = end;
                self.searched = 0;
                Found::Whole { start, end }
            }
        };
        Some(self.line(found))
    }

    fn line(&mut self, found: Found) -> Line<'_> {
        match found {
            // Copying what is behind must not cost more than copying the line would.
            Found::Whole { start: 0, end }
                if end >= LARGE_LINE && self.end.saturating_sub(self.start) <= end =>
            {
                Line::Whole(Cow::Owned(self.give_away(end)))
            }
            Found::Whole { start, end } => {
                let line = self.buffer.get(start..end).unwrap_or_default();
                Line::Whole(Cow::Borrowed(line))
            }
            Found::TooLong => Line::TooLong {
                prefix: &self.long.prefix,
                bytes: self.long.bytes,
            },
        }
    }

    /// Takes the line of `length` bytes at the beginning of the buffer out of it, and moves what is behind.
    fn give_away(&mut self, length: usize) -> Vec<u8> {
        let unread = self
            .buffer
            .get(self.start..self.end)
            .unwrap_or_default()
            .to_vec();
        (self.start, self.end) = (0, unread.len());
        let mut line = std::mem::replace(&mut self.buffer, unread);
        line.truncate(length);
        line.shrink_to_fit();
        line
    }

    fn find(&mut self) -> Option<Found> {
        let unread = self.buffer.get(self.start..self.end).unwrap_or_default();
        let to_search = unread.get(self.searched..).unwrap_or_default();
        let newline = memchr::memchr(b'\n', to_search).map(|at| at.saturating_add(self.searched));
        let length = newline.unwrap_or(unread.len());
        if !self.skipping && length > self.limit {
            self.skipping = true;
            self.long = LongLine::default();
        }
        if self.skipping {
            self.long.add(unread.get(..length).unwrap_or_default());
        }
        let start = self.start;
        match newline {
            Some(length) => {
                let end = start.saturating_add(length);
                self.start = end.saturating_add(1);
                self.searched = 0;
                let found = if self.skipping {
                    Found::TooLong
                } else {
                    Found::Whole { start, end }
                };
                self.skipping = false;
                Some(found)
            }
            None if self.skipping => {
                self.start = self.end;
                self.searched = 0;
                None
            }
            None => {
                self.searched = length;
                None
            }
        }
    }

    /// Sees to it that `bytes` bytes fit behind `end`.
    fn make_room(&mut self, bytes: usize) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            // A long line is over: its memory goes back.
            if self.buffer.len() > bytes.saturating_mul(4) {
                self.buffer = Vec::new();
            }
        }
        if self.buffer.len().saturating_sub(self.end) >= bytes {
            return;
        }
        // Moves what was read since the last line ended, and that once: nothing is in front of it afterwards.
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end = self.end.saturating_sub(self.start);
            self.start = 0;
        }
        let needed = self.end.saturating_add(bytes);
        if self.buffer.len() < needed {
            let doubled = self.buffer.len().saturating_mul(2);
            let most = self.limit.saturating_add(bytes);
            let length = doubled.min(most).max(needed);
            self.buffer
                .reserve_exact(length.saturating_sub(self.buffer.len()));
            self.buffer.resize(length, 0);
        }
    }
}

impl LongLine {
    fn add(&mut self, bytes: &[u8]) {
        let wanted = PREFIX_BYTES.saturating_sub(self.prefix.len());
        self.prefix.extend(bytes.iter().take(wanted));
        let bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests;
