//! The server as a program sees it: through the MCP provider, over stdio and over HTTP.

#[cfg(test)]
mod workspace;
