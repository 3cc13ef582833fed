//! One block: a single task that owns its state and answers every event.

use std::{collections::HashMap, io, sync::Arc, time::Duration};

use bytes::Bytes;
use codehatch_artifacts::ArtifactStore;
use codehatch_protocol::{
    BlockResult, DecodeError, DecodeFault, Done, EXTENSION_IMAGE, EXTENSION_RESULT, GuestFrame,
    HostFrame, Log, Output, Ready, ResultContent, Run, Stream, ToolErrorPayload,
};
use codehatch_runtime::Exit;
use tokio::{
    sync::watch,
    task::{Id, JoinSet},
    time::{self, sleep_until, timeout},
};

mod calls;
mod stop;

use self::{
    calls::Pending,
    stop::{CPU_PERIOD, Stopping},
};
use crate::{
    dispatch::{Answer, Dispatcher},
    event::Event,
    ids::{BlockNumber, TurnId},
    images::Images,
    keep::Keep,
    limits::TurnLimits,
    outcome::{
        BlockOutcome, BlockState, CallRecord, Ending, LossCause, ResultValue, Started, StopReason,
    },
    output::{READ_BYTES, drain, read},
    turn::{EventSink, Live, StopRequest},
};

/// How long a sandbox that has closed its control channel may take to end.
const EXIT_WITHIN: Duration = Duration::from_secs(2);
/// Bytes that may wait for a guest to read them, before no more is read from it.
const MAX_QUEUED_BYTES: usize = 1024 * 1024;
/// Lines of a block's guest that get into the host's log.
const MAX_LOG_LINES: usize = 100;
/// Bytes of a last expression's value. The guest keeps the same bound, but it is not to be relied on.
const MAX_RESULT_BYTES: usize = 1024 * 1024;
/// Bytes of output that earlier blocks left behind which are shown.
const MAX_EARLIER_BYTES: usize = 16 * 1024;

/// What a block needs to run.
pub(crate) struct Block<'a> {
    pub(crate) turn: TurnId,
    pub(crate) number: BlockNumber,
    pub(crate) code: &'a str,
    pub(crate) limits: &'a TurnLimits,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) artifacts: Option<Arc<dyn ArtifactStore>>,
    pub(crate) sink: &'a EventSink,
}

/// Runs a block to its end. Gives the sandbox back if it can run another.
pub(crate) async fn run(
    block: Block<'_>,
    live: Live,
    stop: &mut watch::Receiver<StopRequest>,
    calls: &mut u64,
) -> (BlockOutcome, Option<Live>) {
    let mut running = Running::new(block, live, calls);
    running.begin();
    let end = running.drive(stop).await;
    running.finish(end).await
}

/// Why the loop ended.
enum End {
    /// The guest said that the code has ended.
    Done(Done),
    /// The sandbox is lost.
    Lost(LossCause),
    /// The sandbox speaks a language of tomorrow.
    Host(String),
}

struct Running<'a> {
    block: Block<'a>,
    live: Live,
    call_count: &'a mut u64,
    calls: JoinSet<Answer>,
    pending: HashMap<Id, Pending>,
    records: Vec<CallRecord>,
    unrecorded: u64,
    keep: Keep,
    earlier: Vec<u8>,
    stopping: Option<Stopping>,
    deadline: time::Instant,
    cpu_before: Option<Duration>,
    cpu_at: time::Instant,
    /// The `run` frame has left the host, or may have.
    sent: bool,
    done: Option<Done>,
    images: Images,
    notes: Vec<String>,
    log_lines: usize,
    /// Room for what is read without waiting.
    scratch: Vec<u8>,
}

