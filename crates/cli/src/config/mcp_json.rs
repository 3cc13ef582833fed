//! MCP servers as other clients write them down.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use codehatch::mcp::{McpServer, McpTransport, Secret};
use serde::Deserialize;

use super::{secret, server};

/// The file of another client. Keys that mean nothing here are passed over, since every client has its own.
#[derive(Deserialize)]
struct File {
    #[serde(rename = "mcpServers")]
    mcp_servers: Option<Servers>,
    /// VS Code's own file.
    servers: Option<Servers>,
    /// VS Code's settings.
    mcp: Option<Settings>,
}

#[derive(Deserialize)]
struct Settings {
    servers: Option<Servers>,
}

type Servers = BTreeMap<String, Server>;

#[derive(Deserialize)]
struct Server {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
    #[serde(rename = "envFile")]
    env_file: Option<String>,
    cwd: Option<String>,
    #[serde(alias = "serverUrl", alias = "httpUrl")]
    url: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    #[serde(default)]
    disabled: bool,
    #[serde(default = "yes")]
    enabled: bool,
}

fn yes() -> bool {
    true
}

/// Reads the servers of a file into `servers`, with `${VARIABLES}` replaced.
pub(super) fn load(
    path: &Path,
    servers: &mut BTreeMap<String, McpServer>,
    notes: &mut Vec<String>,
) -> anyhow::Result<()> {
    let shown = path.display();
    let mut text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the MCP servers from `{shown}`"))?;
    // VS Code and others allow comments. They become spaces, so that places in errors stay right.
    json_strip_comments::strip(&mut text)
        .map_err(|error| anyhow!("{shown}: a comment has no end ({error})"))?;
    let file: File = serde_json::from_str(&text).map_err(|error| {
        let (line, message) = (error.line(), error.to_string());
        let message = message.split(" at line ").next().unwrap_or_default();
        anyhow!("{shown}:{line}: {message}")
    })?;
    let nested = file.mcp.and_then(|settings| settings.servers);
    let found = [
        ("mcpServers", file.mcp_servers),
        ("servers", file.servers),
        ("mcp.servers", nested),
    ];
    if found.iter().all(|(_, servers)| servers.is_none()) {
        bail!(
            "{shown}: has no servers: expected an object `mcpServers`, or `servers` as VS Code has it, from names \
             to servers"
        );
    }
    for (key, all) in found {
        for (name, server) in all.unwrap_or_default() {
            if server.disabled || !server.enabled {
                continue;
            }
            let place = format!("{shown}: {key}.{name}");
            if server.kind.as_deref() == Some("sse") {
                notes.push(format!(
                    "{place}: its type `sse` is the transport of 2024, which is not spoken; streamable HTTP is \
                     tried at the same address"
                ));
            }
            if server.env_file.is_some() {
                notes.push(format!(
                    "{place}: its `envFile` is not read; name the variables in `env`, as `\"NAME\": \"${{NAME}}\"`"
                ));
            }
            let server = into_server(&name, server, &place, folder(path))?;
            servers.insert(name, server);
        }
    }
    Ok(())
}

fn into_server(
    name: &str,
    server: Server,
    place: &str,
    folder: &Path,
) -> anyhow::Result<McpServer> {
    let expand = |key: &str, text: &str| {
        secret::expand(text, folder).with_context(|| format!("{place}.{key}"))
    };
    let secrets = |key: &str, texts: Option<BTreeMap<String, String>>| {
        let pairs = texts.unwrap_or_default().into_iter();
        pairs
            .map(|(name, text)| {
                let value = expand(&format!("{key}.{name}"), &text)?;
                Ok((name, Secret::from(value)))
            })
            .collect::<anyhow::Result<BTreeMap<_, _>>>()
    };
    let transport = match (server.command, server.url) {
        (Some(command), None) => McpTransport::Stdio {
            command: expand("command", &command)?,
            args: server
                .args
                .unwrap_or_default()
                .iter()
                .map(|text| expand("args", text))
                .collect::<anyhow::Result<_>>()?,
            env: secrets("env", server.env)?,
            cwd: server
                .cwd
                .map(|text| expand("cwd", &text))
                .transpose()?
                .map(PathBuf::from),
        },
        (None, Some(url)) => McpTransport::Http {
            url: expand("url", &url)?,
            headers: secrets("headers", server.headers)?,
        },
        (Some(_), Some(_)) => bail!("{place}: has both `command` and `url`; keep one of them"),
        (None, None) => bail!("{place}: needs `command` (a program) or `url` (an address)"),
    };
    let server = McpServer::new(name, transport);
    server::check(&server).with_context(|| place.to_owned())?;
    Ok(server)
}

/// The project that a file is for. Several clients keep it in a directory of their own there.
fn folder(path: &Path) -> &Path {
    let directory = path.parent().unwrap_or(Path::new(""));
    let is_of_client = [".vscode", ".cursor"]
        .iter()
        .any(|name| directory.ends_with(name));
    match directory.parent() {
        Some(parent) if is_of_client => parent,
        _ => directory,
    }
}
