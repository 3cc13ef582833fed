//! The messages between the host, the zygote and a session's init. The session module has the same in
//! `message.rs`; both are compiled from one commit, and travel between processes of one machine only.

use std::io;

/// Bounds of one session, which the kernel keeps. All are fixed when the session is forked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Open files of each process. Default 512.
    pub open_files: u32,
    /// Processes and threads. Default 128.
    pub processes: u32,
    /// Processor seconds of each process; 0 for no limit of the kernel's. Default 0.
    pub cpu_seconds: u32,
    /// Private writable memory of each process, in bytes. Default 512 MiB.
    pub data_bytes: u64,
    /// Address space of each process, in bytes. Default 16 GiB: a reservation is not memory.
    pub address_bytes: u64,
    /// Size of one file, in bytes. Default 1 GiB.
    pub file_bytes: u64,
    /// Size of the workspace, in bytes. Default 256 MiB.
    pub workspace_bytes: u64,
    /// Size of `/tmp` and of `/dev/shm`, in bytes each. Default 64 MiB.
    pub temporary_bytes: u64,
    /// Files and directories in each of those. Default 16,384.
    pub inodes: u64,
}

const MIB: u64 = 1024 * 1024;

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            open_files: 512,
            processes: 128,
            cpu_seconds: 0,
            data_bytes: 512 * MIB,
            address_bytes: 16 * 1024 * MIB,
            file_bytes: 1024 * MIB,
            workspace_bytes: 256 * MIB,
            temporary_bytes: 64 * MIB,
            inodes: 16_384,
        }
    }
}

/// What the host asks of a zygote.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    Fork {
        limits: SessionLimits,
        tools: Option<u32>,
        has_cgroup: bool,
    },
    Tools {
        slot: u32,
    },
}

const OP_FORK: u32 = 1;
const OP_TOOLS: u32 = 2;
const NO_SLOT: u32 = u32::MAX;

impl Request {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let (words, limits) = match self {
            Self::Fork {
                limits,
                tools,
                has_cgroup,
            } => (
                [OP_FORK, tools.unwrap_or(NO_SLOT), u32::from(has_cgroup)],
                limits,
            ),
            Self::Tools { slot } => ([OP_TOOLS, slot, 0], SessionLimits::default()),
        };
        let mut bytes = Vec::new();
        for word in
            words
                .into_iter()
                .chain([limits.open_files, limits.processes, limits.cpu_seconds])
        {
            bytes.extend(word.to_ne_bytes());
        }
        for number in [
            limits.data_bytes,
            limits.address_bytes,
            limits.file_bytes,
            limits.workspace_bytes,
            limits.temporary_bytes,
            limits.inodes,
        ] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes
    }
}

/// Reads a zygote's answer: the process id (0 for a tools request), or the failed step and its errno.
pub(crate) fn parse_reply(bytes: &[u8]) -> Option<Result<i32, StepFailure>> {
    let (result, step) = bytes.split_first_chunk::<4>()?;
    let result = i32::from_ne_bytes(*result);
    let step = u32::from_ne_bytes(step.try_into().ok()?);
    Some(if result < 0 {
        Err(StepFailure::new(step, -result))
    } else {
        Ok(result)
    })
}

/// What a session's init says.
#[derive(Clone, Debug)]
pub enum Status {
    /// Isolation is complete.
    Started,
    /// Isolation failed; nothing of the session is left.
    Failed(StepFailure),
    /// The interpreter ended with this `wait(2)` status.
    Exited(i32),
}

impl Status {
    /// Reads a status message.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<4>() else {
            return None;
        };
        let [kind, step, value] = words else {
            return None;
        };
        let value = i32::from_ne_bytes(*value);
        match u32::from_ne_bytes(*kind) {
            1 => Some(Self::Started),
            2 => Some(Self::Failed(StepFailure::new(
                u32::from_ne_bytes(*step),
                value,
            ))),
            3 => Some(Self::Exited(value)),
            _ => None,
        }
    }
}

