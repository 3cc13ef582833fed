//! The HTTP side of rmcp's streamable HTTP transport: each message goes and comes as exact text.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt, stream, stream::BoxStream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use reqwest::{RequestBuilder, Response, redirect};
use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
        ServerJsonRpcMessage, ServerResult,
    },
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::Sse;

use super::{
    events::{Event, events},
    fault::{HttpFault, SHOWN_BYTES},
};
use crate::wire::{Arrival, Codec, Exact, WireFault};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// Redirects followed on the same origin.
const MAX_REDIRECTS: usize = 5;

type Fault = StreamableHttpError<HttpFault>;

/// Speaks to one endpoint.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    http: reqwest::Client,
    headers: HeaderMap,
    codec: Arc<Codec>,
    link: Arc<HttpLink>,
    max_message_bytes: usize,
    discovery_wait: Duration,
}

/// What a connection knows of its requests beside what rmcp reports.
#[derive(Debug, Default)]
pub(crate) struct HttpLink {
    last_fault: Mutex<Option<String>>,
}

impl HttpLink {
    /// What went wrong last, where rmcp says only that the connection is closed.
    pub(crate) fn last_fault(&self) -> Option<String> {
        let fault = self
            .last_fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        fault.clone()
    }

    fn note(&self, fault: &HttpFault) {
        let mut last = self
            .last_fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *last = Some(fault.to_string());
    }
}

