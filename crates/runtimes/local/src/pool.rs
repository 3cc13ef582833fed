//! Sessions that wait ready: isolated and warm before anybody asks.
//!
//! A session is forked for one set of tools and limits, and given out once. When those change, what waits is
//! dropped. Whoever finds the pool empty forks a session of its own and does not wait for the refill.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use codehatch_runtime::StartRequest;
use tokio::{sync::Notify, time::timeout};

use crate::start::Session;

/// How often it is looked whether sessions that wait have been killed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Ready sessions of one kind.
#[derive(Debug)]
pub(crate) struct Pool {
    /// How many are to wait.
    target: usize,
    state: Mutex<State>,
    /// Somebody has taken one.
    wanted: Notify,
    /// Starts that found the pool empty and are under way.
    misses: AtomicUsize,
    no_misses: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// What was asked for last: what waits is of this kind.
    kind: Option<StartRequest>,
    ready: VecDeque<Session>,
}

impl Pool {
    pub(crate) fn new(target: usize) -> Self {
        Self {
            target,
            state: Mutex::default(),
            wanted: Notify::new(),
            misses: AtomicUsize::new(0),
            no_misses: Notify::new(),
        }
    }

    /// A ready session of this kind, if one waits. Has the pool refilled with this kind.
    pub(crate) fn take(&self, request: &StartRequest) -> Option<Session> {
        if self.target == 0 {
            return None;
        }
        let mut dropped = VecDeque::new();
        let taken = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state
                .kind
                .as_ref()
                .is_none_or(|kind| !is_same(kind, request))
            {
                state.kind = Some(request.clone());
                dropped = std::mem::take(&mut state.ready);
            }
            std::iter::from_fn(|| state.ready.pop_front()).find(Session::is_alive)
        };
        drop(dropped);
        self.wanted.notify_one();
        taken
    }

    /// Counts a start that found nothing, until the guard is dropped.
    pub(crate) fn miss(&self) -> Miss<'_> {
        self.misses.fetch_add(1, Ordering::AcqRel);
        Miss { pool: self }
    }

    /// Waits until a session is lacking and nobody waits for one who would be kept waiting: its kind.
    pub(crate) async fn lacking(&self) -> StartRequest {
        loop {
            let no_misses = self.no_misses.notified();
            if self.misses.load(Ordering::Acquire) > 0 {
                no_misses.await;
                continue;
            }
            let wanted = self.wanted.notified();
            let (lacking, holds_some, dead) = {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                let (ready, dead): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut state.ready)
                    .into_iter()
                    .partition(Session::is_alive);
                state.ready = ready;
                let lacking = state
                    .kind
                    .clone()
                    .filter(|_| state.ready.len() < self.target);
                (lacking, !state.ready.is_empty(), dead)
            };
            drop(dead);
            match lacking {
                Some(kind) => return kind,
                // Whether it was woken or not, it looks.
                None if holds_some => drop(timeout(LOOK_AGAIN, wanted).await),
                None => wanted.await,
            }
        }
    }

    /// Adds a session, unless its kind is not asked for any more.
    pub(crate) fn put(&self, kind: &StartRequest, session: Session) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = state
            .kind
            .as_ref()
            .is_some_and(|current| is_same(current, kind));
        if fits && state.ready.len() < self.target {
            state.ready.push_back(session);
        }
    }

    /// Drops what waits, and asks for no more until the next start.
    pub(crate) fn clear(&self) {
        let state = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *state)
        };
        drop(state);
    }
}

/// A start that found nothing.
#[derive(Debug)]
pub(crate) struct Miss<'a> {
    pool: &'a Pool,
}

impl Drop for Miss<'_> {
    fn drop(&mut self) {
        if self.pool.misses.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.pool.no_misses.notify_one();
        }
    }
}

fn is_same(a: &StartRequest, b: &StartRequest) -> bool {
    a.limits == b.limits && a.tools.fingerprint == b.tools.fingerprint
}
