//! MCP servers as other clients write them down.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, anyhow};
use serde::Deserialize;

use crate::{config::ServerConfig, exit::UsageError, secret};

/// The file of another client. Keys that mean nothing here are passed over, since every client has its own.
#[derive(Deserialize)]
struct File {
    #[serde(rename = "mcpServers", alias = "servers")]
    servers: BTreeMap<String, Server>,
}

#[derive(Deserialize)]
struct Server {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    #[serde(alias = "serverUrl", alias = "httpUrl")]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

/// Reads the servers of a file, with `${VARIABLES}` replaced.
pub(crate) fn load(path: &Path) -> anyhow::Result<BTreeMap<String, ServerConfig>> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the MCP servers from `{}`", path.display()))
        .context(UsageError)?;
    let file: File = serde_json::from_str(&text)
        .map_err(|error| anyhow!("{}: {error}", path.display()).context(UsageError))?;
    let mut servers = BTreeMap::new();
    for (name, server) in file
        .servers
        .into_iter()
        .filter(|(_, server)| !server.disabled)
    {
        let expand = |key: &str, text: &str| {
            let place = format!("{}: mcpServers.{name}.{key}", path.display());
            secret::expand(&place, text).context(UsageError)
        };
        let expand_all = |key: &str, texts: BTreeMap<String, String>| {
            let pairs = texts.into_iter();
            pairs
                .map(|(name, text)| Ok((name.clone(), expand(&format!("{key}.{name}"), &text)?)))
                .collect::<anyhow::Result<BTreeMap<_, _>>>()
        };
        let config = ServerConfig {
            command: server
                .command
                .map(|text| expand("command", &text))
                .transpose()?,
            args: server
                .args
                .iter()
                .map(|text| expand("args", text))
                .collect::<anyhow::Result<_>>()?,
            env: expand_all("env", server.env)?,
            cwd: server
                .cwd
                .map(|text| expand("cwd", &text))
                .transpose()?
                .map(Into::into),
            url: server.url.map(|text| expand("url", &text)).transpose()?,
            headers: expand_all("headers", server.headers)?,
            connect_timeout: None,
            list_timeout: None,
        };
        servers.insert(name, config);
    }
    Ok(servers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_text(text: &str) -> anyhow::Result<BTreeMap<String, ServerConfig>> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(&file, text).expect("written");
        load(file.path())
    }

    #[test]
    fn files_of_several_clients_are_read() {
        let text = r#"{
            "inputs": [],
            "mcpServers": {
                "git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "${CARGO_PKG_NAME}"},
                        "autoApprove": [], "type": "stdio"},
                "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"X": "y"}},
                "off": {"command": "x", "disabled": true}
            }
        }"#;
        let servers = load_text(text).expect("right");
        insta::assert_debug_snapshot!(servers);
    }

    #[test]
    fn a_file_without_servers_says_what_it_lacks() {
        let error = load_text("{\"mcp\": {}}").expect_err("no servers");
        let text = format!("{error:#}");
        assert!(text.contains("missing field `mcpServers`"), "{text}");
    }
}
