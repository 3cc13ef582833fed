//! The runtime: finds a Python, keeps a zygote, forks sessions.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use codehatch_jail::ZygoteConfig;
use codehatch_runtime::{
    BoxFuture, Environment, Sandbox, SandboxRuntime, StartError, StartRequest,
};
use tokio::{
    sync::{Mutex, OnceCell},
    task::JoinSet,
    time::sleep,
};

use crate::{
    cgroup::{CgroupTree, NoCgroups},
    config::LocalConfig,
    discover::{self, DiscoverError, Found},
    guest::GUEST_FILES,
    memory::{FreeMemory, Watch},
    pool::Pool,
    start,
    zygote::ZygoteHandle,
};

/// Its name in configuration and messages.
pub(crate) const NAME: &str = "local";
/// How memory is bounded without a control group.
const BEST_EFFORT: &str = "best effort: the kernel keeps each process within it, the host looks at their sum 20 times a second";
/// After a refill has failed.
const REFILL_AGAIN: Duration = Duration::from_secs(1);

/// The local runtime. One zygote serves all of its sandboxes; it starts with the first.
#[derive(Debug)]
pub struct LocalRuntime {
    inner: Arc<Inner>,
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Debug)]
struct Inner {
    config: LocalConfig,
    found: OnceCell<Found>,
    environment: OnceCell<Arc<Environment>>,
    zygote: Mutex<Option<Arc<ZygoteHandle>>>,
    watch: Arc<Watch>,
    free_memory: FreeMemory,
    cgroups: OnceCell<Result<Arc<CgroupTree>, NoCgroups>>,
    pool: Pool,
}

impl LocalRuntime {
    /// A runtime with these settings. Nothing is started yet.
    pub fn new(config: LocalConfig) -> Self {
        let inner = Inner {
            pool: Pool::new(config.pool),
            config,
            found: OnceCell::new(),
            environment: OnceCell::new(),
            zygote: Mutex::default(),
            watch: Arc::default(),
            free_memory: FreeMemory::default(),
            cgroups: OnceCell::new(),
        };
        Self {
            inner: Arc::new(inner),
            tasks: Mutex::default(),
        }
    }

    /// What keeps a sandbox within its memory here, for people.
    pub async fn memory_bound(&self) -> String {
        self.inner.cgroups().await;
        match self.inner.cgroups.get() {
            Some(Ok(tree)) if tree.bounds_memory() => {
                format!(
                    "kept by the kernel for all processes together (control group: {})",
                    tree.describe()
                )
            }
            Some(Ok(tree)) => format!("{BEST_EFFORT} (control group: {} only)", tree.describe()),
            Some(Err(reason)) => format!("{BEST_EFFORT} (no control group: {reason})"),
            None => BEST_EFFORT.to_owned(),
        }
    }

    async fn start_session(&self, request: StartRequest) -> Result<Sandbox, StartError> {
        if let Some(session) = self.inner.pool.take(&request) {
            return Ok(session.into_sandbox());
        }
        let _miss = self.inner.pool.miss();
        self.start_tasks().await;
        let session = self.inner.start(&request).await?;
        Ok(session.into_sandbox())
    }

    async fn start_tasks(&self) {
        let mut tasks = self.tasks.lock().await;
        if tasks.is_empty() {
            tasks.spawn(Watch::run(Arc::downgrade(&self.inner.watch)));
            if self.inner.config.pool > 0 {
                tasks.spawn(refill(Arc::downgrade(&self.inner)));
            }
        }
    }
}

/// Keeps the pool full until the runtime is dropped.
async fn refill(inner: Weak<Inner>) {
    loop {
        // Held while it waits, too; closing the runtime ends the task.
        let Some(inner) = inner.upgrade() else {
            return;
        };
        let kind = inner.pool.lacking().await;
        let started = async {
            let mut session = inner.start(&kind).await?;
            session.warm().await?;
            Ok::<_, StartError>(session)
        };
        match started.await {
            Ok(session) => inner.pool.put(&kind, session),
            Err(error) => {
                tracing::warn!(%error, "a session could not be made ready ahead");
                sleep(REFILL_AGAIN).await;
            }
        }
    }
}