impl<'a> Running<'a> {
    fn new(block: Block<'a>, live: Live, call_count: &'a mut u64) -> Self {
        let now = time::Instant::now();
        let keep = Keep::new(
            block.turn,
            block.number,
            block.limits.output_bytes,
            block.artifacts.clone(),
        );
        Self {
            deadline: now + block.limits.block_time,
            cpu_before: None,
            cpu_at: now + CPU_PERIOD,
            images: Images::new(block.limits.image_bytes),
            block,
            live,
            call_count,
            calls: JoinSet::new(),
            pending: HashMap::new(),
            records: Vec::new(),
            unrecorded: 0,
            keep,
            earlier: Vec::new(),
            stopping: None,
            sent: false,
            done: None,
            notes: Vec::new(),
            log_lines: 0,
            scratch: vec![0; READ_BYTES],
        }
    }

    fn begin(&mut self) {
        // Whatever is there now was written by work that earlier blocks left behind.
        for stream in [&mut self.live.stdout, &mut self.live.stderr] {
            let earlier = &mut self.earlier;
            drain(stream, &mut self.scratch, |bytes| {
                let room = MAX_EARLIER_BYTES.saturating_sub(earlier.len());
                earlier.extend_from_slice(&bytes[..bytes.len().min(room)]);
            });
        }
        if self.block.limits.cpu_time.is_some() {
            self.cpu_before = self.live.handle.usage().cpu;
        }
        self.live.handle.set_running(true);
        self.live.writer.queue(&HostFrame::Run(Run {
            code: self.block.code.to_owned(),
            extensions: [EXTENSION_RESULT, EXTENSION_IMAGE].into_iter().collect(),
            block: Some(self.block.number.0.into()),
        }));
    }

    /// Answers events until the block or its sandbox has ended.
    async fn drive(&mut self, stop: &mut watch::Receiver<StopRequest>) -> End {
        let mut stdout = vec![0; READ_BYTES];
        let mut stderr = vec![0; READ_BYTES];
        loop {
            // A reader that is slow makes the sandbox wait, not the host's memory grow.
            self.block.sink.has_room().await;
            let kill_at = self.stopping.as_ref().map(|stopping| stopping.kill_at);
            let ask_at = self.stopping.as_ref().map(|stopping| stopping.ask_at);
            let limits = self.block.limits;
            let is_open = self.calls.len() < limits.parallel_calls.get() + limits.queued_calls
                && self.live.writer.queued_bytes() < MAX_QUEUED_BYTES;
            let may_overflow = self.keep.has_room();
            let cpu_limit = limits.cpu_time.filter(|_| self.stopping.is_none());
            tokio::select! {
                biased;
                // A result is on its way before anything else is looked at.
                flushed = self.live.writer.flush(), if self.live.writer.queued_bytes() > 0 => {
                    match flushed {
                        Ok(()) => self.sent = true,
                        Err(_) => return self.lost().await,
                    }
                }
                () = sleep_until(kill_at.unwrap_or(self.deadline)) => {
                    if let Some(end) = self.on_deadline() {
                        return end;
                    }
                }
                Ok(()) = stop.changed() => {
                    let request = *stop.borrow_and_update();
                    if let Some(end) = self.on_stop(request) {
                        return end;
                    }
                }
                () = sleep_until(ask_at.unwrap_or(self.deadline)), if ask_at.is_some() => self.ask(),
                () = sleep_until(self.cpu_at), if cpu_limit.is_some() => self.look_at_cpu(cpu_limit),
                Some(ended) = self.calls.join_next_with_id() => self.on_call_ended(ended),
                frame = self.live.reader.next(), if is_open => match frame {
                    Ok(Some(frame)) => {
                        self.sent = true;
                        if let Some(end) = self.on_frame(frame) {
                            return end;
                        }
                    }
                    Ok(None) | Err(_) => return self.lost().await,
                },
                Some(read) = read(&mut self.live.stdout, &mut stdout), if may_overflow => {
                    self.on_output(Stream::Stdout, &read, &stdout);
                }
                Some(read) = read(&mut self.live.stderr, &mut stderr), if may_overflow => {
                    self.on_output(Stream::Stderr, &read, &stderr);
                }
                () = self.keep.wait_for_room(), if !may_overflow => {}
            }
        }
    }

