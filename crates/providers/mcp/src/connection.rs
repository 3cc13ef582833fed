//! One connection to a server: requests on it, changes of its tool list, and its end.

use std::sync::{Arc, Mutex, PoisonError};

use codehatch_protocol::RawJson;
use http::{HeaderName, HeaderValue};
use rmcp::{
    ErrorData, RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
        ClientRequest, ListToolsRequest, PaginatedRequestParams, RequestId, ServerPeerInfo,
    },
    service::{Peer, PeerRequestOptions, RunningService},
    transport::{DynamicTransportError, streamable_http_client::StreamableHttpError},
};
use tokio::{runtime::Handle, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    handler::Handler,
    http::HttpFault,
    stdio::{Link, Obituary},
    wire::{Codec, Exact, Slot, WireFault},
};

/// A connection that is ready for requests.
#[derive(Debug)]
pub(crate) struct Connection {
    peer: Peer<RoleClient>,
    service: tokio::sync::Mutex<Option<RunningService<RoleClient, Handler>>>,
    codec: Arc<Codec>,
    under: Under,
    /// Set when the connection is no longer wanted.
    closing: CancellationToken,
    tasks: TaskTracker,
    runtime: Handle,
    pub(crate) is_modern: bool,
    /// Whether the server says that it has tools at all.
    pub(crate) offers_tools: bool,
    pub(crate) since: Instant,
    sessions_seen: Mutex<i64>,
}

/// What carries the connection.
#[derive(Clone, Debug)]
pub(crate) enum Under {
    /// A child process.
    Process(Arc<Link>),
    /// Single HTTP requests.
    Http,
}

/// What a tool is called with.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: RawJson,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

/// Why a request brought no result.
#[derive(Debug)]
pub(crate) enum RequestFault {
    /// The server answered with a protocol error.
    Refused(ErrorData),
    /// The answer could not be taken.
    Answer(WireFault),
    /// The connection is gone; `may_have_run` says whether the server may have seen the request.
    Lost { may_have_run: bool, end: Obituary },
    /// The HTTP request failed; the connection as such is not affected.
    Http {
        may_have_run: bool,
        fault: String,
        again: bool,
    },
}

impl Connection {
    pub(crate) fn new(
        service: RunningService<RoleClient, Handler>,
        codec: Arc<Codec>,
        under: Under,
    ) -> Self {
        let peer = service.peer().clone();
        let info = peer.peer_info();
        let modern = |info: &ServerPeerInfo| !info.protocol_version.has_initialize();
        Self {
            is_modern: info.as_deref().is_some_and(modern),
            offers_tools: info.is_some_and(|info| info.capabilities.tools.is_some()),
            peer,
            service: tokio::sync::Mutex::new(Some(service)),
            sessions_seen: Mutex::new(codec.lifecycle.initializations()),
            codec,
            under,
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            since: Instant::now(),
        }
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    pub(crate) fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }

    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    pub(crate) fn is_http(&self) -> bool {
        matches!(self.under, Under::Http)
    }

    /// Whether requests can still be made.
    pub(crate) fn is_open(&self) -> bool {
        let ended = match &self.under {
            Under::Process(link) => link.ended.is_cancelled(),
            Under::Http => false,
        };
        !ended && !self.closing.is_cancelled() && !self.peer.is_transport_closed()
    }

