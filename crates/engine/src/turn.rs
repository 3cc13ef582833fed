//! One turn: a sandbox that lasts from block to block, and what runs in it.

use std::{
    collections::VecDeque,
    fmt, io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
    time::Instant,
};

use codehatch_protocol::{Caps, ProtocolVersion};
use codehatch_runtime::{
    OutputStream, Sandbox, SandboxHandle, StartRequest, Workspace, WorkspaceError,
};
use futures_util::Stream;
use tokio::sync::watch;

use crate::{
    admission::{Held, Owner},
    block::{self, Block},
    connection::{self, FrameReader, FrameWriter},
    dispatch::Dispatcher,
    engine::Shared,
    event::Event,
    ids::{BlockNumber, TurnId},
    limits::TurnLimits,
    outcome::{BlockOutcome, BlockState, CapturedText, Ending, LossCause, Started, StopReason},
    parking::Parking,
};

/// One turn of an agent. Its blocks share variables and files.
///
/// Dropping it kills its sandbox without waiting; [`Turn::close`] waits until nothing is left of it.
#[derive(Debug)]
pub struct Turn {
    shared: Arc<Shared>,
    id: TurnId,
    owner: Owner,
    limits: TurnLimits,
    parking: Parking,
    /// The tools that the sandbox was started with, and keeps.
    dispatcher: Option<Dispatcher>,
    blocks: u32,
    calls: u64,
    /// Files were put into the sandbox since its last block.
    has_input: bool,
    stop: watch::Sender<StopRequest>,
}

/// A sandbox in use.
pub(crate) struct Live {
    pub(crate) reader: FrameReader,
    pub(crate) writer: FrameWriter,
    pub(crate) stdout: Option<OutputStream>,
    pub(crate) stderr: Option<OutputStream>,
    pub(crate) workspace: Option<Box<dyn Workspace>>,
    pub(crate) handle: Box<dyn SandboxHandle>,
    /// Its guest has said which version it speaks.
    pub(crate) has_greeted: bool,
    /// Counts among the engine's sandboxes.
    _held: Held,
}

impl Live {
    fn new(sandbox: Sandbox, limits: &TurnLimits, held: Held) -> Self {
        let caps = Caps::default().with_frame_bytes(limits.frame_bytes);
        let (reader, writer) = connection::open(sandbox.control, caps);
        Self {
            reader,
            writer,
            stdout: sandbox.stdout,
            stderr: sandbox.stderr,
            workspace: sandbox.workspace,
            handle: sandbox.handle,
            has_greeted: false,
            _held: held,
        }
    }

    /// Whether the sandbox can run another block after one.
    fn is_reusable(&self) -> bool {
        self.writer.version() != ProtocolVersion::V1
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

/// Why a file was not put into a workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// No sandbox could be started for it.
    #[error("{message}")]
    Start {
        /// What failed, and what to do about it.
        message: String,
    },
    /// The sandbox's runtime cannot reach its files.
    #[error("the `{runtime}` runtime takes no input files")]
    Unsupported {
        /// Its name.
        runtime: &'static str,
    },
    /// The workspace refused it.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl Turn {
    pub(crate) fn new(shared: Arc<Shared>, limits: TurnLimits) -> Self {
        let id = TurnId::new();
        Self {
            id,
            owner: id.to_string().into(),
            limits,
            parking: Parking::new(shared.admission.limits().idle_time),
            shared,
            dispatcher: None,
            blocks: 0,
            calls: 0,
            has_input: false,
            stop: watch::Sender::default(),
        }
    }

    /// Says whose turn it is: while blocks wait for their place, owners are served in turn, however many turns one
    /// has. By default each turn is its own owner.
    #[must_use]
    pub fn owned_by(mut self, owner: &str) -> Self {
        self.owner = owner.into();
        self
    }

    /// Names it in events.
    pub fn id(&self) -> TurnId {
        self.id
    }

    /// Writes a file into the workspace, for the next block. Starts a sandbox if there is none.
    ///
    /// Exact bytes arrive or an error: nothing runs with half a file. Names that leave the workspace are refused.
    pub async fn put_file(&mut self, path: &str, contents: Vec<u8>) -> Result<(), FileError> {
        let mut live = match self.parking.take() {
            Some(live) => live,
            None => self
                .start_sandbox(&EventSink::discarding())
                .await
                .map_err(|message| FileError::Start { message })?,
        };
        let result = match &mut live.workspace {
            Some(workspace) => workspace.put(path, contents).await.map_err(FileError::from),
            None => Err(FileError::Unsupported {
                runtime: self.shared.runtime.name(),
            }),
        };
        self.parking.park(Some(live));
        self.has_input = true;
        result
    }

    /// Runs a block. Await the execution for its outcome, or read its events first.
    ///
    /// Dropping the execution before its end kills the sandbox: variables and files are lost. To stop a block and
    /// keep them, use [`Turn::stopper`].
    pub fn execute(&mut self, code: impl Into<String>) -> Execution<'_> {
        let code = code.into();
        let sink = EventSink::new(self.id, Arc::clone(&self.shared));
        let events = sink.clone();
        let run = Box::pin(async move { self.run(code, &sink).await });
        Execution {
            run,
            events,
            outcome: None,
        }
    }

