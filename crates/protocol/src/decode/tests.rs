use std::error::Error as _;

use proptest::prelude::*;

use super::*;
use crate::{
    MAX_CALL_ID_BYTES, MAX_DISTRIBUTIONS, MAX_EXTENSIONS, MAX_NESTING, MAX_PACKAGES,
    frame::{
        BlockResult, CallTimeout, Chunk, Done, ExitCode, Extensions, Interrupt, Log, Output,
        Packages, Ready, ResultContent, Run, Stream, ToolCall, ToolErrorPayload, ToolResult,
    },
    json::{JsonError, JsonFault, RawJson},
};

fn guest(line: &str) -> Result<GuestFrame, DecodeError> {
    GuestFrame::decode(line.as_bytes(), Caps::default())
}

fn host(line: &str) -> Result<HostFrame, DecodeError> {
    HostFrame::decode(line.as_bytes(), Caps::default())
}

/// A message and that of its cause.
fn message(error: &DecodeError) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

fn guest_error(line: &str) -> String {
    message(&guest(line).expect_err("refused"))
}

fn host_error(line: &str) -> String {
    message(&host(line).expect_err("refused"))
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).expect("well-formed")
}

fn id(json: &str) -> CallId {
    CallId::from_json(json).expect("scalar")
}

#[test]
fn missing_fields_take_the_references_defaults() {
    let call = ToolCall {
        id: id("\"\""),
        name: String::new(),
        args: raw("{}"),
        timeout: None,
    };
    let log = Log {
        level: "info".to_owned(),
        msg: String::new(),
    };
    for (kind, frame) in [
        ("ready", GuestFrame::Ready(Ready::default())),
        ("tool_call", GuestFrame::ToolCall(call)),
        ("log", GuestFrame::Log(log)),
        ("done", GuestFrame::Done(Done::default())),
        ("output", GuestFrame::Output(Output::default())),
    ] {
        assert_eq!(guest(&format!("{{\"kind\":\"{kind}\"}}")), Ok(frame));
    }
    for (kind, frame) in [
        ("run", HostFrame::Run(Run::default())),
        (
            "tool_result",
            HostFrame::ToolResult(ToolResult::success(id("\"\""), RawJson::null())),
        ),
        ("shutdown", HostFrame::Shutdown),
        ("interrupt", HostFrame::Interrupt(Interrupt::default())),
    ] {
        assert_eq!(host(&format!("{{\"kind\":\"{kind}\"}}")), Ok(frame));
    }
}

#[test]
fn every_field_of_a_guests_frames_is_read() {
    let packages = Packages::from_iter([(
        "yaml".to_owned(),
        [
            ("PyYAML".to_owned(), "6.0".to_owned()),
            ("broken".to_owned(), String::new()),
        ]
        .into_iter()
        .collect(),
    )]);
    let result = |content| {
        let type_name = "T".to_owned();
        GuestFrame::Done(Done {
            exit_code: ExitCode::new(-1),
            background_work: true,
            result: Some(BlockResult { type_name, content }),
            block: Some(3),
        })
    };
    for (line, frame) in [
        (
            r#"{"kind":"ready","protocol_version":2,"python_version":"3.9","packages":{"yaml":{"PyYAML":"6.0","broken":null}},"extensions":["chunk","\u006eew"]}"#,
            GuestFrame::Ready(Ready {
                protocol_version: 2,
                python_version: "3.9".to_owned(),
                packages,
                extensions: Extensions::from_iter(["chunk", "new"]),
            }),
        ),
        (
            r#"{"id":"7f","name":"a.b","args":{"x": NaN},"timeout":1.5,"kind":"tool_call","more":[{}]}"#,
            GuestFrame::ToolCall(ToolCall {
                id: id("\"7f\""),
                name: "a.b".to_owned(),
                args: raw("{\"x\": NaN}"),
                timeout: CallTimeout::from_seconds(1.5),
            }),
        ),
        (
            r#"{"exit_code":-1,"background_work":true,"kind":"done","block":3,"result":{"type":"T","value":[1, 2]}}"#,
            result(ResultContent::Value(raw("[1, 2]"))),
        ),
        (
            r#"{"exit_code":-1,"background_work":true,"kind":"done","block":3,"result":{"type":"T","repr":"<T>"}}"#,
            result(ResultContent::Repr("<T>".to_owned())),
        ),
        (
            r#"{"stdout":"a\nb","stderr":"\ud800","exit_code":3,"kind":"output"}"#,
            GuestFrame::Output(Output {
                stdout: "a\nb".to_owned(),
                stderr: "\u{fffd}".to_owned(),
                exit_code: ExitCode::new(3),
            }),
        ),
        (
            r#"{"mime_type":"image/png","data":"iVBO","kind":"image"}"#,
            GuestFrame::Image(crate::Image {
                mime_type: "image/png".to_owned(),
                data: "iVBO".to_owned(),
            }),
        ),
        (
            r#"{"stream":"stderr","data":"x","kind":"chunk"}"#,
            GuestFrame::Chunk(Chunk {
                stream: Stream::Stderr,
                data: "x".to_owned(),
            }),
        ),
    ] {
        assert_eq!(guest(line), Ok(frame), "{line}");
    }
}

