//! One MCP server as a tool provider: connects when first needed, and again when it has died.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use codehatch_tools::{
    BoxFuture, Listing, ProviderError, ToolFault, ToolOutput, ToolProvider, ToolRequest,
};
use tokio::{
    sync::{Mutex, watch},
    time::{self, Instant},
};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{InvalidServer, McpServer},
    connect::{self, ConnectError, Era},
    connection::{Call, Connection, RequestFault},
    fault,
    listing::{self, ListFault},
    result,
    tool::ToolFacts,
};

/// A connection that lived this long died of something new.
const STABLE: Duration = Duration::from_secs(10);
/// The pause before the second restart in a row; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause between restarts.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// How long a call waits for the next restart before it fails instead.
const PATIENCE: Duration = Duration::from_secs(1);
/// The pause before a request is sent again to an HTTP server that could not be reached.
const RESEND_PAUSE: Duration = Duration::from_millis(250);

/// One MCP server.
///
/// Nothing is started before the first [`ToolProvider::list`] or [`ToolProvider::call`].
#[derive(Debug)]
pub struct McpProvider {
    server: McpServer,
    state: Mutex<State>,
    /// What the last listing said of each tool.
    facts: RwLock<Arc<HashMap<String, ToolFacts>>>,
    changes: watch::Sender<u64>,
    closed: CancellationToken,
}

#[derive(Debug)]
struct State {
    connection: Option<Arc<Connection>>,
    era: Era,
    /// Connections in a row that failed or died young.
    deaths: u32,
    /// Before then the server is not started again, and what it died of.
    pause: Option<(Instant, String)>,
}

impl McpProvider {
    /// A provider for `server`. Nothing is started yet.
    pub fn new(server: McpServer) -> Result<Self, InvalidServer> {
        connect::check(&server)?;
        Ok(Self {
            server,
            state: Mutex::new(State {
                connection: None,
                era: Era::Either,
                deaths: 0,
                pause: None,
            }),
            facts: RwLock::default(),
            changes: watch::Sender::new(0),
            closed: CancellationToken::new(),
        })
    }

    /// The open connection, or a new one. Callers that come while one is being made wait for it.
    async fn connection(&self) -> Result<Arc<Connection>, ConnectError> {
        let mut state = self.state.lock().await;
        if self.closed.is_cancelled() {
            return Err(ConnectError::Closed);
        }
        if let Some(connection) = &state.connection {
            if connection.is_open() {
                return Ok(Arc::clone(connection));
            }
            let was_stable = connection.since.elapsed() >= STABLE;
            let end = connection.how_it_ended().await;
            connection.close().await;
            state.connection = None;
            state.died(was_stable, end.how + &end.last_words);
            // It may come back with other tools.
            self.changes.send_modify(|count| *count += 1);
        }
        state.wait_for_pause().await?;
        let connecting = connect::connect(&self.server, state.era, &self.changes);
        let connected = tokio::select! {
            () = self.closed.cancelled() => return Err(ConnectError::Closed),
            connected = connecting => connected,
        };
        match connected {
            Ok(connection) => {
                state.era = if connection.is_modern {
                    Era::Stateless
                } else {
                    Era::Handshake
                };
                let connection = Arc::new(connection);
                state.connection = Some(Arc::clone(&connection));
                Ok(connection)
            }
            Err(error) => {
                // It may be another server by now.
                state.era = Era::Either;
                state.died(false, error.to_string());
                Err(error)
            }
        }
    }