    /// Stops blocks of this turn from elsewhere.
    pub fn stopper(&self) -> Stop {
        Stop {
            stop: self.stop.clone(),
        }
    }

    /// Ends the turn: kills its sandbox and waits until nothing is left of it.
    pub async fn close(mut self) {
        if let Some(mut live) = self.parking.take() {
            live.handle.close().await;
        }
    }

    async fn run(&mut self, code: String, sink: &EventSink) -> BlockOutcome {
        self.blocks += 1;
        let block = BlockNumber(self.blocks);
        let mut stop = self.stop.subscribe();
        let queued = || sink.send(Event::BlockQueued { block });
        // Its own time begins when it has a place.
        let _running = tokio::select! {
            entered = self.shared.admission.enter(&self.owner, queued) => match entered {
                Ok(running) => running,
                Err(refused) => {
                    let message = format!("the host is busy: {refused}. The code has not run; it can be tried again later");
                    return host_error(block, &message, self.state());
                }
            },
            Ok(()) = stop.changed() => {
                let ending = Ending::Interrupted {
                    reason: StopReason::Requested,
                };
                return BlockOutcome {
                    state: self.state(),
                    ..BlockOutcome::new(block, ending)
                };
            }
        };
        let began = Instant::now();
        sink.send(Event::BlockStarted { block });
        let mut outcome = if code.len() > self.limits.code_bytes {
            host_error(
                block,
                &format!(
                    "its source has {} bytes, more than the limit of {}",
                    code.len(),
                    self.limits.code_bytes
                ),
                self.state(),
            )
        } else {
            self.run_once(block, &code, &mut stop, sink).await
        };
        outcome.took = began.elapsed();
        sink.send(Event::BlockEnded {
            block,
            took: outcome.took,
        });
        outcome
    }

    /// Runs code once. Only what has certainly not run is tried again, and that once.
    async fn run_once(
        &mut self,
        block: BlockNumber,
        code: &str,
        stop: &mut watch::Receiver<StopRequest>,
        sink: &EventSink,
    ) -> BlockOutcome {
        let had_input = std::mem::take(&mut self.has_input);
        if let Some(after) = self.parking.take_expired() {
            let cause = LossCause::Idle(after);
            if had_input {
                let message = format!("the files that were put into the sandbox are lost: {cause}");
                return host_error(block, &message, BlockState::Lost);
            }
            let outcome = self.attempt(block, code, stop, sink).await;
            return BlockOutcome {
                reset: Some(cause),
                ..outcome
            };
        }
        let had_state = self.parking.is_occupied() && block.0 > 1;
        let outcome = self.attempt(block, code, stop, sink).await;
        let Ending::SandboxLost {
            cause,
            started: Started::NotRun,
        } = &outcome.ending
        else {
            return outcome;
        };
        // Without its input files the code would be another.
        if had_input {
            return outcome;
        }
        tracing::warn!(turn = %self.id, %cause, "the sandbox was lost before the block ran; trying once more");
        let reset = had_state.then(|| cause.clone());
        let outcome = self.attempt(block, code, stop, sink).await;
        BlockOutcome { reset, ..outcome }
    }

