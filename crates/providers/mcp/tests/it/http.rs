//! Streamable HTTP: sessions that end, refusals, limits, and what is surely or perhaps not carried out.

use std::{collections::BTreeMap, time::Duration};

use codehatch_mcp::{McpLimits, McpProvider, McpServer, McpTransport};
use codehatch_tools::{ToolFault, ToolProvider};
use serde_json::{Value, json};

use crate::support::{Fake, Service, call, free_port, list_error, names, provider, until, value};

fn provider_of(service: &Service) -> McpProvider {
    provider(McpServer::new("fake", McpTransport::http(service.url())))
}

async fn start(scenario: Value) -> (Fake, Service) {
    let fake = Fake::new(scenario);
    let service = fake.serve(free_port()).await;
    (fake, service)
}

#[tokio::test]
async fn values_are_exact_both_ways_in_both_eras_and_body_kinds() {
    for (era, stream) in [
        ("handshake", false),
        ("handshake", true),
        ("stateless", false),
        ("stateless", true),
    ] {
        let (_fake, service) = start(json!({"era": era, "stream": stream})).await;
        let provider = provider_of(&service);
        let listing = provider.list().await.expect("a listing");
        assert_eq!(names(&listing), ["echo"]);
        for number in [
            "18446744073709551616",
            "1.0",
            "1",
            "1e400",
            "NaN",
            "\"\\ud800\"",
        ] {
            let arguments = format!("{{\"v\":{number}}}");
            assert_eq!(
                call(&provider, "echo", &arguments).await,
                Ok(arguments),
                "{era} {stream}"
            );
        }
        provider.close().await;
    }
}

#[tokio::test]
async fn a_restarted_server_with_new_sessions_is_joined_once_and_its_tools_are_read_again() {
    let (fake, mut service) = start(json!({"session": "first"})).await;
    let provider = provider_of(&service);
    provider.list().await.expect("a listing");
    let changes = provider.changes().expect("it can notice");
    assert_eq!(call(&provider, "echo", "{}").await, Ok("{}".to_owned()));
    service.stop().await;
    let again =
        Fake::new(json!({"session": "second", "tools": [{"name": "new", "inputSchema": {}}]}));
    let _service = again.serve(service.port).await;
    assert_eq!(call(&provider, "echo", "{}").await, Ok("{}".to_owned()));
    assert_eq!(fake.noted("\"initialize\"").len(), 1);
    assert_eq!(again.noted("\"initialize\"").len(), 1);
    assert_eq!(again.noted("\"tools/call\"").len(), 1);
    assert!(changes.has_changed().expect("the provider lives"));
    let listing = provider.list().await.expect("a listing");
    assert_eq!(names(&listing), ["new"]);
    provider.close().await;
    assert_eq!(again.noted("DELETE second").len(), 1);
}

#[tokio::test]
async fn a_call_while_the_server_is_down_is_surely_not_carried_out() {
    let (_fake, mut service) = start(json!({"era": "stateless"})).await;
    let provider = provider_of(&service);
    provider.list().await.expect("a listing");
    service.stop().await;
    let fault = call(&provider, "echo", "{}").await.expect_err("it is down");
    assert_eq!(
        fault,
        ToolFault::Unavailable {
            message: "MCP server `fake`: cannot connect to it (Connection refused (os error 111)); check that it runs and that its `url` is right. The call was not carried out".to_owned()
        }
    );
    let again = Fake::new(json!({"era": "stateless"}));
    let _service = again.serve(service.port).await;
    assert_eq!(call(&provider, "echo", "{}").await, Ok("{}".to_owned()));
    provider.close().await;
}

