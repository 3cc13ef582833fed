//! `codehatch run`.

use std::{process::ExitCode, time::Duration};

use anyhow::Context;
use bytes::Bytes;
use codehatch::{BlockOutcome, Engine, Event, FileError, Stream, Turn, runtime::WorkspaceError};
use tokio::time::{Instant, sleep_until};

use crate::{
    args::RunArguments,
    config::Config,
    exit::{self, UsageError},
    report::{Report, messages, value_text},
    screen::Screen,
    servers, setup,
    signals::{Signal, Signals},
    sources::{self, Input, Source},
};

/// How long a block that is to stop waits for the reader of its output.
const SLOW: Duration = Duration::from_secs(1);
/// How long a killed sandbox, or the reader of the output after a signal, is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) async fn run(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    let mut config = setup::load(&arguments.source)?;
    config.limits.block_time = arguments.timeout.or(config.limits.block_time);
    config.limits.memory = arguments.memory.or(config.limits.memory);
    if let Some(dir) = &arguments.artifacts {
        config.artifacts.dir = Some(dir.clone());
    }
    let limits = setup::limits(&config.limits);
    let blocks = sources::read_blocks(&arguments.files, &arguments.code, limits.code_bytes)?;
    let inputs = sources::read_inputs(&arguments.input, limits.sandbox.workspace_bytes)?;
    let mut signals = Signals::new()?;
    let engine = setup::engine(&config).await?;
    let run = Run {
        engine: &engine,
        config: &config,
        screen: Screen::start().context("cannot write the output")?,
        json: arguments.json,
    };
    let code = run.all(&blocks, inputs, &mut signals).await;
    // What is left when this is cut short ends with this process.
    tokio::select! {
        _ = signals.next() => {}
        () = engine.close() => {}
    }
    code.map(ExitCode::from)
}

/// What runs, and how it is shown.
struct Run<'a> {
    engine: &'a Engine,
    config: &'a Config,
    screen: Screen,
    json: bool,
}

/// A block's end, or why there is none.
enum Ended {
    Outcome(Box<BlockOutcome>),
    /// The user did not want to wait any longer.
    Abandoned(Signal),
}

