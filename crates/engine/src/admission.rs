//! Which blocks may begin now: bounds of a whole engine, and a queue in which every owner has its turn.

use std::{
    collections::VecDeque,
    fmt,
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use codehatch_runtime::SandboxRuntime;
use tokio::{
    sync::oneshot,
    time::{Instant, interval_at, sleep_until},
};

/// How often a block that waits for memory looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Bounds of all turns of an engine together: what keeps one machine usable under many of them.
///
/// Build with [`EngineLimits::default`] and the `with_*` methods. Those of one turn are
/// [`TurnLimits`](crate::TurnLimits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineLimits {
    /// Blocks that run at once. Default 64 for each processor, and at least 256: most wait for tools.
    pub running_blocks: NonZeroUsize,
    /// Blocks that wait for one of those to end; further ones are refused. Default 1,024.
    pub waiting_blocks: usize,
    /// Longest such wait; then the block is refused. It is no part of the block's own time. Default 60 s.
    pub waiting_time: Duration,
    /// Sandboxes held at once, of running and of idle turns; further ones are refused. Default 4,096.
    pub sandboxes: usize,
    /// Memory that must be free for a block to begin while others run, in bytes. Default 256 MiB.
    ///
    /// Looked at where the runtime knows of it: the local one counts the machine's and its control group's.
    pub free_memory_bytes: u64,
    /// Idle turns lose their sandbox, and with it variables and files, after this time. Default 30 min.
    pub idle_time: Option<Duration>,
}

impl Default for EngineLimits {
    fn default() -> Self {
        const LEAST: NonZeroUsize = NonZeroUsize::new(256).unwrap();
        const EACH: NonZeroUsize = NonZeroUsize::new(64).unwrap();
        let processors = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            running_blocks: processors.saturating_mul(EACH).max(LEAST),
            waiting_blocks: 1_024,
            waiting_time: Duration::from_mins(1),
            sandboxes: 4_096,
            free_memory_bytes: 256 * 1024 * 1024,
            idle_time: Some(Duration::from_mins(30)),
        }
    }
}

impl EngineLimits {
    /// Replaces the number of blocks that run at once.
    #[must_use]
    pub fn with_running_blocks(mut self, blocks: NonZeroUsize) -> Self {
        self.running_blocks = blocks;
        self
    }

    /// Replaces the number of blocks that wait.
    #[must_use]
    pub fn with_waiting_blocks(mut self, blocks: usize) -> Self {
        self.waiting_blocks = blocks;
        self
    }

    /// Replaces the longest wait.
    #[must_use]
    pub fn with_waiting_time(mut self, time: Duration) -> Self {
        self.waiting_time = time;
        self
    }

    /// Replaces the number of sandboxes held at once.
    #[must_use]
    pub fn with_sandboxes(mut self, sandboxes: usize) -> Self {
        self.sandboxes = sandboxes;
        self
    }

    /// Replaces the memory that must be free.
    #[must_use]
    pub fn with_free_memory_bytes(mut self, bytes: u64) -> Self {
        self.free_memory_bytes = bytes;
        self
    }

    /// Replaces the time after which idle turns lose their sandbox.
    #[must_use]
    pub fn with_idle_time(mut self, time: Option<Duration>) -> Self {
        self.idle_time = time;
        self
    }
}

/// Whose turn it is. Blocks of one owner wait for each other, owners take turns.
pub(crate) type Owner = Arc<str>;

/// Why a block was not let in.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("as many blocks as may are running ({running}) and waiting ({waiting})")]
    Full { running: usize, waiting: usize },
    #[error("no place was free within {} s", waited.as_secs())]
    Waited { waited: Duration },
    #[error(
        "this machine has {} MiB of memory left, and {} MiB are to stay free",
        free / (1024 * 1024), wanted / (1024 * 1024)
    )]
    Memory { free: u64, wanted: u64 },
    #[error(
        "as many sandboxes as may are held ({limit}): turns that are not needed any more should be ended"
    )]
    Sandboxes { limit: usize },
}

/// Lets blocks in.
pub(crate) struct Admission {
    limits: EngineLimits,
    runtime: Arc<dyn SandboxRuntime>,
    line: Mutex<Line>,
    sandboxes: AtomicUsize,
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Line {
    running: usize,
    waiting: usize,
    /// Owners with blocks that wait, the next one in front. None is empty.
    owners: VecDeque<(Owner, VecDeque<oneshot::Sender<Running>>)>,
}

/// A block that runs; its place is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Running(Arc<Admission>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.line().running -= 1;
        Admission::let_in(&self.0);
    }
}