    /// Whether the server has given a new session since this was last asked: then its tools may differ.
    pub(crate) fn has_new_session(&self) -> bool {
        let now = self.codec.lifecycle.initializations();
        let mut seen = self
            .sessions_seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *seen, now) < now
    }

    /// One page of the tool list, as text.
    pub(crate) async fn list_page(&self, cursor: Option<String>) -> Result<RawJson, RequestFault> {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let mut request = ListToolsRequest::with_param(params);
        let slot = Arc::new(Slot::default());
        request.extensions.insert(Exact {
            slot: Arc::clone(&slot),
            arguments: None,
            headers: Vec::new(),
        });
        self.request(ClientRequest::ListToolsRequest(request), &slot)
            .await
    }

    /// Calls a tool; its result as text. Dropping the future tells the server that it is not wanted.
    pub(crate) async fn call(&self, call: &Call) -> Result<RawJson, RequestFault> {
        let mut request = CallToolRequest::new(CallToolRequestParams::new(call.tool.clone()));
        let slot = Arc::new(Slot::default());
        request.extensions.insert(Exact {
            slot: Arc::clone(&slot),
            arguments: Some(call.arguments.clone()),
            headers: call.headers.clone(),
        });
        self.request(ClientRequest::CallToolRequest(request), &slot)
            .await
    }

    async fn request(
        &self,
        request: ClientRequest,
        slot: &Arc<Slot>,
    ) -> Result<RawJson, RequestFault> {
        let options = PeerRequestOptions::no_options();
        let mut handle = match self.peer.send_cancellable_request(request, options).await {
            Ok(handle) => handle,
            Err(error) => return Err(self.fault(error, slot).await),
        };
        let mut abandoned = Abandoned {
            connection: self,
            id: Some(handle.id.clone()),
        };
        let ended = async {
            match &self.under {
                Under::Process(link) => link.ended.cancelled().await,
                Under::Http => self.closing.cancelled().await,
            }
        };
        let answer = tokio::select! {
            biased;
            answer = &mut handle.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
            () = ended => Err(ServiceError::TransportClosed),
        };
        abandoned.id = None;
        if let RequestId::Number(id) = handle.id {
            self.codec.forget(id);
        }
        match (slot.take(), answer) {
            (Some(answer), _) => answer.map_err(RequestFault::Answer),
            (None, Ok(_)) => Err(RequestFault::Answer(WireFault::Cut)),
            (None, Err(error)) => Err(self.fault(error, slot).await),
        }
    }

    async fn fault(&self, error: ServiceError, slot: &Slot) -> RequestFault {
        let may_have_run = slot.may_have_run();
        match error {
            ServiceError::McpError(error) if slot.is_refused_by_server() => {
                RequestFault::Refused(error)
            }
            ServiceError::McpError(_) => RequestFault::Lost {
                may_have_run,
                end: Obituary::plain("ended the session"),
            },
            ServiceError::TransportSend(error) => match (http_fault(&error), &self.under) {
                (Some(fault), _) => RequestFault::Http {
                    may_have_run: may_have_run && fault.may_have_run(),
                    fault: fault.to_string(),
                    again: fault.is_transient(),
                },
                (None, Under::Process(link)) => RequestFault::Lost {
                    may_have_run,
                    end: link.obituary().await,
                },
                (None, Under::Http) => RequestFault::Http {
                    may_have_run,
                    fault: error.error.to_string(),
                    again: false,
                },
            },
            _ => RequestFault::Lost {
                may_have_run,
                end: self.how_it_ended().await,
            },
        }
    }

    /// How the connection ended.
    pub(crate) async fn how_it_ended(&self) -> Obituary {
        if self.closing.is_cancelled() {
            return Obituary::plain("was closed");
        }
        match &self.under {
            Under::Process(link) => link.obituary().await,
            Under::Http => Obituary::plain("broke the connection off"),
        }
    }

    /// Ends the connection and waits until nothing of it is left: no process, task or descriptor.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.tasks.close();
        let service = self.service.lock().await.take();
        if let Some(mut service) = service {
            let _ = service.close().await;
        }
        self.tasks.wait().await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.closing.cancel();
        if let Under::Process(link) = &self.under {
            link.kill();
        }
    }
}

/// Tells the server about a request whose caller has gone away.
struct Abandoned<'a> {
    connection: &'a Connection,
    id: Option<RequestId>,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let connection = self.connection;
        if let RequestId::Number(id) = id {
            connection.codec.forget(id);
        }
        let reason = "the caller no longer waits".to_owned();
        let params = CancelledNotificationParam::new(Some(id), Some(reason));
        let peer = connection.peer.clone();
        let notification = CancelledNotification::new(params);
        connection.tasks.spawn_on(
            async move {
                // It fails when the connection is gone, and the request with it.
                let _ = peer.send_notification(notification.into()).await;
            },
            &connection.runtime,
        );
    }
}

/// The HTTP fault behind an error of rmcp's transport.
pub(crate) fn http_fault(error: &DynamicTransportError) -> Option<&HttpFault> {
    let error = error
        .error
        .downcast_ref::<StreamableHttpError<HttpFault>>()?;
    match error {
        StreamableHttpError::Client(fault) => Some(fault),
        _ => None,
    }
}
