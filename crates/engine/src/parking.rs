//! Where a turn's sandbox waits for the next block. One that waits too long is ended.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::{task::JoinSet, time::sleep};

use crate::turn::Live;

/// The place of one turn's sandbox between its blocks.
#[derive(Debug)]
pub(crate) struct Parking {
    place: Arc<Mutex<Place>>,
    idle_time: Option<Duration>,
    /// Ends what is in the place; stops when it is replaced or dropped.
    timer: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Place {
    live: Option<Live>,
    /// Counts what came here, so that a timer knows its own.
    number: u64,
    /// What was last here was ended, and nobody has been told yet.
    expired: bool,
}

impl Parking {
    /// An empty place. What stays in it for `idle_time` is ended.
    pub(crate) fn new(idle_time: Option<Duration>) -> Self {
        Self {
            place: Arc::default(),
            idle_time,
            timer: JoinSet::new(),
        }
    }

    /// Takes the sandbox, if there is one.
    pub(crate) fn take(&mut self) -> Option<Live> {
        self.timer = JoinSet::new();
        lock(&self.place).live.take()
    }

    /// Whether there is one.
    pub(crate) fn is_occupied(&self) -> bool {
        lock(&self.place).live.is_some()
    }

    /// Leaves the sandbox here, if there is one.
    pub(crate) fn park(&mut self, live: Option<Live>) {
        self.timer = JoinSet::new();
        let mut place = lock(&self.place);
        place.number += 1;
        place.live = live;
        if let Some(idle_time) = self.idle_time.filter(|_| place.live.is_some()) {
            let end = end(Arc::downgrade(&self.place), place.number, idle_time);
            self.timer.spawn(end);
        }
    }

    /// After how long the last sandbox was ended, if it was and this was not asked before.
    pub(crate) fn take_expired(&mut self) -> Option<Duration> {
        let expired = std::mem::take(&mut lock(&self.place).expired);
        self.idle_time.filter(|_| expired)
    }
}

async fn end(place: Weak<Mutex<Place>>, number: u64, idle_time: Duration) {
    sleep(idle_time).await;
    let ended = place.upgrade().and_then(|place| {
        let mut place = lock(&place);
        let live = if place.number == number {
            place.live.take()
        } else {
            None
        };
        place.expired |= live.is_some();
        live
    });
    if let Some(mut live) = ended {
        // Its processes are killed even if this is stopped at the next await.
        live.handle.close().await;
    }
}

fn lock(place: &Mutex<Place>) -> MutexGuard<'_, Place> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
