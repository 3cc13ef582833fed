//! Waits for the MCP servers to say what tools they have.

use std::collections::BTreeSet;

use codehatch::{Engine, ProviderReport};

use crate::{config::Config, screen::Screen};

/// Asks all servers, and shows on a terminal which ones have not answered yet. Cancel-safe.
pub(crate) async fn ask(engine: &Engine, config: &Config, screen: &Screen) -> Vec<ProviderReport> {
    let mut waiting: BTreeSet<&str> = config.mcp.keys().map(String::as_str).collect();
    screen.status(status(&waiting));
    let known = |report: &ProviderReport| {
        if let Some(name) = &report.namespace {
            waiting.remove(name.as_str());
        }
        screen.status(status(&waiting));
    };
    let reports = engine.providers_as_known(known).await;
    screen.status(None);
    reports
}

fn status(waiting: &BTreeSet<&str>) -> Option<String> {
    let names: Vec<&str> = waiting.iter().copied().collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("waiting for MCP server {one}")),
        several => Some(format!("waiting for MCP servers {}", several.join(", "))),
    }
}
