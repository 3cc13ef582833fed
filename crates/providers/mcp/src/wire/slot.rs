//! Where the exact text of one request's answer is left, and how far the request got.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU8, Ordering},
};

use codehatch_protocol::{JsonError, RawJson};
use http::{HeaderName, HeaderValue};

/// What a request carries beside rmcp's own types. Travels in the request's extensions, never on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    /// Where the answer goes.
    pub(crate) slot: Arc<Slot>,
    /// The text of `arguments`, for a tool call.
    pub(crate) arguments: Option<RawJson>,
    /// HTTP headers that mirror arguments, where the tool asks for them.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

/// The answer to one request, and whether the request may have reached the server.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    answer: Mutex<Option<Result<RawJson, WireFault>>>,
    stage: AtomicU8,
    refused_by_server: AtomicBool,
}

/// Not handed to the transport yet, or refused by it whole.
const UNSENT: u8 = 0;
/// Some of it may be on its way.
const SENDING: u8 = 1;

/// Why an answer could not be taken, although it came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireFault {
    /// It is longer than the limit.
    #[error("the answer is longer than the limit of {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// It is not UTF-8.
    #[error("the answer is not UTF-8")]
    NotUtf8,
    /// It is not JSON.
    #[error("the answer is not valid JSON: {0}")]
    NotJson(JsonError),
    /// It ends too early.
    #[error("the answer is cut off")]
    Cut,
}

impl Slot {
    /// Leaves the answer; a second one is ignored.
    pub(crate) fn put(&self, answer: Result<RawJson, WireFault>) {
        let mut place = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        place.get_or_insert(answer);
    }

    /// Takes the answer, if it has come.
    pub(crate) fn take(&self) -> Option<Result<RawJson, WireFault>> {
        let mut place = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        place.take()
    }

    /// Notes that the server itself answered with an error.
    pub(crate) fn server_refuses(&self) {
        self.refused_by_server.store(true, Ordering::Release);
    }

    /// Whether an error is the server's own. rmcp makes up others, when a session ends in mid-request.
    pub(crate) fn is_refused_by_server(&self) -> bool {
        self.refused_by_server.load(Ordering::Acquire)
    }

    /// Says that from now on the server may see the request.
    pub(crate) fn sending(&self) {
        self.stage.store(SENDING, Ordering::Release);
    }

    /// Says that the server cannot have seen the whole request.
    pub(crate) fn refused(&self) {
        self.stage.store(UNSENT, Ordering::Release);
    }

    /// Whether the server may have carried the request out.
    pub(crate) fn may_have_run(&self) -> bool {
        self.stage.load(Ordering::Acquire) != UNSENT
    }
}