#[test]
fn every_field_of_a_hosts_frames_is_read() {
    let error = ToolErrorPayload {
        type_name: "HTTPStatusError".to_owned(),
        message: "gone".to_owned(),
        trace: Some("line 1".to_owned()),
        status_code: Some(410),
        body: raw("{\"b\":1e400}"),
    };
    for (line, frame) in [
        (
            r#"{"code":"print(\"\ud83d\ude00\")","kind":"run","extensions":["image"],"block":7}"#,
            HostFrame::Run(Run {
                code: "print(\"😀\")".to_owned(),
                extensions: Extensions::from_iter(["image"]),
                block: Some(7),
            }),
        ),
        (
            r#"{"id":5,"ok":false,"value":null,"error":{"type":"HTTPStatusError","message":"gone","trace":"line 1","status_code":410,"body":{"b":1e400}},"kind":"tool_result"}"#,
            HostFrame::ToolResult(ToolResult::failure(id("5"), error)),
        ),
        (
            r#"{"id":"a","ok":false,"error":{},"kind":"tool_result"}"#,
            HostFrame::ToolResult(ToolResult::failure(
                id("\"a\""),
                ToolErrorPayload::new("Error", ""),
            )),
        ),
        (
            r#"{"message":"stop","kind":"interrupt"}"#,
            HostFrame::Interrupt(Interrupt {
                message: "stop".to_owned(),
            }),
        ),
    ] {
        assert_eq!(host(line), Ok(frame), "{line}");
    }
}

#[test]
fn a_frame_of_the_other_direction_is_an_error_of_its_own() {
    for kind in FrameKind::ALL {
        let line = format!("{{\"kind\":\"{kind}\",\"stream\":\"stdout\"}}");
        let wrong = Some(DecodeFault::WrongDirection { kind });
        let (from_guest, from_host) = (guest(&line), host(&line));
        match kind.sender() {
            Peer::Guest => {
                assert_eq!(from_host.map_err(|error| error.fault).err(), wrong);
                let frame = from_guest.map(Frame::from);
                assert_eq!(frame, Frame::decode(line.as_bytes(), Caps::default()));
            }
            Peer::Host => {
                assert_eq!(from_guest.map_err(|error| error.fault).err(), wrong);
                let frame = from_host.map(Frame::from);
                assert_eq!(frame, Frame::decode(line.as_bytes(), Caps::default()));
            }
        }
    }
}

