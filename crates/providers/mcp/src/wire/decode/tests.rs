use serde_json::{Value, json};

use super::*;

fn expecting(id: i64) -> (Codec, Arc<Slot>) {
    let codec = Codec::default();
    let slot = Arc::new(Slot::default());
    codec.expect(id, &slot);
    (codec, slot)
}

/// What rmcp would be given, as JSON; `"nothing"` and `"noise"` for the rest.
fn seen(arrivals: Vec<Arrival>) -> Vec<Value> {
    let shown = arrivals.into_iter().map(|arrival| match arrival {
        Arrival::Message(message) => serde_json::to_value(message).expect("serializes"),
        Arrival::Nothing => json!("nothing"),
        Arrival::Noise => json!("noise"),
    });
    shown.collect()
}

fn empty(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {}})
}

#[test]
fn an_exact_result_goes_to_its_slot_as_text() {
    let (codec, slot) = expecting(3);
    let line = br#"{"jsonrpc":"2.0","id":3,"result":{"structuredContent":[18446744073709551616,1.0,NaN]}}"#;
    assert_eq!(seen(codec.decode(line)), [empty(3)]);
    let answer = slot.take().expect("an answer").expect("well-formed");
    assert_eq!(
        answer.get(),
        r#"{"structuredContent":[18446744073709551616,1.0,NaN]}"#
    );
}

#[test]
fn an_answer_with_its_id_as_a_string_is_still_the_answer() {
    let (codec, slot) = expecting(3);
    assert_eq!(seen(codec.decode(br#"{"id":"3","result":1}"#)), [empty(3)]);
    assert!(slot.take().is_some());
}

#[test]
fn a_broken_answer_fails_its_own_request_only() {
    let cases: [(&[u8], WireFault); 3] = [
        (
            b"{\"id\":3,\"result\":{\"a\":\"\xff\"}}",
            WireFault::NotUtf8,
        ),
        (b"{\"id\":3,\"result\":{\"a\":", WireFault::Cut),
        (
            b"{\"id\":3,\"result\":{\"a\":nul}}",
            WireFault::NotJson(RawJson::parse("{\"a\":nul}").expect_err("not JSON")),
        ),
    ];
    for (line, fault) in cases {
        let (codec, slot) = expecting(3);
        assert_eq!(seen(codec.decode(line)), [empty(3)]);
        assert_eq!(slot.take(), Some(Err(fault)));
    }
}

#[test]
fn noise_is_told_apart_from_messages() {
    let (codec, slot) = expecting(3);
    for line in [
        "Loading… ✓",
        "",
        "42",
        "[1,2",
        r#"{"level":"info"}"#,
        r#"{"id":3"#,
    ] {
        let seen = seen(codec.decode(line.as_bytes()));
        let fault = line.starts_with(r#"{"id"#);
        assert_eq!(
            seen,
            [if fault { empty(3) } else { json!("noise") }],
            "{line}"
        );
    }
    assert_eq!(slot.take(), Some(Err(WireFault::Cut)));
}

#[test]
fn only_notifications_that_matter_reach_rmcp() {
    let codec = Codec::default();
    for (method, wanted) in [
        ("notifications/tools/list_changed", true),
        ("notifications/message", false),
        ("notifications/progress", false),
    ] {
        let line = json!({"jsonrpc": "2.0", "method": method}).to_string();
        let shown = seen(codec.decode(line.as_bytes()));
        assert_eq!(shown != [json!("nothing")], wanted, "{method}");
    }
}

#[test]
fn an_odd_error_keeps_its_message() {
    let (codec, _slot) = expecting(3);
    let line = br#"{"jsonrpc":"2.0","id":3,"error":{"code":1e9,"message":"a\ud800","data":NaN}}"#;
    assert_eq!(
        seen(codec.decode(line)),
        [json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32603, "message": "a\u{fffd}"}})]
    );
}

#[test]
fn a_request_that_fits_no_type_is_still_answered() {
    let codec = Codec::default();
    let line = br#"{"jsonrpc":"2.0","id":"s1","method":"ping","params":{"a":1e400}}"#;
    assert_eq!(
        seen(codec.decode(line)),
        [json!({"jsonrpc": "2.0", "id": "s1", "method": "ping", "params": null})]
    );
}

#[test]
fn a_batch_is_read_message_by_message() {
    let (codec, slot) = expecting(3);
    let line = br#"[{"id":3,"result":[1]},{"method":"notifications/progress"}]"#;
    assert_eq!(seen(codec.decode(line)), [empty(3), json!("nothing")]);
    assert_eq!(
        slot.take()
            .map(|answer| answer.expect("JSON").get().to_owned()),
        Some("[1]".to_owned())
    );
}

#[test]
fn an_initialize_result_with_odd_members_still_counts() {
    let codec = Codec::default();
    codec.lifecycle.sending(0, "initialize");
    let line = br#"{"id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":"x"}}"#;
    let shown = seen(codec.decode(line));
    assert_eq!(shown[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(
        shown[0]["result"]["capabilities"]["tools"]["listChanged"],
        true
    );
}

#[test]
fn a_late_answer_to_discovery_is_noted_and_kept_from_rmcp() {
    let codec = Codec::default();
    codec.lifecycle.sending(0, "server/discover");
    assert!(codec.give_up_discovery().is_some());
    assert!(codec.give_up_discovery().is_none());
    codec.lifecycle.sending(1, "initialize");
    let error = br#"{"id":0,"error":{"code":-32601,"message":"x"}}"#;
    assert_eq!(seen(codec.decode(error)), [json!("nothing")]);
    assert!(!codec.lifecycle.discovered_late());
    let result = br#"{"id":0,"result":{"supportedVersions":["2026-07-28"]}}"#;
    assert_eq!(seen(codec.decode(result)), [json!("nothing")]);
    assert!(codec.lifecycle.discovered_late());
}
