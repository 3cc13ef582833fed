//! How fast frames are decoded, encoded and told apart. `cargo bench -p codehatch-protocol`.

use std::borrow::Cow;

use codehatch_protocol::{
    CallId, CallTimeout, Caps, GuestFrame, HostFrame, Line, LineSplitter, ProtocolVersion, RawJson,
    ToolCall, ToolResult,
};
use divan::{Bencher, black_box, counter::BytesCount};

const MEBIBYTE: usize = 1024 * 1024;

fn main() {
    divan::main();
}

/// What a large value is made of.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// One string without escapes.
    Ascii,
    /// One string of three-byte characters.
    Kanji,
    /// One string with a line break in every 40 characters.
    Lines,
    /// Integers.
    Numbers,
    /// Objects as a database's rows are.
    Rows,
}

const CONTENTS: [Content; 5] = [
    Content::Ascii,
    Content::Kanji,
    Content::Lines,
    Content::Numbers,
    Content::Rows,
];

/// A value of about this size.
fn value(content: Content, bytes: usize) -> RawJson {
    let repeated = |piece: &str| piece.repeat(bytes / piece.len());
    let text = match content {
        Content::Ascii => format!("\"{}\"", repeated("The quick brown fox. ")),
        Content::Kanji => format!("\"{}\"", repeated("日本語のとても長い文章")),
        Content::Lines => format!(
            "\"{}\"",
            repeated("The quick brown fox jumps over the dog\\n")
        ),
        Content::Numbers => format!("[{}0]", repeated("12345,67,8901234,-5,")),
        Content::Rows => {
            let row = r#"{"id":123456,"name":"Ada Lovelace","email":"ada@example.org","score":98.25,"tags":["a","b"]},"#;
            format!("[{}null]", repeated(row))
        }
    };
    RawJson::parse(text).expect("well-formed")
}

fn small_call() -> GuestFrame {
    GuestFrame::ToolCall(ToolCall {
        id: CallId::from_text("5f0c6a3e9b7d4c1f8a2e6d5b4c3a2f1e").expect("short"),
        name: "slack.send_message".to_owned(),
        args: RawJson::parse(r#"{"channel":"C0123456","text":"Hello \"there\"","blocks":[1,2,3]}"#)
            .expect("well-formed"),
        timeout: CallTimeout::from_seconds(30.0),
    })
}

fn guest_line(frame: &GuestFrame) -> Vec<u8> {
    let mut line = Vec::new();
    frame
        .encode(ProtocolVersion::LATEST, &mut line)
        .expect("known to the version");
    line
}

fn host_line(frame: &HostFrame) -> Vec<u8> {
    let mut line = Vec::new();
    frame
        .encode(ProtocolVersion::LATEST, &mut line)
        .expect("known to the version");
    line
}

fn result(content: Content, bytes: usize) -> HostFrame {
    let id = CallId::from_text("5f0c6a3e9b7d4c1f8a2e6d5b4c3a2f1e").expect("short");
    HostFrame::ToolResult(ToolResult::success(id, value(content, bytes)))
}

fn large_call(content: Content) -> Vec<u8> {
    let args = RawJson::from_members([("x", value(content, 50 * MEBIBYTE))]).expect("flat");
    let mut line = guest_line(&GuestFrame::ToolCall(ToolCall {
        id: CallId::default(),
        name: "store".to_owned(),
        args,
        timeout: None,
    }));
    line.shrink_to_fit();
    line
}

#[divan::bench]
fn decode_small_tool_call(bencher: Bencher<'_, '_>) {
    let line = guest_line(&small_call());
    bencher
        .counter(BytesCount::new(line.len()))
        .bench(|| GuestFrame::decode(black_box(&line), Caps::default()));
}

#[divan::bench]
fn encode_small_tool_call(bencher: Bencher<'_, '_>) {
    let frame = small_call();
    let mut out = Vec::with_capacity(1024);
    bencher
        .counter(BytesCount::new(guest_line(&frame).len()))
        .bench_local(|| {
            out.clear();
            black_box(&frame).encode(ProtocolVersion::LATEST, &mut out)
        });
}

#[divan::bench(args = CONTENTS, sample_count = 20)]
fn decode_10_mb_result(bencher: Bencher<'_, '_>, content: Content) {
    let line = host_line(&result(content, 10 * MEBIBYTE));
    bencher
        .counter(BytesCount::new(line.len()))
        .bench(|| HostFrame::decode(black_box(&line), Caps::default()));
}

/// A line of 50 MB, as a slice: what the frame keeps is copied.
#[divan::bench(args = CONTENTS, sample_count = 20)]
fn decode_50_mb_tool_call(bencher: Bencher<'_, '_>, content: Content) {
    let line = large_call(content);
    bencher
        .counter(BytesCount::new(line.len()))
        .bench(|| GuestFrame::decode(black_box(&line), Caps::default()));
}

/// A line of 50 MB, as a splitter gives it away: the frame keeps it.
#[divan::bench(args = CONTENTS, sample_count = 20)]
fn decode_50_mb_owned_tool_call(bencher: Bencher<'_, '_>, content: Content) {
    let line = large_call(content);
    bencher
        .counter(BytesCount::new(line.len()))
        .with_inputs(|| line.clone())
        .bench_values(|line| GuestFrame::from_line(Line::Whole(Cow::Owned(line)), Caps::default()));
}

#[divan::bench(sample_count = 20)]
fn encode_10_mb_result(bencher: Bencher<'_, '_>) {
    let frame = result(Content::Rows, 10 * MEBIBYTE);
    let mut out = Vec::new();
    frame
        .encode(ProtocolVersion::LATEST, &mut out)
        .expect("known to the version");
    bencher.counter(BytesCount::new(out.len())).bench_local(|| {
        out.clear();
        black_box(&frame).encode(ProtocolVersion::LATEST, &mut out)
    });
}

/// Lines of a size, read as a socket is: as much at a time as there is room for.
#[divan::bench(args = [100, 10_000, 10 * MEBIBYTE], sample_count = 20)]
fn split_10_mb(bencher: Bencher<'_, '_>, line: usize) {
    let mut stream = Vec::new();
    while stream.len() < 10 * MEBIBYTE {
        stream.resize(stream.len() + line, b'x');
        stream.push(b'\n');
    }
    bencher.counter(BytesCount::new(stream.len())).bench(|| {
        let mut splitter = LineSplitter::new(Caps::default());
        let mut rest = stream.as_slice();
        let mut bytes = 0;
        while !rest.is_empty() {
            let spare = splitter.spare_mut();
            let read = spare.len().min(rest.len());
            let (chunk, tail) = rest.split_at(read);
            spare[..read].copy_from_slice(chunk);
            splitter.commit(read);
            rest = tail;
            while let Some(Line::Whole(line)) = splitter.next_line() {
                bytes += line.len();
            }
        }
        bytes
    });
}