#[tokio::test]
async fn a_connection_cut_in_mid_call_leaves_the_outcome_unknown_and_is_not_repeated() {
    let (fake, service) = start(json!({})).await;
    let provider = provider_of(&service);
    let fault = call(&provider, "cut", "{}").await.expect_err("it is cut");
    assert!(
        matches!(fault, ToolFault::OutcomeUnknown { .. }),
        "{fault:?}"
    );
    assert_eq!(fake.noted("\"name\":\"cut\"").len(), 1);
    assert_eq!(call(&provider, "echo", "{}").await, Ok("{}".to_owned()));
    provider.close().await;
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    for (status, hint) in [
        (
            401,
            "it answered HTTP 401 (it wants credentials: set its `Authorization` header): go away",
        ),
        (403, "it answered HTTP 403 (it refuses the credentials"),
        (503, "it answered HTTP 503 (it is down or overloaded"),
    ] {
        let refuse_all = json!({"initialize": status, "server/discover": status});
        let (_fake, service) = start(json!({"status": refuse_all})).await;
        let message = list_error(&provider_of(&service)).await;
        assert!(message.contains(hint), "{message}");

        let (fake, service) = start(json!({"status": {"tools/call": status}})).await;
        let provider = provider_of(&service);
        let fault = call(&provider, "echo", "{}").await.expect_err("refused");
        assert!(
            matches!(&fault, ToolFault::Unavailable { message } if message.contains(hint)),
            "{fault:?}"
        );
        assert_eq!(fake.noted("tools/call").len(), 1);
        provider.close().await;
    }
}

#[tokio::test]
async fn an_error_inside_the_server_leaves_the_outcome_unknown() {
    let (_fake, service) = start(json!({"status": {"tools/call": 500}})).await;
    let provider = provider_of(&service);
    let fault = call(&provider, "echo", "{}").await.expect_err("it failed");
    assert!(
        matches!(fault, ToolFault::OutcomeUnknown { .. }),
        "{fault:?}"
    );
    provider.close().await;
}

#[tokio::test]
async fn errors_of_the_protocol_are_passed_on() {
    for stream in [false, true] {
        let (_fake, service) = start(json!({ "stream": stream })).await;
        let provider = provider_of(&service);
        assert_eq!(
            call(&provider, "nothing", "{}").await,
            Err(ToolFault::Failed {
                kind: "McpError".to_owned(),
                message: "Unknown tool: nothing (MCP error -32602)".to_owned()
            })
        );
        provider.close().await;
    }
}

#[tokio::test]
async fn a_wrong_address_is_named() {
    let (_fake, service) = start(json!({})).await;
    let url = format!("http://127.0.0.1:{}/wrong", service.port);
    let message = list_error(&provider(McpServer::new("fake", McpTransport::http(url)))).await;
    assert!(
        message.contains("HTTP 404 (there is no MCP endpoint: check its `url`)"),
        "{message}"
    );

    let url = format!("http://127.0.0.1:{}/mcp", free_port());
    let message = list_error(&provider(McpServer::new("fake", McpTransport::http(url)))).await;
    assert!(message.contains("cannot connect to it"), "{message}");
}

#[tokio::test]
async fn an_endpoint_that_never_answers_is_given_up_in_time() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let server = McpServer::new("fake", McpTransport::http(url));
    let server = server.with_connect_timeout(Duration::from_millis(900));
    let message = list_error(&provider(server)).await;
    assert!(
        message.contains("gave no MCP answer within 900ms"),
        "{message}"
    );
}

#[tokio::test]
async fn headers_are_sent_and_secrets_are_not_taken_elsewhere() {
    let (elsewhere, other) = start(json!({})).await;
    let (fake, service) = start(json!({"redirect": other.url()})).await;
    let transport = McpTransport::Http {
        url: service.url(),
        headers: BTreeMap::from([("X-Api-Key".to_owned(), "hunter2".into())]),
    };
    let message = list_error(&provider(McpServer::new("fake", transport))).await;
    assert!(message.contains("HTTP 307"), "{message}");
    assert!(!fake.noted("hunter2").is_empty());
    assert_eq!(elsewhere.noted("HEADERS").len(), 0);
}