impl Inner {
    /// Starts a session now; with a new zygote, if the old one has ended.
    async fn start(&self, request: &StartRequest) -> Result<start::Session, StartError> {
        let zygote = self.zygote().await?;
        match start::start(&zygote, request, &self.watch, self.cgroups().await).await {
            Err(error) if error.is_zygote_gone() => {
                tracing::warn!("the zygote has ended; starting another");
                self.forget(&zygote).await;
                let zygote = self.zygote().await?;
                Ok(start::start(&zygote, request, &self.watch, self.cgroups().await).await?)
            }
            other => Ok(other?),
        }
    }

    async fn found(&self) -> Result<&Found, StartError> {
        let python = self.config.python.as_deref();
        let discover = || async { discover::discover(python).await };
        self.found
            .get_or_try_init(discover)
            .await
            .map_err(|error| StartError::new(NAME, error))
    }

    /// The control groups, if the system delegates any.
    async fn cgroups(&self) -> Option<&Arc<CgroupTree>> {
        let opened = self.cgroups.get_or_init(async || {
            let opened = CgroupTree::open().map(Arc::new);
            match &opened {
                Ok(tree) => tracing::info!("control groups: {}", tree.describe()),
                Err(reason) => tracing::info!("no control groups: {reason}"),
            }
            opened
        });
        opened.await.as_ref().ok()
    }

    /// The running zygote, started if need be.
    async fn zygote(&self) -> Result<Arc<ZygoteHandle>, StartError> {
        let mut current = self.zygote.lock().await;
        if let Some(zygote) = &*current {
            return Ok(Arc::clone(zygote));
        }
        let found = self.found().await?;
        let config = ZygoteConfig {
            interpreter: found.interpreter.clone(),
            guest: GUEST_FILES.to_vec(),
            preload: self.config.preload.clone(),
            variables: self.config.variables.clone(),
            run_as: self.config.run_as,
            #[cfg(feature = "weaken")]
            weaken: self.config.weaken.clone(),
        };
        let launched = ZygoteHandle::launch(config).await;
        let zygote = Arc::new(launched.map_err(|error| StartError::new(NAME, error))?);
        if let Some(cgroups) = self.cgroups().await {
            let adopted = cgroups.adopt_zygote(zygote.pid(), zygote.user());
            adopted.map_err(|error| {
                let message = format!("cannot put the zygote into its control group: {error}");
                StartError::message(NAME, message)
            })?;
        }
        *current = Some(Arc::clone(&zygote));
        Ok(zygote)
    }

    /// Forgets a zygote that has ended, so that the next start has a new one.
    async fn forget(&self, zygote: &Arc<ZygoteHandle>) {
        let mut current = self.zygote.lock().await;
        if current
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, zygote))
        {
            *current = None;
        }
    }
}

impl SandboxRuntime for LocalRuntime {
    fn name(&self) -> &'static str {
        NAME
    }

    fn environment(&self) -> BoxFuture<'_, Result<Arc<Environment>, StartError>> {
        Box::pin(async {
            let inner = &*self.inner;
            let found = inner.found().await?;
            let ask = || async {
                let packages = discover::packages(found).await?;
                Ok::<_, DiscoverError>(Arc::new(Environment {
                    python_version: found.version.clone(),
                    packages,
                }))
            };
            let asked = inner.environment.get_or_try_init(ask).await;
            asked.cloned().map_err(|error| StartError::new(NAME, error))
        })
    }

    fn start(&self, request: StartRequest) -> BoxFuture<'_, Result<Sandbox, StartError>> {
        Box::pin(self.start_session(request))
    }

    fn free_memory(&self) -> Option<u64> {
        self.inner.free_memory.now()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.tasks.lock().await.shutdown().await;
            self.inner.pool.clear();
            // Sessions in use hold it as well; it ends with the last of them.
            self.inner.zygote.lock().await.take();
        })
    }
}
