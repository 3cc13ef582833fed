//! Connects to a server: starts it where it is a program, and finds out which era it speaks.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};
use rmcp::{
    ServiceError,
    model::{ProtocolVersion, SubscriptionFilter},
    service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt},
    transport::{
        common::client_side_sse::ExponentialBackoff,
        streamable_http_client::{
            StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
        },
    },
};
use tokio::{
    sync::watch,
    time::{self, Instant},
};

use crate::{
    config::{InvalidServer, McpServer, McpTransport},
    connection::{Connection, Under, http_fault},
    handler::Handler,
    http::HttpClient,
    stdio::{Link, Obituary, Program, Settings, StdioTransport},
    wire::Codec,
};

/// How long `server/discover` may go unanswered before the older era is tried, at most.
const DISCOVERY_WAIT: Duration = Duration::from_secs(5);
/// Ordinary HTTP requests at once; the engine bounds calls more tightly.
const HTTP_REQUESTS: usize = 256;

/// Longest pause before changes of the tool list are listened for again.
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// Which lifecycle to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// Ask, and take what the server has.
    Either,
    /// The handshake, up to 2025-11-25.
    Handshake,
    /// Stateless, from 2026-07-28 on.
    Stateless,
}

/// Why there is no connection. The message goes on after "MCP server `x` …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("cannot be started: `{command}`; check that it is installed, or give its full path")]
    Start {
        command: String,
        source: std::io::Error,
    },
    #[error("{}; run `{command}` by hand to see why{}", end.how, end.last_words)]
    Ended { end: Obituary, command: String },
    #[error("gave no MCP answer within {after:?}; {hint}{last_words}")]
    Silent {
        after: Duration,
        hint: String,
        last_words: String,
    },
    #[error("cannot be reached: {fault}")]
    Http { fault: String },
    #[error("refused to start a session: {message} (code {code})")]
    Refused { code: i32, message: String },
    #[error("speaks no protocol revision that this client knows: {message}")]
    Protocol { message: String },
    #[error("cannot be reached: no HTTP client; check the system's CA certificates")]
    NoClient { source: reqwest::Error },
    #[error(
        "failed {times} times in a row and is started again in {left:?} at the earliest; it {how}"
    )]
    Paused {
        times: u32,
        left: Duration,
        how: String,
    },
    #[error("was closed")]
    Closed,
}

/// Checks a server's description as far as that is possible without connecting.
pub(crate) fn check(server: &McpServer) -> Result<(), InvalidServer> {
    let name = server.name.clone();
    if name.is_empty() {
        return Err(InvalidServer::NoName);
    }
    match &server.transport {
        McpTransport::Stdio { command, .. } if command.is_empty() => {
            Err(InvalidServer::NoCommand { name })
        }
        McpTransport::Stdio { .. } => Ok(()),
        McpTransport::Http { url, .. } => {
            let parsed = reqwest::Url::parse(url).ok();
            if !parsed.is_some_and(|url| matches!(url.scheme(), "http" | "https")) {
                let url = url.clone();
                return Err(InvalidServer::BadUrl { name, url });
            }
            headers(&server.transport)
                .map(drop)
                .map_err(|header| InvalidServer::BadHeader { name, header })
        }
    }
}

/// The configured headers, or the name of the first that cannot be sent.
fn headers(transport: &McpTransport) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    let McpTransport::Http { headers, .. } = transport else {
        return Ok(map);
    };
    for (name, value) in headers {
        let parsed = HeaderName::try_from(name.as_str()).ok();
        let value = HeaderValue::from_str(value.expose()).ok();
        let (Some(parsed), Some(mut value)) = (parsed, value) else {
            return Err(name.clone());
        };
        value.set_sensitive(true);
        map.insert(parsed, value);
    }
    Ok(map)
}

