use proptest::prelude::*;

use super::*;

fn caps(frame_bytes: usize) -> Caps {
    Caps::default().with_frame_bytes(frame_bytes)
}

/// A line that owns what it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Whole(Vec<u8>),
    TooLong(Vec<u8>, u64),
}

fn seen(line: Line<'_>) -> Seen {
    match line {
        Line::Whole(line) => Seen::Whole(line.into_owned()),
        Line::TooLong { prefix, bytes } => Seen::TooLong(prefix.to_owned(), bytes),
    }
}

/// What a stream should be cut into, told the simple way.
fn expected(stream: &[u8], limit: usize) -> Vec<Seen> {
    let mut lines: Vec<_> = stream.split(|&byte| byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    let judge = |line: &[u8]| {
        if line.len() <= limit {
            return Seen::Whole(line.to_owned());
        }
        let prefix = line.iter().take(PREFIX_BYTES).copied().collect();
        Seen::TooLong(prefix, u64::try_from(line.len()).expect("fits"))
    };
    lines.into_iter().map(judge).collect()
}

fn drain(splitter: &mut LineSplitter, into: &mut Vec<Seen>) {
    while let Some(line) = splitter.next_line() {
        into.push(seen(line));
    }
}

/// Cuts a stream that comes in pieces of these sizes over and over.
fn split(stream: &[u8], limit: usize, sizes: &[usize], push: bool) -> Vec<Seen> {
    let mut splitter = LineSplitter::new(caps(limit));
    let mut lines = Vec::new();
    let mut rest = stream;
    for &size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let taken = if push {
            let chunk = rest.get(..size).unwrap_or(rest);
            splitter.push(chunk);
            chunk.len()
        } else {
            let spare = splitter.spare_mut();
            let taken = size.min(spare.len()).min(rest.len());
            spare
                .iter_mut()
                .zip(rest)
                .take(taken)
                .for_each(|(place, &byte)| *place = byte);
            splitter.commit(taken);
            taken
        };
        rest = rest.get(taken..).unwrap_or_default();
        drain(&mut splitter, &mut lines);
    }
    lines.extend(splitter.finish().map(seen));
    assert_eq!(splitter.finish(), None);
    lines
}

#[test]
fn lines_are_yielded_without_their_ends() {
    let mut splitter = LineSplitter::new(Caps::default());
    splitter.push(b"a\r\n\nb");
    assert_eq!(splitter.next_line(), Some(Line::Whole(b"a\r".into())));
    assert_eq!(splitter.next_line(), Some(Line::Whole(b"".into())));
    assert_eq!(splitter.next_line(), None);
    splitter.push(b"c\n");
    assert_eq!(splitter.next_line(), Some(Line::Whole(b"bc".into())));
    assert_eq!(splitter.next_line(), None);
    assert_eq!(splitter.finish(), None);
}

#[test]
fn what_has_no_end_is_yielded_when_the_stream_ends() {
    let mut splitter = LineSplitter::new(caps(5));
    splitter.push(b"abc");
    assert_eq!(splitter.finish(), Some(Line::Whole(b"abc".into())));
    assert_eq!(splitter.finish(), None);
    splitter.push(b"abcdef");
    assert_eq!(splitter.next_line(), None);
    splitter.push(b"ghi");
    let (prefix, bytes) = (&b"abcdefghi"[..], 9);
    assert_eq!(splitter.finish(), Some(Line::TooLong { prefix, bytes }));
    assert_eq!(splitter.finish(), None);
}

#[test]
fn a_line_one_byte_over_the_limit_is_passed_over_and_the_next_is_not() {
    let mut splitter = LineSplitter::new(caps(3));
    splitter.push(b"abc\nabcd\nabc\n");
    let whole = || Some(Line::Whole(b"abc".into()));
    assert_eq!(splitter.next_line(), whole());
    let (prefix, bytes) = (&b"abcd"[..], 4);
    assert_eq!(splitter.next_line(), Some(Line::TooLong { prefix, bytes }));
    assert_eq!(splitter.next_line(), whole());
    assert_eq!(splitter.next_line(), None);
}

#[test]
fn a_line_that_is_passed_over_is_not_kept() {
    let limit = 100_000;
    let mut splitter = LineSplitter::new(caps(limit));
    let mut largest = 0;
    for _ in 0..1_000 {
        let read = splitter.spare_mut().len();
        splitter.spare_mut().fill(b'x');
        splitter.commit(read);
        assert_eq!(splitter.next_line(), None);
        largest = largest.max(splitter.buffer.capacity());
    }
    assert!(largest <= limit + 2 * LARGEST_READ, "{largest} bytes");
    splitter.push(b"\nok\n");
    let bytes = match splitter.next_line() {
        Some(Line::TooLong { prefix, bytes }) => {
            assert_eq!(prefix, [b'x'; PREFIX_BYTES]);
            bytes
        }
        other => panic!("{other:?}"),
    };
    assert!(bytes > 100_000_000, "{bytes}");
    assert_eq!(splitter.next_line(), Some(Line::Whole(b"ok".into())));
}

