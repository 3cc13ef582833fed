//! Calls: exact values, errors in words, and what becomes of a call whose server fails.

use std::time::{Duration, Instant};

use codehatch_mcp::McpLimits;
use codehatch_tools::{ToolFault, ToolProvider};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::{Fake, call, provider, until, value};

fn failed(kind: &str, message: &str) -> ToolFault {
    ToolFault::Failed {
        kind: kind.to_owned(),
        message: message.to_owned(),
    }
}

#[tokio::test]
async fn values_are_exact_both_ways() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    for number in [
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "1180591620717411303424",
        "10000000000000000000000000000000000000000",
        "0.1",
        "1.0",
        "1",
        "-0.0",
        "1e400",
        "NaN",
        "-Infinity",
        "\"\\ud800\"",
        "\"é\"",
        "[{},[],\"\",null,true]",
    ] {
        let arguments = format!("{{\"v\":{number}}}");
        assert_eq!(call(&provider, "echo", &arguments).await, Ok(arguments));
    }
    let wrapped = format!(
        "{{\"result\":{}}}",
        json!("{\"content\":[{\"type\":\"text\",\"text\":\"1e400\"}]}")
    );
    assert_eq!(
        call(&provider, "raw", &wrapped).await,
        Ok("\"1e400\"".to_owned())
    );
    provider.close().await;
}

#[tokio::test]
async fn errors_of_a_tool_and_of_the_protocol_are_told_apart() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    let result = json!({"isError": true, "content": [{"type": "text", "text": "no such file"}]});
    let arguments = json!({"result": result.to_string()}).to_string();
    assert_eq!(
        call(&provider, "raw", &arguments).await,
        Err(failed("McpToolError", "no such file"))
    );
    assert_eq!(
        call(&provider, "nothing", "{}").await,
        Err(failed(
            "McpError",
            "Unknown tool: nothing (MCP error -32602)"
        ))
    );
    provider.close().await;
}

#[tokio::test]
async fn noise_between_answers_is_skipped() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    assert_eq!(
        call(&provider, "noise", "{}").await,
        Ok("\"after\"".to_owned())
    );
    assert_eq!(
        call(&provider, "progress", "{}").await,
        Ok("\"done\"".to_owned())
    );
    assert_eq!(call(&provider, "echo", "{}").await, Ok("{}".to_owned()));
    provider.close().await;
}

#[tokio::test]
async fn a_broken_answer_fails_its_own_call_only() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    for (line, message) in [
        (
            r#"{"jsonrpc":"2.0","id":$id,"result":{"a":"#,
            "MCP server `fake`: the answer is cut off",
        ),
        (
            r#"{"jsonrpc":"2.0","id":$id,"result":{"a":nul}}"#,
            "MCP server `fake`: the answer is not valid JSON: unexpected byte in JSON at byte 8",
        ),
    ] {
        let arguments = json!({ "line": line }).to_string();
        assert_eq!(
            call(&provider, "line", &arguments).await,
            Err(failed("McpProtocolError", message))
        );
    }
    assert_eq!(call(&provider, "echo", "{}").await, Ok("{}".to_owned()));
    assert_eq!(fake.noted("START").len(), 1);
    provider.close().await;
}

#[tokio::test]
async fn an_answer_beyond_the_limit_fails_its_own_call_only() {
    let fake = Fake::new(json!({}));
    let limits = McpLimits::default().with_max_message_bytes(1_000_000);
    let provider = provider(fake.server().with_limits(limits));
    for bytes in [65_534, 65_536, 65_538, 990_000] {
        let text = value(&provider, "big", &json!({ "bytes": bytes })).await;
        assert_eq!(text.as_str().map(str::len), Some(bytes));
    }
    for bytes in [1_000_000, 30_000_000] {
        let arguments = json!({ "bytes": bytes }).to_string();
        assert_eq!(
            call(&provider, "big", &arguments).await,
            Err(failed(
                "McpProtocolError",
                "MCP server `fake`: the answer is longer than the limit of 1000000 bytes"
            ))
        );
    }
    assert_eq!(call(&provider, "echo", "{}").await, Ok("{}".to_owned()));
    assert_eq!(fake.noted("START").len(), 1);
    provider.close().await;
}

#[tokio::test]
async fn large_answers_and_arguments_arrive_whole() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    let text = value(&provider, "big", &json!({"bytes": 20_000_000})).await;
    assert_eq!(text.as_str().map(str::len), Some(20_000_000));
    let arguments = json!({"v": "ü".repeat(5_000_000)}).to_string();
    assert_eq!(call(&provider, "echo", &arguments).await, Ok(arguments));
    provider.close().await;
}

#[tokio::test]
async fn answers_out_of_order_reach_their_callers() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    let calls = (0..200).map(|number| {
        let arguments = json!({"number": number, "of": 200}).to_string();
        let provider = &provider;
        async move { call(provider, "slow", &arguments).await }
    });
    let expected: Vec<_> = (0..200).map(|number: u32| Ok(number.to_string())).collect();
    assert_eq!(join_all(calls).await, expected);
    provider.close().await;
}