/// Connects within the server's timeout. Dropping the future ends what was started.
pub(crate) async fn connect(
    server: &McpServer,
    era: Era,
    changes: &watch::Sender<u64>,
) -> Result<Connection, ConnectError> {
    let mut attempt = Attempt {
        server,
        changes,
        link: None,
    };
    let connection = match time::timeout(server.connect_timeout, attempt.run(era)).await {
        Ok(connection) => connection?,
        Err(_) => return Err(attempt.silent()),
    };
    follow_tools(&connection, changes.clone());
    Ok(connection)
}

struct Attempt<'a> {
    server: &'a McpServer,
    changes: &'a watch::Sender<u64>,
    link: Option<Arc<Link>>,
}

impl Attempt<'_> {
    /// Tries the eras that are left to try. Some servers of the older era leave or break when they are
    /// asked something before `initialize`; some of the newer one start too slowly to be asked first.
    async fn run(&mut self, era: Era) -> Result<Connection, ConnectError> {
        let codec = Arc::new(Codec::default());
        let first = match self.once(era, &codec).await {
            Ok(connection) => return Ok(connection),
            Err(error) => error,
        };
        let next = match (era, &first) {
            (_, ConnectError::Start { .. } | ConnectError::NoClient { .. }) => return Err(first),
            (Era::Either, _) if codec.lifecycle.discovered_late() => Era::Stateless,
            (Era::Either, ConnectError::Http { .. }) => return Err(first),
            (Era::Either, _) => Era::Handshake,
            (_, ConnectError::Refused { .. } | ConnectError::Protocol { .. }) => Era::Either,
            (Era::Handshake | Era::Stateless, _) => return Err(first),
        };
        // The first error tells more if the second attempt ends in the same way.
        self.once(next, &Arc::new(Codec::default()))
            .await
            .map_err(|second| match (&first, &second) {
                (
                    ConnectError::Ended { .. } | ConnectError::Protocol { .. },
                    ConnectError::Ended { .. },
                ) => first,
                _ => second,
            })
    }

    async fn once(&mut self, era: Era, codec: &Arc<Codec>) -> Result<Connection, ConnectError> {
        let limit = self.server.limits.max_message_bytes;
        let discovery_wait = match era {
            // There is nothing to fall back to.
            Era::Stateless => self.server.connect_timeout,
            Era::Either | Era::Handshake => DISCOVERY_WAIT.min(self.server.connect_timeout / 3),
        };
        let handler = Handler::new(self.changes.clone());
        match &self.server.transport {
            McpTransport::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                let program = Program {
                    command,
                    args,
                    env,
                    cwd: cwd.as_ref(),
                };
                let settings = Settings {
                    max_message_bytes: limit,
                    discovery_wait,
                };
                let started = StdioTransport::start(program, Arc::clone(codec), settings);
                let transport = started.map_err(|source| ConnectError::Start {
                    command: program.shown(),
                    source,
                })?;
                let link = transport.link();
                self.link = Some(Arc::clone(&link));
                match handler.serve_with_lifecycle(transport, mode(era)).await {
                    Ok(service) => Ok(Connection::new(
                        service,
                        Arc::clone(codec),
                        Under::Process(link),
                    )),
                    Err(error) => Err(self.sort(error, Some(link.obituary().await), None)),
                }
            }
            McpTransport::Http { url, .. } => {
                let headers = headers(&self.server.transport).unwrap_or_default();
                let timeout = self.server.connect_timeout;
                let client =
                    HttpClient::new(headers, Arc::clone(codec), limit, timeout, discovery_wait)
                        .map_err(|source| ConnectError::NoClient { source })?;
                let link = client.link();
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                    .max_concurrent_requests(HTTP_REQUESTS)
                    .max_sse_event_size(limit)
                    .max_json_response_size(limit);
                let mut patience = ExponentialBackoff::default();
                patience.max_times = Some(5);
                patience.base_duration = Duration::from_millis(500);
                config.retry_config = Arc::new(patience);
                let transport = StreamableHttpClientTransport::with_client(client, config);
                match handler.serve_with_lifecycle(transport, mode(era)).await {
                    Ok(service) => Ok(Connection::new(service, Arc::clone(codec), Under::Http)),
                    Err(error) => Err(self.sort(error, None, link.last_fault())),
                }
            }
        }
    }

    /// Says what an error of rmcp means for the person who runs the server.
    fn sort(
        &self,
        error: ClientInitializeError,
        ended: Option<Obituary>,
        http: Option<String>,
    ) -> ConnectError {
        match error {
            ClientInitializeError::JsonRpcError(error) => ConnectError::Refused {
                code: error.code.0,
                message: error.message.into_owned(),
            },
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                self.sort(*fallback, ended, http)
            }
            ClientInitializeError::TransportError { error, .. } => {
                let fault = http_fault(&error).map(ToString::to_string);
                match (fault.or(http), ended) {
                    (Some(fault), _) => ConnectError::Http { fault },
                    (None, Some(end)) => self.ended(end),
                    (None, None) => ConnectError::Http {
                        fault: error.error.to_string(),
                    },
                }
            }
            ClientInitializeError::ConnectionClosed(_) => match (ended, http) {
                (Some(end), _) => self.ended(end),
                (None, Some(fault)) => ConnectError::Http { fault },
                (None, None) => ConnectError::Http {
                    fault: "the connection broke".to_owned(),
                },
            },
            other => ConnectError::Protocol {
                message: other.to_string(),
            },
        }
    }

    fn ended(&self, end: Obituary) -> ConnectError {
        ConnectError::Ended {
            end,
            command: self.command(),
        }
    }

    fn command(&self) -> String {
        match &self.server.transport {
            McpTransport::Stdio {
                command,
                args,
                env,
                cwd,
            } => Program {
                command,
                args,
                env,
                cwd: cwd.as_ref(),
            }
            .shown(),
            McpTransport::Http { url, .. } => url.clone(),
        }
    }

    fn silent(&self) -> ConnectError {
        let hint = match &self.server.transport {
            McpTransport::Stdio { .. } => format!(
                "run `{}` by hand to see what it waits for, or raise its `connect_timeout`",
                self.command()
            ),
            McpTransport::Http { .. } => {
                "check its `url`, or raise its `connect_timeout`".to_owned()
            }
        };
        ConnectError::Silent {
            after: self.server.connect_timeout,
            hint,
            last_words: self
                .link
                .as_ref()
                .map(|link| link.last_words())
                .unwrap_or_default(),
        }
    }
}

