//! The golden frames, which the guest's codec is held to as well. Their format: `tests/golden/README.md`.

use std::{fs, path::PathBuf};

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use codehatch_protocol::{
    BlockResult, CallTimeout, Caps, DecodeError, DecodeFault, Frame, GuestFrame, HostFrame,
    Packages, Peer, ProtocolVersion, RawJson, ResultContent, ToolErrorPayload,
};

use crate::hex::from_hexadecimal;

/// The cases of a file.
pub(crate) fn cases(file: &str) -> Vec<RawJson> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")).join(file);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases: Vec<_> = text
        .lines()
        .map(|line| RawJson::parse(line).expect("a case is JSON"))
        .collect();
    assert!(!cases.is_empty(), "{file} has no cases");
    cases
}

/// The bytes of the line that a case is about.
pub(crate) fn line(case: &RawJson) -> Vec<u8> {
    if let Some(digits) = case.member("line_hex") {
        let digits: String = digits.deserialize().expect("text");
        return from_hexadecimal(&digits);
    }
    let line = case.member("line").expect("every case has a line");
    line.deserialize::<String>().expect("text").into_bytes()
}

fn decode(sender: Peer, line: &[u8], caps: Caps) -> Result<Frame, DecodeError> {
    match sender {
        Peer::Guest => GuestFrame::decode(line, caps).map(Frame::from),
        Peer::Host => HostFrame::decode(line, caps).map(Frame::from),
    }
}

/// Checks the cases of a file that are accepted, and those of a version that they are written the same.
fn check_accepted(file: &str, sender: Peer, version: Option<ProtocolVersion>) {
    for case in cases(file) {
        let line = line(&case);
        let shown = String::from_utf8_lossy(&line).into_owned();
        let frame = decode(sender, &line, Caps::default())
            .unwrap_or_else(|error| panic!("{file}: {shown}: {error}"));
        let expected = case.member("frame").expect("an accepted case has a frame");
        assert_eq!(
            described(&frame),
            expected.to_tagged_value(),
            "{file}: {shown}"
        );
        if let Some(version) = version {
            let mut again = Vec::new();
            frame
                .encode(version, &mut again)
                .expect("known to the version");
            assert_eq!(String::from_utf8_lossy(&again), shown + "\n", "{file}");
        }
    }
}

fn check_refused(file: &str, sender: Peer) {
    for case in cases(file) {
        let line = line(&case);
        let text = |name: &str| {
            case.member(name)
                .map(|value| value.deserialize::<String>().expect("text"))
        };
        let caps = match case.member("frame_bytes") {
            Some(bytes) => {
                Caps::default().with_frame_bytes(bytes.deserialize().expect("an integer"))
            }
            None => Caps::default(),
        };
        let error = decode(sender, &line, caps).expect_err("refused");
        let shown = String::from_utf8_lossy(&line);
        let (fault, field) = named(&error.fault);
        assert_eq!(
            (Some(fault.to_owned()), field.map(str::to_owned)),
            (text("error"), text("field")),
            "{file}: {shown}"
        );
        let call = error
            .call
            .map_or("null".to_owned(), |call| call.json().to_owned());
        assert_eq!(
            Some(call.as_str()),
            case.member("call").as_ref().map(RawJson::get),
            "{file}: {shown}"
        );
    }
}

fn named(fault: &DecodeFault) -> (&'static str, Option<&'static str>) {
    match fault {
        DecodeFault::Blank => ("blank", None),
        DecodeFault::TooLong { .. } => ("too_long", None),
        DecodeFault::NotUtf8 { .. } => ("not_utf8", None),
        DecodeFault::ByteOrderMark => ("byte_order_mark", None),
        DecodeFault::Json { .. } => ("json", None),
        DecodeFault::NotAnObject { .. } => ("not_an_object", None),
        DecodeFault::KindMissing => ("kind_missing", None),
        DecodeFault::KindNotText { .. } => ("kind_not_text", None),
        DecodeFault::UnknownKind { .. } => ("unknown_kind", None),
        DecodeFault::WrongDirection { .. } => ("wrong_direction", None),
        DecodeFault::Field { field, .. } => ("field", Some(field)),
        DecodeFault::FieldMissing { field, .. } => ("field_missing", Some(field)),
        DecodeFault::IdTooLong { .. } => ("id_too_long", None),
        DecodeFault::TooMany { field, .. } => ("too_many", Some(field)),
        other => panic!("a fault that no golden frame names: {other}"),
    }
}

