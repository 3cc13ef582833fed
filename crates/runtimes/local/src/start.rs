//! Starts one session: forks it off the zygote and waits until it is isolated.

use std::{
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream as StdUnixStream,
    },
    sync::Arc,
    time::Duration,
};

use codehatch_jail::{SessionLimits, status_pair};
use codehatch_runtime::{Control, Limits, OutputStream, Sandbox, StartError, StartRequest};
use rustix::{
    fs::{Gid, Uid},
    io::Errno,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixStream, unix::pipe},
    time::timeout,
};

use crate::{
    cgroup::CgroupTree,
    memory::Watch,
    output::PipeOutput,
    runtime::NAME,
    session::{self, LocalHandle, SetupError},
    sys,
    workspace::LocalWorkspace,
    zygote::{RequestError, ZygoteHandle},
};

/// Asks a session to run what every block runs, and is the answer: between runtime and guest only.
const WARM: &[u8] = b"{\"kind\":\"warm\"}\n";
/// Longest wait for the answer.
const WARM_WITHIN: Duration = Duration::from_secs(5);

/// A session that is ready for its first block.
#[derive(Debug)]
pub(crate) struct Session {
    control: UnixStream,
    /// What was read from it and is for whoever the session is handed out to.
    greeting: Vec<u8>,
    stdout: PipeOutput,
    stderr: PipeOutput,
    workspace: LocalWorkspace,
    handle: LocalHandle,
}

/// Why a session could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForkError {
    #[error("cannot open the session's sockets and pipes")]
    Descriptors(#[source] io::Error),
    #[error("cannot make the session's control group: {0}")]
    Cgroup(#[source] io::Error),
    #[error(transparent)]
    Request(RequestError),
    #[error(transparent)]
    Setup(SetupError),
    #[error("the session did not get ready")]
    Warm,
}

impl ForkError {
    /// Whether a new zygote may help.
    pub(crate) fn is_zygote_gone(&self) -> bool {
        matches!(self, Self::Request(RequestError::Gone(_)))
    }
}

impl From<ForkError> for StartError {
    fn from(error: ForkError) -> Self {
        let transient = match &error {
            ForkError::Request(RequestError::Step(step)) => is_shortage(&step.source),
            ForkError::Setup(SetupError::Step(step)) => is_shortage(&step.source),
            ForkError::Descriptors(source) => is_shortage(source),
            ForkError::Request(RequestError::Gone(_)) | ForkError::Warm => true,
            ForkError::Cgroup(_) | ForkError::Request(_) | ForkError::Setup(_) => false,
        };
        let message = match &error {
            ForkError::Descriptors(source) => format!("{error}: {source}{}", files_hint(source)),
            _ => error.to_string(),
        };
        Self {
            runtime: NAME,
            message,
            transient,
            source: Some(Box::new(error)),
        }
    }
}

/// Room that may be free again in a moment.
fn is_shortage(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::AGAIN | Errno::NOMEM | Errno::NOSPC | Errno::MFILE | Errno::NFILE)
    )
}

fn files_hint(error: &io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::MFILE) => {
            "; raise `ulimit -n` (a session needs ten), or run fewer turns at once"
        }
        _ => "",
    }
}

/// Starts a session. Cancel-safe: one that nobody takes ends by itself.
pub(crate) async fn start(
    zygote: &Arc<ZygoteHandle>,
    request: &StartRequest,
    watch: &Arc<Watch>,
    cgroups: Option<&Arc<CgroupTree>>,
) -> Result<Session, ForkError> {
    let descriptors = ForkError::Descriptors;
    let (control, their_control) = StdUnixStream::pair().map_err(descriptors)?;
    let (stdout, their_stdout) = io::pipe().map_err(descriptors)?;
    let (stderr, their_stderr) = io::pipe().map_err(descriptors)?;
    if let Some(user) = zygote.user() {
        // Or programs could not open `/dev/stdout` and `/dev/stderr`, as shell scripts do.
        for pipe in [their_stdout.as_fd(), their_stderr.as_fd()] {
            chown_to(pipe, user).map_err(descriptors)?;
        }
    }
    let (status, their_status) = status_pair().map_err(descriptors)?;
    let limits = session_limits(&request.limits);
    let group = cgroups.map(|tree| tree.session(&request.limits, zygote.user()));
    let group = group.transpose().map_err(ForkError::Cgroup)?;
    let theirs = [
        their_control.as_fd(),
        their_stdout.as_fd(),
        their_stderr.as_fd(),
        their_status.as_fd(),
    ];
    let process = zygote
        .fork(
            &limits,
            &request.tools,
            theirs,
            group.as_ref().map(AsFd::as_fd),
        )
        .await
        .map_err(ForkError::Request)?;
    // Held here, they would keep the pipes open when the session has ended.
    drop((their_control, their_stdout, their_stderr, their_status));
    let status = sys::readable(status).map_err(descriptors)?;
    let memory = request.limits.memory_bytes;
    let workspace = session::wait_started(&status)
        .await
        .map_err(ForkError::Setup)?;
    let handle =
        LocalHandle::new(status, process, memory, watch, zygote, group).map_err(descriptors)?;
    control.set_nonblocking(true).map_err(descriptors)?;
    Ok(Session {
        control: UnixStream::from_std(control).map_err(descriptors)?,
        greeting: Vec::new(),
        stdout: receiver(stdout.into()).map_err(descriptors)?,
        stderr: receiver(stderr.into()).map_err(descriptors)?,
        workspace: LocalWorkspace::new(workspace, zygote.user(), zygote.resolution()),
        handle,
    })
}

fn chown_to(fd: BorrowedFd<'_>, user: u32) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(user));
    Ok(rustix::fs::fchown(fd, Some(user), Some(group))?)
}

fn receiver(fd: OwnedFd) -> io::Result<PipeOutput> {
    Ok(PipeOutput(pipe::Receiver::from_owned_fd(fd)?))
}

impl Session {
    /// Has the guest run what every block runs, so that the first block finds its memory in place.
    pub(crate) async fn warm(&mut self) -> Result<(), ForkError> {
        let (reader, mut writer) = self.control.split();
        let exchange = async {
            writer.write_all(WARM).await?;
            let mut reader = BufReader::new(reader);
            let mut line = Vec::new();
            let mut greeting = Vec::new();
            // The guest greets first.
            loop {
                line.clear();
                if reader.read_until(b'\n', &mut line).await? == 0 {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
                }
                if line == WARM {
                    return Ok(greeting);
                }
                greeting.append(&mut line);
            }
        };
        self.greeting = match timeout(WARM_WITHIN, exchange).await {
            Ok(Ok(greeting)) => greeting,
            _ => return Err(ForkError::Warm),
        };
        Ok(())
    }

    /// Whether it is still there.
    pub(crate) fn is_alive(&self) -> bool {
        self.handle.is_alive()
    }

    /// Hands it out.
    pub(crate) fn into_sandbox(self) -> Sandbox {
        let (reader, writer) = self.control.into_split();
        let stdout: OutputStream = Box::new(self.stdout);
        let stderr: OutputStream = Box::new(self.stderr);
        Sandbox {
            control: Control {
                reader: Box::new(io::Cursor::new(self.greeting).chain(reader)),
                writer: Box::new(writer),
            },
            stdout: Some(stdout),
            stderr: Some(stderr),
            workspace: Some(Box::new(self.workspace)),
            handle: Box::new(self.handle),
        }
    }
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
