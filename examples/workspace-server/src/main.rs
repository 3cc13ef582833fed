//! An MCP server with read-only tools over one project directory: files, search, line counts, history.
//!
//! `codehatch-example-workspace DIR` speaks over stdio; with `--http ADDR` over HTTP, at `/mcp`.
//! Nothing outside the directory can be read, and nothing in it can be changed.

mod error;
mod files;
mod git;
mod language;
mod root;
mod search;
mod server;

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use clap::Parser;
use rmcp::{
    ServiceExt,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService, io::stdio,
        streamable_http_server::session::local::LocalSessionManager,
    },
};

use crate::{root::Root, server::Workspace};

/// Read-only tools over a project directory, as an MCP server.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The directory; its tools see nothing else.
    directory: PathBuf,
    /// Serve HTTP at this address (such as 127.0.0.1:8000, path /mcp) instead of stdio.
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let workspace = Workspace::new(Root::open(&arguments.directory)?);
    match arguments.http {
        None => {
            workspace.serve(stdio()).await?.waiting().await?;
        }
        Some(address) => serve_http(workspace, address).await?,
    }
    Ok(())
}

async fn serve_http(workspace: Workspace, address: SocketAddr) -> std::io::Result<()> {
    let config = StreamableHttpServerConfig::default();
    let stopped = config.cancellation_token.clone();
    let service: StreamableHttpService<Workspace, LocalSessionManager> =
        StreamableHttpService::new(move || Ok(workspace.clone()), Arc::default(), config);
    let listener = tokio::net::TcpListener::bind(address).await?;
    let router = axum::Router::new().nest_service("/mcp", service);
    let interrupted = async move {
        // Without a signal handler there is nothing to wait for.
        let _ = tokio::signal::ctrl_c().await;
        stopped.cancel();
    };
    axum::serve(listener, router)
        .with_graceful_shutdown(interrupted)
        .await
}
