//! Tools of an MCP server in a program that loops, filters and joins.
//!
//! `cargo build -p codehatch-example-workspace && cargo run --example mcp_server -- target/debug/codehatch-example-workspace .`

use std::io::Write;

use codehatch::{
    Builder, ResultValue,
    mcp::{McpServer, McpTransport},
};

const PROGRAM: &str = r#"
from tools.workspace import list_files, search_text

rust = [file for file in list_files(glob="**/*.rs")["files"] if file["bytes"] > 1000]
todos = search_text(pattern="TODO|FIXME", glob="**/*.rs")["matches"]
{"files": len(rust), "bytes": sum(file["bytes"] for file in rust), "todos": len(todos)}
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: mcp_server PROGRAM [ARGUMENT …]";
    let command = arguments.next().ok_or(usage)?;
    let transport = McpTransport::Stdio {
        command,
        args: arguments.collect(),
        env: std::collections::BTreeMap::new(),
        cwd: None,
    };
    let engine = Builder::new()
        .mcp(McpServer::new("workspace", transport))
        .build()
        .await?;
    let mut turn = engine.turn();
    let outcome = turn.execute(PROGRAM).await;
    let mut out = std::io::stdout();
    write!(out, "{}{}", outcome.stdout.text, outcome.stderr.text)?;
    if let Some(ResultValue::Json { value, .. }) = &outcome.result {
        writeln!(out, "{}", value.get())?;
    }
    turn.close().await;
    engine.close().await;
    Ok(())
}