fn mode(era: Era) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match era {
        Era::Either => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        Era::Handshake => ClientLifecycleMode::Initialize,
        Era::Stateless => ClientLifecycleMode::Discover { preferred_versions },
    }
}

/// In the newer era changes are told only to who listens for them.
fn follow_tools(connection: &Connection, changes: watch::Sender<u64>) {
    let peer = connection.peer().clone();
    let told = peer.peer_info().is_some_and(|info| {
        let tools = info.capabilities.tools.as_ref();
        tools.is_some_and(|tools| tools.list_changed == Some(true))
    });
    if !connection.is_modern || !told {
        return;
    }
    let closing = connection.closing();
    connection.tasks().spawn(async move {
        let listening = async {
            let mut pause = Duration::from_secs(1);
            let mut missed = false;
            while !peer.is_transport_closed() {
                let begun = Instant::now();
                match peer
                    .listen(SubscriptionFilter::builder().tools_list_changed().build())
                    .await
                {
                    Ok(mut subscription) => {
                        // What happened while nobody listened was told to nobody.
                        if std::mem::replace(&mut missed, true) {
                            changes.send_modify(|count| *count += 1);
                        }
                        while let Ok(Some(_)) = subscription.next().await {
                            changes.send_modify(|count| *count += 1);
                        }
                    }
                    Err(ServiceError::McpError(_)) => return,
                    Err(_) => {}
                }
                if begun.elapsed() > MAX_PAUSE {
                    pause = Duration::from_secs(1);
                }
                time::sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
        };
        tokio::select! {
            () = closing.cancelled() => {}
            () = listening => {}
        }
    });
}