/// What the host tells a session's init.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send `SIGINT` to the interpreter.
    Interrupt,
    /// Kill every process but the interpreter.
    Sweep,
}

impl Command {
    /// The message.
    pub fn to_bytes(self) -> [u8; 1] {
        match self {
            Self::Interrupt => *b"I",
            Self::Sweep => *b"S",
        }
    }
}

/// A step of isolating a session that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepFailure {
    /// Which step.
    pub step: SessionStep,
    /// What the kernel said.
    pub errno: i32,
}

impl StepFailure {
    fn new(step: u32, errno: i32) -> Self {
        Self {
            step: SessionStep::from_number(step),
            errno,
        }
    }

    /// What the kernel said, as an error.
    pub fn error(&self) -> io::Error {
        io::Error::from_raw_os_error(self.errno)
    }
}

/// The steps of isolating a session, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "`describe` says what each is")]
pub enum SessionStep {
    Clone,
    ParentDeath,
    IdMap,
    NamespaceLimits,
    HostName,
    Workspace,
    Temporary,
    Tools,
    Proc,
    Descriptors,
    Limits,
    Capabilities,
    NoNewPrivileges,
    Landlock,
    Listener,
    Seccomp,
    Fork,
    Unknown,
}

impl SessionStep {
    fn from_number(number: u32) -> Self {
        const STEPS: [SessionStep; 17] = [
            SessionStep::Clone,
            SessionStep::ParentDeath,
            SessionStep::IdMap,
            SessionStep::NamespaceLimits,
            SessionStep::HostName,
            SessionStep::Workspace,
            SessionStep::Temporary,
            SessionStep::Tools,
            SessionStep::Proc,
            SessionStep::Descriptors,
            SessionStep::Limits,
            SessionStep::Capabilities,
            SessionStep::NoNewPrivileges,
            SessionStep::Landlock,
            SessionStep::Listener,
            SessionStep::Seccomp,
            SessionStep::Fork,
        ];
        let at = usize::try_from(number).unwrap_or_default().wrapping_sub(1);
        STEPS.get(at).copied().unwrap_or(Self::Unknown)
    }

    /// What was tried, to be read behind "cannot".
    pub fn describe(self) -> &'static str {
        match self {
            Self::Clone => "create the session's namespaces",
            Self::ParentDeath => "tie the session to its zygote",
            Self::IdMap => "map the session's user id",
            Self::NamespaceLimits => "limit the session's namespaces",
            Self::HostName => "set the session's host name",
            Self::Workspace => "mount the workspace",
            Self::Temporary => "mount /tmp and /dev/shm",
            Self::Tools => "mount the tools tree",
            Self::Proc => "mount the session's /proc",
            Self::Descriptors => "place the session's file descriptors",
            Self::Limits => "set resource limits",
            Self::Capabilities => "drop capabilities",
            Self::NoNewPrivileges => "forbid new privileges",
            Self::Landlock => "restrict files with landlock",
            Self::Listener => "open the session's inner socket",
            Self::Seccomp => "install the seccomp filter",
            Self::Fork => "fork the session's interpreter",
            Self::Unknown => "isolate the session",
        }
    }
}

