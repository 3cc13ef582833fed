//! Reads a server's messages: exact results into their slots, the rest leniently into rmcp's types.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codehatch_protocol::RawJson;
use rmcp::model::{
    CustomRequest, ErrorCode, ErrorData, Implementation, InitializeResult, JsonRpcMessage,
    ProtocolVersion, RequestId, ServerCapabilities, ServerJsonRpcMessage, ServerRequest,
    ServerResult,
};

use super::{Envelope, Lifecycle, Slot, WireFault, elements, member, string};

/// The notifications that matter here. The others (progress, log messages, resources) end at the codec, so
/// that their content reaches no log either.
const WANTED: [&str; 3] = [
    "notifications/tools/list_changed",
    "notifications/subscriptions/acknowledged",
    "notifications/cancelled",
];

/// Open requests from which on those that nobody waits for are looked for.
const MANY_SLOTS: usize = 1024;

/// Translates between a server's text and rmcp's types, and knows which answers are wanted as text.
#[derive(Debug, Default)]
pub(crate) struct Codec {
    slots: Mutex<HashMap<i64, Arc<Slot>>>,
    pub(crate) lifecycle: Lifecycle,
}

/// What a text from a server turned out to be.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// For rmcp.
    Message(Box<ServerJsonRpcMessage>),
    /// Dealt with here, or of no interest.
    Nothing,
    /// Not the protocol: a banner, a stray print.
    Noise,
}

