//! One turn on an engine of its own, and short words for running blocks in it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use codehatch::{
    BlockOutcome, Builder, Ending, Engine, EngineLimits, Observer, ResultValue, Turn, TurnLimits,
    artifacts::{ArtifactName, ArtifactStore, DirectoryOptions},
    function::FunctionTool,
    local::LocalConfig,
};

/// Limits for tests: what does not end by itself fails its test long before the runner loses patience.
pub(crate) fn quick() -> TurnLimits {
    TurnLimits::default()
        .with_block_time(Duration::from_secs(20))
        .with_grace(Duration::from_secs(2))
}

/// How a [`Session`] is set up.
pub(crate) struct Setup {
    builder: Builder,
    local: LocalConfig,
    limits: TurnLimits,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self {
            builder: Builder::new(),
            local: LocalConfig::default(),
            limits: quick(),
        }
    }

    pub(crate) fn limits(mut self, limits: TurnLimits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn block_time(mut self, milliseconds: u64) -> Self {
        self.limits = self
            .limits
            .with_block_time(Duration::from_millis(milliseconds));
        self
    }

    pub(crate) fn memory(mut self, mebibytes: u64) -> Self {
        let sandbox = self.limits.sandbox;
        let sandbox = sandbox.with_memory_bytes(mebibytes * 1024 * 1024);
        self.limits = self.limits.with_sandbox(sandbox);
        self
    }

    pub(crate) fn engine_limits(mut self, limits: EngineLimits) -> Self {
        self.builder = self.builder.engine_limits(limits);
        self
    }

    pub(crate) fn tool(mut self, tool: FunctionTool) -> Self {
        self.builder = self.builder.tool(tool);
        self
    }

    pub(crate) fn observer(mut self, observer: &Arc<impl Observer + 'static>) -> Self {
        let observer = Arc::clone(observer);
        self.builder = self.builder.observer(observer);
        self
    }

    pub(crate) fn python(mut self, python: impl Into<PathBuf>) -> Self {
        self.local = self.local.with_python(python);
        self
    }

    pub(crate) fn store(mut self, store: &Arc<impl ArtifactStore + 'static>) -> Self {
        let store = Arc::clone(store);
        self.builder = self.builder.artifacts(store);
        self
    }

    pub(crate) fn artifacts_in(mut self, directory: impl Into<PathBuf>) -> Self {
        let options = DirectoryOptions::default().with_sync(false);
        self.builder = self.builder.artifacts_in(directory, options);
        self
    }

    pub(crate) async fn start(self) -> Session {
        let builder = self.builder.local(self.local).limits(self.limits);
        let engine = builder.build().await.expect("an engine");
        let turn = engine.turn();
        Session { engine, turn }
    }
}

/// An engine and one turn of it.
pub(crate) struct Session {
    pub(crate) engine: Engine,
    pub(crate) turn: Turn,
}

impl Session {
    pub(crate) async fn new() -> Self {
        Setup::new().start().await
    }

    /// Runs a block, whatever becomes of it.
    pub(crate) async fn outcome(&mut self, code: &str) -> BlockOutcome {
        self.turn.execute(python(code)).await
    }

    /// Runs a block that must end so.
    pub(crate) async fn ends(&mut self, code: &str, ending: Ending) -> BlockOutcome {
        let outcome = self.outcome(code).await;
        assert!(outcome.ending == ending, "{}", dump(code, &outcome));
        outcome
    }

    /// Runs a block that must complete with exit code 0.
    pub(crate) async fn run(&mut self, code: &str) -> BlockOutcome {
        self.ends(code, Ending::Completed { exit_code: 0 }).await
    }

    /// Runs a block that must raise.
    pub(crate) async fn raises(&mut self, code: &str) -> BlockOutcome {
        self.ends(code, Ending::Completed { exit_code: 1 }).await
    }

    /// What a block prints that must complete, and write nothing to standard error.
    pub(crate) async fn prints(&mut self, code: &str) -> String {
        let outcome = self.run(code).await;
        assert!(outcome.stderr.text.is_empty(), "{}", dump(code, &outcome));
        outcome.stdout.text
    }

    /// Another turn of the same engine.
    pub(crate) fn another(&self) -> Self {
        Self {
            engine: self.engine.clone(),
            turn: self.engine.turn(),
        }
    }

    pub(crate) async fn close(self) {
        self.turn.close().await;
        self.engine.close().await;
    }
}

/// A program, without the indentation of the test around it where it begins with a line break.
pub(crate) fn python(code: &str) -> String {
    let Some(code) = code.strip_prefix('\n') else {
        return code.to_owned();
    };
    let indent = code.len() - code.trim_start_matches(' ').len();
    let lines = code
        .lines()
        .map(|line| line.get(indent..).unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Everything about a block, for the message of a failed assertion.
pub(crate) fn dump(code: &str, outcome: &BlockOutcome) -> String {
    let shorten = |text: &str| match text.char_indices().nth(4000) {
        Some((at, _)) => format!("{} [... cut by the test]", &text[..at]),
        None => text.to_owned(),
    };
    format!(
        "the block ended otherwise than it should\n--- code\n{}\n--- ending\n{:?}, state {:?}, after {:?}\n\
         --- stdout\n{}\n--- stderr\n{}\n--- result\n{:?}\n--- calls\n{:?}\n--- earlier\n{}\n",
        shorten(code),
        outcome.ending,
        outcome.state,
        outcome.took,
        shorten(&outcome.stdout.text),
        shorten(&outcome.stderr.text),
        outcome.result,
        outcome.calls,
        shorten(&outcome.earlier_output),
    )
}

/// The JSON text of a block's result.
pub(crate) fn json(outcome: &BlockOutcome) -> &str {
    match &outcome.result {
        Some(ResultValue::Json { value, .. }) => value.get(),
        other => panic!("no JSON result: {other:?}"),
    }
}

/// What the model is told of the ending.
pub(crate) fn message(outcome: &BlockOutcome) -> String {
    outcome.message().unwrap_or_default()
}

/// The bytes of the latest version of an artifact.
pub(crate) async fn artifact(store: &dyn ArtifactStore, name: &str) -> Vec<u8> {
    let name = ArtifactName::parse(name).expect("a name");
    let found = store.load(&name, None).await.expect("a store that works");
    found.expect("an artifact of this name").bytes.to_vec()
}