impl Run<'_> {
    /// Runs the blocks up to the first that fails; the exit code.
    async fn all(
        &self,
        blocks: &[Source],
        inputs: Vec<Input>,
        signals: &mut Signals,
    ) -> anyhow::Result<u8> {
        let providers = tokio::select! {
            biased;
            signal = signals.next() => return Ok(signal.exit_code()),
            reports = servers::ask(self.engine, self.config, &self.screen) => reports,
        };
        // A server that is down is worth a line before its tools are missed.
        for complaint in providers.iter().filter_map(servers::complaint) {
            self.say(&complaint).await?;
        }
        let mut turn = self.engine.turn();
        for (name, contents) in inputs {
            tokio::select! {
                biased;
                signal = signals.next() => return Ok(signal.exit_code()),
                put = turn.put_file(&name, contents) => {
                    put.map_err(|error| in_words(&name, error))?;
                }
            }
        }
        let mut code = 0;
        for source in blocks {
            let outcome = match self.block(&mut turn, source, signals).await? {
                Ended::Outcome(outcome) => outcome,
                // The sandbox went with the execution.
                Ended::Abandoned(signal) => return Ok(signal.exit_code()),
            };
            code = exit::code_of(&outcome, signals.first);
            tokio::select! {
                // The reader of the output may have stopped reading.
                signal = after(signals) => return Ok(signal.exit_code()),
                printed = self.print(source, &outcome, code) => printed?,
            }
            if code != 0 {
                break;
            }
        }
        turn.close().await;
        Ok(code)
    }

    /// Runs one block. The first signal stops it, the second kills it.
    async fn block(
        &self,
        turn: &mut Turn,
        source: &Source,
        signals: &mut Signals,
    ) -> anyhow::Result<Ended> {
        let stopper = turn.stopper();
        let mut execution = turn.execute(source.code.clone());
        let mut status = Status::new(&source.name);
        // Output that the screen has no room for: meanwhile no events are read, and the sandbox waits.
        let mut waiting: Option<(Stream, Bytes)> = None;
        let mut dropped = 0;
        let mut drop_from: Option<Instant> = None;
        let mut give_up: Option<(Signal, Instant)> = None;
        loop {
            // A block that is to stop waits for a slow reader no longer than that.
            let drops = drop_from.is_some_and(|from| from <= Instant::now());
            tokio::select! {
                biased;
                signal = signals.next() => match signals.count {
                    1 => {
                        stopper.stop();
                        drop_from = Some(Instant::now() + SLOW);
                    }
                    2 => {
                        stopper.kill();
                        give_up = Some((signal, Instant::now() + PATIENCE));
                    }
                    _ => return Ok(Ended::Abandoned(signal)),
                },
                signal = passed(give_up) => return Ok(Ended::Abandoned(signal)),
                room = self.screen.room(), if waiting.is_some() => {
                    let room = room.context("cannot write the block's output")?;
                    if let Some((stream, bytes)) = waiting.take() {
                        room.write(stream, bytes);
                    }
                }
                () = sleep_until(drop_from.unwrap_or_else(Instant::now)), if drop_from.is_some() && !drops => {}
                event = execution.next_event(), if waiting.is_none() || drops => match event {
                    None => break,
                    // It is all in the report.
                    Some(Event::Output { .. }) if self.json => {}
                    Some(Event::Output { stream, bytes }) => match &waiting {
                        None => waiting = Some((stream, bytes)),
                        Some(_) => dropped += bytes.len(),
                    },
                    Some(event) => {
                        if status.note(&event) {
                            self.screen.status(Some(status.text()));
                        }
                    }
                },
            }
        }
        self.screen.status(None);
        let outcome = execution.await;
        tokio::select! {
            signal = after(signals) => return Ok(Ended::Abandoned(signal)),
            written = self.rest(waiting, dropped) => written?,
        }
        Ok(Ended::Outcome(Box::new(outcome)))
    }

    /// Writes what was left when the block ended.
    async fn rest(&self, waiting: Option<(Stream, Bytes)>, dropped: usize) -> anyhow::Result<()> {
        if let Some((stream, bytes)) = waiting {
            let room = self.screen.room().await;
            room.context("cannot write the block's output")?
                .write(stream, bytes);
        }
        if dropped > 0 {
            let note = format!("{dropped} bytes of output were not written: nobody read them");
            self.say(&note).await?;
        }
        Ok(())
    }

    /// Prints what there is to say once a block has ended.
    async fn print(&self, source: &Source, outcome: &BlockOutcome, code: u8) -> anyhow::Result<()> {
        if self.json {
            let line = Report::new(&source.name, outcome, code).to_line()?;
            self.line(Stream::Stdout, &line).await?;
        } else {
            if let Some(result) = &outcome.result {
                self.line(Stream::Stdout, value_text(result)).await?;
            }
            let watched = self.screen.has_terminal();
            let keeps_artifacts = self.config.artifacts.dir.is_some();
            for message in messages(outcome, watched, keeps_artifacts) {
                self.say(&message).await?;
            }
        }
        self.screen
            .flush()
            .await
            .context("cannot write the block's output")
    }

    /// A message of the command itself.
    async fn say(&self, message: &str) -> anyhow::Result<()> {
        self.line(Stream::Stderr, &format!("codehatch: {message}"))
            .await
    }

    async fn line(&self, stream: Stream, text: &str) -> anyhow::Result<()> {
        let room = self.screen.room().await;
        room.context("cannot write the output")?
            .write_line(stream, text);
        Ok(())
    }
}

fn in_words(input: &str, error: FileError) -> anyhow::Error {
    let is_users = matches!(
        error,
        FileError::Workspace(WorkspaceError::Path { .. } | WorkspaceError::Full { .. })
    );
    let error = anyhow::Error::new(error)
        .context(format!("cannot put the input `{input}` into the workspace"));
    if is_users {
        error.context(UsageError::default())
    } else {
        error
    }
}

/// Waits until `give_up`, for ever if there is none.
async fn passed(give_up: Option<(Signal, Instant)>) -> Signal {
    match give_up {
        Some((signal, at)) => {
            sleep_until(at).await;
            signal
        }
        None => std::future::pending().await,
    }
}

/// Waits for a further signal, or for a while after the first.
async fn after(signals: &mut Signals) -> Signal {
    let patience = signals
        .first
        .map(|signal| (signal, Instant::now() + PATIENCE));
    tokio::select! {
        signal = signals.next() => signal,
        signal = passed(patience) => signal,
    }
}

/// What a block is doing, in words.
struct Status<'a> {
    source: &'a str,
    calls: usize,
    running: Vec<String>,
}

impl<'a> Status<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            calls: 0,
            running: Vec::new(),
        }
    }

    /// Takes note of an event; whether that changes the words.
    fn note(&mut self, event: &Event) -> bool {
        match event {
            Event::BlockStarted { .. } => {}
            Event::CallStarted { tool, .. } => {
                self.calls += 1;
                self.running.push(tool.clone());
            }
            Event::CallEnded { tool, .. } => {
                if let Some(at) = self.running.iter().position(|running| running == tool) {
                    self.running.remove(at);
                }
            }
            _ => return false,
        }
        true
    }

    fn text(&self) -> String {
        let source = self.source;
        let mut text = match self.calls {
            0 => format!("running {source}"),
            1 => format!("running {source}: 1 tool call"),
            calls => format!("running {source}: {calls} tool calls"),
        };
        if let Some(tool) = self.running.last() {
            text.push_str(", now ");
            text.push_str(tool);
        }
        text
    }
}
