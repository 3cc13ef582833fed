use super::*;
use crate::{
    Caps,
    frame::{
        BlockResult, CallId, CallTimeout, Chunk, Done, ExitCode, Extensions, Image, Interrupt, Log,
        Output, Ready, ResultContent, Run, Stream, ToolCall, ToolErrorPayload, ToolResult,
    },
    json::RawJson,
};

const VERSIONS: [ProtocolVersion; 4] = [
    ProtocolVersion::V1,
    ProtocolVersion::V2,
    ProtocolVersion::V3,
    ProtocolVersion::V4,
];

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).expect("well-formed")
}

fn id(text: &str) -> CallId {
    CallId::from_text(text).expect("short")
}

fn line(frame: impl Into<Frame>, version: ProtocolVersion) -> String {
    let mut out = Vec::new();
    frame
        .into()
        .encode(version, &mut out)
        .expect("known to the version");
    String::from_utf8(out).expect("UTF-8")
}

/// The lines of all versions, without those that are like the one before.
fn lines(frame: impl Into<Frame>) -> String {
    let frame = frame.into();
    let mut lines: Vec<_> = VERSIONS.map(|version| line(frame.clone(), version)).into();
    lines.dedup();
    lines.concat()
}

#[test]
fn ready_says_more_from_version_2_on() {
    let mut ready = Ready::new(ProtocolVersion::V2);
    insta::assert_snapshot!(lines(GuestFrame::Ready(ready.clone())), @r#"
    {"kind":"ready","protocol_version":2}
    {"kind":"ready","protocol_version":2,"python_version":"","packages":{}}
    "#);
    ready.python_version = "3.13.1".to_owned();
    let versions =
        [("PyYAML", "6.0"), ("b", "")].map(|(name, version)| (name.to_owned(), version.to_owned()));
    ready
        .packages
        .insert("yaml".to_owned(), versions.into_iter().collect());
    ready
        .packages
        .insert("a".to_owned(), indexmap::IndexMap::new());
    ready.extensions = Extensions::from_iter(["result", "x\"y"]);
    insta::assert_snapshot!(lines(GuestFrame::Ready(ready)), @r#"
    {"kind":"ready","protocol_version":2,"extensions":["result","x\"y"]}
    {"kind":"ready","protocol_version":2,"python_version":"3.13.1","packages":{"yaml":{"PyYAML":"6.0","b":""},"a":{}},"extensions":["result","x\"y"]}
    "#);
}

#[test]
fn a_tool_call_is_the_same_in_all_versions() {
    let call = ToolCall {
        id: id("7f"),
        name: "a.b".to_owned(),
        args: raw("{\"x\": [NaN, 1e400], \"é\":\"\\ud800\"}"),
        timeout: CallTimeout::from_seconds(30.0),
    };
    insta::assert_snapshot!(lines(GuestFrame::ToolCall(call.clone())), @r#"{"id":"7f","name":"a.b","args":{"x": [NaN, 1e400], "é":"\ud800"},"timeout":30.0,"kind":"tool_call"}"#);
    let call = ToolCall {
        id: CallId::from_json("-1.50").expect("scalar"),
        timeout: None,
        args: raw("{}"),
        ..call
    };
    insta::assert_snapshot!(lines(GuestFrame::ToolCall(call)), @r#"{"id":-1.50,"name":"a.b","args":{},"timeout":null,"kind":"tool_call"}"#);
}

#[test]
fn other_frames_of_a_guest_have_the_references_order() {
    let log = Log {
        level: "info".to_owned(),
        msg: "\u{0}\u{1f}\u{7f}\u{2028}".to_owned(),
    };
    insta::assert_snapshot!(lines(GuestFrame::Log(log)), @"{\"level\":\"info\",\"msg\":\"\\u0000\\u001f\u{7f}\u{2028}\",\"kind\":\"log\"}");
    let output = Output {
        stdout: "a\nb\t".to_owned(),
        stderr: "é".to_owned(),
        exit_code: ExitCode::new(-1),
    };
    insta::assert_snapshot!(lines(GuestFrame::Output(output)), @r#"{"stdout":"a\nb\t","stderr":"é","exit_code":-1,"kind":"output"}"#);
    let image = Image {
        mime_type: "image/png".to_owned(),
        data: "iVBO".to_owned(),
    };
    insta::assert_snapshot!(lines(GuestFrame::Image(image)), @r#"{"mime_type":"image/png","data":"iVBO","kind":"image"}"#);
    let chunk = Chunk {
        stream: Stream::Stdout,
        data: "x".to_owned(),
    };
    insta::assert_snapshot!(lines(GuestFrame::Chunk(chunk)), @r#"{"stream":"stdout","data":"x","kind":"chunk"}"#);
}

#[test]
fn done_says_more_in_version_4_and_the_result_comes_last() {
    let mut done = Done {
        exit_code: ExitCode::new(2),
        background_work: true,
        result: None,
        block: None,
    };
    insta::assert_snapshot!(lines(GuestFrame::Done(done.clone())), @r#"
    {"exit_code":2,"kind":"done"}
    {"exit_code":2,"background_work":true,"kind":"done"}
    "#);
    let result = |content| {
        let type_name = "int".to_owned();
        Some(BlockResult { type_name, content })
    };
    done.result = result(ResultContent::Value(raw("7")));
    insta::assert_snapshot!(line(GuestFrame::Done(done.clone()), ProtocolVersion::V4), @r#"{"exit_code":2,"background_work":true,"kind":"done","result":{"type":"int","value":7}}"#);
    done.result = result(ResultContent::Repr("7".to_owned()));
    done.block = Some(3);
    insta::assert_snapshot!(line(GuestFrame::Done(done), ProtocolVersion::V4), @r#"{"exit_code":2,"background_work":true,"kind":"done","block":3,"result":{"type":"int","repr":"7"}}"#);
}

#[test]
fn a_failed_call_says_more_from_version_3_on() {
    let success = ToolResult::success(id("a"), raw("[1]"));
    insta::assert_snapshot!(lines(HostFrame::ToolResult(success)), @r#"{"id":"a","ok":true,"value":[1],"error":null,"kind":"tool_result"}"#);
    let mut error = ToolErrorPayload::new("ValueError", "no");
    insta::assert_snapshot!(lines(HostFrame::ToolResult(ToolResult::failure(id("a"), error.clone()))), @r#"
    {"id":"a","ok":false,"value":null,"error":{"type":"ValueError","message":"no","trace":null},"kind":"tool_result"}
    {"id":"a","ok":false,"value":null,"error":{"type":"ValueError","message":"no","trace":null,"status_code":null,"body":null},"kind":"tool_result"}
    "#);
    error.trace = Some("at".to_owned());
    error.status_code = Some(404);
    error.body = raw("{}");
    insta::assert_snapshot!(line(HostFrame::ToolResult(ToolResult::failure(id("a"), error)), ProtocolVersion::V4), @r#"{"id":"a","ok":false,"value":null,"error":{"type":"ValueError","message":"no","trace":"at","status_code":404,"body":{}},"kind":"tool_result"}"#);
}

#[test]
fn run_and_shutdown_are_the_same_in_all_versions() {
    let mut run = Run {
        code: "print('😀')\n".to_owned(),
        extensions: Extensions::NONE,
        block: None,
    };
    insta::assert_snapshot!(lines(HostFrame::Run(run.clone())), @r#"{"code":"print('😀')\n","kind":"run"}"#);
    run.extensions = Extensions::from_iter(["chunk"]);
    run.block = Some(3);
    insta::assert_snapshot!(lines(HostFrame::Run(run)), @r#"{"code":"print('😀')\n","kind":"run","extensions":["chunk"],"block":3}"#);
    insta::assert_snapshot!(lines(HostFrame::Shutdown), @r#"{"kind":"shutdown"}"#);
}

#[test]
fn an_interrupt_is_written_for_version_4_only() {
    let interrupt = HostFrame::Interrupt(Interrupt {
        message: "stop".to_owned(),
    });
    let mut out = b"before".to_vec();
    for version in [
        ProtocolVersion::V1,
        ProtocolVersion::V2,
        ProtocolVersion::V3,
    ] {
        let kind = FrameKind::Interrupt;
        let error = EncodeError::UnknownToPeer { kind, version };
        assert_eq!(interrupt.encode(version, &mut out), Err(error));
    }
    assert_eq!(interrupt.encode(ProtocolVersion::V4, &mut out), Ok(()));
    assert_eq!(
        out,
        b"before{\"message\":\"stop\",\"kind\":\"interrupt\"}\n"
    );
}

#[test]
fn arguments_that_are_no_object_are_not_written() {
    let call = GuestFrame::ToolCall(ToolCall {
        id: id("a"),
        name: "x".to_owned(),
        args: raw("[1]"),
        timeout: None,
    });
    let mut out = Vec::new();
    let error = call
        .encode(ProtocolVersion::V4, &mut out)
        .expect_err("no object");
    insta::assert_snapshot!(error, @"`args` of the `tool_call` frame is an array, expected an object");
    assert_eq!(out, b"");
}

#[test]
fn a_value_of_several_lines_stays_within_its_line() {
    let pretty = raw("\n{\r\n  \"a\": \"x\\ny\"\n}\n");
    let result = ToolResult::success(id("a"), pretty);
    let line = line(HostFrame::ToolResult(result), ProtocolVersion::V4);
    assert_eq!(
        line,
        "{\"id\":\"a\",\"ok\":true,\"value\": {    \"a\": \"x\\ny\" } ,\"error\":null,\"kind\":\"tool_result\"}\n"
    );
    assert!(HostFrame::decode(line.as_bytes(), Caps::default()).is_ok());
}
