//! Ends sandboxes whose processes together have more memory than they may, where no control group does.
//!
//! The kernel bounds each process; only the host sees their sum. It looks every [`PERIOD`], at sandboxes
//! that are running a block.

mod free;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use codehatch_jail::SessionProcess;
use tokio::time::{MissedTickBehavior, interval};

pub(crate) use self::free::FreeMemory;
use crate::process;

/// How often it looks. A fork bomb of big processes can get this far beyond the limit, at most.
const PERIOD: Duration = Duration::from_millis(50);

/// A sandbox under watch.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) process: SessionProcess,
    /// Its first process, on the host.
    pub(crate) pid: i32,
    pub(crate) limit_bytes: u64,
    pub(crate) over: AtomicBool,
}

impl Watched {
    /// Whether it was ended for its use of memory.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// What sandboxes may have before they are ended: a little more than the limit, so that a single process
    /// meets its own, and a `MemoryError` instead of its end.
    fn ceiling(&self) -> u64 {
        const SLACK: u64 = 32 * 1024 * 1024;
        self.limit_bytes
            .saturating_add(self.limit_bytes / 8)
            .saturating_add(SLACK)
    }

    fn look(&self) {
        let at_most = process::usage_of_tree(self.pid)
            .memory_bytes
            .unwrap_or_default();
        if at_most > self.ceiling() && process::memory_of_tree(self.pid) > self.ceiling() {
            self.over.store(true, Ordering::Release);
            self.process.kill();
        }
    }
}

/// The sandboxes that run a block now.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    running: Mutex<HashMap<i32, Weak<Watched>>>,
}

impl Watch {
    pub(crate) fn set_running(&self, watched: &Arc<Watched>, running: bool) {
        let mut all = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running {
            all.insert(watched.pid, Arc::downgrade(watched));
        } else {
            all.remove(&watched.pid);
        }
    }

    /// Looks until it is dropped.
    pub(crate) async fn run(watch: Weak<Self>) {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            let Some(watch) = watch.upgrade() else {
                return;
            };
            let all: Vec<Weak<Watched>> = {
                let mut running = watch.running.lock().unwrap_or_else(PoisonError::into_inner);
                running.retain(|_, watched| watched.strong_count() > 0);
                running.values().cloned().collect()
            };
            for watched in all.iter().filter_map(Weak::upgrade) {
                watched.look();
            }
        }
    }
}