    fn on_output(&mut self, stream: Stream, read: &io::Result<usize>, buffer: &[u8]) {
        match read {
            Ok(length @ 1..) => {
                self.take_output(stream, Bytes::copy_from_slice(&buffer[..*length]));
            } // Closed: only when every process that had it is gone.
            Ok(0) | Err(_) => match stream {
                Stream::Stdout => self.live.stdout = None,
                Stream::Stderr => self.live.stderr = None,
            },
        }
    }

    fn take_output(&mut self, stream: Stream, bytes: Bytes) {
        self.block.sink.send(Event::Output {
            stream,
            bytes: bytes.clone(),
        });
        self.keep.push(stream, bytes);
    }

    // Frames.

    fn on_frame(&mut self, frame: Result<GuestFrame, DecodeError>) -> Option<End> {
        match frame {
            Ok(GuestFrame::ToolCall(call)) => self.on_call(call),
            Ok(GuestFrame::Ready(ready)) => return self.on_ready(&ready),
            Ok(GuestFrame::Done(done)) => {
                let number = i64::from(self.block.number.0);
                // The true end of an earlier block whose code had forged one.
                if done.block.is_some_and(|block| block != number) {
                    return None;
                }
                // Where descriptors are captured, nothing follows.
                if self.live.stdout.is_some() || !self.live.writer.version().sends_output() {
                    return Some(End::Done(done));
                }
                self.done = Some(done);
            }
            Ok(GuestFrame::Output(output)) => {
                self.take_texts(output);
                return self.done.take().map(End::Done);
            }
            Ok(GuestFrame::Chunk(chunk)) => {
                self.take_output(chunk.stream, Bytes::from(chunk.data));
            }
            Ok(GuestFrame::Image(image)) => self.images.push(&image),
            Ok(GuestFrame::Log(Log { level, msg })) => {
                if self.may_log() {
                    let msg: String = msg.chars().take(1000).collect();
                    tracing::debug!(turn = %self.block.turn, level, msg, "the guest says");
                }
            }
            Err(DecodeError {
                fault: DecodeFault::Blank,
                ..
            }) => {}
            Err(error) => self.on_malformed(error),
        }
        None
    }

    /// Counts a line for the host's log, so that no guest fills it.
    fn may_log(&mut self) -> bool {
        self.log_lines += 1;
        self.log_lines <= MAX_LOG_LINES
    }

    fn on_ready(&mut self, ready: &Ready) -> Option<End> {
        // A guest greets once, before it runs anything; later greetings are the program's.
        if std::mem::replace(&mut self.live.has_greeted, true) {
            return None;
        }
        match ready.version() {
            Ok(version) => {
                self.live.writer.set_version(version);
                None
            }
            Err(error) => Some(End::Host(error.to_string())),
        }
    }

    /// What a guest sends on its own stdout and stderr, at the end of a block.
    fn take_texts(&mut self, output: Output) {
        for (stream, text) in [
            (Stream::Stdout, output.stdout),
            (Stream::Stderr, output.stderr),
        ] {
            if !text.is_empty() {
                self.take_output(stream, Bytes::from(text));
            }
        }
    }

    /// A frame that is none: whoever waits for its answer must have one.
    fn on_malformed(&mut self, error: DecodeError) {
        if self.may_log() {
            tracing::warn!(turn = %self.block.turn, %error, "the guest sent a malformed frame");
        }
        if let Some(id) = error.call {
            let message = format!("the call could not be read: {}", error.fault);
            self.answer(id, Err(ToolErrorPayload::new("InvalidCall", message)));
        }
    }

    // The end.

    /// The control channel is closed: finds out why.
    async fn lost(&mut self) -> End {
        let cause = match timeout(EXIT_WITHIN, self.live.handle.exited()).await {
            Ok(exit) => LossCause::Exit(exit),
            Err(_) => LossCause::Exit(Exit::Lost {
                detail: "its connection was closed".into(),
            }),
        };
        End::Lost(cause)
    }

