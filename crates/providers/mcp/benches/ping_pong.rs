//! What one call costs: a server that does nothing but answer, over stdio, one call after the other and many
//! at once. The program starts itself as the server. `cargo bench -p codehatch-mcp`
#![expect(
    clippy::print_stdout,
    reason = "the figures are the output of the program"
)]

use std::{
    io::{BufRead, Write},
    time::{Duration, Instant},
};

use codehatch_mcp::{McpProvider, McpServer, McpTransport};
use codehatch_protocol::RawJson;
use codehatch_tools::{ToolProvider, ToolRequest};
use futures_util::{StreamExt, stream};

const ROUNDS: usize = 20_000;
const AT_ONCE: usize = 64;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().any(|word| word == "serve") {
        return Ok(serve()?);
    }
    let this = std::env::current_exe()?;
    let provider = McpProvider::new(McpServer::new(
        "echo",
        McpTransport::stdio(this.to_string_lossy(), ["serve"]),
    ))?;
    for bytes in [10, 1_000, 1_000_000] {
        let rounds = (ROUNDS / (1 + bytes / 2_000)).max(50);
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let begun = Instant::now();
            call(&provider, bytes).await?;
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        println!(
            "{bytes} bytes, one by one: p50 {:?}, p99 {:?}",
            times[rounds / 2],
            times[rounds * 99 / 100]
        );
    }
    let begun = Instant::now();
    let calls = stream::iter(0..ROUNDS).map(|_| call(&provider, 10));
    calls.buffer_unordered(AT_ONCE).for_each(async |_| ()).await;
    let each = begun.elapsed() / u32::try_from(ROUNDS)?;
    println!(
        "10 bytes, {AT_ONCE} at once: {each:?} a call, {:.0} a second",
        per_second(each)
    );
    provider.close().await;
    Ok(())
}

fn per_second(each: Duration) -> f64 {
    1.0 / each.as_secs_f64()
}

async fn call(provider: &McpProvider, bytes: usize) -> Result<(), Box<dyn std::error::Error>> {
    let request = ToolRequest {
        tool: "echo".to_owned(),
        args: RawJson::parse(format!("{{\"v\":\"{}\"}}", "x".repeat(bytes)))?,
    };
    provider.call(request).await?;
    Ok(())
}

/// Answers each request with its own parameters, looking at no more of it than it must.
fn serve() -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let between = |start: &str, end: &str| {
            let rest = &line[line.find(start)? + start.len()..];
            Some(&rest[..rest.find(end)?])
        };
        let Some(id) = between("\"id\":", ",") else {
            continue;
        };
        let result = match between("\"method\":\"", "\"") {
            Some("initialize") => {
                r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}"#
            }
            Some("tools/call") => between("\"arguments\":", ",\"name\"")
                .or_else(|| between("\"arguments\":", ",\"_meta\""))
                .unwrap_or("null"),
            _ => {
                writeln!(
                    output,
                    r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#
                )?;
                output.flush()?;
                continue;
            }
        };
        let result = match result.strip_prefix("{\"v\"") {
            Some(_) => format!("{{\"structuredContent\":{result}}}"),
            None => result.to_owned(),
        };
        writeln!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)?;
        output.flush()?;
    }
    Ok(())
}
