//! The life of one session.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};

use codehatch_jail::{Command, SessionProcess, Status, StepError, receive_status, send_command};
use codehatch_runtime::{BoxFuture, Exit, SandboxHandle, Usage};
use tokio::io::{Interest, unix::AsyncFd};

use crate::{
    cgroup::SessionGroup,
    memory::{Watch, Watched},
    process, sys,
    zygote::ZygoteHandle,
};

/// Wait status of a process that was killed.
const SIGKILL: i32 = 9;

/// A session's processes, seen from the host.
#[derive(Debug)]
pub(crate) struct LocalHandle {
    status: AsyncFd<OwnedFd>,
    /// Readable when init has ended.
    ended: AsyncFd<OwnedFd>,
    watched: Arc<Watched>,
    watch: Arc<Watch>,
    exit: Option<Exit>,
    closed: bool,
    group: Option<SessionGroup>,
    /// Dropping the last handle of a zygote kills it and its sessions.
    _zygote: Arc<ZygoteHandle>,
}

impl LocalHandle {
    pub(crate) fn new(
        status: AsyncFd<OwnedFd>,
        process: SessionProcess,
        limit_bytes: u64,
        watch: &Arc<Watch>,
        zygote: &Arc<ZygoteHandle>,
        group: Option<SessionGroup>,
    ) -> io::Result<Self> {
        let ended = sys::readable(process.pidfd.try_clone()?)?;
        let pid = process::host_pid(&process.pidfd).unwrap_or_default();
        let watched = Arc::new(Watched {
            process,
            pid,
            limit_bytes,
            over: false.into(),
        });
        Ok(Self {
            status,
            ended,
            watched,
            watch: Arc::clone(watch),
            exit: None,
            closed: false,
            group,
            _zygote: Arc::clone(zygote),
        })
    }

    /// Whether its processes are still there.
    pub(crate) fn is_alive(&self) -> bool {
        process::host_pid(self.ended.get_ref()).is_some()
    }

    async fn wait_exit(&mut self) -> Exit {
        if let Some(exit) = &self.exit {
            return exit.clone();
        }
        let reported = loop {
            match next_status(&self.status).await {
                Ok(Some(Status::Exited(status))) => break Some(status),
                Ok(Some(Status::Started | Status::Failed(_))) => {}
                Ok(None) | Err(_) => break None,
            }
        };
        // Only now is every process of the session gone.
        let _ = self.ended.readable().await;
        let exit = self.explain(reported);
        self.exit = Some(exit.clone());
        exit
    }

    fn explain(&self, status: Option<i32>) -> Exit {
        let killed = self
            .group
            .as_ref()
            .is_some_and(|group| group.out_of_memory_kills() > 0);
        let by_kill = status.is_none_or(|status| status & 0x7F == SIGKILL);
        if self.watched.is_over() || (killed && by_kill) {
            return Exit::OutOfMemory {
                limit_bytes: self.watched.limit_bytes,
            };
        }
        match status.map(|status| (status & 0x7F, (status >> 8) & 0xFF)) {
            Some((0, code)) => Exit::Exited { code },
            Some((signal, _)) => Exit::Signaled { signal },
            None => Exit::Lost {
                detail: "its processes were killed from outside".into(),
            },
        }
    }
}

/// Waits for a status message; `None` when init is gone.
async fn next_status(status: &AsyncFd<OwnedFd>) -> io::Result<Option<Status>> {
    let received = status
        .async_io(Interest::READABLE, |fd| receive_status(fd.as_fd()))
        .await?;
    Ok(received.map(|(status, _)| status))
}

/// Why a session did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetupError {
    /// A step of its isolation failed.
    #[error(transparent)]
    Step(StepError),
    /// It ended without a word.
    #[error("the session ended while it was starting")]
    Ended,
    /// The status socket failed.
    #[error("cannot hear of the session's start")]
    Io(#[source] io::Error),
}

/// Waits until a session is isolated: a descriptor of its workspace.
pub(crate) async fn wait_started(status: &AsyncFd<OwnedFd>) -> Result<OwnedFd, SetupError> {
    let received = status
        .async_io(Interest::READABLE, |fd| receive_status(fd.as_fd()))
        .await
        .map_err(SetupError::Io)?;
    match received {
        Some((Status::Started, Some(workspace))) => Ok(workspace),
        Some((Status::Failed(failure), _)) => Err(SetupError::Step(failure.into())),
        _ => Err(SetupError::Ended),
    }
}

impl SandboxHandle for LocalHandle {
    fn interrupt(&mut self) {
        // If init is gone, the end of the session is on its way.
        let _ = send_command(self.status.get_ref().as_fd(), Command::Interrupt);
    }

    fn sweep(&mut self) {
        let _ = send_command(self.status.get_ref().as_fd(), Command::Sweep);
    }

    fn set_running(&mut self, running: bool) {
        // Where the kernel keeps the limit, the host need not look.
        if self.group.as_ref().is_some_and(SessionGroup::bounds_memory) {
            return;
        }
        self.watch.set_running(&self.watched, running);
    }

    fn exited(&mut self) -> BoxFuture<'_, Exit> {
        Box::pin(self.wait_exit())
    }

    fn usage(&self) -> Usage {
        process::usage_of_tree(self.watched.pid)
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if !self.closed {
                self.watched.process.kill();
                let _ = self.ended.readable().await;
                self.closed = true;
                drop(self.group.take());
            }
        })
    }
}

impl Drop for LocalHandle {
    fn drop(&mut self) {
        self.watch.set_running(&self.watched, false);
        self.watched.process.kill();
    }
}
