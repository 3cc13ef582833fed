//! How a block ended, and what it left.

use std::{fmt, time::Duration};

use bytes::Bytes;
use codehatch_artifacts::Saved;
use codehatch_protocol::RawJson;
use codehatch_runtime::{Exit, Skipped};

use crate::ids::{BlockNumber, CallNumber};

/// Everything about a block that has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BlockOutcome {
    /// Which block of its turn.
    pub block: BlockNumber,
    /// How it ended.
    pub ending: Ending,
    /// Whether variables and files are still there for the next block.
    pub state: BlockState,
    /// Set if the block ran in a new sandbox because that of the blocks before was found lost: how. Their variables
    /// and files were not there.
    pub reset: Option<LossCause>,
    /// What its processes wrote to standard output.
    pub stdout: CapturedText,
    /// What its processes wrote to standard error, tracebacks included.
    pub stderr: CapturedText,
    /// What work that earlier blocks left behind wrote before this block began, on either stream.
    pub earlier_output: String,
    /// The value of its last expression, if that is not `None`.
    pub result: Option<ResultValue>,
    /// Figures and images that it made: media type and bytes.
    pub images: Vec<(String, Bytes)>,
    /// Its tool calls, in the order of their arrival; the first 10,000 to be answered.
    pub calls: Vec<CallRecord>,
    /// How many more there were.
    pub unrecorded_calls: u64,
    /// Files that it made or changed, and output beyond the limit, as they were kept.
    pub artifacts: Vec<Saved>,
    /// Files that it deleted.
    pub deleted: Vec<String>,
    /// Files that could not be kept, and why.
    pub skipped: Vec<Skipped>,
    /// From its beginning to its end, the start of a sandbox included.
    pub took: Duration,
}

/// The four ways in which a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// Its code ran to its end, or raised.
    Completed {
        /// 0, or what it gave to `sys.exit`; 1 if it raised.
        exit_code: i64,
    },
    /// It was stopped, and did stop.
    Interrupted {
        /// Why.
        reason: StopReason,
    },
    /// Its sandbox ended under it, or had to be killed.
    SandboxLost {
        /// How.
        cause: LossCause,
        /// Whether its code ran.
        started: Started,
    },
    /// It could not be run, for reasons that are not its own.
    HostError {
        /// What is wrong on the host, and what to do.
        message: String,
    },
}

/// Why a sandbox was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossCause {
    /// It ended by itself.
    Exit(Exit),
    /// It was killed because the block did not stop.
    NotStopped(StopReason),
    /// It was killed because threads of the stopped block went on.
    WorkLeft(StopReason),
    /// It broke the protocol.
    Protocol(String),
    /// It was ended because the turn was idle for so long.
    Idle(Duration),
}

/// Whether the code of a block that was lost has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// Certainly not: running it again does nothing twice.
    NotRun,
    /// It had begun; how far it came is not known.
    MayHaveRun,
    /// It ran to its end; only what it came to is lost.
    Ran,
}

/// Why a block was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// It ran longer than it may.
    TimeLimit(Duration),
    /// It used more processor time than it may.
    CpuLimit(Duration),
    /// The host's user or program asked for it.
    Requested,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimeLimit(limit) => {
                write!(
                    f,
                    "it ran for longer than its time limit of {}",
                    seconds(*limit)
                )
            }
            Self::CpuLimit(limit) => {
                write!(
                    f,
                    "it used more processor time than its limit of {}",
                    seconds(*limit)
                )
            }
            Self::Requested => f.write_str("it was cancelled"),
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// Whether variables and files of the turn are still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// They are.
    Kept,
    /// The next block starts with none.
    Lost,
}

/// Text that a block wrote, whole or cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedText {
    /// What it wrote; where that was too much, its beginning and end with a note between them.
    pub text: String,
    /// Bytes that it wrote.
    pub bytes: u64,
    /// Where the whole is, if the text is cut and it could be kept.
    pub artifact: Option<Saved>,
}

/// The value of a block's last expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultValue {
    /// A value that JSON holds.
    Json {
        /// The name of its Python type.
        type_name: String,
        /// The value.
        value: RawJson,
    },
    /// Any other value, as Python shows it. Bounded.
    Repr {
        /// The name of its Python type.
        type_name: String,
        /// Its text form.
        text: String,
    },
}

/// One tool call of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRecord {
    /// Which.
    pub call: CallNumber,
    /// The tool's dotted path, or the unknown name that was asked for.
    pub tool: String,
    /// Whether it went well.
    pub ok: bool,
    /// From its arrival to its answer.
    pub took: Duration,
}

impl BlockOutcome {
    /// Whether the code ran to its end and raised nothing.
    pub fn is_success(&self) -> bool {
        self.ending == Ending::Completed { exit_code: 0 }
    }

    /// What to tell the model of the ending: true, and nothing that invites to repeat an effect blindly. `None`
    /// for a block that completed with exit code 0 or raised, which its output shows, unless the turn was
    /// [reset](Self::reset) before it.
    pub fn message(&self) -> Option<String> {
        let ending = self.ending_message();
        let Some(cause) = &self.reset else {
            return ending;
        };
        let mut message = format!(
            "Before this code ran, the sandbox of the earlier blocks was lost: {cause}. It ran in a new sandbox, \
             without their variables and files."
        );
        message.extend(ending.iter().flat_map(|ending| [" ", ending]));
        Some(message)
    }

    fn ending_message(&self) -> Option<String> {
        let state = match self.state {
            BlockState::Kept => "Variables and files are kept.",
            BlockState::Lost => "Variables and files are lost; the next block starts afresh.",
        };
        let again = "Do not simply run it again: check first which of its effects took place.";
        match &self.ending {
            Ending::Completed { exit_code: 0 | 1 } => None,
            Ending::Completed { exit_code } => {
                Some(format!("The code exited with code {exit_code}."))
            }
            Ending::Interrupted { reason } => Some(format!(
                "The code was stopped because {reason}. Its output so far is shown. {state} {again}"
            )),
            Ending::SandboxLost { cause, started } => {
                let ran = match started {
                    Started::NotRun => "The code did not run. It can be run again.",
                    Started::MayHaveRun => again,
                    Started::Ran => {
                        "The code ran to its end, but its result is lost. Do not run it again."
                    }
                };
                Some(format!("The sandbox was lost: {cause}. {state} {ran}"))
            }
            Ending::HostError { message } => {
                Some(format!("The code could not be run: {message}. {state}"))
            }
        }
    }
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(exit) => exit.fmt(f),
            Self::NotStopped(reason) => {
                write!(
                    f,
                    "the code was to be stopped because {reason}, and did not stop"
                )
            }
            Self::WorkLeft(reason) => write!(
                f,
                "the code was stopped because {reason}, and threads that it had started went on"
            ),
            Self::Idle(after) => write!(f, "it was not used for {}", seconds(*after)),
            Self::Protocol(detail) => write!(f, "it broke the protocol ({detail})"),
        }
    }
}
