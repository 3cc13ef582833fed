//! The codec agrees with the reference's own, but for what is different on purpose.

mod peer;

use std::cell::RefCell;

use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseResult, TestRunner},
};
use serde_json::Value;

use codehatch_protocol::{
    CallId, Caps, DecodeFault, Frame, HostFrame, ProtocolVersion, RawJson, ToolResult, tag_text,
    untag_text,
};

use crate::generate::{
    Values, any_json, guest_frame, host_frame, loose_frame, mutated, python_json,
};
use crate::golden;
use crate::hex::from_hexadecimal;
use peer::Reference;

/// Inputs that one test asks a release about, unless `PROPTEST_CASES` asks for more.
const CASES: u32 = 3_000;

/// Asks a release about many generated inputs.
fn check<S: Strategy>(
    release: &str,
    strategy: &S,
    test: impl Fn(&mut Reference, S::Value) -> TestCaseResult,
) {
    let reference = RefCell::new(Reference::start(release));
    let default = Config::default();
    let config = Config {
        cases: default.cases.max(CASES),
        failure_persistence: None,
        ..default
    };
    let outcome =
        TestRunner::new(config).run(strategy, |input| test(&mut reference.borrow_mut(), input));
    if let Err(error) = outcome {
        panic!("{release}: {error}");
    }
}

fn encoded(frame: &Frame, version: ProtocolVersion) -> Vec<u8> {
    let mut line = Vec::new();
    frame
        .encode(version, &mut line)
        .expect("known to the version");
    line
}

/// The outermost field that a fault is about, as the driver names it.
fn field(fault: &DecodeFault) -> &str {
    match fault {
        DecodeFault::Field { field, .. }
        | DecodeFault::FieldMissing { field, .. }
        | DecodeFault::TooMany { field, .. } => {
            field.split(['.', '[', '{']).next().unwrap_or_default()
        }
        DecodeFault::IdTooLong { .. } => "id",
        DecodeFault::Json { source } if source.to_string().starts_with("JSON nested deeper") => {
            "depth"
        }
        _ => "",
    }
}

/// Compares what becomes of a line here and there.
fn judge(reference: &mut Reference, line: &[u8]) -> TestCaseResult {
    let ours = Frame::decode(line, Caps::default());
    let again = ours
        .as_ref()
        .ok()
        .map(|frame| encoded(frame, ProtocolVersion::LATEST));
    let answer = reference.ask("decode", &[Some(line), again.as_deref()]);
    let agrees = match (answer["verdict"].as_str(), &ours) {
        (Some("open"), _) | (Some("refused"), Err(_)) => true,
        (Some("refused on purpose"), Err(error)) => {
            let fields = answer["fields"].as_array();
            fields.is_some_and(|fields| fields.contains(&Value::from(field(&error.fault))))
        }
        (Some("accepted"), Ok(_)) => answer["same"] == true,
        _ => false,
    };
    let line = String::from_utf8_lossy(line);
    prop_assert!(
        agrees,
        "line {}\nours {:?}\ntheirs {:#}",
        line,
        ours,
        answer
    );
    Ok(())
}

fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let frame = prop_oneof![
        guest_frame(Values::Any).prop_map(Frame::from),
        host_frame(Values::Any).prop_map(Frame::from),
    ];
    let encoded = frame.prop_map(|frame| encoded(&frame, ProtocolVersion::LATEST));
    prop_oneof![loose_frame(), encoded]
}

#[test]
fn the_first_release_makes_the_same_of_generated_lines() {
    check("0.1.0", &any_line(), |reference, line| {
        judge(reference, &line)
    });
}

#[test]
fn the_last_release_makes_the_same_of_generated_lines() {
    check("2.0.0", &any_line(), |reference, line| {
        judge(reference, &line)
    });
}

#[test]
fn the_first_release_makes_the_same_of_mutated_lines() {
    check("0.1.0", &mutated(any_line()), |reference, line| {
        judge(reference, &line)
    });
}

#[test]
fn the_last_release_makes_the_same_of_mutated_lines() {
    check("2.0.0", &mutated(any_line()), |reference, line| {
        judge(reference, &line)
    });
}