    async fn finish(mut self, end: End) -> (BlockOutcome, Option<Live>) {
        self.live.handle.set_running(false);
        let stopping = self.stopping.as_ref().map(|stopping| stopping.reason);
        let (ending, state) = match end {
            End::Done(done) => self.on_done(done, stopping),
            End::Lost(cause) => {
                let started = match (&self.done, self.sent) {
                    (Some(_), _) => Started::Ran,
                    (None, true) => Started::MayHaveRun,
                    (None, false) => Started::NotRun,
                };
                (Ending::SandboxLost { cause, started }, BlockState::Lost)
            }
            End::Host(message) => (Ending::HostError { message }, BlockState::Lost),
        };
        self.cancel_calls("cancelled, because the code that called it has ended");
        self.wait_calls_gone().await;
        if state == BlockState::Lost {
            self.live.handle.close().await;
        }
        self.drain_output();
        let mut outcome = BlockOutcome {
            state,
            ..BlockOutcome::new(self.block.number, ending)
        };
        outcome.earlier_output = String::from_utf8_lossy(&self.earlier).into_owned();
        let (images, notes) = self.images.finish();
        outcome.images = images;
        self.notes.extend(notes);
        if let Some(result) = self.done.take().and_then(|done| done.result) {
            match result_value(result) {
                Ok(result) => outcome.result = Some(result),
                Err(note) => self.notes.push(note),
            }
        }
        self.records.sort_by_key(|record| record.call);
        outcome.calls = std::mem::take(&mut self.records);
        outcome.unrecorded_calls = self.unrecorded;
        self.keep
            .finish(
                &mut outcome,
                &mut self.live,
                self.block.limits,
                self.block.sink,
            )
            .await;
        for note in &self.notes {
            outcome.stderr.text.extend(["[", note, "]\n"]);
        }
        (outcome, (state == BlockState::Kept).then_some(self.live))
    }

    fn on_done(&mut self, done: Done, stopping: Option<StopReason>) -> (Ending, BlockState) {
        let Some(reason) = stopping else {
            let exit_code = done.exit_code.get();
            self.done = Some(done);
            return (Ending::Completed { exit_code }, BlockState::Kept);
        };
        if done.background_work {
            let cause = LossCause::WorkLeft(reason);
            return (
                Ending::SandboxLost {
                    cause,
                    started: Started::MayHaveRun,
                },
                BlockState::Lost,
            );
        }
        // Child processes of a stopped block would go on for ever.
        self.live.handle.sweep();
        (Ending::Interrupted { reason }, BlockState::Kept)
    }

    /// Takes what was written before the end.
    fn drain_output(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let mut parts = Vec::new();
            let source = match stream {
                Stream::Stdout => &mut self.live.stdout,
                Stream::Stderr => &mut self.live.stderr,
            };
            let take = |bytes: &[u8]| parts.push(Bytes::copy_from_slice(bytes));
            drain(source, &mut self.scratch, take);
            for part in parts {
                self.take_output(stream, part);
            }
        }
    }
}

/// The value, or what is to be said of it if it is too large.
fn result_value(result: BlockResult) -> Result<ResultValue, String> {
    let mut type_name = result.type_name;
    if let Some((at, _)) = type_name.char_indices().nth(200) {
        type_name.truncate(at);
    }
    let bytes = match &result.content {
        ResultContent::Value(value) => value.get().len(),
        ResultContent::Repr(text) => text.len(),
    };
    if bytes > MAX_RESULT_BYTES {
        return Err(format!(
            "the value of the last expression was dropped: its {bytes} bytes are more than the limit of \
             {MAX_RESULT_BYTES}"
        ));
    }
    Ok(match result.content {
        ResultContent::Value(value) => ResultValue::Json { type_name, value },
        ResultContent::Repr(text) => ResultValue::Repr { type_name, text },
    })
}