#[test]
fn the_last_of_two_equal_keys_counts() {
    let line = r#"{"kind":"done","exit_code":"x","exit_code":2,"kind":"log","\u006bind":"done"}"#;
    let done = Done {
        exit_code: ExitCode::new(2),
        ..Done::default()
    };
    assert_eq!(guest(line), Ok(GuestFrame::Done(done)));
    let line = r#"{"kind":"ready","packages":{"a":{"x":"1"},"b":{},"a":{"y":"2","y":"3"}}}"#;
    let names = match guest(line) {
        Ok(GuestFrame::Ready(ready)) => format!("{:?}", ready.packages),
        other => format!("{other:?}"),
    };
    assert_eq!(names, r#"{"a": {"y": "3"}, "b": {}}"#);
}

#[test]
fn exit_codes_are_any_integer() {
    for (text, code) in [
        ("true", 1),
        ("false", 0),
        ("-1", -1),
        ("1000000000000000000000000000000", i64::MAX),
        ("18446744073709551615", i64::MAX),
        ("-1000000000000000000000000000000", i64::MIN),
    ] {
        let done = Done {
            exit_code: ExitCode::new(code),
            ..Done::default()
        };
        let line = format!("{{\"exit_code\":{text},\"kind\":\"done\"}}");
        assert_eq!(guest(&line), Ok(GuestFrame::Done(done)), "{text}");
    }
}

#[test]
fn timeouts_are_any_number() {
    for (text, seconds) in [
        ("null", None),
        ("30", Some(30.0)),
        ("2.5e-1", Some(0.25)),
        ("-3", Some(0.0)),
        ("-1e999", Some(0.0)),
        ("NaN", None),
        ("Infinity", None),
        ("-Infinity", Some(0.0)),
        ("1e999", None),
        ("100000000000000000000", Some(1e20)),
    ] {
        let line = format!("{{\"timeout\":{text},\"kind\":\"tool_call\"}}");
        let timeout = match guest(&line) {
            Ok(GuestFrame::ToolCall(call)) => Ok(call.timeout),
            other => Err(other),
        };
        assert_eq!(
            timeout,
            Ok(seconds.and_then(CallTimeout::from_seconds)),
            "{text}"
        );
    }
}

#[test]
fn wrong_types_name_the_field() {
    insta::assert_snapshot!(guest_error(r#"{"kind":"tool_call","args":[1]}"#), @"`args` of the `tool_call` frame is an array, expected an object");
    insta::assert_snapshot!(guest_error(r#"{"kind":"tool_call","name":1}"#), @"`name` of the `tool_call` frame is a number, expected a string");
    insta::assert_snapshot!(guest_error(r#"{"kind":"tool_call","id":{}}"#), @"`id` of the `tool_call` frame is an object, expected a string or another scalar");
    insta::assert_snapshot!(guest_error(r#"{"kind":"tool_call","timeout":"1"}"#), @"`timeout` of the `tool_call` frame is a string, expected a number or null");
    insta::assert_snapshot!(guest_error(r#"{"kind":"tool_call","timeout":true}"#), @"`timeout` of the `tool_call` frame is a boolean, expected a number or null");
    insta::assert_snapshot!(guest_error(r#"{"kind":"done","exit_code":1.0}"#), @"`exit_code` of the `done` frame is a number, expected an integer");
    insta::assert_snapshot!(guest_error(r#"{"kind":"done","background_work":0}"#), @"`background_work` of the `done` frame is a number, expected a boolean");
    insta::assert_snapshot!(guest_error(r#"{"kind":"done","result":[]}"#), @"`result` of the `done` frame is an array, expected an object or null");
    insta::assert_snapshot!(guest_error(r#"{"kind":"done","result":{"value":1}}"#), @"`result.type` of the `done` frame is missing, expected the name of a Python type");
    insta::assert_snapshot!(guest_error(r#"{"kind":"done","result":{"type":"x"}}"#), @"`result.value` of the `done` frame is missing, expected any value, or `result.repr`");
    insta::assert_snapshot!(guest_error(r#"{"kind":"done","result":{"type":"x","repr":1}}"#), @"`result.repr` of the `done` frame is a number, expected a string");
    insta::assert_snapshot!(guest_error(r#"{"kind":"ready","packages":{"a":[]}}"#), @"`packages{}` of the `ready` frame is an array, expected an object");
    insta::assert_snapshot!(guest_error(r#"{"kind":"ready","packages":{"a":{"b":1}}}"#), @"`packages{}{}` of the `ready` frame is a number, expected a string");
    insta::assert_snapshot!(guest_error(r#"{"kind":"ready","extensions":["a",null]}"#), @"`extensions[]` of the `ready` frame is null, expected a string");
    insta::assert_snapshot!(guest_error(r#"{"kind":"chunk"}"#), @"`stream` of the `chunk` frame is missing, expected `stdout` or `stderr`");
    insta::assert_snapshot!(guest_error(r#"{"kind":"chunk","stream":"stdin"}"#), @"`stream` of the `chunk` frame is a string, expected `stdout` or `stderr`");
    insta::assert_snapshot!(host_error(r#"{"kind":"run","code":null}"#), @"`code` of the `run` frame is null, expected a string");
    insta::assert_snapshot!(host_error(r#"{"kind":"tool_result","error":{"type":null}}"#), @"`error.type` of the `tool_result` frame is null, expected a string");
    insta::assert_snapshot!(host_error(r#"{"kind":"tool_result","error":{"trace":1}}"#), @"`error.trace` of the `tool_result` frame is a number, expected a string");
    insta::assert_snapshot!(host_error(r#"{"kind":"tool_result","error":{"status_code":"404"}}"#), @"`error.status_code` of the `tool_result` frame is a string, expected an integer or null");
}

#[test]
fn what_is_no_frame_is_told_apart() {
    insta::assert_snapshot!(guest_error("[1]"), @"frame is an array, expected an object");
    insta::assert_snapshot!(guest_error("[1"), @"frame is not JSON: unexpected end of JSON at byte 2");
    insta::assert_snapshot!(guest_error("{\"kind\":\"done\",}"), @"frame is not JSON: unexpected byte in JSON at byte 15");
    insta::assert_snapshot!(guest_error("{} {}"), @"frame is not JSON: unexpected text behind the JSON value at byte 3");
    insta::assert_snapshot!(guest_error("{}"), @"frame has no `kind`");
    insta::assert_snapshot!(guest_error("{\"kind\":null}"), @"`kind` of the frame is null, expected a string");
    insta::assert_snapshot!(guest_error("{\"kind\":\"Done\\n\"}"), @r#"frame has the unknown kind "Done\n""#);
    insta::assert_snapshot!(guest_error("\u{feff}{\"kind\":\"done\"}"), @"frame begins with a byte order mark");
    insta::assert_snapshot!(guest_error("{\"kind\":\"run\"}"), @"`run` frames are sent by the host");
    let error =
        GuestFrame::decode(b"{\"kind\":\"done\xff\"}", Caps::default()).expect_err("not UTF-8");
    insta::assert_snapshot!(error, @"frame is not UTF-8 at byte 13");
}

#[test]
fn a_blank_line_is_to_be_skipped() {
    for line in ["", "\n", "\r\n", " \t", "\n\r\n\r"] {
        assert!(guest(line).is_err_and(|error| error.is_blank()), "{line:?}");
    }
    assert!(guest("{}").is_err_and(|error| !error.is_blank()));
}

#[test]
fn the_end_of_the_line_and_white_space_do_not_matter() {
    for line in [
        "{\"kind\":\"shutdown\"}\r\n",
        " {\t\"kind\"\n: \"shutdown\" } \r\n\n",
    ] {
        assert_eq!(host(line), Ok(HostFrame::Shutdown), "{line:?}");
    }
}

#[test]
fn a_frame_one_byte_over_the_limit_is_refused() {
    let line = "{\"kind\":\"shutdown\"}\r\n";
    let limit = line.len() - 2;
    let decoded =
        |limit| HostFrame::decode(line.as_bytes(), Caps::default().with_frame_bytes(limit));
    assert_eq!(decoded(limit), Ok(HostFrame::Shutdown));
    let fault = DecodeFault::TooLong {
        bytes: 19,
        limit: limit - 1,
    };
    assert_eq!(decoded(limit - 1), Err(DecodeError { fault, call: None }));
}

#[test]
fn a_value_nested_one_level_over_the_limit_is_refused() {
    let line = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!("{{\"id\":\"a\",\"ok\":true,\"value\":{open}{close},\"kind\":\"tool_result\"}}")
    };
    assert!(host(&line(MAX_NESTING)).is_ok());
    let error = host(&line(MAX_NESTING + 1)).expect_err("too deep");
    insta::assert_snapshot!(message(&error), @"frame is not JSON: JSON nested deeper than 1000 levels at byte 1029");
    assert_eq!(error.call, Some(id("\"a\"")));
}

#[test]
fn counts_one_over_their_limits_are_refused() {
    let list = |entries: usize| vec!["\"x\""; entries].join(",");
    let extensions = |entries| {
        guest(&format!(
            "{{\"kind\":\"ready\",\"extensions\":[{}]}}",
            list(entries)
        ))
    };
    assert!(extensions(MAX_EXTENSIONS).is_ok());
    insta::assert_snapshot!(extensions(MAX_EXTENSIONS + 1).unwrap_err(), @"`extensions` of the `ready` frame has more than 64 entries");

    let object = |entries: usize, value: &str| {
        let members: Vec<_> = (0..entries)
            .map(|place| format!("\"{place}\":{value}"))
            .collect();
        format!("{{{}}}", members.join(","))
    };
    let packages =
        |packages: String| guest(&format!("{{\"kind\":\"ready\",\"packages\":{packages}}}"));
    assert!(packages(object(MAX_PACKAGES, "{}")).is_ok());
    insta::assert_snapshot!(packages(object(MAX_PACKAGES + 1, "{}")).unwrap_err(), @"`packages` of the `ready` frame has more than 16384 entries");
    let half = object(MAX_DISTRIBUTIONS / 2, "\"1\"");
    assert!(packages(object(2, &half)).is_ok());
    let over = format!("{{\"a\":{half},\"b\":{half},\"c\":{{\"d\":\"1\"}}}}");
    insta::assert_snapshot!(packages(over).unwrap_err(), @"`packages` of the `ready` frame has more than 65536 entries");
}

#[test]
fn an_id_one_byte_over_the_limit_is_refused() {
    let line = |bytes: usize| {
        format!(
            "{{\"id\":\"{}\",\"kind\":\"tool_call\"}}",
            "x".repeat(bytes - 2)
        )
    };
    assert!(guest(&line(MAX_CALL_ID_BYTES)).is_ok());
    let error = guest(&line(MAX_CALL_ID_BYTES + 1)).expect_err("too long");
    insta::assert_snapshot!(error, @"`id` of the `tool_call` frame has 257 bytes, more than the limit of 256");
    assert_eq!(error.call, None);
}

#[test]
fn the_call_of_a_broken_frame_is_made_out_where_it_can_be() {
    let call = Some(id("\"7f\""));
    for (line, expected) in [
        // Whole frames that are refused.
        (
            r#"{"id":"7f","name":"x","args":[],"kind":"tool_call"}"#,
            &call,
        ),
        (r#"{"name":1,"kind":"tool_call","id":"7f"}"#, &call),
        (r#"{"id":"7f","name":"x"}"#, &call),
        // Frames that break off or are broken.
        (r#"{"id":"7f","name":"x","args":{"a":nul"#, &call),
        (r#"{"id":"7f","name"#, &call),
        (r#"{"id":"7f","#, &call),
        (r#"{"id":"1","id":"7f","name":"x","args":{"a":01}}"#, &call),
        (r#"{"kind":"tool_result","id":"7f",,"#, &call),
        // What stands at the end may go on.
        (r#"{"id":"7f""#, &None),
        (r#"{"id":7"#, &None),
        // Kinds without calls, and ids that are none.
        (r#"{"id":"7f","kind":"done","exit_code":"x"}"#, &None),
        (r#"{"id":"7f","kind":"what"}"#, &None),
        (r#"{"id":"7f","kind":7}"#, &None),
        (r#"{"id":["7f"],"kind":"tool_call"}"#, &None),
        (r#"{"args":{"id":"7f"},"name":1,"kind":"tool_call"}"#, &None),
    ] {
        assert_eq!(&guest(line).expect_err("refused").call, expected, "{line}");
    }
}

#[test]
fn the_call_of_a_frame_that_is_too_long_or_no_utf8_is_made_out() {
    let call = Some(id("\"7f\""));
    let long = format!(
        "{{\"id\":\"7f\",\"name\":\"x\",\"args\":{{\"a\":\"{}é",
        "é".repeat(2_000)
    );
    let caps = Caps::default().with_frame_bytes(1_000);
    let error = GuestFrame::decode(long.as_bytes(), caps).expect_err("too long");
    assert_eq!(error.call, call);
    // The prefix ends within a character.
    let (_, prefix) = long.as_bytes().split_last().expect("not empty");
    assert_eq!(
        DecodeError::too_long(prefix, 4_000, caps),
        DecodeError {
            fault: DecodeFault::TooLong {
                bytes: 4_000,
                limit: 1_000
            },
            call: call.clone(),
        }
    );
    let invalid = b"{\"id\":\"7f\",\"name\":\"\xc3(\",\"kind\":\"tool_call\"}";
    let error = GuestFrame::decode(invalid, Caps::default()).expect_err("not UTF-8");
    assert_eq!(
        (error.fault, error.call),
        (DecodeFault::NotUtf8 { offset: 19 }, call)
    );
}

#[test]
fn a_large_value_of_an_owned_line_is_not_copied() {
    let value = "x".repeat(100_000);
    let mut line =
        format!("{{\"id\":\"a\",\"value\":\"{value}\",\"kind\":\"tool_result\"}}").into_bytes();
    line.shrink_to_fit();
    let place = line.as_ptr().addr();
    let frame = HostFrame::from_line(Line::Whole(Cow::Owned(line.clone())), Caps::default());
    assert_eq!(frame, HostFrame::decode(&line, Caps::default()));
    let owned = HostFrame::from_line(Line::Whole(Cow::Owned(line)), Caps::default());
    let value = match owned {
        Ok(HostFrame::ToolResult(result)) => Ok(result.value),
        other => Err(other),
    };
    assert_eq!(
        value.map(|value| value.get().as_ptr().addr()),
        Ok(place + 18)
    );
}

#[test]
fn the_source_of_a_syntax_error_is_kept() {
    let source = JsonError {
        offset: 1,
        fault: JsonFault::UnexpectedEnd,
    };
    assert_eq!(
        guest("{").map_err(|error| error.fault),
        Err(DecodeFault::Json { source })
    );
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(line in prop::collection::vec(any::<u8>(), 0..200)) {
        let borrowed = Frame::decode(&line, Caps::default());
        let owned = Frame::from_line(Line::Whole(Cow::Owned(line)), Caps::default());
        prop_assert_eq!(borrowed, owned);
    }
}