    fn state(&self) -> BlockState {
        if self.parking.is_occupied() {
            BlockState::Kept
        } else {
            BlockState::Lost
        }
    }

    async fn attempt(
        &mut self,
        block: BlockNumber,
        code: &str,
        stop: &mut watch::Receiver<StopRequest>,
        sink: &EventSink,
    ) -> BlockOutcome {
        let live = match self.parking.take() {
            Some(live) => live,
            None => match self.start_sandbox(sink).await {
                Ok(live) => live,
                Err(message) => return host_error(block, &message, BlockState::Lost),
            },
        };
        let Some(dispatcher) = self.dispatcher.clone() else {
            return host_error(block, "the turn has no tools", BlockState::Lost);
        };
        let run = Block {
            turn: self.id,
            number: block,
            code,
            limits: &self.limits,
            dispatcher,
            artifacts: self.shared.artifacts.clone(),
            sink,
        };
        // If this future is dropped here, so is the sandbox, which kills it.
        let (mut outcome, live) = block::run(run, live, stop, &mut self.calls).await;
        self.parking.park(live.filter(Live::is_reusable));
        outcome.state = self.state();
        outcome
    }

    /// Starts a sandbox with the tools that there are now.
    async fn start_sandbox(&mut self, sink: &EventSink) -> Result<Live, String> {
        let began = Instant::now();
        let held = self.shared.admission.hold();
        let held = held.map_err(|refused| format!("the host is busy: {refused}"))?;
        let tools = self.shared.tools().await;
        let request = StartRequest {
            tools: self.shared.tool_tree(&tools),
            limits: self.limits.sandbox,
        };
        let started = self.shared.runtime.start(request).await;
        let sandbox = started.map_err(|error| error.to_string())?;
        self.dispatcher = Some(Dispatcher::new(
            tools,
            self.shared.providers.clone(),
            self.limits.parallel_calls.get(),
            self.limits.call_time,
            self.limits.frame_bytes,
        ));
        sink.send(Event::SandboxStarted {
            took: began.elapsed(),
        });
        Ok(Live::new(sandbox, &self.limits, held))
    }
}

fn host_error(block: BlockNumber, message: &str, state: BlockState) -> BlockOutcome {
    BlockOutcome {
        state,
        ..BlockOutcome::new(
            block,
            Ending::HostError {
                message: message.to_owned(),
            },
        )
    }
}

impl BlockOutcome {
    /// An outcome without anything but its ending.
    pub(crate) fn new(block: BlockNumber, ending: Ending) -> Self {
        Self {
            block,
            ending,
            state: BlockState::Kept,
            reset: None,
            stdout: CapturedText::default(),
            stderr: CapturedText::default(),
            earlier_output: String::new(),
            result: None,
            images: Vec::new(),
            calls: Vec::new(),
            unrecorded_calls: 0,
            artifacts: Vec::new(),
            deleted: Vec::new(),
            skipped: Vec::new(),
            took: std::time::Duration::ZERO,
        }
    }
}

impl From<io::Error> for LossCause {
    fn from(error: io::Error) -> Self {
        Self::Protocol(error.to_string())
    }
}

/// Stops the block that a turn is running. Cheap to clone; outlives the turn without harm.
#[derive(Clone, Debug)]
pub struct Stop {
    stop: watch::Sender<StopRequest>,
}

/// The last wish of a [`Stop`]. A block looks only at those that come while it runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StopRequest {
    /// Without the grace.
    pub(crate) at_once: bool,
}