/// The fields of a frame, as the files name them.
fn described(frame: &Frame) -> Value {
    let fields = match frame {
        Frame::Guest(frame) => guest_fields(frame),
        Frame::Host(frame) => host_fields(frame),
    };
    let Value::Object(mut fields) = fields else {
        panic!("fields are an object");
    };
    fields.insert("kind".to_owned(), frame.kind().as_str().into());
    Value::Object(fields)
}

fn guest_fields(frame: &GuestFrame) -> Value {
    match frame {
        GuestFrame::Ready(ready) => json!({
            "protocol_version": ready.protocol_version,
            "python_version": ready.python_version,
            "packages": packages(&ready.packages),
            "extensions": ready.extensions.iter().collect::<Vec<_>>(),
        }),
        GuestFrame::ToolCall(call) => json!({
            "id": json_value(call.id.json()),
            "name": call.name,
            "args": call.args.to_tagged_value(),
            "timeout": call.timeout.map(CallTimeout::seconds),
        }),
        GuestFrame::Log(log) => json!({"level": log.level, "msg": log.msg}),
        GuestFrame::Done(done) => json!({
            "exit_code": done.exit_code.get(),
            "background_work": done.background_work,
            "result": done.result.as_ref().map(result),
        }),
        GuestFrame::Output(output) => json!({
            "stdout": output.stdout,
            "stderr": output.stderr,
            "exit_code": output.exit_code.get(),
        }),
        GuestFrame::Image(image) => json!({"mime_type": image.mime_type, "data": image.data}),
        GuestFrame::Chunk(chunk) => json!({"stream": chunk.stream.as_str(), "data": chunk.data}),
    }
}

fn host_fields(frame: &HostFrame) -> Value {
    match frame {
        HostFrame::Run(run) => json!({
            "code": run.code,
            "extensions": run.extensions.iter().collect::<Vec<_>>(),
        }),
        HostFrame::ToolResult(result) => json!({
            "id": json_value(result.id.json()),
            "ok": result.ok,
            "value": result.value.to_tagged_value(),
            "error": result.error.as_ref().map(error),
        }),
        HostFrame::Shutdown => json!({}),
        HostFrame::Interrupt(interrupt) => json!({"message": interrupt.message}),
    }
}

fn json_value(text: &str) -> Value {
    RawJson::parse(text)
        .expect("an id is JSON")
        .to_tagged_value()
}

fn packages(packages: &Packages) -> Value {
    let versions = |providers: &IndexMap<String, String>| -> Map<String, Value> {
        let pairs = providers.iter();
        pairs
            .map(|(name, version)| (name.clone(), version.as_str().into()))
            .collect()
    };
    let imports = packages.iter();
    imports
        .map(|(import, providers)| (import.clone(), Value::from(versions(providers))))
        .collect()
}

fn result(result: &BlockResult) -> Value {
    match &result.content {
        ResultContent::Value(value) => {
            json!({"type": result.type_name, "value": value.to_tagged_value()})
        }
        ResultContent::Repr(repr) => json!({"type": result.type_name, "repr": repr}),
    }
}

fn error(error: &ToolErrorPayload) -> Value {
    json!({
        "type": error.type_name,
        "message": error.message,
        "trace": error.trace,
        "status_code": error.status_code,
        "body": error.body.to_tagged_value(),
    })
}

#[test]
fn a_guests_frames_of_each_version_are_read_and_written() {
    check_accepted("guest-v1.jsonl", Peer::Guest, Some(ProtocolVersion::V1));
    check_accepted("guest-v2.jsonl", Peer::Guest, Some(ProtocolVersion::V2));
    check_accepted("guest-v2.jsonl", Peer::Guest, Some(ProtocolVersion::V3));
    check_accepted("guest-v4.jsonl", Peer::Guest, Some(ProtocolVersion::V4));
}

#[test]
fn a_hosts_frames_for_each_version_are_read_and_written() {
    check_accepted("host-v1.jsonl", Peer::Host, Some(ProtocolVersion::V1));
    check_accepted("host-v1.jsonl", Peer::Host, Some(ProtocolVersion::V2));
    check_accepted("host-v3.jsonl", Peer::Host, Some(ProtocolVersion::V3));
    check_accepted("host-v4.jsonl", Peer::Host, Some(ProtocolVersion::V4));
}

#[test]
fn what_nobody_writes_so_is_read_all_the_same() {
    check_accepted("guest-lenient.jsonl", Peer::Guest, None);
    check_accepted("host-lenient.jsonl", Peer::Host, None);
}

#[test]
fn what_must_not_be_accepted_is_refused_for_its_reason() {
    check_refused("guest-refused.jsonl", Peer::Guest);
    check_refused("host-refused.jsonl", Peer::Host);
}
