//! MCP servers as tools: over stdio or streamable HTTP, in both eras of the protocol.
//!
//! A server is untrusted: its lines, pages, schemas and results are bounded and read leniently, and one
//! bad tool or line never costs the others. Values pass through as text, so that nothing is rounded.

mod config;
mod connect;
mod connection;
mod fault;
mod handler;
mod http;
mod listing;
mod provider;
mod result;
mod stdio;
mod tool;
mod wire;

pub use config::{InvalidServer, McpLimits, McpServer, McpTransport, Secret};
pub use provider::McpProvider;
pub use stdio::HOST_VARIABLES;
