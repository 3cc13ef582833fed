//! Tools to test with: a small corpus of servers, each in the style of real ones.

use std::sync::Arc;

use codehatch_tools::{Annotations, Listing, ProviderTools, ToolSet, ToolSpec};
use serde_json::Value;

/// The servers of the corpus: their names, and what they list as MCP does.
pub(crate) const SERVERS: [(&str, &str); 6] = [
    ("tracker", include_str!("corpus/tracker.json")),
    ("chat", include_str!("corpus/chat.json")),
    ("files", include_str!("corpus/files.json")),
    ("shop", include_str!("corpus/shop.json")),
    ("odd", include_str!("corpus/odd.json")),
    ("names", include_str!("corpus/names.json")),
];

/// Reads tools as MCP lists them.
pub(crate) fn specs(json: &str) -> Vec<ToolSpec> {
    let tools: Vec<Value> = serde_json::from_str(json).expect("the corpus is JSON");
    tools.iter().map(spec).collect()
}

fn spec(tool: &Value) -> ToolSpec {
    let hint = |name: &str| tool["annotations"][name].as_bool();
    let mut spec = ToolSpec::new(
        tool["name"].as_str().expect("a name"),
        tool["inputSchema"].clone(),
    )
    .with_description(tool["description"].as_str().unwrap_or_default())
    .with_annotations(Annotations {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
        open_world: hint("openWorldHint"),
    });
    spec.output_schema = tool.get("outputSchema").cloned();
    spec
}

/// One provider's tools.
pub(crate) fn provider(namespace: Option<&str>, tools: Vec<ToolSpec>) -> ProviderTools<'_> {
    ProviderTools {
        namespace,
        listing: Arc::new(Listing {
            tools,
            problems: Vec::new(),
        }),
    }
}

/// A set of one provider.
pub(crate) fn set_of(namespace: Option<&str>, tools: Vec<ToolSpec>) -> ToolSet {
    ToolSet::build(&[provider(namespace, tools)])
}

/// A set of one server of the corpus.
pub(crate) fn server(name: &str) -> ToolSet {
    let found = SERVERS.iter().find(|(known, _)| *known == name);
    let (name, json) = found.expect("a server of the corpus");
    set_of(Some(name), specs(json))
}

/// The whole corpus, with the shop's tools at the top level as well.
pub(crate) fn corpus() -> ToolSet {
    let mut providers: Vec<_> = SERVERS
        .iter()
        .map(|(name, json)| provider(Some(name), specs(json)))
        .collect();
    providers.push(provider(None, specs(SERVERS[3].1)));
    ToolSet::build(&providers)
}