#[tokio::test]
async fn a_call_whose_server_dies_has_an_unknown_outcome_and_the_next_one_restarts_it() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    let arguments = json!({"code": 4, "words": "out of disk\n"}).to_string();
    let fault = call(&provider, "die", &arguments)
        .await
        .expect_err("it dies");
    assert_eq!(
        fault,
        ToolFault::OutcomeUnknown {
            message: "MCP server `fake` exited with code 4. The call was on its way: it may have been carried out. It last wrote:\nout of disk".to_owned()
        }
    );
    assert_eq!(call(&provider, "echo", "{}").await, Ok("{}".to_owned()));
    assert_eq!(fake.noted("START").len(), 2);
    provider.close().await;
}

#[tokio::test]
async fn half_an_answer_before_the_end_is_an_unknown_outcome() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    let fault = call(&provider, "half", "{}").await.expect_err("it dies");
    assert!(
        matches!(fault, ToolFault::OutcomeUnknown { .. }),
        "{fault:?}"
    );
    assert!(fault.to_string().contains("exited with code 3"), "{fault}");
    provider.close().await;
}

#[tokio::test]
async fn calls_in_flight_learn_of_the_end_and_a_restart_is_shared() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    let hanging = join_all((0..20).map(|_| call(&provider, "hang", "{}")));
    let killing = async {
        fake.wait_for("\"name\":\"hang\"", 20).await;
        call(&provider, "die", "{}").await
    };
    let (hung, _) = tokio::join!(hanging, killing);
    for fault in hung {
        assert!(
            matches!(fault, Err(ToolFault::OutcomeUnknown { .. })),
            "{fault:?}"
        );
    }
    let after = join_all((0..20).map(|_| call(&provider, "echo", "{}"))).await;
    assert_eq!(after, vec![Ok("{}".to_owned()); 20]);
    assert_eq!(fake.noted("START").len(), 2);
    provider.close().await;
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_on_the_server() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    fake.give_up_hanging_call(&provider).await;
    fake.wait_for("notifications/cancelled", 1).await;
    let sent: Value = serde_json::from_str(&fake.noted("\"name\":\"hang\"")[0]).expect("JSON");
    let cancelled: Value =
        serde_json::from_str(&fake.noted("notifications/cancelled")[0]).expect("JSON");
    assert_eq!(cancelled["params"]["requestId"], sent["id"]);
    assert_eq!(call(&provider, "echo", "{}").await, Ok("{}".to_owned()));
    provider.close().await;
}

#[tokio::test]
async fn a_slow_call_does_not_hold_up_another() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    provider.list().await.expect("a listing");
    let mut hanging = Box::pin(call(&provider, "hang", "{}"));
    let begun = Instant::now();
    tokio::select! {
        biased;
        outcome = &mut hanging => panic!("it hangs: {outcome:?}"),
        echoed = call(&provider, "echo", "{}") => assert_eq!(echoed, Ok("{}".to_owned())),
    }
    assert!(begun.elapsed() < Duration::from_secs(2));
    drop(hanging);
    provider.close().await;
}

#[tokio::test]
async fn what_a_server_asks_of_its_client_is_answered_or_refused_in_words() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    let sampling = json!({"messages": [], "maxTokens": 5});
    let form = json!({"message": "Name?", "requestedSchema": {"type": "object", "properties": {}}});
    for (method, params, expected) in [
        ("ping", json!({}), "{}"),
        (
            "sampling/createMessage",
            sampling,
            "this client does not offer sampling",
        ),
        (
            "elicitation/create",
            form,
            "this client does not offer elicitation",
        ),
        ("roots/list", json!({}), "this client does not offer roots"),
        ("made/up", json!({"x": [1]}), "-32601"),
    ] {
        let arguments = json!({"method": method, "params": params});
        let answer = value(&provider, "ask", &arguments).await;
        let answer = answer.as_str().expect("text");
        assert!(answer.contains(expected), "{method}: {answer}");
    }
    provider.close().await;
}

#[tokio::test]
async fn a_request_for_input_in_the_newer_era_is_a_clear_error() {
    let fake = Fake::new(json!({"era": "stateless"}));
    let provider = fake.provider();
    let result = json!({"resultType": "input_required", "inputRequests": {}}).to_string();
    let fault = call(&provider, "raw", &json!({ "result": result }).to_string()).await;
    let Err(ToolFault::Failed { kind, message }) = fault else {
        panic!("{fault:?}");
    };
    assert_eq!(kind, "McpInputRequired");
    assert!(message.contains("a program cannot give it"), "{message}");
    provider.close().await;
}

#[tokio::test]
async fn changes_of_the_tool_list_are_told_in_both_eras() {
    for era in ["handshake", "stateless"] {
        let fake = Fake::new(json!({ "era": era }));
        let provider = fake.provider();
        let changes = provider.changes().expect("it can notice");
        provider.list().await.expect("a listing");
        if era == "stateless" {
            fake.wait_for("subscriptions/listen", 1).await;
        }
        let tools = json!({"tools": [{"name": "new_tool", "inputSchema": {}}]});
        let before = *changes.borrow();
        value(&provider, "change", &tools).await;
        until("a change", || *changes.borrow() > before).await;
        let listing = provider.list().await.expect("a listing");
        assert_eq!(crate::support::names(&listing), ["new_tool"], "{era}");
        provider.close().await;
    }
}

#[tokio::test]
async fn a_closed_provider_refuses_in_words() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    provider.list().await.expect("a listing");
    provider.close().await;
    let fault = call(&provider, "echo", "{}").await.expect_err("closed");
    assert_eq!(
        fault,
        ToolFault::Unavailable {
            message: "MCP server `fake` was closed".to_owned()
        }
    );
}
