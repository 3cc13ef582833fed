//! One zygote, asked from async code: requests one after the other, each with its answer.

use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

use codehatch_jail::{
    Answer, LaunchError, SessionLimits, SessionProcess, StepError, TOOL_SLOTS, ToolArchive, Zygote,
    ZygoteConfig,
};
use codehatch_runtime::ToolTree;
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::Mutex,
};

use crate::{sys, weaken, workspace::Resolution};

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// The zygote has ended; a new one may work.
    #[error("the zygote has ended")]
    Gone(#[source] io::Error),
    /// The kernel refused a step.
    #[error(transparent)]
    Step(StepError),
    /// The tools could not be packed.
    #[error("cannot pack the tools")]
    Pack(#[source] io::Error),
}

/// A running zygote.
#[derive(Debug)]
pub(crate) struct ZygoteHandle {
    zygote: Zygote,
    /// Readable when an answer is there.
    control: AsyncFd<OwnedFd>,
    /// How paths of its sessions' workspaces are resolved.
    resolution: Resolution,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Answers that are still to come, of requests whose future was dropped.
    unclaimed: usize,
    /// Which tools tree each slot holds; the most recently used last.
    slots: VecDeque<([u8; 32], u32)>,
}

impl ZygoteHandle {
    /// Starts a zygote.
    pub(crate) async fn launch(config: ZygoteConfig) -> Result<Self, LaunchError> {
        let prepare = |source| LaunchError::Prepare { source };
        let resolution = weaken::resolution(&config);
        let launched = tokio::task::spawn_blocking(move || Zygote::launch(config)).await;
        let zygote = launched.map_err(|error| prepare(io::Error::other(error)))??;
        let control = zygote.as_fd().try_clone_to_owned().and_then(sys::readable);
        Ok(Self {
            control: control.map_err(prepare)?,
            zygote,
            resolution,
            state: Mutex::default(),
        })
    }

    /// Who its sessions are on the host, if not the host's own user.
    pub(crate) fn user(&self) -> Option<u32> {
        self.zygote.user()
    }

    /// How the host resolves paths of its sessions' workspaces.
    pub(crate) fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// Its process id on the host.
    pub(crate) fn pid(&self) -> i32 {
        self.zygote.pid()
    }

    /// Forks a session that sees `tools`. Cancel-safe: a session that nobody takes ends by itself, since its
    /// status socket closes.
    pub(crate) async fn fork(
        &self,
        limits: &SessionLimits,
        tools: &Arc<ToolTree>,
        descriptors: [BorrowedFd<'_>; 4],
        cgroup: Option<BorrowedFd<'_>>,
    ) -> Result<SessionProcess, RequestError> {
        let mut state = self.state.lock().await;
        let slot = self.slot(&mut state, tools).await?;
        let request = |zygote: &Zygote| zygote.request_fork(limits, slot, descriptors, cgroup);
        match self.exchange(&mut state, request).await? {
            Answer::Forked(process) => Ok(process),
            Answer::ToolsReady => Err(RequestError::Gone(io::ErrorKind::InvalidData.into())),
        }
    }

    /// The slot that holds `tools`, filled if need be; `None` if there are none.
    async fn slot(&self, state: &mut State, tools: &ToolTree) -> Result<Option<u32>, RequestError> {
        if tools.files.is_empty() {
            return Ok(None);
        }
        let known = state
            .slots
            .iter()
            .position(|&(print, _)| print == tools.fingerprint);
        if let Some(entry) = known.and_then(|at| state.slots.remove(at)) {
            state.slots.push_back(entry);
            return Ok(Some(entry.1));
        }
        let files = tools
            .files
            .iter()
            .map(|(path, source)| (path.as_str(), source.as_bytes()));
        let archive = ToolArchive::pack(files).map_err(RequestError::Pack)?;
        let used = u32::try_from(state.slots.len()).unwrap_or(u32::MAX);
        let slot = if used < TOOL_SLOTS {
            used
        } else {
            // Sessions that still use the tree keep it.
            state.slots.pop_front().map_or(0, |(_, slot)| slot)
        };
        self.exchange(state, |zygote| zygote.request_tools(slot, &archive))
            .await?;
        state.slots.push_back((tools.fingerprint, slot));
        Ok(Some(slot))
    }

    async fn exchange(
        &self,
        state: &mut State,
        request: impl Fn(&Zygote) -> io::Result<()>,
    ) -> Result<Answer, RequestError> {
        while state.unclaimed > 0 {
            // Dropping it closes the pidfd; the session ends with its sockets.
            drop(self.answer().await?);
            state.unclaimed -= 1;
        }
        // A request is small and its answer awaited: there is always room for one.
        request(&self.zygote).map_err(RequestError::Gone)?;
        state.unclaimed += 1;
        let answer = self.answer().await?;
        state.unclaimed -= 1;
        answer.map_err(RequestError::Step)
    }

    async fn answer(&self) -> Result<Result<Answer, StepError>, RequestError> {
        self.control
            .async_io(Interest::READABLE, |_| self.zygote.answer())
            .await
            .map_err(RequestError::Gone)
    }
}
