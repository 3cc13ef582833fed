//! Starting a server: what goes wrong is named, bounded and survived.

use std::time::{Duration, Instant};

use codehatch_mcp::{McpServer, McpTransport};
use codehatch_tools::ToolProvider;
use serde_json::json;

use crate::support::{Fake, call, list_error, names, provider, value};

#[tokio::test]
async fn nothing_is_started_before_the_first_list() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    assert_eq!(fake.noted("START").len(), 0);
    let listing = provider.list().await.expect("a listing");
    assert_eq!(names(&listing), ["echo"]);
    provider.close().await;
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let server = McpServer::new("gone", McpTransport::stdio("no-such-program", ["x"]));
    assert_eq!(
        list_error(&provider(server)).await,
        "tool provider `gone`: cannot be started: `no-such-program x`; check that it is installed, or give its full path"
    );
}

#[tokio::test]
async fn a_server_that_dies_at_start_is_quoted() {
    let fake = Fake::new(json!({"start": {"die": 7, "words": "ImportError: no module\n"}}));
    let message = list_error(&fake.provider()).await;
    assert!(message.contains("exited with code 7"), "{message}");
    assert!(message.contains("ImportError: no module"), "{message}");
    assert!(message.contains("by hand to see why"), "{message}");
}

#[tokio::test]
async fn a_server_that_hangs_at_start_is_given_up_in_time() {
    let fake = Fake::new(json!({"start": {"hang": true, "words": "waiting for a login\n"}}));
    let server = fake.server().with_connect_timeout(Duration::from_secs(2));
    let begun = Instant::now();
    let message = list_error(&provider(server)).await;
    assert!(begun.elapsed() < Duration::from_secs(6));
    assert!(
        message.contains("gave no MCP answer within 2s"),
        "{message}"
    );
    assert!(message.contains("raise its `connect_timeout`"), "{message}");
    assert!(message.contains("waiting for a login"), "{message}");
}

#[tokio::test]
async fn both_eras_are_spoken_and_the_newer_one_is_preferred() {
    for (era, asked) in [("handshake", 1), ("both", 0), ("stateless", 0)] {
        let fake = Fake::new(json!({"era": era}));
        let provider = fake.provider();
        assert_eq!(
            value(&provider, "echo", &json!({"a": 1})).await,
            json!({"a": 1}),
            "{era}"
        );
        assert_eq!(fake.noted("\"initialize\"").len(), asked, "{era}");
        provider.close().await;
    }
}

#[tokio::test]
async fn older_revisions_are_accepted() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let fake = Fake::new(json!({"version": version}));
        let provider = fake.provider();
        assert_eq!(
            value(&provider, "echo", &json!({})).await,
            json!({}),
            "{version}"
        );
        provider.close().await;
    }
}

#[tokio::test]
async fn a_server_that_breaks_on_discovery_is_started_again_the_old_way() {
    let fake = Fake::new(json!({"era": "dies-on-discover"}));
    let provider = fake.provider();
    assert_eq!(value(&provider, "echo", &json!({})).await, json!({}));
    assert_eq!(fake.noted("START").len(), 2);
    provider.close().await;
}

#[tokio::test]
async fn a_server_that_ignores_discovery_is_asked_the_old_way() {
    let fake = Fake::new(json!({"era": "ignores-discover"}));
    let provider = provider(fake.server().with_connect_timeout(Duration::from_secs(6)));
    assert_eq!(value(&provider, "echo", &json!({})).await, json!({}));
    assert_eq!(fake.noted("START").len(), 1);
    provider.close().await;
}

#[tokio::test]
async fn a_server_of_the_newer_era_that_answers_too_late_is_asked_again() {
    let fake = Fake::new(json!({"era": "answers-late"}));
    let provider = provider(fake.server().with_connect_timeout(Duration::from_secs(6)));
    assert_eq!(value(&provider, "echo", &json!({})).await, json!({}));
    assert_eq!(fake.noted("START").len(), 2);
    provider.close().await;
}

#[tokio::test]
async fn banners_and_a_flood_on_stderr_do_not_matter() {
    let start = json!({"stderr": 5_000_000, "banner": "Loading… ✓\n\n{\"level\":\"info\"}\n"});
    let fake = Fake::new(json!({"start": start}));
    let provider = fake.provider();
    assert_eq!(
        value(&provider, "echo", &json!({"x": 2})).await,
        json!({"x": 2})
    );
    provider.close().await;
}

#[tokio::test]
async fn a_server_that_dies_again_and_again_is_not_started_in_a_storm() {
    let fake = Fake::new(json!({}));
    let provider = fake.provider();
    let mut faults = Vec::new();
    for _ in 0..30 {
        let fault = call(&provider, "die", "{}").await.expect_err("it dies");
        faults.push(fault.to_string());
    }
    let starts = fake.noted("START").len();
    assert!(starts <= 6, "{starts} starts");
    let last = faults.last().expect("thirty faults");
    assert!(
        last.contains("times in a row and is started again in"),
        "{last}"
    );
}
