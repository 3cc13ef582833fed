//! `codehatch run`.

use std::{
    fs,
    io::{self, IsTerminal, Read, Write},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context, anyhow};
use codehatch::{BlockOutcome, Engine, Stop, Turn};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{
    args::RunArguments,
    exit::{self, UsageError},
    progress::Progress,
    report::{Report, value_text},
    setup,
    value::{Size, Time},
};

pub(crate) async fn run(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    let mut config = setup::load(&arguments.source)?;
    if let Some(time) = arguments.timeout {
        config.limits.block_time = Some(Time(time));
    }
    if let Some(size) = arguments.memory {
        config.limits.memory = Some(Size(size.as_u64()));
    }
    if let Some(dir) = &arguments.artifacts {
        config.artifacts.dir = Some(dir.clone());
    }
    let blocks = read_blocks(&arguments)?;
    let inputs = read_inputs(&arguments.input)?;
    let engine = setup::engine(&config).await?;
    let code = run_blocks(
        &engine,
        &arguments,
        &blocks,
        inputs,
        config.artifacts.dir.is_some(),
    )
    .await;
    engine.close().await;
    code.map(ExitCode::from)
}

/// A block's code and what to call it.
struct Source {
    name: String,
    code: String,
}

fn read_blocks(arguments: &RunArguments) -> anyhow::Result<Vec<Source>> {
    let from_arguments = arguments.code.iter();
    let mut blocks: Vec<Source> = from_arguments
        .map(|code| Source {
            name: "-c".into(),
            code: code.clone(),
        })
        .collect();
    for file in &arguments.files {
        let name = file.display().to_string();
        let bytes = if file == Path::new("-") {
            let mut bytes = Vec::new();
            io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .context("cannot read standard input")?;
            bytes
        } else {
            fs::read(file)
                .with_context(|| format!("cannot read `{name}`"))
                .context(UsageError)?
        };
        let code = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..at].split(|&byte| byte == b'\n').count();
            let what =
                format!("`{name}` is not UTF-8 text (byte {at}, line {line}): save it as UTF-8");
            anyhow!(what).context(UsageError)
        })?;
        blocks.push(Source { name, code });
    }
    Ok(blocks)
}

fn read_inputs(inputs: &[String]) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for input in inputs {
        let (path, name) = if let Some((path, name)) = input.split_once('=') {
            (Path::new(path), name.to_owned())
        } else {
            let path = Path::new(input);
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            (path, name.unwrap_or_default())
        };
        let read =
            fs::read(path).with_context(|| format!("cannot read the input `{}`", path.display()));
        files.push((name, read.context(UsageError)?));
    }
    Ok(files)
}

async fn run_blocks(
    engine: &Engine,
    arguments: &RunArguments,
    blocks: &[Source],
    inputs: Vec<(String, Vec<u8>)>,
    keeps_artifacts: bool,
) -> anyhow::Result<u8> {
    report_providers(engine).await;
    let mut turn = engine.turn();
    for (name, contents) in inputs {
        let put = turn.put_file(&name, contents).await;
        put.with_context(|| format!("cannot put the input `{name}` into the workspace"))?;
    }
    let mut signals = Signals::new()?;
    let mut code = 0;
    for source in blocks {
        let ended = run_block(&mut turn, source, arguments.json, &mut signals).await?;
        let Some(outcome) = ended else {
            // Killed: the sandbox went with the execution.
            return Ok(exit::INTERRUPTED);
        };
        code = exit::code_of(&outcome);
        if arguments.json {
            Report::new(&source.name, &outcome, code).write(io::stdout().lock())?;
        } else {
            print_rest(&outcome, keeps_artifacts)?;
        }
        if code != 0 {
            break;
        }
    }
    turn.close().await;
    Ok(code)
}

/// A server that is down is worth a line before its tools are missed.
async fn report_providers(engine: &Engine) {
    for provider in engine.providers().await {
        if let Some(error) = provider.error {
            let _ = writeln!(io::stderr(), "codehatch: {error}");
        }
    }
}

/// Runs one block. `None` if it was killed by a second Ctrl-C.
async fn run_block(
    turn: &mut Turn,
    source: &Source,
    quiet: bool,
    signals: &mut Signals,
) -> anyhow::Result<Option<BlockOutcome>> {
    let stopper = turn.stopper();
    let mut execution = turn.execute(source.code.clone());
    if quiet {
        let mut outcome = execution.into_future();
        loop {
            tokio::select! {
                biased;
                () = signals.next() => if !signals.stop(&stopper) { return Ok(None) },
                outcome = &mut outcome => return Ok(Some(outcome)),
            }
        }
    }
    let mut progress = Progress::new();
    loop {
        tokio::select! {
            biased;
            () = signals.next() => if !signals.stop(&stopper) { return Ok(None) },
            event = execution.next_event() => match event {
                Some(event) => {
                    if let Err(error) = progress.event(&event, &source.name) {
                        return broken_output(error);
                    }
                }
                None => break,
            },
        }
    }
    Ok(Some(execution.await))
}

/// Whoever read the output has gone: nothing is left to do, and no fault of anybody's.
fn broken_output(error: io::Error) -> anyhow::Result<Option<BlockOutcome>> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Ok(None);
    }
    Err(anyhow::Error::new(error).context("cannot write the block's output"))
}

fn print_rest(outcome: &BlockOutcome, keeps_artifacts: bool) -> anyhow::Result<()> {
    if let Some(result) = &outcome.result {
        writeln!(io::stdout().lock(), "{}", value_text(result))?;
    }
    let mut err = io::stderr().lock();
    if let Some(message) = outcome.message() {
        writeln!(err, "codehatch: {message}")?;
    }
    for skipped in &outcome.skipped {
        writeln!(
            err,
            "codehatch: `{}` was not kept: {}",
            skipped.path, skipped.reason
        )?;
    }
    if outcome.artifacts.is_empty() || !io::stderr().is_terminal() {
        return Ok(());
    }
    for saved in &outcome.artifacts {
        writeln!(
            err,
            "codehatch: saved {} (version {}, {} bytes)",
            saved.name, saved.version, saved.bytes
        )?;
    }
    if !keeps_artifacts {
        writeln!(
            err,
            "codehatch: artifacts are gone when this command ends; --artifacts DIR keeps them"
        )?;
    }
    Ok(())
}

/// Ctrl-C and its kin.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    stops: usize,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            stops: 0,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Stops the block for the first signal; `false` for the second.
    fn stop(&mut self, stopper: &Stop) -> bool {
        self.stops += 1;
        stopper.stop();
        self.stops < 2
    }
}