/// A sandbox that is held.
#[derive(Debug)]
pub(crate) struct Held(Arc<Admission>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.sandboxes.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Admission {
    pub(crate) fn new(limits: EngineLimits, runtime: Arc<dyn SandboxRuntime>) -> Arc<Self> {
        Arc::new(Self {
            limits,
            runtime,
            line: Mutex::default(),
            sandboxes: AtomicUsize::new(0),
        })
    }

    pub(crate) fn limits(&self) -> &EngineLimits {
        &self.limits
    }

    /// Counts a sandbox that is about to start.
    pub(crate) fn hold(self: &Arc<Self>) -> Result<Held, Refused> {
        let limit = self.limits.sandboxes;
        let more = |held: usize| (held < limit).then_some(held + 1);
        self.sandboxes
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more)
            .map(|_| Held(Arc::clone(self)))
            .map_err(|_| Refused::Sandboxes { limit })
    }

    /// Lets a block of `owner` in when its turn has come. `queued` hears of it if it must wait. Cancel-safe.
    pub(crate) async fn enter(
        self: &Arc<Self>,
        owner: &Owner,
        queued: impl FnOnce(),
    ) -> Result<Running, Refused> {
        let mut place = {
            let mut line = self.line();
            if line.waiting == 0 && self.has_room(&line) {
                line.running += 1;
                return Ok(Running(Arc::clone(self)));
            }
            line.tidy();
            if line.waiting >= self.limits.waiting_blocks {
                return Err(Refused::Full {
                    running: line.running,
                    waiting: line.waiting,
                });
            }
            line.join(owner)
        };
        // Those before it may have given up.
        Self::let_in(self);
        queued();
        let deadline = Instant::now() + self.limits.waiting_time;
        // Memory comes free without a word.
        let mut looks = interval_at(Instant::now() + LOOK_AGAIN, LOOK_AGAIN);
        loop {
            tokio::select! {
                biased;
                running = &mut place => {
                    if let Ok(running) = running {
                        return Ok(running);
                    }
                }
                () = sleep_until(deadline) => {
                    // Closes the place first: one that was given meanwhile is passed on.
                    drop(place);
                    let free = self.free_memory().filter(|&free| free < self.limits.free_memory_bytes);
                    self.line().tidy();
                    return Err(match free {
                        Some(free) => Refused::Memory { free, wanted: self.limits.free_memory_bytes },
                        None => Refused::Waited { waited: self.limits.waiting_time },
                    });
                }
                _ = looks.tick() => Self::let_in(self),
            }
        }
    }

    /// Lets in whoever is next, as long as there is room.
    fn let_in(admission: &Arc<Self>) {
        loop {
            let next = {
                let mut line = admission.line();
                if line.waiting == 0 || !admission.has_room(&line) {
                    return;
                }
                let next = line.next();
                if next.is_some() {
                    line.running += 1;
                }
                next
            };
            let Some(next) = next else {
                return;
            };
            // One that does not wait any more drops the place, which comes here again.
            drop(next.send(Running(Arc::clone(admission))));
        }
    }

    fn has_room(&self, line: &Line) -> bool {
        line.running < self.limits.running_blocks.get()
            // Where nothing runs nothing would ever free any: then it is the machine's own business.
            && (line.running == 0
                || self
                    .free_memory()
                    .is_none_or(|free| free >= self.limits.free_memory_bytes))
    }

    fn free_memory(&self) -> Option<u64> {
        self.runtime.free_memory()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn join(&mut self, owner: &Owner) -> oneshot::Receiver<Running> {
        let (sender, receiver) = oneshot::channel();
        self.waiting += 1;
        match self.owners.iter_mut().find(|(known, _)| known == owner) {
            Some((_, waiting)) => waiting.push_back(sender),
            None => self
                .owners
                .push_back((Arc::clone(owner), VecDeque::from([sender]))),
        }
        receiver
    }

    /// The next block of the next owner, who then goes to the end.
    fn next(&mut self) -> Option<oneshot::Sender<Running>> {
        self.tidy();
        let (owner, mut waiting) = self.owners.pop_front()?;
        let next = waiting.pop_front();
        self.waiting -= usize::from(next.is_some());
        if !waiting.is_empty() {
            self.owners.push_back((owner, waiting));
        }
        next
    }

    /// Forgets those that do not wait any more.
    fn tidy(&mut self) {
        for (_, waiting) in &mut self.owners {
            waiting.retain(|sender| !sender.is_closed());
        }
        self.owners.retain(|(_, waiting)| !waiting.is_empty());
        self.waiting = self.owners.iter().map(|(_, waiting)| waiting.len()).sum();
    }
}

#[cfg(test)]
mod tests;
