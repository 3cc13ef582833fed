//! The runtime: finds a Python, keeps a zygote, forks sessions.

use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream as StdUnixStream,
    },
    sync::Arc,
};

use codehatch_jail::{SessionLimits, ZygoteConfig, status_pair};
use codehatch_runtime::{
    BoxFuture, Control, Environment, Limits, OutputStream, Sandbox, SandboxRuntime, StartError,
    StartRequest,
};
use tokio::{
    net::{UnixStream, unix::pipe},
    sync::{Mutex, OnceCell},
    task::JoinSet,
};

use crate::{
    config::LocalConfig,
    discover::{self, DiscoverError, Found},
    guest::GUEST_FILES,
    memory::Watch,
    output::PipeOutput,
    session::{self, LocalHandle, SetupError},
    sys,
    workspace::LocalWorkspace,
    zygote::{RequestError, ZygoteHandle},
};

const NAME: &str = "local";

/// The local runtime. One zygote serves all of its sandboxes; it starts with the first.
#[derive(Debug)]
pub struct LocalRuntime {
    config: LocalConfig,
    found: OnceCell<Found>,
    environment: OnceCell<Arc<Environment>>,
    zygote: Mutex<Option<Arc<ZygoteHandle>>>,
    watch: Arc<Watch>,
    tasks: Mutex<JoinSet<()>>,
}

impl LocalRuntime {
    /// A runtime with these settings. Nothing is started yet.
    pub fn new(config: LocalConfig) -> Self {
        Self {
            config,
            found: OnceCell::new(),
            environment: OnceCell::new(),
            zygote: Mutex::default(),
            watch: Arc::default(),
            tasks: Mutex::default(),
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
        };
        let launched = ZygoteHandle::launch(config).await;
        let zygote = Arc::new(launched.map_err(|error| StartError::new(NAME, error))?);
        *current = Some(Arc::clone(&zygote));
        let mut tasks = self.tasks.lock().await;
        if tasks.is_empty() {
            tasks.spawn(Watch::run(Arc::downgrade(&self.watch)));
        }
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

    async fn start_session(&self, request: StartRequest) -> Result<Sandbox, StartError> {
        let zygote = self.zygote().await?;
        match fork(&zygote, &request, &self.watch).await {
            Err(ForkError::Request(RequestError::Gone(_))) => {
                tracing::warn!("the zygote has ended; starting another");
                self.forget(&zygote).await;
                let zygote = self.zygote().await?;
                fork(&zygote, &request, &self.watch)
                    .await
                    .map_err(start_error)
            }
            other => other.map_err(start_error),
        }
    }
}

/// Why a session could not be forked.
#[derive(Debug, thiserror::Error)]
enum ForkError {
    #[error("cannot open the session's sockets and pipes")]
    Descriptors(#[source] io::Error),
    #[error(transparent)]
    Request(RequestError),
    #[error(transparent)]
    Setup(SetupError),
}

fn start_error(error: ForkError) -> StartError {
    let transient = match &error {
        ForkError::Request(RequestError::Step(step)) => is_shortage(&step.source),
        ForkError::Setup(SetupError::Step(step)) => is_shortage(&step.source),
        ForkError::Request(RequestError::Gone(_)) => true,
        ForkError::Descriptors(_) | ForkError::Request(_) | ForkError::Setup(_) => false,
    };
    let message = match &error {
        ForkError::Descriptors(source) => format!("{error}: {source}"),
        ForkError::Request(_) | ForkError::Setup(_) => error.to_string(),
    };
    StartError {
        runtime: NAME,
        message,
        transient,
        source: Some(Box::new(error)),
    }
}

/// Room that may be free again in a moment.
fn is_shortage(error: &io::Error) -> bool {
    matches!(
        error
            .raw_os_error()
            .map(rustix::io::Errno::from_raw_os_error),
        Some(rustix::io::Errno::AGAIN | rustix::io::Errno::NOMEM | rustix::io::Errno::NOSPC)
    )
}

async fn fork(
    zygote: &Arc<ZygoteHandle>,
    request: &StartRequest,
    watch: &Arc<Watch>,
) -> Result<Sandbox, ForkError> {
    let descriptors = ForkError::Descriptors;
    let (control, their_control) = StdUnixStream::pair().map_err(descriptors)?;
    let (stdout, their_stdout) = io::pipe().map_err(descriptors)?;
    let (stderr, their_stderr) = io::pipe().map_err(descriptors)?;
    let (status, their_status) = status_pair().map_err(descriptors)?;
    let limits = session_limits(&request.limits);
    let theirs = [
        their_control.as_fd(),
        their_stdout.as_fd(),
        their_stderr.as_fd(),
        their_status.as_fd(),
    ];
    let process = zygote
        .fork(&limits, &request.tools, theirs)
        .await
        .map_err(ForkError::Request)?;
    // Held here, they would keep the pipes open when the session has ended.
    drop((their_control, their_stdout, their_stderr, their_status));
    let status = sys::readable(status).map_err(descriptors)?;
    let memory = request.limits.memory_bytes;
    let workspace = session::wait_started(&status)
        .await
        .map_err(ForkError::Setup)?;
    let handle = LocalHandle::new(
        status,
        process,
        memory,
        Arc::clone(watch),
        Arc::clone(zygote),
    )
    .map_err(descriptors)?;
    control.set_nonblocking(true).map_err(descriptors)?;
    let (reader, writer) = UnixStream::from_std(control)
        .map_err(descriptors)?
        .into_split();
    Ok(Sandbox {
        control: Control {
            reader: Box::new(reader),
            writer: Box::new(writer),
        },
        stdout: Some(receiver(stdout.into()).map_err(descriptors)?),
        stderr: Some(receiver(stderr.into()).map_err(descriptors)?),
        workspace: Some(Box::new(LocalWorkspace::new(workspace, zygote.user()))),
        handle: Box::new(handle),
    })
}

fn receiver(fd: OwnedFd) -> io::Result<OutputStream> {
    Ok(Box::new(PipeOutput(pipe::Receiver::from_owned_fd(fd)?)))
}

fn session_limits(limits: &Limits) -> SessionLimits {
    SessionLimits {
        open_files: limits.open_files,
        processes: limits.processes,
        data_bytes: limits.memory_bytes,
        workspace_bytes: limits.workspace_bytes,
        temporary_bytes: limits.temporary_bytes,
        file_bytes: limits.workspace_bytes.max(limits.temporary_bytes),
        ..SessionLimits::default()
    }
}

impl SandboxRuntime for LocalRuntime {
    fn name(&self) -> &'static str {
        NAME
    }

    fn environment(&self) -> BoxFuture<'_, Result<Arc<Environment>, StartError>> {
        Box::pin(async {
            let found = self.found().await?;
            let ask = || async {
                let packages = discover::packages(found).await?;
                Ok::<_, DiscoverError>(Arc::new(Environment {
                    python_version: found.version.clone(),
                    packages,
                }))
            };
            let asked = self.environment.get_or_try_init(ask).await;
            asked.cloned().map_err(|error| StartError::new(NAME, error))
        })
    }

    fn start(&self, request: StartRequest) -> BoxFuture<'_, Result<Sandbox, StartError>> {
        Box::pin(self.start_session(request))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // Sessions in use hold it as well; it ends with the last of them.
            self.zygote.lock().await.take();
            self.tasks.lock().await.shutdown().await;
        })
    }
}
