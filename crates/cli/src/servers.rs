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

/// What is wrong with a server, if something is.
pub(crate) fn complaint(report: &ProviderReport) -> Option<String> {
    let error = shortened(report.error.as_deref()?);
    let Some(name) = &report.namespace else {
        return Some(error);
    };
    // Only servers have a namespace here, and that is what users call them.
    let told = error.strip_prefix(&format!("tool provider `{name}`: "));
    let told = told.map(|told| format!("MCP server `{name}` {told}"));
    Some(told.unwrap_or(error))
}

/// What went wrong, and of what the server wrote the last lines.
fn shortened(error: &str) -> String {
    const MOST: usize = 10;
    let mut lines: Vec<&str> = error.trim_end().lines().collect();
    let more = lines.len().saturating_sub(1 + MOST);
    if more > 0 {
        lines.splice(1..=more, ["…"]);
    }
    lines.join("\n")
}

fn status(waiting: &BTreeSet<&str>) -> Option<String> {
    let names: Vec<&str> = waiting.iter().copied().collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("waiting for MCP server {one}")),
        several => Some(format!("waiting for MCP servers {}", several.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_a_server_are_kept() {
        assert_eq!(shortened("gone: wrote\na\nb\n"), "gone: wrote\na\nb");
        let lines: Vec<String> = (1..=12).map(|number| format!("\n{number}")).collect();
        assert_eq!(
            shortened(&format!("gone{}", lines.concat())),
            "gone\n…\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12"
        );
    }
}
