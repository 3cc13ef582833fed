//! What all turns share: a runtime, tool providers, a place for artifacts.

use std::{
    fmt,
    sync::{Arc, Mutex as StdMutex, PoisonError},
    time::{Duration, Instant},
};

use codehatch_artifacts::{ArtifactStore, ArtifactTools};
use codehatch_runtime::{Environment, SandboxRuntime, StartError, ToolTree};
use codehatch_tools::{CatalogOptions, Diagnostic, Listing, ProviderTools, ToolProvider, ToolSet};
use futures_util::{StreamExt, future::join_all, stream::FuturesUnordered};
use tokio::sync::Mutex;

use crate::{
    admission::{Admission, EngineLimits},
    event::Observer,
    limits::TurnLimits,
    turn::Turn,
};

/// A provider that failed is asked again after this time, at the earliest.
const ASK_AGAIN: Duration = Duration::from_secs(30);

/// Runs turns. Cheap to clone; all clones are one engine.
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    limits: TurnLimits,
}

pub(crate) struct Shared {
    pub(crate) runtime: Arc<dyn SandboxRuntime>,
    pub(crate) providers: Vec<Arc<dyn ToolProvider>>,
    pub(crate) artifacts: Option<Arc<dyn ArtifactStore>>,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    pub(crate) admission: Arc<Admission>,
    listings: Mutex<Vec<Listed>>,
    tools: StdMutex<ToolSet>,
    tree: StdMutex<Arc<ToolTree>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("runtime", &self.runtime)
            .field("providers", &self.providers)
            .finish_non_exhaustive()
    }
}

/// What is known of one provider's tools.
#[derive(Default)]
struct Listed {
    listing: Arc<Listing>,
    /// The provider's count of changes when it was listed.
    change: Option<u64>,
    asked: Option<Instant>,
    error: Option<String>,
}

/// How a provider is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderReport {
    /// What its tools are grouped under.
    pub namespace: Option<String>,
    /// Tools that it lists.
    pub tools: usize,
    /// Why it could not be asked, if so.
    pub error: Option<String>,
}

/// Builds an [`Engine`].
#[derive(Debug, Default)]
pub struct EngineBuilder {
    runtime: Option<Arc<dyn SandboxRuntime>>,
    providers: Vec<Arc<dyn ToolProvider>>,
    artifacts: Option<Arc<dyn ArtifactStore>>,
    observers: Vec<Arc<dyn Observer>>,
    limits: TurnLimits,
    engine_limits: EngineLimits,
}

/// Why an engine could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// It has no runtime.
    #[error("an engine needs a sandbox runtime")]
    NoRuntime,
}

impl EngineBuilder {
    /// Sets what starts sandboxes. Needed.
    #[must_use]
    pub fn runtime(mut self, runtime: Arc<dyn SandboxRuntime>) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Adds tools.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn ToolProvider>) -> Self {
        self.providers.push(provider);
        self
    }

    /// Sets where artifacts are kept, and offers the tools for them. Without one, files end with their turn.
    #[must_use]
    pub fn artifacts(mut self, store: Arc<dyn ArtifactStore>) -> Self {
        self.artifacts = Some(store);
        self
    }

    /// Adds a reader of all events.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Sets the limits of turns.
    #[must_use]
    pub fn limits(mut self, limits: TurnLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the limits of all turns together.
    #[must_use]
    pub fn engine_limits(mut self, limits: EngineLimits) -> Self {
        self.engine_limits = limits;
        self
    }

    /// Builds the engine. Nothing is started or connected yet.
    pub fn build(self) -> Result<Engine, BuildError> {
        let runtime = self.runtime.ok_or(BuildError::NoRuntime)?;
        let mut providers = self.providers;
        if let Some(store) = &self.artifacts {
            providers.push(Arc::new(ArtifactTools::new(Arc::clone(store))));
        }
        let listings = providers.iter().map(|_| Listed::default()).collect();
        let shared = Shared {
            admission: Admission::new(self.engine_limits, Arc::clone(&runtime)),
            runtime,
            providers,
            artifacts: self.artifacts,
            observers: self.observers,
            listings: Mutex::new(listings),
            tools: StdMutex::new(ToolSet::build(&[])),
            tree: StdMutex::default(),
        };
        Ok(Engine {
            shared: Arc::new(shared),
            limits: self.limits,
        })
    }
}

impl Engine {
    /// Begins to build an engine.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Begins a turn. Its sandbox starts with its first block or file.
    pub fn turn(&self) -> Turn {
        self.turn_with(self.limits)
    }

    /// Begins a turn with limits of its own.
    pub fn turn_with(&self, limits: TurnLimits) -> Turn {
        Turn::new(Arc::clone(&self.shared), limits)
    }

    /// The limits of all turns together.
    pub fn engine_limits(&self) -> &EngineLimits {
        self.shared.admission.limits()
    }

    /// The limits that turns have unless they bring their own.
    pub fn limits(&self) -> &TurnLimits {
        &self.limits
    }