#[test]
fn a_large_line_is_given_away_with_its_memory() {
    let mut splitter = LineSplitter::new(Caps::default());
    let mut stream = vec![b'x'; 10 * LARGE_LINE];
    stream.extend_from_slice(b"\nshort\npart");
    splitter.push(&stream);
    let large = match splitter.next_line() {
        Some(Line::Whole(Cow::Owned(line))) => (line.len(), line.capacity()),
        other => panic!("{other:?}"),
    };
    assert_eq!(large, (10 * LARGE_LINE, 10 * LARGE_LINE));
    assert_eq!(splitter.next_line(), Some(Line::Whole(b"short".into())));
    assert_eq!(splitter.next_line(), None);
    splitter.push(b"ial\n");
    assert_eq!(splitter.next_line(), Some(Line::Whole(b"partial".into())));
}

#[test]
fn a_large_line_with_more_behind_it_is_not_given_away() {
    let mut splitter = LineSplitter::new(Caps::default());
    let line = [vec![b'x'; LARGE_LINE], b"\n".to_vec()].concat();
    splitter.push(&line.repeat(3));
    let mut owned = Vec::new();
    while let Some(Line::Whole(line)) = splitter.next_line() {
        owned.push(matches!(line, Cow::Owned(_)));
    }
    assert_eq!(owned, [false, false, false]);
}

#[test]
fn memory_goes_back_once_lines_are_short() {
    let mut splitter = LineSplitter::new(Caps::default());
    splitter.push(b"short\n");
    splitter.push(&vec![b'x'; 1_000_000]);
    splitter.push(b"\n");
    let mut lines = Vec::new();
    drain(&mut splitter, &mut lines);
    assert_eq!(lines.len(), 2);
    splitter.spare_mut();
    assert_eq!(splitter.buffer.capacity(), FIRST_READ);
}

#[test]
fn reads_grow_while_they_fill_the_room_and_shrink_again() {
    let mut splitter = LineSplitter::new(Caps::default());
    let mut rooms = Vec::new();
    for filled in [
        true, true, true, true, true, true, true, false, false, false, false, false, false,
    ] {
        let spare = splitter.spare_mut();
        rooms.push(spare.len() / 1024);
        let read = if filled { spare.len() } else { 1 };
        spare.fill(b'\n');
        splitter.commit(read);
        drain(&mut splitter, &mut Vec::new());
    }
    assert_eq!(
        rooms,
        [8, 16, 32, 64, 128, 256, 256, 256, 256, 256, 32, 32, 32]
    );
}

#[test]
fn committing_more_than_there_is_room_for_takes_what_there_is() {
    let mut splitter = LineSplitter::new(Caps::default());
    let room = splitter.spare_mut();
    room.fill(b'\n');
    let lines = room.len();
    splitter.commit(usize::MAX);
    let mut seen = Vec::new();
    drain(&mut splitter, &mut seen);
    assert_eq!(seen.len(), lines);
}

/// Bytes among which line ends are frequent enough.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![6 => Just(b'x'), 2 => any::<u8>(), 1 => Just(b'\n'), 1 => Just(b'\r')];
    let piece = prop_oneof![
        8 => prop::collection::vec(byte, 0..60),
        1 => (1usize..3_000).prop_map(|length| vec![b'y'; length]),
        1 => Just(vec![b'\n']),
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_pieces_give_the_lines_of_the_whole(
        stream in stream(),
        limit in prop_oneof![0usize..50, 1_000usize..2_000],
        sizes in prop::collection::vec(1usize..100, 1..8),
        push in any::<bool>(),
    ) {
        prop_assert_eq!(split(&stream, limit, &sizes, push), expected(&stream, limit));
    }

    #[test]
    fn large_lines_survive_any_pieces(
        lengths in prop::collection::vec(0usize..(3 * LARGE_LINE), 1..6),
        sizes in prop::collection::vec(1_000usize..200_000, 1..4),
        push in any::<bool>(),
    ) {
        let mut stream = Vec::new();
        for (place, length) in lengths.into_iter().enumerate() {
            let letter = u8::try_from(place).expect("few").saturating_add(b'a');
            stream.extend(std::iter::repeat_n(letter, length));
            stream.push(b'\n');
        }
        prop_assert_eq!(split(&stream, 2 * LARGE_LINE, &sizes, push), expected(&stream, 2 * LARGE_LINE));
    }
}