#[test]
fn the_rules_that_are_stricter_hold_at_their_limits() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let id = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    let names = |count: usize| vec!["\"x\""; count].join(",");
    let mut lines = Vec::new();
    for levels in [999, 1_000, 1_001, 5_000] {
        lines.push(format!(
            r#"{{"value":{},"kind":"tool_result"}}"#,
            nested(levels)
        ));
        lines.push(format!(
            r#"{{"more":{},"kind":"shutdown"}}"#,
            nested(levels)
        ));
    }
    for bytes in [2, 255, 256, 257, 1_000] {
        lines.push(format!(r#"{{"id":{},"kind":"tool_call"}}"#, id(bytes)));
        lines.push(format!(r#"{{"id": {} ,"kind":"tool_result"}}"#, id(bytes)));
    }
    for count in [0, 63, 64, 65] {
        lines.push(format!(
            r#"{{"extensions":[{}],"kind":"run"}}"#,
            names(count)
        ));
    }
    for digits in [4_300, 4_301] {
        lines.push(format!(
            r#"{{"exit_code":{},"kind":"done"}}"#,
            "9".repeat(digits)
        ));
    }
    for release in ["0.1.0", "2.0.0"] {
        let mut reference = Reference::start(release);
        for line in &lines {
            let verdict = judge(&mut reference, line.as_bytes());
            assert!(verdict.is_ok(), "{release}: {verdict:?}");
        }
    }
}

/// Frames that a release knows, in the form that it writes.
fn written(version: ProtocolVersion) -> impl Strategy<Value = Frame> {
    let frame = prop_oneof![
        guest_frame(Values::Reference).prop_map(Frame::from),
        host_frame(Values::Reference).prop_map(Frame::from),
    ];
    frame.prop_filter("known to the release", move |frame| {
        let first = version == ProtocolVersion::V1;
        !(first && matches!(frame.kind().as_str(), "output" | "interrupt"))
    })
}

fn writes_the_same(release: &str, version: ProtocolVersion) {
    check(release, &written(version), |reference, frame| {
        let ours = encoded(&frame, version);
        let answer = reference.ask("encode", &[Some(&ours)]);
        let theirs = answer["line"].as_str().map(from_hexadecimal);
        prop_assert_eq!(Some(ours), theirs);
        Ok(())
    });
}

#[test]
fn the_first_release_writes_the_same_bytes() {
    writes_the_same("0.1.0", ProtocolVersion::V1);
}

#[test]
fn the_last_release_writes_the_same_bytes() {
    writes_the_same("2.0.0", ProtocolVersion::V4);
}

/// Floats, and among them those that are hard to write: near powers of 2, and in the middle between two decimals.
fn hard_float() -> impl Strategy<Value = f64> {
    let neighbour = (any::<u64>(), -2i64..3).prop_map(|(bits, step)| {
        let power = f64::from_bits(bits & 0x7FF0_0000_0000_0000);
        f64::from_bits(power.to_bits().saturating_add_signed(step))
    });
    let middle = (any::<u64>(), 0u32..64, 0i32..70).prop_map(|(integer, shift, halves)| {
        #[expect(clippy::cast_precision_loss, reason = "any float near it will do")]
        let integer = (integer >> shift) as f64;
        integer / 2f64.powi(halves)
    });
    prop_oneof![
        neighbour,
        middle,
        any::<f64>(),
        -1e18f64..1e18,
        -10.0f64..10.0
    ]
}

#[test]
fn python_writes_floats_with_the_same_digits() {
    check(
        "2.0.0",
        &prop::collection::vec(hard_float(), 50),
        |reference, floats| {
            let value = RawJson::from_serialize(&floats).expect("floats");
            let frame = HostFrame::ToolResult(ToolResult::success(CallId::default(), value));
            let ours = encoded(&frame.into(), ProtocolVersion::LATEST);
            let answer = reference.ask("encode", &[Some(&ours)]);
            let theirs = answer["line"]
                .as_str()
                .map(from_hexadecimal)
                .unwrap_or_default();
            prop_assert_eq!(
                String::from_utf8_lossy(&ours),
                String::from_utf8_lossy(&theirs)
            );
            Ok(())
        },
    );
}

#[test]
fn the_golden_frames_are_what_the_releases_write() {
    for (release, files) in [
        ("0.1.0", ["guest-v1.jsonl", "host-v1.jsonl"]),
        ("2.0.0", ["guest-v4.jsonl", "host-v4.jsonl"]),
    ] {
        let mut reference = Reference::start(release);
        for case in files.into_iter().flat_map(golden::cases) {
            let line = golden::line(&case);
            let text = String::from_utf8_lossy(&line);
            // Extensions are ours.
            let is_ours = [
                "\"extensions\":",
                "\"result\":",
                "\"kind\":\"image\"",
                "\"kind\":\"chunk\"",
            ];
            if is_ours.iter().any(|mark| text.contains(mark)) {
                continue;
            }
            let answer = reference.ask("encode", &[Some(&line)]);
            let theirs = answer["line"]
                .as_str()
                .map(from_hexadecimal)
                .unwrap_or_default();
            assert_eq!(String::from_utf8_lossy(&theirs), text + "\n", "{release}");
        }
    }
}

#[test]
fn python_takes_the_same_texts_for_json() {
    let text = prop_oneof![
        any_json(true),
        python_json(false).prop_map(|value| value.get().to_owned())
    ];
    let text = mutated(text.prop_map(String::into_bytes))
        .prop_filter_map("UTF-8", |bytes| String::from_utf8(bytes).ok());
    check("2.0.0", &text, |reference, text| {
        let answer = reference.ask("json", &[Some(text.as_bytes())]);
        let ours = RawJson::parse(text);
        let agrees = answer["ok"]
            .as_bool()
            .is_none_or(|theirs| theirs == ours.is_ok());
        prop_assert!(agrees, "ours {:?}, theirs {}", ours, answer);
        Ok(())
    });
}

#[test]
fn python_finds_a_value_unchanged_by_its_tags() {
    check("2.0.0", &any_json(true), |reference, text| {
        let by_text = untag_text(&tag_text(&text)).into_owned();
        let value = RawJson::parse(text.as_str())
            .expect("well-formed")
            .to_tagged_value();
        let by_library = untag_text(&value.to_string()).into_owned();
        let by_value = RawJson::from_tagged_value(&value).expect("not deep");
        for back in [by_text.as_str(), &by_library, by_value.get()] {
            let answer = reference.ask("same", &[Some(text.as_bytes()), Some(back.as_bytes())]);
            prop_assert_eq!(&answer["ok"], true, "{} became {}", text, back);
        }
        Ok(())
    });
}
