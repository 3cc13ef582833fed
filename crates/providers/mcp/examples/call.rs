//! Calls one tool of an MCP server and prints its value. Keeps the server until its own input ends.
//!
//! `cargo run -p codehatch-mcp --example call -- get_current_time '{"timezone":"UTC"}' uvx mcp-server-time`
#![expect(
    clippy::print_stdout,
    reason = "the value is the output of the program"
)]

use codehatch_mcp::{McpProvider, McpServer, McpTransport};
use codehatch_protocol::RawJson;
use codehatch_tools::{ToolProvider, ToolRequest};
use tokio::io::AsyncReadExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(tool), Some(arguments), Some(command)) = (words.next(), words.next(), words.next())
    else {
        return Err("usage: call TOOL ARGUMENTS COMMAND…".into());
    };
    let provider = McpProvider::new(McpServer::new(
        "server",
        McpTransport::stdio(command, words),
    ))?;
    let args = RawJson::parse(arguments)?;
    let output = provider.call(ToolRequest { tool, args }).await?;
    println!("{}", output.value.get());
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    provider.close().await;
    Ok(())
}