    async fn list_tools(&self) -> Result<Listing, ProviderError> {
        // A server may die between the connection and its list; that is tried once more.
        for last in [false, true] {
            let connection = self
                .connection()
                .await
                .map_err(|error| self.error_of(error))?;
            match listing::read(&connection, &self.server).await {
                Ok(read) => {
                    let mut facts = self.facts.write().unwrap_or_else(PoisonError::into_inner);
                    *facts = Arc::new(read.facts);
                    return Ok(read.listing);
                }
                Err(ListFault::Request(RequestFault::Lost { .. })) if !last => {}
                Err(ListFault::Request(RequestFault::Http { again: true, .. })) if !last => {
                    time::sleep(RESEND_PAUSE).await;
                }
                Err(ListFault::Request(request)) => {
                    return Err(self.error(fault::of_list(request), None));
                }
                Err(ListFault::TimedOut) => {
                    let timeout = self.server.list_timeout;
                    let message = format!(
                        "did not list its tools within {timeout:?}; raise its `list_timeout` if it needs longer"
                    );
                    return Err(self.error(message, None));
                }
            }
        }
        Err(self.error("was closed".to_owned(), None))
    }

    async fn call_tool(&self, request: ToolRequest) -> Result<ToolOutput, ToolFault> {
        let name = &self.server.name;
        let facts = {
            let facts = self.facts.read().unwrap_or_else(PoisonError::into_inner);
            facts.get(&request.tool).cloned().unwrap_or_default()
        };
        let mut call = Call {
            tool: request.tool,
            arguments: request.args,
            headers: Vec::new(),
        };
        let mut retried = false;
        loop {
            let connected = self.connection().await;
            let connection = connected.map_err(|error| fault::of_connect(name, &error))?;
            if connection.is_modern && connection.is_http() {
                let arguments = call.arguments.get();
                call.headers = facts
                    .headers
                    .iter()
                    .filter_map(|header| header.of_call(arguments))
                    .collect();
            }
            let answer = connection.call(&call).await;
            if connection.has_new_session() {
                self.changes.send_modify(|count| *count += 1);
            }
            match answer {
                Ok(answer) => return result::read(&answer, &call.tool, facts.wraps_result),
                // Surely not carried out: once more.
                Err(RequestFault::Lost {
                    may_have_run: false,
                    ..
                }) if !retried => retried = true,
                Err(RequestFault::Http {
                    may_have_run: false,
                    again: true,
                    ..
                }) if !retried => {
                    retried = true;
                    time::sleep(RESEND_PAUSE).await;
                }
                Err(request) => return Err(fault::of_call(name, request)),
            }
        }
    }

    fn error_of(&self, error: ConnectError) -> ProviderError {
        let message = error.to_string();
        self.error(message, Some(Box::new(error)))
    }

    fn error(
        &self,
        message: String,
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    ) -> ProviderError {
        ProviderError {
            provider: self.server.name.clone(),
            message,
            source,
        }
    }
}

impl State {
    /// Notes the end of a connection, or a failure to make one.
    fn died(&mut self, was_stable: bool, how: String) {
        self.deaths = if was_stable { 0 } else { self.deaths + 1 };
        // One death is answered with a restart at once.
        let doublings = self.deaths.saturating_sub(2).min(16);
        let pause = FIRST_PAUSE.saturating_mul(1 << doublings).min(MAX_PAUSE);
        self.pause = (self.deaths > 1).then(|| (Instant::now() + pause, how));
    }

    /// Keeps a server that dies again and again from being started in a storm.
    async fn wait_for_pause(&mut self) -> Result<(), ConnectError> {
        let Some((until, how)) = &self.pause else {
            return Ok(());
        };
        let left = until.saturating_duration_since(Instant::now());
        if left > PATIENCE {
            return Err(ConnectError::Paused {
                times: self.deaths,
                left,
                how: how.clone(),
            });
        }
        time::sleep(left).await;
        self.pause = None;
        Ok(())
    }
}

impl ToolProvider for McpProvider {
    fn namespace(&self) -> Option<&str> {
        Some(&self.server.name)
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, ProviderError>> {
        Box::pin(self.list_tools())
    }

    fn call(&self, request: ToolRequest) -> BoxFuture<'_, Result<ToolOutput, ToolFault>> {
        Box::pin(self.call_tool(request))
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.changes.subscribe())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.closed.cancel();
            let connection = self.state.lock().await.connection.take();
            if let Some(connection) = connection {
                connection.close().await;
            }
        })
    }
}
