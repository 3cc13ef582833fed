//! Which server to use and how far to trust it. Plain data: nothing here connects.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use serde::Deserialize;

/// One MCP server, as the person who set it up describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct McpServer {
    /// What its tools are grouped under, and what errors call it.
    pub name: String,
    /// How to reach it.
    #[serde(flatten)]
    pub transport: McpTransport,
    /// How long starting it and agreeing on a protocol may take. Default 30 s; enforced here.
    /// In files: seconds.
    #[serde(default = "thirty_seconds", deserialize_with = "seconds")]
    pub connect_timeout: Duration,
    /// How long reading its whole tool list may take. Default 60 s; enforced here. In files: seconds.
    #[serde(default = "sixty_seconds", deserialize_with = "seconds")]
    pub list_timeout: Duration,
    /// How much it may send.
    #[serde(default)]
    pub limits: McpLimits,
}

impl McpServer {
    /// A server with the default limits.
    pub fn new(name: impl Into<String>, transport: McpTransport) -> Self {
        Self {
            name: name.into(),
            transport,
            connect_timeout: thirty_seconds(),
            list_timeout: sixty_seconds(),
            limits: McpLimits::default(),
        }
    }

    /// Replaces how long connecting may take.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Replaces how long reading the tool list may take.
    #[must_use]
    pub fn with_list_timeout(mut self, timeout: Duration) -> Self {
        self.list_timeout = timeout;
        self
    }

    /// Replaces how much the server may send.
    #[must_use]
    pub fn with_limits(mut self, limits: McpLimits) -> Self {
        self.limits = limits;
        self
    }
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum McpTransport {
    /// A program that speaks over its standard input and output, started when it is first needed.
    Stdio {
        /// The program, looked up in `PATH`.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// Its environment beside [`HOST_VARIABLES`](crate::HOST_VARIABLES).
        #[serde(default)]
        env: BTreeMap<String, Secret>,
        /// Its working directory. Default: the host's.
        #[serde(default)]
        cwd: Option<PathBuf>,
    },
    /// A service that speaks streamable HTTP.
    Http {
        /// Its endpoint, such as `https://example.com/mcp`.
        url: String,
        /// Headers of every request, such as `Authorization`.
        #[serde(default)]
        headers: BTreeMap<String, Secret>,
    },
}

impl McpTransport {
    /// A program with arguments, and nothing added to its environment.
    pub fn stdio<A: Into<String>>(
        command: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self::Stdio {
            command: command.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            cwd: None,
        }
    }

    /// An endpoint without extra headers.
    pub fn http(url: impl Into<String>) -> Self {
        Self::Http {
            url: url.into(),
            headers: BTreeMap::new(),
        }
    }
}

/// How much a server may send. All enforced on this side, as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct McpLimits {
    /// Tools that are taken from its list; the rest is reported and left out. Default 20,000.
    pub max_tools: usize,
    /// All pages of its tool list together, in bytes. Default 64 MiB.
    pub max_list_bytes: usize,
    /// One message of it, in bytes. A longer one fails the call that it answers. Default 64 MiB.
    pub max_message_bytes: usize,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            max_tools: 20_000,
            max_list_bytes: 64 * 1024 * 1024,
            max_message_bytes: 64 * 1024 * 1024,
        }
    }
}

impl McpLimits {
    /// Replaces how many tools are taken from the list.
    #[must_use]
    pub fn with_max_tools(mut self, tools: usize) -> Self {
        self.max_tools = tools;
        self
    }

    /// Replaces how long the whole tool list may be, in bytes.
    #[must_use]
    pub fn with_max_list_bytes(mut self, bytes: usize) -> Self {
        self.max_list_bytes = bytes;
        self
    }

    /// Replaces how long one message may be, in bytes.
    #[must_use]
    pub fn with_max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }
}

/// A value that must not be shown: a token, a password. Resolved by the caller.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Secret(Arc<str>);

impl Secret {
    /// The value itself, for the place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self(value.into())
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self(value.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why a server cannot be used as it is described.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidServer {
    /// It has no name.
    #[error("an MCP server needs a name")]
    NoName,
    /// There is nothing to start.
    #[error("MCP server `{name}`: `command` is empty")]
    NoCommand {
        /// The server.
        name: String,
    },
    /// The endpoint is not an `http` or `https` address.
    #[error("MCP server `{name}`: `{url}` is not an http or https address")]
    BadUrl {
        /// The server.
        name: String,
        /// What was given.
        url: String,
    },
    /// A header cannot be sent.
    #[error("MCP server `{name}`: header `{header}` has a name or value that HTTP does not allow")]
    BadHeader {
        /// The server.
        name: String,
        /// The header's name.
        header: String,
    },
    /// The HTTP client could not be made.
    #[error(
        "MCP server `{name}`: cannot set up an HTTP client; check the system's CA certificates"
    )]
    NoClient {
        /// The server.
        name: String,
        /// What the client said.
        source: reqwest::Error,
    },
}

fn thirty_seconds() -> Duration {
    Duration::from_secs(30)
}

fn sixty_seconds() -> Duration {
    Duration::from_mins(1)
}

fn seconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_show_in_debug_output() {
        let transport = McpTransport::Http {
            url: "http://localhost/".to_owned(),
            headers: BTreeMap::from([("Authorization".to_owned(), Secret::from("Bearer hunter2"))]),
        };
        let shown = format!("{:?}", McpServer::new("a", transport));
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn a_server_is_read_from_the_usual_json() {
        let text = r#"{"name":"git","command":"uvx","args":["mcp-server-git"],"env":{"A":"b"},"connect_timeout":1.5}"#;
        let server: McpServer = serde_json::from_str(text).expect("well-formed");
        let transport = McpTransport::Stdio {
            command: "uvx".to_owned(),
            args: vec!["mcp-server-git".to_owned()],
            env: BTreeMap::from([("A".to_owned(), Secret::from("b"))]),
            cwd: None,
        };
        let expected = McpServer::new("git", transport);
        assert_eq!(
            server,
            expected.with_connect_timeout(Duration::from_millis(1500))
        );
    }
}
