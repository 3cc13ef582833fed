//! rmcp's transport over a child process: one JSON message a line.

use std::{collections::VecDeque, io, sync::Arc, time::Duration};

use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::AsyncWriteExt,
    process::{ChildStdin, ChildStdout},
    sync::Mutex,
    time::{self, Instant},
};
use tokio_util::sync::CancellationToken;

use super::{
    lines::{Line, Lines},
    process::{Link, Process, Program},
};
use crate::wire::{Arrival, Codec, Envelope, WireFault};

/// One server process and the protocol with it. Dropping it kills the process group.
#[derive(Debug)]
pub(crate) struct StdioTransport {
    codec: Arc<Codec>,
    lines: Lines<ChildStdout>,
    ready: VecDeque<ServerJsonRpcMessage>,
    input: Arc<Input>,
    process: Process,
    link: Arc<Link>,
    settings: Settings,
    discovery_ends: Option<Instant>,
    noise: u64,
}

/// Bounds of the transport.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Longest line, in bytes.
    pub(crate) max_message_bytes: usize,
    /// How long an answer to `server/discover` is waited for before the older era is tried.
    pub(crate) discovery_wait: Duration,
}

/// The server's stdin. Lines are written one after the other.
#[derive(Debug)]
struct Input {
    pipe: Mutex<Option<ChildStdin>>,
    closing: CancellationToken,
}

impl StdioTransport {
    /// Starts the program.
    pub(crate) fn start(
        program: Program<'_>,
        codec: Arc<Codec>,
        settings: Settings,
    ) -> io::Result<Self> {
        let (process, stdin, stdout) = program.start()?;
        Ok(Self {
            codec,
            lines: Lines::new(stdout, settings.max_message_bytes),
            ready: VecDeque::new(),
            input: Arc::new(Input {
                pipe: Mutex::new(Some(stdin)),
                closing: CancellationToken::new(),
            }),
            link: process.link(),
            process,
            settings,
            discovery_ends: None,
            noise: 0,
        })
    }

    pub(crate) fn link(&self) -> Arc<Link> {
        Arc::clone(&self.link)
    }

    /// The next line, or `None` when `server/discover` has waited long enough.
    async fn line(&mut self) -> Option<io::Result<Line>> {
        if !self.codec.lifecycle.is_discovering() {
            return Some(self.lines.next().await);
        }
        let wait = self.settings.discovery_wait;
        let ends = *self
            .discovery_ends
            .get_or_insert_with(|| Instant::now() + wait);
        time::timeout_at(ends, self.lines.next()).await.ok()
    }

    fn take(&mut self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        for arrival in self.codec.decode(line) {
            self.sort(arrival, line);
        }
    }

    fn sort(&mut self, arrival: Arrival, line: &[u8]) {
        match arrival {
            Arrival::Message(message) => self.ready.push_back(*message),
            Arrival::Nothing => {}
            Arrival::Noise => {
                self.noise += 1;
                self.link.tail.push(line);
                self.link.tail.push(b"\n");
                // The first ones are worth a warning; a server that logs to stdout would flood the log.
                if self.noise.is_power_of_two() {
                    tracing::warn!(
                        bytes = line.len(),
                        skipped = self.noise,
                        "skipped a line of an MCP server's stdout that is not a message"
                    );
                }
            }
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let encoded = self.codec.encode(&item);
        let input = Arc::clone(&self.input);
        async move {
            let (mut line, exact) = encoded.map_err(io::Error::other)?;
            line.push(b'\n');
            let mut pipe = input.pipe.lock().await;
            let pipe = pipe.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            if let Some(exact) = &exact {
                exact.slot.sending();
            }
            let written = tokio::select! {
                biased;
                written = pipe.write_all(&line) => written,
                () = input.closing.cancelled() => Err(io::ErrorKind::BrokenPipe.into()),
            };
            if let (Err(_), Some(exact)) = (&written, &exact) {
                // Without its newline the line is no message.
                exact.slot.refused();
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            // Lines that wait in the buffer come at once: a flood of them would keep all timers and signals waiting.
            tokio::task::coop::consume_budget().await;
            match self.line().await {
                None => self.ready.extend(self.codec.give_up_discovery()),
                Some(Ok(Line::Whole(line))) => self.take(&line),
                Some(Ok(Line::TooLong(envelope))) => {
                    let limit = self.settings.max_message_bytes;
                    let arrival = self.codec.reject(&envelope, WireFault::TooLong { limit });
                    self.sort(arrival, b"(a line beyond the limit)");
                }
                Some(Ok(Line::End(rest))) => {
                    if Envelope::of(&rest).found().complete {
                        self.take(&rest);
                    } else if !rest.is_empty() {
                        self.sort(Arrival::Noise, &rest);
                    }
                    if self.ready.is_empty() {
                        self.process.note_exit().await;
                        return None;
                    }
                }
                Some(Err(_)) => {
                    self.process.note_exit().await;
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.link.ended.cancel();
        self.input.closing.cancel();
        // The end of its input asks the server to leave.
        self.input.pipe.lock().await.take();
        self.process.end().await;
        Ok(())
    }
}