impl HttpClient {
    /// A client that sends `headers` with each request. They may hold secrets, so redirects to another
    /// origin are not followed.
    pub(crate) fn new(
        headers: HeaderMap,
        codec: Arc<Codec>,
        max_message_bytes: usize,
        connect_timeout: Duration,
        discovery_wait: Duration,
    ) -> reqwest::Result<Self> {
        let redirects = redirect::Policy::custom(|attempt| {
            let same_origin = attempt
                .previous()
                .last()
                .is_some_and(|previous| previous.origin() == attempt.url().origin());
            // The others turn a POST into a GET.
            let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
            if same_origin && keeps_method && attempt.previous().len() <= MAX_REDIRECTS {
                attempt.follow()
            } else {
                attempt.stop()
            }
        });
        let http = reqwest::Client::builder()
            .user_agent(concat!("codehatch/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(connect_timeout)
            .redirect(redirects)
            .build()?;
        Ok(Self {
            http,
            headers,
            codec,
            link: Arc::default(),
            max_message_bytes,
            discovery_wait,
        })
    }

    pub(crate) fn link(&self) -> Arc<HttpLink> {
        Arc::clone(&self.link)
    }

    fn fault(&self, fault: HttpFault) -> Fault {
        self.link.note(&fault);
        StreamableHttpError::Client(fault)
    }

    fn with_headers(
        &self,
        request: RequestBuilder,
        session: Option<&str>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> RequestBuilder {
        let mut headers = self.headers.clone();
        headers.extend(custom);
        let request = request.headers(headers);
        match session {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }

    /// Sends a message and sorts the answer.
    async fn post(
        &self,
        url: &str,
        post: &Post<'_>,
        session: Option<&str>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let request = self
            .http
            .post(url)
            .header(header::ACCEPT, format!("{JSON}, {EVENTS}"));
        let mut request = self.with_headers(request, session, custom);
        request = request
            .header(header::CONTENT_TYPE, JSON)
            .body(post.body.clone());
        for (name, value) in post.exact.iter().flat_map(|exact| &exact.headers) {
            request = request.header(name, value);
        }
        let sent = request.send().await.map_err(HttpFault::of);
        let response = sent.map_err(|fault| self.refuse(post, fault))?;
        let status = response.status();
        let new_session = text_header(&response, &SESSION);
        if status == StatusCode::NOT_FOUND && session.is_some() {
            if let Some(exact) = &post.exact {
                exact.slot.refused();
            }
            return Err(StreamableHttpError::SessionExpired);
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let content_type = text_header(&response, &header::CONTENT_TYPE).unwrap_or_default();
        if status.is_success() && is_type(&content_type, EVENTS) {
            let events = self.translate(response, post.request_id(), post.exact.clone());
            return Ok(StreamableHttpPostResponse::Sse(events, new_session));
        }
        if status.is_success() && post.request_id().is_none() {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if is_type(&content_type, JSON) && !is_auth(status) {
            let message = self.answer(response, post).await?;
            return Ok(StreamableHttpPostResponse::Json(message, new_session));
        }
        let fault = match status {
            status if status.is_success() => HttpFault::NotMcp { content_type },
            status => HttpFault::Status {
                status: status.as_u16(),
                body: start_of_body(response).await,
            },
        };
        Err(self.refuse(post, fault))
    }

    /// Notes whether the server may have acted on a request that failed.
    fn refuse(&self, post: &Post<'_>, fault: HttpFault) -> Fault {
        if let Some(exact) = &post.exact
            && !fault.may_have_run()
        {
            exact.slot.refused();
        }
        self.fault(fault)
    }

    /// The message in a JSON body. Error bodies often lack the request's id: it is put back.
    async fn answer(
        &self,
        response: Response,
        post: &Post<'_>,
    ) -> Result<ServerJsonRpcMessage, Fault> {
        let status = response.status();
        let limit = self.max_message_bytes;
        let body = match whole_body(response, limit).await {
            Ok(Some(body)) => body,
            Ok(None) => {
                let (Some(id), Some(exact)) = (post.request_id(), &post.exact) else {
                    return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: limit });
                };
                exact.slot.put(Err(WireFault::TooLong { limit }));
                return Ok(JsonRpcMessage::response(ServerResult::empty(()), id));
            }
            Err(error) => return Err(self.refuse(post, HttpFault::of(error))),
        };
        let answer = self
            .codec
            .decode(&body)
            .into_iter()
            .find_map(|arrival| match arrival {
                Arrival::Message(message) => match *message {
                    JsonRpcMessage::Response(_) => Some(*message),
                    JsonRpcMessage::Error(error) => {
                        post.exact
                            .iter()
                            .for_each(|exact| exact.slot.server_refuses());
                        let id = post.request_id().or(error.id);
                        Some(JsonRpcMessage::error(error.error, id))
                    }
                    _ => None,
                },
                _ => None,
            });
        answer.ok_or_else(|| {
            let body = preview(&body);
            let fault = if status.is_success() {
                HttpFault::Unreadable { body }
            } else {
                HttpFault::Status {
                    status: status.as_u16(),
                    body,
                }
            };
            self.refuse(post, fault)
        })
    }

    /// The events of a response, each with its message as rmcp may see it.
    fn translate(
        &self,
        response: Response,
        id: Option<RequestId>,
        exact: Option<Exact>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let (codec, limit) = (Arc::clone(&self.codec), self.max_message_bytes);
        let events = events(response.bytes_stream(), limit);
        let translated = events.flat_map(move |event| {
            let event = event.map(|event| match (event.too_long, &id, &exact) {
                (true, Some(id), Some(exact)) => {
                    exact.slot.put(Err(WireFault::TooLong { limit }));
                    let empty = JsonRpcMessage::response(ServerResult::empty(()), id.clone());
                    with_message(event.fields, &empty)
                }
                (true, ..) => {
                    tracing::warn!(limit, "skipped an event of an MCP server beyond the limit");
                    vec![event.fields]
                }
                (false, ..) => messages(&codec, event),
            });
            let items: Vec<_> = match event {
                Ok(events) => events.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            };
            stream::iter(items)
        });
        translated.boxed()
    }
}

/// A message on its way out.
struct Post<'a> {
    message: &'a ClientJsonRpcMessage,
    body: bytes::Bytes,
    exact: Option<Exact>,
}

impl Post<'_> {
    /// The id that an answer is expected for.
    fn request_id(&self) -> Option<RequestId> {
        match self.message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        }
    }

    fn is_discovery(&self) -> bool {
        matches!(
            self.message,
            JsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::DiscoverRequest(_))
        )
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpFault;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let encoded = self.codec.encode(&message);
        let (body, exact) =
            encoded.map_err(|source| self.fault(HttpFault::Unwritable { source }))?;
        if let Some(exact) = &exact {
            exact.slot.sending();
        }
        let post = Post {
            message: &message,
            body: body.into(),
            exact,
        };
        let sent = self.post(&uri, &post, session_id.as_deref(), custom_headers);
        if !post.is_discovery() {
            return sent.await;
        }
        match tokio::time::timeout(self.discovery_wait, sent).await {
            Ok(Err(StreamableHttpError::Client(fault))) => older_era(&post, fault),
            Ok(answer) => answer,
            Err(_) => match self.codec.give_up_discovery() {
                Some(message) => Ok(StreamableHttpPostResponse::Json(message, None)),
                None => Err(StreamableHttpError::UnexpectedEndOfStream),
            },
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault> {
        let request = self.http.delete(&*uri);
        let request = self.with_headers(request, Some(&session_id), custom_headers);
        // Whatever it answers, the session is no longer ours.
        let sent = request.send().await.map_err(HttpFault::of);
        sent.map(drop).map_err(StreamableHttpError::Client)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        let request = self.http.get(&*uri).header(header::ACCEPT, EVENTS);
        let mut request = self.with_headers(request, session_id.as_deref(), custom_headers);
        if let Some(last) = last_event_id {
            request = request.header(LAST_EVENT, last);
        }
        let response = request.send().await.map_err(HttpFault::of);
        let response = response.map_err(StreamableHttpError::Client)?;
        let content_type = text_header(&response, &header::CONTENT_TYPE).unwrap_or_default();
        match response.status() {
            status if status.is_success() && is_type(&content_type, EVENTS) => {
                Ok(self.translate(response, None, None))
            }
            // Such a stream is optional, and asking again cannot bring it about.
            status if status.is_success() || (status.is_client_error() && !is_auth(status)) => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            status => Err(StreamableHttpError::Client(HttpFault::Status {
                status: status.as_u16(),
                body: start_of_body(response).await,
            })),
        }
    }
}

/// A server of the older era refuses `server/discover` with some 4xx; rmcp then tries `initialize`.
fn older_era(post: &Post<'_>, fault: HttpFault) -> Result<StreamableHttpPostResponse, Fault> {
    let refused = match &fault {
        HttpFault::Status { status, .. } => {
            (400..500).contains(status) && !matches!(status, 401 | 403 | 429)
        }
        HttpFault::NotMcp { .. } | HttpFault::Unreadable { .. } => true,
        _ => false,
    };
    if !refused {
        return Err(StreamableHttpError::Client(fault));
    }
    let error = ErrorData::new(ErrorCode::INVALID_REQUEST, fault.to_string(), None);
    let message = JsonRpcMessage::error(error, post.request_id());
    Ok(StreamableHttpPostResponse::Json(message, None))
}

/// The messages of one event, one event each. What is no message keeps the event's id all the same.
fn messages(codec: &Codec, mut event: Event) -> Vec<Sse> {
    let Some(data) = event.fields.data.take() else {
        return vec![event.fields];
    };
    if data.trim().is_empty()
        || !matches!(event.fields.event.as_deref(), None | Some("" | "message"))
    {
        return vec![event.fields];
    }
    let mut out = Vec::with_capacity(1);
    for arrival in codec.decode(data.as_bytes()) {
        match arrival {
            Arrival::Message(message) => out.extend(with_message(event.fields.clone(), &message)),
            Arrival::Nothing => out.push(event.fields.clone()),
            Arrival::Noise => {
                tracing::warn!(
                    bytes = data.len(),
                    "skipped an event that is not an MCP message"
                );
                out.push(event.fields.clone());
            }
        }
    }
    out
}

fn with_message(fields: Sse, message: &ServerJsonRpcMessage) -> Vec<Sse> {
    let text = serde_json::to_string(message);
    text.map(|text| vec![fields.data(text)]).unwrap_or_default()
}

fn is_auth(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn is_type(content_type: &str, wanted: &str) -> bool {
    let bare = content_type.split(';').next().unwrap_or_default();
    bare.trim().eq_ignore_ascii_case(wanted)
}

fn text_header(response: &Response, name: &HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    value.to_str().ok().map(str::to_owned)
}

/// The body, or `None` if it is longer than `limit`.
async fn whole_body(mut response: Response, limit: usize) -> reqwest::Result<Option<Vec<u8>>> {
    let announced = response.content_length().unwrap_or(0);
    if usize::try_from(announced).map_or(true, |announced| announced > limit) {
        return Ok(None);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > limit {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

/// As much of an error's body as is shown.
async fn start_of_body(mut response: Response) -> String {
    let mut body = Vec::new();
    while body.len() < SHOWN_BYTES {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    preview(&body)
}

fn preview(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(2 * SHOWN_BYTES)]).into_owned()
}