#[tokio::test]
async fn an_answer_beyond_the_limit_fails_its_own_call_only() {
    for stream in [false, true] {
        let (_fake, service) = start(json!({ "stream": stream })).await;
        let limits = McpLimits::default().with_max_message_bytes(100_000);
        let server = McpServer::new("fake", McpTransport::http(service.url()));
        let provider = provider(server.with_limits(limits));
        let fault = call(&provider, "big", r#"{"bytes":5000000}"#)
            .await
            .expect_err("too long");
        let message = "MCP server `fake`: the answer is longer than the limit of 100000 bytes";
        assert_eq!(
            fault,
            ToolFault::Failed {
                kind: "McpProtocolError".to_owned(),
                message: message.to_owned()
            },
            "{stream}"
        );
        assert_eq!(call(&provider, "echo", "{}").await, Ok("{}".to_owned()));
        provider.close().await;
    }
}

#[tokio::test]
async fn the_newer_era_mirrors_names_and_arguments_in_headers() {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "n": {"type": "integer", "x-mcp-header": "N"},
    }});
    let tools = json!([{"name": "echo", "inputSchema": schema}]);
    let (fake, service) = start(json!({"era": "stateless", "tools": tools})).await;
    let provider = provider_of(&service);
    provider.list().await.expect("a listing");
    call(
        &provider,
        "echo",
        r#"{"region":"Zürich","n":18446744073709551616}"#,
    )
    .await
    .expect("an echo");
    let headers = fake.noted("mcp-param-region").pop().expect("a call");
    let headers: Value =
        serde_json::from_str(headers.trim_start_matches("HEADERS ")).expect("JSON");
    assert_eq!(
        [
            "mcp-method",
            "mcp-name",
            "mcp-protocol-version",
            "mcp-param-region",
            "mcp-param-n"
        ]
        .map(|name| headers[name].as_str().unwrap_or_default().to_owned()),
        [
            "tools/call",
            "echo",
            "2026-07-28",
            "=?base64?WsO8cmljaA==?=",
            "18446744073709551616"
        ]
    );
    provider.close().await;
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_on_the_server() {
    for era in ["handshake", "stateless"] {
        let (fake, service) = start(json!({ "era": era })).await;
        let provider = provider_of(&service);
        provider.list().await.expect("a listing");
        fake.give_up_hanging_call(&provider).await;
        fake.wait_for("GONE", 1).await;
        let told = fake.noted("notifications/cancelled").len();
        assert_eq!(told > 0, era == "handshake", "{era}");
        assert_eq!(value(&provider, "echo", &json!({})).await, json!({}));
        provider.close().await;
    }
}

#[tokio::test]
async fn a_server_that_is_killed_in_mid_call_leaves_the_outcome_unknown() {
    let (fake, mut service) = start(json!({"session": "first"})).await;
    let provider = provider_of(&service);
    provider.list().await.expect("a listing");
    let killing = async {
        fake.wait_for("\"name\":\"hang\"", 1).await;
        service.stop().await;
    };
    let (outcome, ()) = tokio::join!(call(&provider, "hang", "{}"), killing);
    assert!(
        matches!(outcome, Err(ToolFault::OutcomeUnknown { .. })),
        "{outcome:?}"
    );
    let again = Fake::new(json!({"session": "second"}));
    let _service = again.serve(service.port).await;
    assert_eq!(call(&provider, "echo", "{}").await, Ok("{}".to_owned()));
    assert_eq!(again.noted("\"name\":\"hang\"").len(), 0);
    provider.close().await;
}

#[tokio::test]
async fn changes_of_the_tool_list_are_told_in_the_newer_era() {
    let (fake, service) = start(json!({"era": "stateless", "stream": true})).await;
    let provider = provider_of(&service);
    let changes = provider.changes().expect("it can notice");
    provider.list().await.expect("a listing");
    fake.wait_for("subscriptions/listen", 1).await;
    let before = *changes.borrow();
    value(
        &provider,
        "change",
        &json!({"tools": [{"name": "new_tool", "inputSchema": {}}]}),
    )
    .await;
    until("a change", || *changes.borrow() > before).await;
    provider.close().await;
}

#[tokio::test]
async fn closing_leaves_no_descriptor() {
    let (_fake, service) = start(json!({"session": "one"})).await;
    let open = || std::fs::read_dir("/proc/self/fd").expect("Linux").count();
    let before = open();
    for _ in 0..3 {
        let provider = provider_of(&service);
        provider.list().await.expect("a listing");
        provider.close().await;
        drop(provider);
    }
    until("its descriptors closed", || open() <= before).await;
}