    /// The tools that there are now. Providers that have changed or were never asked are asked, all at once; one
    /// that fails costs the others nothing.
    pub async fn tools(&self) -> ToolSet {
        self.shared.tools().await
    }

    /// What is wrong with single tools: provider's namespace, and problem.
    pub async fn problems(&self) -> Vec<(Option<String>, Diagnostic)> {
        let tools = self.tools().await;
        let with_namespace = |problem: Diagnostic| {
            let provider = self.shared.providers.get(problem.provider);
            (
                provider
                    .and_then(|provider| provider.namespace())
                    .map(str::to_owned),
                problem,
            )
        };
        tools.problems().into_iter().map(with_namespace).collect()
    }

    /// How each provider is doing.
    pub async fn providers(&self) -> Vec<ProviderReport> {
        self.providers_as_known(|_| {}).await
    }

    /// The same; `known` is called for each provider as soon as it is known, in whatever order they answer.
    pub async fn providers_as_known(
        &self,
        mut known: impl FnMut(&ProviderReport),
    ) -> Vec<ProviderReport> {
        self.shared.refresh(&mut known).await;
        let listings = self.shared.listings.lock().await;
        let with_listing = self.shared.providers.iter().zip(listings.iter());
        with_listing
            .map(|(provider, listed)| listed.report(&**provider))
            .collect()
    }

    /// Which Python sandboxes run, and what can be imported there.
    pub async fn environment(&self) -> Result<Arc<Environment>, StartError> {
        self.shared.runtime.environment().await
    }

    /// The description of everything that a program can use, for the model. The same tools give the same bytes.
    ///
    /// An environment that is not in `options` is asked of the runtime.
    pub async fn catalog(&self, options: CatalogOptions) -> Result<Arc<str>, StartError> {
        let environment = self.environment().await?;
        let tools = self.tools().await;
        let environment = codehatch_tools::Environment {
            python_version: environment.python_version.clone(),
            packages: environment.packages.clone(),
        };
        Ok(tools.catalog(&options.with_environment(environment)))
    }

    /// Ends what the runtime and the providers hold: processes, connections. Turns in use should be closed first.
    pub async fn close(&self) {
        self.shared.runtime.close().await;
        join_all(
            self.shared
                .providers
                .iter()
                .map(|provider| provider.close()),
        )
        .await;
    }
}

impl Shared {
    pub(crate) async fn tools(&self) -> ToolSet {
        self.refresh(&mut |_| {}).await
    }

    /// Asks the providers that have changed or were never asked. `known` hears of each when that is done.
    async fn refresh(&self, known: &mut impl FnMut(&ProviderReport)) -> ToolSet {
        let mut listings = self.listings.lock().await;
        let asked = self.providers.iter().zip(listings.iter_mut());
        let mut asked: FuturesUnordered<_> = asked
            .map(|(provider, listed)| async move {
                listed.refresh(&**provider).await;
                listed.report(&**provider)
            })
            .collect();
        while let Some(report) = asked.next().await {
            known(&report);
        }
        drop(asked);
        let providers: Vec<ProviderTools<'_>> = self
            .providers
            .iter()
            .zip(listings.iter())
            .map(|(provider, listed)| ProviderTools {
                namespace: provider.namespace(),
                listing: Arc::clone(&listed.listing),
            })
            .collect();
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        *tools = tools.update(&providers);
        tools.clone()
    }

    /// The generated package for `tools`.
    pub(crate) fn tool_tree(&self, tools: &ToolSet) -> Arc<ToolTree> {
        let fingerprint = tools.fingerprint().to_bytes();
        let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        if tree.files.is_empty() || tree.fingerprint != fingerprint {
            let files = tools.files();
            let files = files
                .iter()
                .map(|file| (file.path().to_owned(), file.source().into()));
            *tree = Arc::new(ToolTree {
                fingerprint,
                files: files.collect(),
            });
        }
        Arc::clone(&tree)
    }
}

impl Listed {
    fn report(&self, provider: &dyn ToolProvider) -> ProviderReport {
        ProviderReport {
            namespace: provider.namespace().map(str::to_owned),
            tools: self.listing.tools.len(),
            error: self.error.clone(),
        }
    }

    async fn refresh(&mut self, provider: &dyn ToolProvider) {
        let change = provider.changes().map(|changes| *changes.borrow());
        let is_known = self.asked.is_some() && self.error.is_none() && self.change == change;
        let is_resting = self.error.is_some()
            && self.change == change
            && self.asked.is_some_and(|asked| asked.elapsed() < ASK_AGAIN);
        if is_known || is_resting {
            return;
        }
        match provider.list().await {
            Ok(listing) => {
                self.error = None;
                if *self.listing != listing {
                    self.listing = Arc::new(listing);
                }
            }
            Err(error) => {
                let error = error.to_string();
                tracing::warn!(%error, "a tool provider cannot be used");
                self.error = Some(error);
            }
        }
        // The count from before: a change while it was listed is looked at again.
        self.change = change;
        self.asked = Some(Instant::now());
    }
}
