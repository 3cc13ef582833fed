//! Lines that are nearly frames.

use proptest::prelude::*;

use super::json::any_json;

/// Pieces that change what a line means.
const PIECES: [&[u8]; 37] = [
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b" ",
    b"\n",
    b"\r",
    b"\t",
    b"\0",
    b"\x0c",
    b"\xff",
    b"\xc3",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
    b"-",
    b".",
    b"0",
    b"1",
    b"e",
    b"E+",
    b"null",
    b"nul",
    b"NaN",
    b"Infinity",
    b"-I",
    b"\\u",
    b"\\ud83d",
    b"\\udE00",
    b"\\u00zz",
    b"\\x",
    b"\"kind\":\"done\",",
    b"\"id\":[1],",
    b"{}",
];

/// A change to some bytes.
#[derive(Clone, Debug)]
enum Edit {
    Delete(usize),
    Insert(&'static [u8]),
    Overwrite(&'static [u8]),
    /// Writes some bytes twice.
    Repeat(usize),
    /// Cuts off the rest.
    End,
}

fn edit() -> impl Strategy<Value = (prop::sample::Index, Edit)> {
    let piece = || prop::sample::select(PIECES.to_vec());
    let edit = prop_oneof![
        3 => (1usize..4).prop_map(Edit::Delete),
        4 => piece().prop_map(Edit::Insert),
        4 => piece().prop_map(Edit::Overwrite),
        1 => (1usize..20).prop_map(Edit::Repeat),
        1 => Just(Edit::End),
    ];
    (any::<prop::sample::Index>(), edit)
}

fn apply(bytes: &mut Vec<u8>, at: usize, edit: &Edit) {
    let end = |length: usize| bytes.len().min(at + length);
    match edit {
        Edit::Delete(length) => drop(bytes.drain(at..end(*length))),
        Edit::Insert(piece) => drop(bytes.splice(at..at, piece.iter().copied())),
        Edit::Overwrite(piece) => drop(bytes.splice(at..end(piece.len()), piece.iter().copied())),
        Edit::Repeat(length) => {
            let again = bytes[at..end(*length)].to_vec();
            drop(bytes.splice(at..at, again));
        }
        Edit::End => bytes.truncate(at),
    }
}

/// Bytes with a few changes.
pub(crate) fn mutated(bytes: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    (bytes, prop::collection::vec(edit(), 0..4)).prop_map(|(mut bytes, edits)| {
        for (place, edit) in edits {
            let at = place.index(bytes.len() + 1);
            apply(&mut bytes, at, &edit);
        }
        bytes
    })
}

/// The fields of all kinds of frames, with a value that each could have.
const FIELDS: [(&str, &str); 27] = [
    ("protocol_version", "2"),
    ("python_version", "\"3.12.1\""),
    ("packages", "{\"yaml\":{\"PyYAML\":\"6.0\",\"x\":null}}"),
    ("packages", "{\"a\":{\"\\ud800\":\"1\"},\"a\":{}}"),
    ("extensions", "[\"result\",\"\\udc00\"]"),
    ("code", "\"print(1)\\n\""),
    ("id", "\"5f0c\""),
    ("id", "7"),
    ("name", "\"a.b\""),
    ("args", "{\"x\": NaN}"),
    ("timeout", "-3"),
    ("timeout", "1e999"),
    ("ok", "false"),
    ("value", "[1, 1.0]"),
    (
        "error",
        "{\"type\":\"E\",\"message\":\"m\\ud800\",\"trace\":null}",
    ),
    (
        "error",
        "{\"status_code\":true,\"body\":{},\"trace\":\"t\"}",
    ),
    ("level", "\"warning\""),
    ("msg", "\"\\ud800x\""),
    ("exit_code", "true"),
    ("exit_code", "-1000000000000000000000000"),
    ("background_work", "true"),
    ("result", "{\"type\":\"int\",\"value\":1}"),
    ("result", "{\"type\":\"T\",\"repr\":\"<T>\"}"),
    ("stdout", "\"out\""),
    ("stderr", "\"err\\n\""),
    ("message", "\"stop\""),
    ("stream", "\"stdout\""),
];

/// Fields with something wrong inside.
const BROKEN: [(&str, &str); 10] = [
    ("packages", "{\"a\":[]}"),
    ("packages", "{\"a\":{\"b\":1}}"),
    ("extensions", "[\"a\",null]"),
    ("error", "{\"type\":null}"),
    ("error", "{\"message\":1}"),
    ("error", "{\"trace\":{}}"),
    ("error", "{\"status_code\":4.0}"),
    ("result", "{\"value\":1}"),
    ("result", "{\"type\":\"T\",\"repr\":1}"),
    ("stream", "\"stdin\""),
];

/// An object with a kind and fields, few of which are of the wrong type, in any order.
pub(crate) fn loose_frame() -> impl Strategy<Value = Vec<u8>> {
    let kinds = vec![
        "ready",
        "run",
        "tool_call",
        "tool_call",
        "tool_result",
        "tool_result",
        "log",
        "done",
        "output",
        "shutdown",
        "interrupt",
        "image",
        "chunk",
        "unknown",
    ];
    let kind = prop::sample::select(kinds).prop_map(|kind| ("kind", format!("\"{kind}\"")));
    let field = prop::sample::select(FIELDS.to_vec());
    let wrong = (field.clone(), any_json(false)).prop_map(|((name, _), value)| (name, value));
    let right = field.prop_map(|(name, value)| (name, value.to_owned()));
    let broken =
        prop::sample::select(BROKEN.to_vec()).prop_map(|(name, value)| (name, value.to_owned()));
    let field = prop_oneof![24 => right, 2 => wrong, 1 => broken];
    (prop::collection::vec(field, 0..14), kind).prop_flat_map(|(mut fields, kind)| {
        fields.push(kind);
        Just(fields).prop_shuffle().prop_map(|fields| {
            let members: Vec<_> = fields
                .iter()
                .map(|(name, value)| format!("\"{name}\":{value}"))
                .collect();
            format!("{{{}}}", members.join(",")).into_bytes()
        })
    })
}
