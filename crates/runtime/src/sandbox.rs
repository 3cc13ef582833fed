//! What a runtime is, and what it hands out.

use std::{collections::BTreeMap, fmt, future::Future, io, pin::Pin, sync::Arc, time::Duration};

use tokio::io::{AsyncRead, AsyncWrite};

use crate::{Limits, StartError, Workspace};

/// A boxed future, so that runtimes can be chosen at run time.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Starts sandboxes of one kind.
pub trait SandboxRuntime: fmt::Debug + Send + Sync {
    /// Its name in configuration and messages.
    fn name(&self) -> &'static str;

    /// Which Python its sandboxes run and what can be imported there, as far as that is known before one
    /// has started. Cancel-safe.
    fn environment(&self) -> BoxFuture<'_, Result<Arc<Environment>, StartError>>;

    /// Starts one sandbox. Cancel-safe: dropping the future tears down what was started.
    fn start(&self, request: StartRequest) -> BoxFuture<'_, Result<Sandbox, StartError>>;

    /// Memory that is left for sandboxes, in bytes: of this machine, and of what this program may use of it. `None`
    /// where sandboxes run elsewhere, or it is not known. Called for every block; must return at once.
    fn free_memory(&self) -> Option<u64> {
        None
    }

    /// Ends everything that it holds ready, and waits until it is gone. Sandboxes in use are not touched.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A Python and its packages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// For example `3.12.4`.
    pub python_version: String,
    /// Import name → distribution → version.
    pub packages: BTreeMap<String, BTreeMap<String, String>>,
}

/// What a new sandbox is to be.
#[derive(Clone, Debug)]
pub struct StartRequest {
    /// What `import tools` finds.
    pub tools: Arc<ToolTree>,
    /// Its bounds.
    pub limits: Limits,
}

/// The generated `tools` package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolTree {
    /// A hash of all that the files are made from: equal trees have equal ones, and no others do.
    pub fingerprint: [u8; 32],
    /// Path below `/tools`, and source.
    pub files: Vec<(String, Arc<str>)>,
}

/// What a sandbox's processes write.
pub trait OutputSource: AsyncRead + Send + Unpin {
    /// Reads what is there already, without waiting: `WouldBlock` if nothing is, 0 at the end.
    ///
    /// Unlike a poll it never misses bytes that arrived before the call, so that a block's output can be told
    /// from the next one's.
    fn read_now(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
}

/// Bytes from a sandbox.
pub type OutputStream = Box<dyn OutputSource>;

/// The channel that carries frames.
pub struct Control {
    /// From the guest.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// To the guest.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}

/// A running sandbox.
pub struct Sandbox {
    /// Frames.
    pub control: Control,
    /// What its processes write to their standard output, where the runtime captures descriptors.
    pub stdout: Option<OutputStream>,
    /// The same of standard error.
    pub stderr: Option<OutputStream>,
    /// Its files, where the runtime can reach them.
    pub workspace: Option<Box<dyn Workspace>>,
    /// Its life.
    pub handle: Box<dyn SandboxHandle>,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

/// The life of one sandbox. Dropping it kills the sandbox without waiting.
pub trait SandboxHandle: fmt::Debug + Send {
    /// Asks the running block to stop, beside the frame that says so. Does nothing where only frames can.
    fn interrupt(&mut self);

    /// Kills every process of the sandbox but the interpreter. Does nothing where that is not possible.
    fn sweep(&mut self);

    /// Tells whether a block is running: a runtime need not watch an idle sandbox's use of memory.
    fn set_running(&mut self, running: bool);

    /// Waits until the sandbox has ended by itself, and says how. Cancel-safe.
    fn exited(&mut self) -> BoxFuture<'_, Exit>;

    /// What it has used so far, as far as the runtime can tell.
    fn usage(&self) -> Usage;

    /// Kills it and waits until nothing is left. A second call does nothing.
    fn close(&mut self) -> BoxFuture<'_, ()>;
}

/// What a sandbox has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time of all of its processes that still run, if known.
    pub cpu: Option<Duration>,
    /// Memory of all of its processes, in bytes, if known.
    pub memory_bytes: Option<u64>,
}

/// How a sandbox ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// The interpreter exited.
    Exited {
        /// Its status, 0 to 255.
        code: i32,
    },
    /// A signal killed the interpreter.
    Signaled {
        /// Its number.
        signal: i32,
    },
    /// It had more memory than it may.
    OutOfMemory {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// It ended, and nobody knows why: the connection or the host of the sandbox is gone.
    Lost {
        /// What is known, as a clause: `its connection was closed`.
        detail: String,
    },
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code } => write!(f, "the interpreter exited with code {code}"),
            Self::Signaled { signal } => {
                write!(
                    f,
                    "the interpreter was killed by signal {signal}{}",
                    signal_name(*signal)
                )
            }
            Self::OutOfMemory { limit_bytes } => {
                write!(
                    f,
                    "out of memory: the limit is {} MiB",
                    limit_bytes / (1024 * 1024)
                )
            }
            Self::Lost { detail } => f.write_str(detail),
        }
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        25 => " (SIGXFSZ)",
        31 => " (SIGSYS)",
        _ => "",
    }
}
