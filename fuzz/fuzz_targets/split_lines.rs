//! However a stream is cut into reads, it has the lines that a simple search finds.
#![no_main]

use codehatch_protocol::{Caps, Line, LineSplitter};
use libfuzzer_sys::fuzz_target;

/// A line, or how long it was and how it began.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Whole(Vec<u8>),
    TooLong(Vec<u8>, u64),
}

fn seen(line: Line<'_>) -> Seen {
    match line {
        Line::Whole(line) => Seen::Whole(line.into_owned()),
        Line::TooLong { prefix, bytes } => Seen::TooLong(prefix.to_vec(), bytes),
    }
}

fn expected(stream: &[u8], limit: usize) -> Vec<Seen> {
    let mut lines: Vec<_> = stream.split(|&byte| byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
        .into_iter()
        .map(|line| match line.len() <= limit {
            true => Seen::Whole(line.to_vec()),
            false => Seen::TooLong(line[..line.len().min(1024)].to_vec(), line.len() as u64),
        })
        .collect()
}

// The first four bytes say how to cut the rest.
fuzz_target!(|input: &[u8]| {
    let [limit, repeat, read, push, stream @ ..] = input else {
        return;
    };
    let limit = usize::from(*limit) * 7;
    // Long streams are rare in what a fuzzer makes up.
    let stream = stream.repeat(usize::from(*repeat % 32) + 1);
    let read = usize::from(*read) + 1;
    let mut splitter = LineSplitter::new(Caps::default().with_frame_bytes(limit));
    let mut lines = Vec::new();
    let mut rest = stream.as_slice();
    let mut turn = 0usize;
    while !rest.is_empty() {
        turn += 1;
        let size = (read * (turn % 5 + 1)).min(rest.len());
        let taken = if turn % 8 < usize::from(push % 9) {
            splitter.push(&rest[..size]);
            size
        } else {
            let spare = splitter.spare_mut();
            let size = size.min(spare.len());
            spare[..size].copy_from_slice(&rest[..size]);
            splitter.commit(size);
            size
        };
        rest = &rest[taken..];
        while let Some(line) = splitter.next_line() {
            lines.push(seen(line));
        }
    }
    lines.extend(splitter.finish().map(seen));
    assert_eq!(splitter.finish(), None);
    assert_eq!(lines, expected(&stream, limit));
});