/// The other side's declarations.
#[cfg(test)]
#[path = "../session/src/message.rs"]
#[expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "what the two have in common is compared"
)]
mod message;

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn a_request_is_what_the_session_module_reads() {
        let fork = Request::Fork {
            limits: SessionLimits {
                open_files: 11,
                processes: 12,
                cpu_seconds: 13,
                data_bytes: 14,
                address_bytes: 15,
                file_bytes: 16,
                workspace_bytes: 17,
                temporary_bytes: 18,
                inodes: 19,
            },
            tools: Some(3),
            has_cgroup: true,
        };
        let bytes = fork.to_bytes();
        let word = |at: usize| u64::from(u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap()));
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
        let read = [
            word(offset_of!(message::Request, op)),
            word(offset_of!(message::Request, slot)),
            word(offset_of!(message::Request, has_cgroup)),
            word(offset_of!(message::Request, open_files)),
            word(offset_of!(message::Request, processes)),
            word(offset_of!(message::Request, cpu_seconds)),
            long(offset_of!(message::Request, data_bytes)),
            long(offset_of!(message::Request, address_bytes)),
            long(offset_of!(message::Request, file_bytes)),
            long(offset_of!(message::Request, workspace_bytes)),
            long(offset_of!(message::Request, temporary_bytes)),
            long(offset_of!(message::Request, inodes)),
        ];
        let op = u64::from(message::OP_FORK);
        assert_eq!(read, [op, 3, 1, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
        let weakened = if cfg!(feature = "weaken") { 8 } else { 0 };
        assert_eq!(bytes.len() + weakened, size_of::<message::Request>());
        let tools = Request::Tools { slot: 1 }.to_bytes();
        assert_eq!(tools.len(), bytes.len());
        assert_eq!(tools[..4], message::OP_TOOLS.to_ne_bytes());
    }

    #[test]
    fn both_sides_number_the_steps_alike() {
        for (ours, theirs) in [
            (SessionStep::Clone, message::Step::Clone),
            (SessionStep::ParentDeath, message::Step::ParentDeath),
            (SessionStep::IdMap, message::Step::IdMap),
            (SessionStep::NamespaceLimits, message::Step::NamespaceLimits),
            (SessionStep::HostName, message::Step::HostName),
            (SessionStep::Workspace, message::Step::Workspace),
            (SessionStep::Temporary, message::Step::Temporary),
            (SessionStep::Tools, message::Step::Tools),
            (SessionStep::Proc, message::Step::Proc),
            (SessionStep::Descriptors, message::Step::Descriptors),
            (SessionStep::Limits, message::Step::Limits),
            (SessionStep::Capabilities, message::Step::Capabilities),
            (SessionStep::NoNewPrivileges, message::Step::NoNewPrivileges),
            (SessionStep::Landlock, message::Step::Landlock),
            (SessionStep::Listener, message::Step::Listener),
            (SessionStep::Seccomp, message::Step::Seccomp),
            (SessionStep::Fork, message::Step::Fork),
        ] {
            assert_eq!(ours, SessionStep::from_number(theirs as u32));
        }
    }

    #[test]
    fn a_status_is_what_the_session_module_sends() {
        let sent = |kind: u32, step: message::Step, value: i32| {
            let mut bytes = [0; size_of::<message::Status>()];
            bytes[offset_of!(message::Status, kind)..][..4].copy_from_slice(&kind.to_ne_bytes());
            bytes[offset_of!(message::Status, step)..][..4]
                .copy_from_slice(&(step as u32).to_ne_bytes());
            bytes[offset_of!(message::Status, value)..][..4].copy_from_slice(&value.to_ne_bytes());
            format!("{:?}", Status::parse(&bytes))
        };
        assert_eq!(
            [
                sent(message::STATUS_STARTED, message::Step::Clone, 0),
                sent(message::STATUS_FAILED, message::Step::Proc, 1),
                sent(message::STATUS_EXITED, message::Step::Clone, 9),
            ],
            [
                "Some(Started)",
                "Some(Failed(StepFailure { step: Proc, errno: 1 }))",
                "Some(Exited(9))",
            ]
        );
        let commands = [message::COMMAND_INTERRUPT, message::COMMAND_SWEEP];
        let ours = [Command::Interrupt, Command::Sweep].map(|command| command.to_bytes()[0]);
        assert_eq!(ours, commands);
    }

    #[test]
    fn answers_are_read_back() {
        let reply = |result: i32, step: u32| {
            parse_reply(&[result.to_ne_bytes(), step.to_ne_bytes()].concat())
        };
        assert_eq!(reply(42, 0), Some(Ok(42)));
        let failed = StepFailure {
            step: SessionStep::Tools,
            errno: 1,
        };
        assert_eq!(reply(-1, 8), Some(Err(failed)));
        assert_eq!(parse_reply(b"short"), None);
    }
}
