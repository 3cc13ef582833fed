//! `[mcp.NAME]`: from a description to a server.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use codehatch::mcp::{McpProvider, McpServer, McpTransport, Secret};
use serde::Deserialize;
use toml::Spanned;

use super::{Place, secret, value::Time};

/// A server as the configuration describes it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerTable {
    /// The program, for a server over standard input and output.
    pub(super) command: Option<String>,
    pub(super) args: Option<Vec<String>>,
    pub(super) env: Option<BTreeMap<String, Spanned<String>>>,
    pub(super) cwd: Option<PathBuf>,
    /// The address, for a server over HTTP.
    pub(super) url: Option<String>,
    pub(super) headers: Option<BTreeMap<String, Spanned<String>>>,
    /// Time to start and connect.
    pub(super) connect_timeout: Option<Time>,
    /// Time to list its tools.
    pub(super) list_timeout: Option<Time>,
}

impl ServerTable {
    /// Checks it and resolves its secrets. Errors begin with their place.
    pub(super) fn into_server(
        self,
        name: &str,
        at: &Place<'_>,
        directory: &Path,
    ) -> anyhow::Result<McpServer> {
        let secrets = |key: &str, texts: Option<BTreeMap<String, Spanned<String>>>| {
            let pairs = texts.unwrap_or_default().into_iter();
            pairs
                .map(|(inner, text)| {
                    let value = secret::resolve(text.get_ref(), directory);
                    let value = value.with_context(|| {
                        let at = at.moved(text.span().start);
                        format!("{at}: mcp.{name}.{key}.{inner}")
                    })?;
                    Ok((inner, Secret::from(value)))
                })
                .collect::<anyhow::Result<_>>()
        };
        let transport = match (self.command, self.url) {
            (Some(command), None) => {
                if self.headers.is_some() {
                    bail!("{at}: mcp.{name}: `headers` go with a `url`; a `command` has `env`");
                }
                McpTransport::Stdio {
                    command,
                    args: self.args.unwrap_or_default(),
                    env: secrets("env", self.env)?,
                    cwd: self.cwd.map(|cwd| directory.join(cwd)),
                }
            }
            (None, Some(url)) => {
                for (key, is_there) in [
                    ("args", self.args.is_some()),
                    ("env", self.env.is_some()),
                    ("cwd", self.cwd.is_some()),
                ] {
                    if is_there {
                        bail!("{at}: mcp.{name}: `{key}` goes with a `command`, not with a `url`");
                    }
                }
                McpTransport::Http {
                    url,
                    headers: secrets("headers", self.headers)?,
                }
            }
            (Some(_), Some(_)) => {
                bail!("{at}: mcp.{name}: has both `command` and `url`; keep one of them")
            }
            (None, None) => {
                bail!("{at}: mcp.{name}: needs `command` (a program) or `url` (an address)")
            }
        };
        let mut server = McpServer::new(name, transport);
        if let Some(time) = self.connect_timeout {
            server = server.with_connect_timeout(time.0);
        }
        if let Some(time) = self.list_timeout {
            server = server.with_list_timeout(time.0);
        }
        check(&server).with_context(|| at.to_string())?;
        Ok(server)
    }
}

/// What the library would refuse later, without the place.
pub(super) fn check(server: &McpServer) -> anyhow::Result<()> {
    McpProvider::new(server.clone())?;
    Ok(())
}
