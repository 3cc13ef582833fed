//! Which of the two eras a server speaks, as far as the messages so far tell.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};

/// No request of that kind is open.
const NONE: i64 = -1;

/// Follows `server/discover` and `initialize`, which rmcp sends to find out.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    discover: AtomicI64,
    given_up: AtomicI64,
    initialize: AtomicI64,
    initializations: AtomicI64,
    discovered_late: AtomicBool,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self {
            discover: AtomicI64::new(NONE),
            given_up: AtomicI64::new(NONE),
            initialize: AtomicI64::new(NONE),
            initializations: AtomicI64::new(0),
            discovered_late: AtomicBool::new(false),
        }
    }
}

impl Lifecycle {
    /// Notes a request that is about to be sent.
    pub(super) fn sending(&self, id: i64, method: &str) {
        match method {
            "server/discover" => self.discover.store(id, SeqCst),
            "initialize" => {
                self.initialize.store(id, SeqCst);
                self.initializations.fetch_add(1, SeqCst);
            }
            _ => {}
        }
    }

    /// Notes an answer. `false` if rmcp must not see it, because it no longer waits for it.
    pub(super) fn answered(&self, id: i64, is_result: bool) -> bool {
        let _ = self.discover.compare_exchange(id, NONE, SeqCst, SeqCst);
        if self.given_up.load(SeqCst) != id {
            return true;
        }
        self.discovered_late.fetch_or(is_result, SeqCst);
        false
    }

    /// Whether `id` is the request `initialize`.
    pub(super) fn is_initialize(&self, id: i64) -> bool {
        self.initialize.load(SeqCst) == id
    }

    /// Stops waiting for an answer to `server/discover`; its id, if it was open.
    pub(super) fn give_up(&self) -> Option<i64> {
        let id = self.discover.swap(NONE, SeqCst);
        if id == NONE {
            return None;
        }
        self.given_up.store(id, SeqCst);
        Some(id)
    }

    /// Whether `server/discover` is still unanswered.
    pub(crate) fn is_discovering(&self) -> bool {
        self.discover.load(SeqCst) != NONE
    }

    /// Whether the server answered `server/discover` after all, when it was no longer waited for.
    pub(crate) fn discovered_late(&self) -> bool {
        self.discovered_late.load(SeqCst)
    }

    /// How often `initialize` was sent: more than once means that the session was made anew.
    pub(crate) fn initializations(&self) -> i64 {
        self.initializations.load(SeqCst)
    }
}
