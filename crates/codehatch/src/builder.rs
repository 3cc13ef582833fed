//! Puts an engine together: the only place that names every runtime and provider.

use std::{path::PathBuf, sync::Arc};

use codehatch_artifacts::{
    ArtifactError, ArtifactLimits, ArtifactStore, DirectoryOptions, ObjectArtifactStore,
};
use codehatch_engine::{Engine, EngineBuilder, EngineLimits, Observer, TurnLimits};
use codehatch_runtime::SandboxRuntime;
use codehatch_tools::ToolProvider;

/// Builds an [`Engine`]: a runtime, tools, and a place for artifacts, each with a default.
///
/// Without a call of [`runtime`](Self::runtime) the embedded sandbox is used; without one of the methods for
/// artifacts they are kept in memory, as long as the engine lives.
#[derive(Debug, Default)]
pub struct Builder {
    engine: EngineBuilder,
    runtime: Option<Arc<dyn SandboxRuntime>>,
    artifacts: Artifacts,
    #[cfg(all(feature = "local", target_os = "linux"))]
    local: codehatch_local::LocalConfig,
    #[cfg(feature = "function")]
    functions: Vec<codehatch_function::FunctionTool>,
    #[cfg(feature = "mcp")]
    servers: Vec<codehatch_mcp::McpServer>,
}

#[derive(Debug, Default)]
enum Artifacts {
    #[default]
    Memory,
    Directory(PathBuf, DirectoryOptions),
    Store(Arc<dyn ArtifactStore>),
    None,
}

/// Why an engine could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The place for artifacts cannot be used.
    #[error("cannot use the place for artifacts: {0}")]
    Artifacts(#[from] ArtifactError),
    /// Two tools have one name, or a namespace cannot be one.
    #[cfg(feature = "function")]
    #[error(transparent)]
    Functions(#[from] codehatch_function::BuildError),
    /// An MCP server is described in a way that cannot work.
    #[cfg(feature = "mcp")]
    #[error(transparent)]
    Server(#[from] codehatch_mcp::InvalidServer),
    /// There is no sandbox to run in.
    #[error("no sandbox runtime: this build has none for this system, so one must be given")]
    NoRuntime,
}

impl Builder {
    /// An engine with the embedded sandbox, no tools of its own, and artifacts in memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses another runtime than the embedded one.
    #[must_use]
    pub fn runtime(mut self, runtime: Arc<dyn SandboxRuntime>) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Settings of the embedded sandbox, the Python it runs among them.
    #[cfg(all(feature = "local", target_os = "linux"))]
    #[must_use]
    pub fn local(mut self, config: codehatch_local::LocalConfig) -> Self {
        self.local = config;
        self
    }

    /// Adds a Rust function: `from tools import NAME`.
    #[cfg(feature = "function")]
    #[must_use]
    pub fn tool(mut self, tool: codehatch_function::FunctionTool) -> Self {
        self.functions.push(tool);
        self
    }

    /// Adds an MCP server: `from tools.SERVER import NAME`. It is started or connected with the first turn.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub fn mcp(mut self, server: codehatch_mcp::McpServer) -> Self {
        self.servers.push(server);
        self
    }

    /// Adds tools from anywhere.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn ToolProvider>) -> Self {
        self.engine = self.engine.provider(provider);
        self
    }

    /// Keeps artifacts below a directory, which is made if it is missing.
    #[must_use]
    pub fn artifacts_in(
        mut self,
        directory: impl Into<PathBuf>,
        options: DirectoryOptions,
    ) -> Self {
        self.artifacts = Artifacts::Directory(directory.into(), options);
        self
    }

    /// Keeps artifacts in a store of the caller's.
    #[must_use]
    pub fn artifacts(mut self, store: Arc<dyn ArtifactStore>) -> Self {
        self.artifacts = Artifacts::Store(store);
        self
    }

    /// Keeps no artifacts: the files of a turn end with it, and programs have no tools for them.
    #[must_use]
    pub fn without_artifacts(mut self) -> Self {
        self.artifacts = Artifacts::None;
        self
    }

    /// Sets the limits of all turns together.
    #[must_use]
    pub fn engine_limits(mut self, limits: EngineLimits) -> Self {
        self.engine = self.engine.engine_limits(limits);
        self
    }

    /// Sets the limits of turns.
    #[must_use]
    pub fn limits(mut self, limits: TurnLimits) -> Self {
        self.engine = self.engine.limits(limits);
        self
    }

    /// Adds a reader of all events.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.engine = self.engine.observer(observer);
        self
    }

    /// Builds the engine. Neither a sandbox nor a server is started yet. Must be called in a tokio runtime.
    pub async fn build(self) -> Result<Engine, BuildError> {
        let mut engine = self.engine;
        #[cfg(feature = "function")]
        if !self.functions.is_empty() {
            let functions = codehatch_function::FunctionProvider::builder();
            let functions = self
                .functions
                .into_iter()
                .fold(functions, codehatch_function::FunctionProviderBuilder::tool);
            engine = engine.provider(Arc::new(functions.build()?));
        }
        #[cfg(feature = "mcp")]
        for server in self.servers {
            engine = engine.provider(Arc::new(codehatch_mcp::McpProvider::new(server)?));
        }
        match self.artifacts {
            Artifacts::Memory => {
                let store = ObjectArtifactStore::in_memory(ArtifactLimits::in_memory());
                engine = engine.artifacts(Arc::new(store));
            }
            Artifacts::Directory(path, options) => {
                let store = ObjectArtifactStore::open_directory(path, options).await?;
                engine = engine.artifacts(Arc::new(store));
            }
            Artifacts::Store(store) => engine = engine.artifacts(store),
            Artifacts::None => {}
        }
        #[cfg(all(feature = "local", target_os = "linux"))]
        let embedded: Option<Arc<dyn SandboxRuntime>> =
            Some(Arc::new(codehatch_local::LocalRuntime::new(self.local)));
        #[cfg(not(all(feature = "local", target_os = "linux")))]
        let embedded = None;
        let runtime = self.runtime.or(embedded).ok_or(BuildError::NoRuntime)?;
        engine
            .runtime(runtime)
            .build()
            .map_err(|_| BuildError::NoRuntime)
    }
}
