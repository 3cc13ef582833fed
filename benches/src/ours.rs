//! Codehatch, through its library.

use std::{path::Path, sync::Arc, time::Instant};

use anyhow::{Context, bail};
use codehatch::{
    BlockOutcome, Builder, Engine, Event, RawJson, ToolFault, Turn,
    artifacts::DirectoryOptions,
    function::{FunctionProvider, FunctionTool},
    local::LocalConfig,
};
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::programs;

/// An engine with the tools of the programs.
pub(crate) struct Ours {
    engine: Engine,
    _artifacts: TempDir,
}

/// How long a turn took to run its first line and to end, in seconds.
pub(crate) struct Started {
    pub(crate) first_line: f64,
    pub(crate) close: f64,
}

/// A turn that runs many programs.
pub(crate) struct OurTurn(Turn);

impl Ours {
    pub(crate) async fn new(python: &Path, pool: usize) -> anyhow::Result<Self> {
        let object = json!({"type": "object", "properties": {"v": {}, "n": {"type": "integer"}}});
        let echo = FunctionTool::raw("echo", object.clone(), |args| async move { Ok(args) });
        let length = FunctionTool::raw("length", object.clone(), |args: RawJson| async move {
            json_text(args.get().len().to_string())
        });
        let payload = FunctionTool::raw("payload", object, |args: RawJson| async move {
            let args: Value = serde_json::from_str(args.get()).map_err(|error| fault(&error))?;
            let bytes = args["n"].as_u64().and_then(|n| usize::try_from(n).ok());
            json_text(text_of(bytes.unwrap_or_default()))
        });
        let provider = FunctionProvider::builder()
            .namespace("demo")
            .tool(echo)
            .tool(length)
            .tool(payload)
            .build()?;
        let artifacts = TempDir::new()?;
        let engine = Builder::new()
            .local(LocalConfig::default().with_python(python).with_pool(pool))
            .provider(Arc::new(provider))
            .artifacts_in(artifacts.path(), DirectoryOptions::default())
            .build()
            .await?;
        Ok(Self {
            engine,
            _artifacts: artifacts,
        })
    }

    /// A turn up to the first thing that its code does, then its end.
    pub(crate) async fn start(&self) -> anyhow::Result<Started> {
        let begin = Instant::now();
        let mut turn = self.engine.turn();
        let mut execution = turn.execute(programs::FIRST_LINE);
        let first_line = loop {
            match execution.next_event().await {
                Some(Event::Output { .. }) => break begin.elapsed(),
                Some(_) => {}
                None => return Err(failed(&execution.await)),
            }
        };
        good(execution.await)?;
        let begin = Instant::now();
        turn.close().await;
        Ok(Started {
            first_line: first_line.as_secs_f64(),
            close: begin.elapsed().as_secs_f64(),
        })
    }

    /// Turns a second, one after the other.
    pub(crate) async fn short_turns(&self, turns: u32) -> anyhow::Result<f64> {
        let begin = Instant::now();
        for _ in 0..turns {
            let mut turn = self.engine.turn();
            good(turn.execute(programs::SHORT).await)?;
            turn.close().await;
        }
        Ok(f64::from(turns) / begin.elapsed().as_secs_f64())
    }

    /// Turns a second, so many at a time.
    pub(crate) async fn short_turns_at_once(&self, lanes: u32, turns: u32) -> anyhow::Result<f64> {
        let begin = Instant::now();
        let lanes_of_turns = (0..lanes).map(|_| self.short_turns(turns));
        try_join_all(lanes_of_turns).await?;
        Ok(f64::from(lanes * turns) / begin.elapsed().as_secs_f64())
    }

    pub(crate) fn turn(&self) -> OurTurn {
        OurTurn(self.engine.turn())
    }

    pub(crate) async fn close(self) {
        self.engine.close().await;
    }
}

impl OurTurn {
    /// Seconds of a trivial block.
    pub(crate) async fn block(&mut self) -> anyhow::Result<f64> {
        let begin = Instant::now();
        good(self.0.execute(programs::TRIVIAL).await)?;
        Ok(begin.elapsed().as_secs_f64())
    }

    /// What a program prints about itself.
    pub(crate) async fn figure(&mut self, program: &str) -> anyhow::Result<f64> {
        let outcome = good(self.0.execute(program).await)?;
        let text = outcome.stdout.text.trim();
        text.parse().with_context(|| format!("no figure: {text:?}"))
    }

    /// Seconds until all of the output is here.
    pub(crate) async fn output(&mut self, megabytes: u32) -> anyhow::Result<f64> {
        let begin = Instant::now();
        let outcome = good(self.0.execute(programs::output(megabytes)).await)?;
        let took = begin.elapsed().as_secs_f64();
        if outcome.stdout.bytes != u64::from(megabytes) * 1_000_000 {
            bail!("{} bytes of output", outcome.stdout.bytes);
        }
        Ok(took)
    }

    pub(crate) async fn close(self) {
        self.0.close().await;
    }
}

/// A JSON string of so many characters.
pub(crate) fn text_of(bytes: usize) -> String {
    format!("\"{}\"", "x".repeat(bytes))
}

fn json_text(text: String) -> Result<RawJson, ToolFault> {
    RawJson::parse(text).map_err(|error| fault(&error))
}

fn fault(error: &dyn std::error::Error) -> ToolFault {
    ToolFault::Failed {
        kind: "ValueError".to_owned(),
        message: error.to_string(),
    }
}

fn good(outcome: BlockOutcome) -> anyhow::Result<BlockOutcome> {
    if outcome.is_success() {
        Ok(outcome)
    } else {
        Err(failed(&outcome))
    }
}

fn failed(outcome: &BlockOutcome) -> anyhow::Error {
    anyhow::anyhow!("{:?}: {}", outcome.ending, outcome.stderr.text)
}
