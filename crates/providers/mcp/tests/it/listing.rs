//! Tool lists: long ones, odd ones, endless ones.

use codehatch_mcp::McpLimits;
use codehatch_tools::{Listing, ToolProvider};
use serde_json::json;

use crate::support::{Fake, call, list_error, names, provider};

#[tokio::test]
async fn one_odd_tool_does_not_take_the_others_down() {
    let fake = Fake::new(json!({"tools": [
        {"name": "good", "description": "Works.", "inputSchema": {"type": "object"}},
        {"name": "any_of", "inputSchema": {"anyOf": [{"type": "object"}, {"properties": {}}]}},
        {"name": "string", "inputSchema": {"type": "string"}},
        {"name": "required", "inputSchema": {"type": "object", "properties": {"required": ["a"]}}},
        {"name": "missing"},
        {"name": "null", "inputSchema": null},
        {"name": "list", "inputSchema": {"type": "object", "properties": []}},
        {"name": "int", "inputSchema": {"type": "int"}},
        {"inputSchema": {"type": "object"}},
        5,
    ]}));
    let provider = fake.provider();
    let listing = provider.list().await.expect("a listing");
    assert_eq!(
        names(&listing),
        [
            "good", "any_of", "string", "required", "missing", "null", "list", "int"
        ]
    );
    let problems: Vec<_> = listing
        .problems
        .iter()
        .map(|problem| problem.tool.as_str())
        .collect();
    assert_eq!(
        problems,
        [
            "missing",
            "null",
            "tool 9 of the list",
            "tool 10 of the list"
        ]
    );
    provider.close().await;
}

#[tokio::test]
async fn all_pages_of_a_long_list_are_read() {
    let fake = Fake::new(json!({"pages": 12_345}));
    let provider = fake.provider();
    let listing = provider.list().await.expect("a listing");
    assert_eq!(listing.tools.len(), 12_345);
    assert_eq!(listing.tools[12_344].name, "tool_12344");
    assert_eq!(listing.problems, []);
    provider.close().await;
}

#[tokio::test]
async fn an_endless_list_is_bounded_and_said_to_be_cut() {
    let fake = Fake::new(json!({"pages": "endless"}));
    let limits = McpLimits::default().with_max_list_bytes(4_000);
    let provider = provider(fake.server().with_limits(limits));
    let listing = provider.list().await.expect("a listing");
    assert_eq!(listing.tools.len(), 0);
    assert_eq!(
        listing.problems[0].reason,
        "the list is longer than 4000 bytes; the rest is left out"
    );
    provider.close().await;
}

#[tokio::test]
async fn a_page_that_cannot_be_read_is_named_and_the_others_are_kept() {
    let first = json!({"tools": [{"name": "a", "inputSchema": {}}], "nextCursor": "2"});
    let fake = Fake::new(json!({"pages": {"first": first.to_string(), "2": "{broken}"}}));
    let provider = fake.provider();
    let listing = provider.list().await.expect("a listing");
    assert_eq!(names(&listing), ["a"]);
    assert!(
        listing.problems[0].reason.contains("page 2"),
        "{:?}",
        listing.problems
    );
    provider.close().await;
}

#[tokio::test]
async fn a_list_that_cannot_be_read_at_all_is_an_error() {
    let fake = Fake::new(json!({"pages": {"first": "{broken}"}}));
    let provider = fake.provider();
    assert!(
        list_error(&provider)
            .await
            .contains("sent a tool list that cannot be read")
    );
    provider.close().await;
}

#[tokio::test]
async fn results_are_unwrapped_where_the_schema_says_that_they_are_wrapped() {
    let schema = json!({
        "type": "object", "x-fastmcp-wrap-result": true,
        "properties": {"result": {"type": "integer"}}, "required": ["result"],
    });
    let tools = json!([{"name": "echo", "inputSchema": {}, "outputSchema": schema}]);
    let fake = Fake::new(json!({ "tools": tools }));
    let provider = fake.provider();
    let listing = provider.list().await.expect("a listing");
    assert_eq!(
        listing.tools[0].output_schema,
        Some(json!({"type": "integer"}))
    );
    let big = "123456789012345678901234567890";
    let answer = call(&provider, "echo", &format!("{{\"result\":{big}}}")).await;
    assert_eq!(answer, Ok(big.to_owned()));
    provider.close().await;
}

#[tokio::test]
async fn a_server_without_tools_has_an_empty_list() {
    let fake = Fake::new(json!({"capabilities": {"prompts": {}}}));
    let provider = fake.provider();
    assert_eq!(
        provider.list().await.expect("a listing"),
        Listing::default()
    );
    provider.close().await;
}
