//! One block: a single task that owns its state and answers every event.

use std::{
    collections::HashMap,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use codehatch_artifacts::ArtifactStore;
use codehatch_protocol::{
    BlockResult, CallId, DecodeError, DecodeFault, Done, EXTENSION_IMAGE, EXTENSION_RESULT,
    GuestFrame, HostFrame, Image, Interrupt, Log, Output, Ready, ResultContent, Run, Stream,
    ToolCall, ToolErrorPayload, ToolResult,
};
use codehatch_runtime::Exit;
use futures_util::FutureExt;
use tokio::{
    sync::watch,
    task::{Id, JoinSet},
    time::{self, sleep_until, timeout},
};

use crate::{
    dispatch::{Answer, Dispatcher},
    event::Event,
    ids::{BlockNumber, CallNumber, TurnId},
    keep::{self, Keep},
    limits::TurnLimits,
    outcome::{
        BlockOutcome, BlockState, CallRecord, Ending, LossCause, ResultValue, Started, StopReason,
    },
    output::{READ_BYTES, drain, read},
    turn::{EventSink, Live, StopRequest},
};

/// How often a block that does not stop is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How often the use of processor time is looked at.
const CPU_PERIOD: Duration = Duration::from_millis(500);
/// How long a sandbox that has closed its control channel may take to end.
const EXIT_WITHIN: Duration = Duration::from_secs(2);
/// Bytes that may wait for a guest to read them, before no more is read from it.
const MAX_QUEUED_BYTES: usize = 1024 * 1024;
/// Images of one block.
const MAX_IMAGES: usize = 16;
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

/// A call under way.
struct Pending {
    id: CallId,
    call: CallNumber,
    tool: String,
    began: Instant,
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

/// A block that was asked to stop.
struct Stopping {
    reason: StopReason,
    kill_at: time::Instant,
    ask_at: time::Instant,
}

struct Running<'a> {
    block: Block<'a>,
    live: Live,
    call_count: &'a mut u64,
    calls: JoinSet<Answer>,
    pending: HashMap<Id, Pending>,
    records: Vec<CallRecord>,
    keep: Keep,
    earlier: Vec<u8>,
    stopping: Option<Stopping>,
    deadline: time::Instant,
    cpu_before: Option<Duration>,
    cpu_at: time::Instant,
    /// The `run` frame has left the host, or may have.
    sent: bool,
    done: Option<Done>,
    images: Vec<(String, Bytes)>,
    notes: Vec<String>,
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
            block,
            live,
            call_count,
            calls: JoinSet::new(),
            pending: HashMap::new(),
            records: Vec::new(),
            keep,
            earlier: Vec::new(),
            stopping: None,
            sent: false,
            done: None,
            images: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn begin(&mut self) {
        // Whatever is there now was written by work that earlier blocks left behind.
        for stream in [&mut self.live.stdout, &mut self.live.stderr] {
            let earlier = &mut self.earlier;
            drain(stream, |bytes| {
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

    // Time.

    fn on_deadline(&mut self) -> Option<End> {
        match &self.stopping {
            None => {
                self.stop(StopReason::TimeLimit(self.block.limits.block_time));
                None
            }
            Some(stopping) => Some(End::Lost(LossCause::NotStopped(stopping.reason))),
        }
    }

    fn on_stop(&mut self, request: StopRequest) -> Option<End> {
        match (&self.stopping, request.at_once) {
            (Some(stopping), true) => Some(End::Lost(LossCause::NotStopped(stopping.reason))),
            (None, true) => {
                // Its calls end as those of any block that is stopped.
                self.stop(StopReason::Requested);
                Some(End::Lost(LossCause::NotStopped(StopReason::Requested)))
            }
            (None, false) => {
                self.stop(StopReason::Requested);
                None
            }
            (Some(_), false) => None,
        }
    }

    fn look_at_cpu(&mut self, limit: Option<Duration>) {
        self.cpu_at = time::Instant::now() + CPU_PERIOD;
        let used = self.live.handle.usage().cpu.zip(self.cpu_before);
        if let (Some((now, before)), Some(limit)) = (used, limit)
            && now.saturating_sub(before) > limit
        {
            self.stop(StopReason::CpuLimit(limit));
        }
    }

    /// Asks the block to stop, and its calls with it.
    fn stop(&mut self, reason: StopReason) {
        self.block.sink.send(Event::Stopping { reason });
        let now = time::Instant::now();
        self.stopping = Some(Stopping {
            reason,
            kill_at: now + self.block.limits.grace,
            ask_at: now,
        });
        self.ask();
        // A guest that waits for an answer sees the interrupt only when it has one.
        self.cancel_calls(&format!(
            "cancelled, because the code was stopped: {reason}"
        ));
    }

    fn ask(&mut self) {
        let Some(stopping) = &mut self.stopping else {
            return;
        };
        stopping.ask_at = time::Instant::now() + ASK_AGAIN;
        if self.live.writer.version().takes_interrupt() {
            let message = format!("stopped by the host: {}", stopping.reason);
            self.live
                .writer
                .queue(&HostFrame::Interrupt(Interrupt { message }));
        } else {
            // An older guest can only be killed.
            stopping.kill_at = time::Instant::now();
        }
        // The guest finds out why it is signalled, if it takes the frame before the signal.
        let _ = self.live.writer.flush().now_or_never();
        self.live.handle.interrupt();
    }

    // Frames.

    fn on_frame(&mut self, frame: Result<GuestFrame, DecodeError>) -> Option<End> {
        match frame {
            Ok(GuestFrame::ToolCall(call)) => self.on_call(call),
            Ok(GuestFrame::Ready(ready)) => return self.on_ready(&ready),
            Ok(GuestFrame::Done(done)) => {
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
            Ok(GuestFrame::Image(image)) => self.on_image(&image),
            Ok(GuestFrame::Log(Log { level, msg })) => {
                tracing::debug!(turn = %self.block.turn, level, msg, "the guest says");
            }
            Err(DecodeError {
                fault: DecodeFault::Blank,
                ..
            }) => {}
            Err(error) => self.on_malformed(error),
        }
        None
    }

    fn on_ready(&mut self, ready: &Ready) -> Option<End> {
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

    fn on_image(&mut self, image: &Image) {
        let limit = self.block.limits.image_bytes;
        let Some(bytes) = keep::decode_base64(&image.data, limit) else {
            self.notes.push(format!(
                "an image was dropped: it is no image of at most {limit} bytes"
            ));
            return;
        };
        if self.images.len() == MAX_IMAGES || !image.mime_type.starts_with("image/") {
            self.notes.push(format!(
                "an image was dropped: a block has at most {MAX_IMAGES}"
            ));
            return;
        }
        self.images.push((image.mime_type.clone(), bytes));
    }

    /// A frame that is none: whoever waits for its answer must have one.
    fn on_malformed(&mut self, error: DecodeError) {
        tracing::warn!(turn = %self.block.turn, %error, "the guest sent a malformed frame");
        if let Some(id) = error.call {
            let message = format!("the call could not be read: {}", error.fault);
            self.answer(id, Err(ToolErrorPayload::new("InvalidCall", message)));
        }
    }

    // Calls.

    fn on_call(
        &mut self,
        ToolCall {
            id,
            name,
            args,
            timeout,
        }: ToolCall,
    ) {
        let began = Instant::now();
        *self.call_count += 1;
        let call = CallNumber(*self.call_count);
        let mut prepared = self.block.dispatcher.call(&name, args, timeout);
        self.block.sink.send(Event::CallStarted {
            call,
            tool: prepared.tool.clone(),
        });
        let pending = Pending {
            id,
            call,
            tool: prepared.tool,
            began,
        };
        if self.stopping.is_some() {
            let message = format!(
                "tool `{}` was not called: the code is being stopped",
                pending.tool
            );
            return self.end_call(pending, Err(ToolErrorPayload::new("Cancelled", message)));
        }
        // Most tools in the host's process answer at once: no task is worth its cost then.
        if let Some(answer) = (&mut prepared.run).now_or_never() {
            self.end_call(pending, answer);
        } else {
            let task = self.calls.spawn(prepared.run);
            self.pending.insert(task.id(), pending);
        }
    }

    fn on_call_ended(&mut self, ended: Result<(Id, Answer), tokio::task::JoinError>) {
        let (id, answer) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                let message = "the call failed inside the host; its log says more";
                (error.id(), Err(ToolErrorPayload::new("HostError", message)))
            }
        };
        if let Some(pending) = self.pending.remove(&id) {
            self.end_call(pending, answer);
        }
    }

    fn end_call(&mut self, pending: Pending, answer: Answer) {
        let Pending {
            id,
            call,
            tool,
            began,
        } = pending;
        let (ok, took) = (answer.is_ok(), began.elapsed());
        self.answer(id, answer);
        self.block.sink.send(Event::CallEnded {
            call,
            tool: tool.clone(),
            ok,
            took,
        });
        self.records.push(CallRecord {
            call,
            tool,
            ok,
            took,
        });
    }

    fn answer(&mut self, id: CallId, answer: Answer) {
        let result = match answer {
            Ok(value) => ToolResult::success(id, value),
            Err(error) => ToolResult::failure(id, error),
        };
        self.live.writer.queue(&HostFrame::ToolResult(result));
    }

    /// Ends every call under way with an error.
    fn cancel_calls(&mut self, why: &str) {
        self.calls.abort_all();
        let mut pending: Vec<Pending> = self.pending.drain().map(|(_, pending)| pending).collect();
        pending.sort_by_key(|pending| pending.call);
        for pending in pending {
            let message = format!("tool `{}` was {why}", pending.tool);
            self.end_call(pending, Err(ToolErrorPayload::new("Cancelled", message)));
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
        if state == BlockState::Lost {
            self.live.handle.close().await;
        }
        self.drain_output();
        let mut outcome = BlockOutcome {
            state,
            ..BlockOutcome::new(self.block.number, ending)
        };
        outcome.earlier_output = String::from_utf8_lossy(&self.earlier).into_owned();
        outcome.images = std::mem::take(&mut self.images);
        if let Some(Done {
            result: Some(result),
            ..
        }) = self.done.take()
        {
            outcome.result = Some(result_value(result));
        }
        self.records.sort_by_key(|record| record.call);
        outcome.calls = std::mem::take(&mut self.records);
        self.keep
            .finish(
                &mut outcome,
                &mut self.live,
                self.block.limits,
                self.block.sink,
            )
            .await;
        for note in &self.notes {
            outcome.stderr.text.extend([
                "[", note, "]
",
            ]);
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
            drain(source, |bytes| parts.push(Bytes::copy_from_slice(bytes)));
            for part in parts {
                self.take_output(stream, part);
            }
        }
    }
}

fn result_value(result: BlockResult) -> ResultValue {
    let type_name = result.type_name;
    match result.content {
        ResultContent::Value(value) => ResultValue::Json { type_name, value },
        ResultContent::Repr(text) => ResultValue::Repr { type_name, text },
    }
}