impl Stop {
    /// Asks the running block to stop; variables and files are kept if it does so within the grace. Does nothing
    /// between blocks.
    pub fn stop(&self) {
        self.stop.send_replace(StopRequest { at_once: false });
    }

    /// Kills the sandbox of the running block at once: variables and files are lost, output so far is kept. Does
    /// nothing between blocks.
    pub fn kill(&self) {
        self.stop.send_replace(StopRequest { at_once: true });
    }
}

/// A block that runs as it is polled: a stream of its events, and a future of its outcome.
#[must_use = "a block runs only while its execution is awaited"]
pub struct Execution<'turn> {
    run: Pin<Box<dyn Future<Output = BlockOutcome> + Send + 'turn>>,
    events: EventSink,
    outcome: Option<BlockOutcome>,
}

impl fmt::Debug for Execution<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution").finish_non_exhaustive()
    }
}

impl Execution<'_> {
    /// The next event; `None` when the block has ended and all were read. Cancel-safe.
    pub async fn next_event(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Runs on to the end.
    pub async fn outcome(mut self) -> BlockOutcome {
        if let Some(outcome) = self.outcome.take() {
            return outcome;
        }
        self.events.discard();
        self.run.await
    }
}

impl Stream for Execution<'_> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        if let Some(event) = self.events.pop() {
            return Poll::Ready(Some(event));
        }
        if self.outcome.is_some() {
            return Poll::Ready(None);
        }
        if let Poll::Ready(outcome) = self.run.as_mut().poll(context) {
            self.outcome = Some(outcome);
        }
        match (self.events.pop(), &self.outcome) {
            (Some(event), _) => Poll::Ready(Some(event)),
            (None, Some(_)) => Poll::Ready(None),
            (None, None) => Poll::Pending,
        }
    }
}

impl<'turn> IntoFuture for Execution<'turn> {
    type Output = BlockOutcome;
    type IntoFuture = Pin<Box<dyn Future<Output = BlockOutcome> + Send + 'turn>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.outcome())
    }
}

/// Where a block's events go: to the observers at once, and to whoever reads the execution.
#[derive(Clone, Debug)]
pub(crate) struct EventSink {
    turn: Option<(TurnId, Arc<Shared>)>,
    queue: Arc<Mutex<Queue>>,
}

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<Event>,
    discarding: bool,
    waiting: Option<Waker>,
}

/// Events that may wait to be read; then the block waits, and with it the sandbox.
const MAX_WAITING: usize = 64;

impl EventSink {
    fn new(turn: TurnId, shared: Arc<Shared>) -> Self {
        Self {
            turn: Some((turn, shared)),
            queue: Arc::default(),
        }
    }

    fn discarding() -> Self {
        let sink = Self {
            turn: None,
            queue: Arc::default(),
        };
        sink.discard();
        sink
    }

    pub(crate) fn send(&self, event: Event) {
        if let Some((turn, shared)) = &self.turn {
            for observer in &shared.observers {
                observer.event(*turn, &event);
            }
        }
        let mut queue = self.lock();
        if !queue.discarding {
            queue.events.push_back(event);
        }
    }

    /// Waits until few events wait to be read. Cancel-safe.
    pub(crate) async fn has_room(&self) {
        std::future::poll_fn(|context| {
            let mut queue = self.lock();
            if queue.events.len() < MAX_WAITING {
                return Poll::Ready(());
            }
            queue.waiting = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn pop(&self) -> Option<Event> {
        let mut queue = self.lock();
        let event = queue.events.pop_front();
        if queue.events.len() < MAX_WAITING
            && let Some(waiting) = queue.waiting.take()
        {
            waiting.wake();
        }
        event
    }

    fn discard(&self) {
        let mut queue = self.lock();
        queue.discarding = true;
        queue.events.clear();
        if let Some(waiting) = queue.waiting.take() {
            waiting.wake();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