impl Codec {
    /// Reads one text: a message, or a batch of them as the revision of 2025-03-26 allows.
    pub(crate) fn decode(&self, bytes: &[u8]) -> Vec<Arrival> {
        let bytes = bytes.trim_ascii();
        if bytes.first() != Some(&b'[') {
            return vec![self.decode_one(bytes)];
        }
        match std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| RawJson::parse(text).ok())
        {
            Some(batch) => elements(batch.get())
                .map(|text| self.decode_one(text.as_bytes()))
                .collect(),
            None => vec![Arrival::Noise],
        }
    }

    /// Ends the request whose answer could not be kept, as far as its id is known.
    pub(crate) fn reject(&self, envelope: &Envelope, fault: WireFault) -> Arrival {
        match envelope.number() {
            Some(id) if envelope.found().method.is_none() => self.settle(id, Err(fault)),
            _ => Arrival::Noise,
        }
    }

    /// Forgets a request that nobody waits for any more.
    pub(crate) fn forget(&self, id: i64) {
        self.slots().remove(&id);
    }

    /// Takes the result of `id` as text.
    pub(super) fn expect(&self, id: i64, slot: &Arc<Slot>) {
        let mut slots = self.slots();
        if slots.len() >= MANY_SLOTS {
            // Requests that were given up before they were sent are never answered.
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        slots.insert(id, Arc::clone(slot));
    }

    /// Answers an open `server/discover` in the server's place, as a server of the older era would.
    pub(crate) fn give_up_discovery(&self) -> Option<ServerJsonRpcMessage> {
        let id = self.lifecycle.give_up()?;
        let error = ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            "no answer to server/discover",
            None,
        );
        Some(JsonRpcMessage::error(error, Some(RequestId::Number(id))))
    }

    fn decode_one(&self, bytes: &[u8]) -> Arrival {
        if bytes.first() != Some(&b'{') {
            return Arrival::Noise;
        }
        let envelope = Envelope::of(bytes);
        let found = envelope.found();
        if !found.complete {
            return self.reject(&envelope, WireFault::Cut);
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return self.reject(&envelope, WireFault::NotUtf8);
        };
        if let Some(method) = &found.method {
            let method = string(text[method.clone()].trim()).unwrap_or_default();
            return incoming(text, &method, &envelope);
        }
        if let Some(result) = &found.result {
            return self.result(&envelope, text, text[result.clone()].trim());
        }
        match &found.error {
            Some(error) => self.error(&envelope, text[error.clone()].trim()),
            None => Arrival::Noise,
        }
    }

    fn result(&self, envelope: &Envelope, text: &str, result: &str) -> Arrival {
        let Some(id) = envelope.number() else {
            return Arrival::Noise;
        };
        if self.slots().contains_key(&id) {
            return self.settle(id, RawJson::parse(result).map_err(WireFault::NotJson));
        }
        if !self.lifecycle.answered(id, true) {
            return Arrival::Nothing;
        }
        let typed = serde_json::from_str::<ServerJsonRpcMessage>(text).ok();
        if self.lifecycle.is_initialize(id) && !is_initialize(typed.as_ref()) {
            return message(JsonRpcMessage::response(
                lenient_initialize(result),
                RequestId::Number(id),
            ));
        }
        typed.map_or(Arrival::Noise, message)
    }

    fn error(&self, envelope: &Envelope, error: &str) -> Arrival {
        let number = envelope.number();
        if let Some(id) = number {
            if let Some(slot) = self.slots().remove(&id) {
                slot.server_refuses();
            }
            if !self.lifecycle.answered(id, false) {
                return Arrival::Nothing;
            }
        }
        let code = member(error, "code").and_then(|code| code.parse().ok());
        let text = member(error, "message").and_then(string);
        let data = member(error, "data").and_then(|data| serde_json::from_str(data).ok());
        let data = ErrorData::new(
            ErrorCode(code.unwrap_or(ErrorCode::INTERNAL_ERROR.0)),
            text.map_or_else(|| error.to_owned(), std::borrow::Cow::into_owned),
            data,
        );
        message(JsonRpcMessage::error(data, number.map(RequestId::Number)))
    }

    /// Leaves the answer in its slot and lets rmcp know that there is one.
    fn settle(&self, id: i64, answer: Result<RawJson, WireFault>) -> Arrival {
        if let Some(slot) = self.slots().remove(&id) {
            slot.put(answer);
        }
        message(JsonRpcMessage::response(
            ServerResult::empty(()),
            RequestId::Number(id),
        ))
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<i64, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn message(message: ServerJsonRpcMessage) -> Arrival {
    Arrival::Message(Box::new(message))
}

/// A request or a notification of the server.
fn incoming(text: &str, method: &str, envelope: &Envelope) -> Arrival {
    if !envelope.found().has_id {
        if !WANTED.contains(&method) {
            tracing::trace!(method, "ignored a notification");
            return Arrival::Nothing;
        }
        return serde_json::from_str(text).map_or(Arrival::Noise, message);
    }
    match serde_json::from_str::<ServerJsonRpcMessage>(text) {
        Ok(request) => message(request),
        Err(_) => match member(text, "id").and_then(|id| serde_json::from_str(id).ok()) {
            Some(id) => {
                let request = ServerRequest::CustomRequest(CustomRequest::new(method, None));
                message(JsonRpcMessage::request(request, id))
            }
            None => Arrival::Noise,
        },
    }
}

fn is_initialize(typed: Option<&ServerJsonRpcMessage>) -> bool {
    matches!(
        typed,
        Some(JsonRpcMessage::Response(response))
            if matches!(response.result, ServerResult::InitializeResult(_))
    )
}

/// What an `initialize` result says at least, when the rest of it does not fit the specification.
fn lenient_initialize(result: &str) -> ServerResult {
    let version = member(result, "protocolVersion")
        .and_then(|version| serde_json::from_str::<ProtocolVersion>(version).ok())
        .unwrap_or(ProtocolVersion::V_2024_11_05);
    let capabilities = member(result, "capabilities")
        .and_then(|text| serde_json::from_str::<ServerCapabilities>(text).ok())
        .unwrap_or_default();
    let mut lenient = InitializeResult::new(capabilities);
    lenient.protocol_version = version;
    lenient.server_info = Implementation::new("unnamed", "0");
    ServerResult::InitializeResult(lenient)
}

#[cfg(test)]
mod tests;
