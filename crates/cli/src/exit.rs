//! Exit codes, and how errors are printed.

use std::{
    fmt,
    io::{self, Write},
    process::ExitCode,
};

use codehatch::{BlockOutcome, Ending, LossCause, StopReason, runtime::Exit};

use crate::signals::Signal;

/// A wrong command line or configuration.
const USAGE: u8 = 2;
/// The host is at fault, `EX_SOFTWARE` of sysexits.h.
pub(crate) const HOST: u8 = 70;
/// A time limit, as `timeout(1)` has it.
const TIMED_OUT: u8 = 124;
/// `SIGKILL`, as shells have it.
const KILLED: u8 = 137;
/// `SIGPIPE`, as shells have it: whoever read the output has gone.
pub(crate) const BROKEN_PIPE: u8 = 141;

/// An error in what the user gave: exit code 2 instead of 70. Without words of its own it only marks others.
#[derive(Debug, Default)]
pub(crate) struct UsageError {
    message: String,
}

impl UsageError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UsageError {}

/// The causes of an error as one text.
pub(crate) fn text_of(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        // Many messages show their cause already.
        if !cause.is_empty() && !text.contains(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    text
}

/// Prints an error with its causes and gives the exit code for it.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let is_broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_broken_pipe) {
        return ExitCode::from(BROKEN_PIPE);
    }
    let is_usage = error.downcast_ref::<UsageError>().is_some();
    let _ = writeln!(io::stderr(), "codehatch: {}", text_of(error));
    ExitCode::from(if is_usage { USAGE } else { HOST })
}

/// The exit code that tells how a block ended; `signal` is what stopped it, if one did.
pub(crate) fn code_of(outcome: &BlockOutcome, signal: Option<Signal>) -> u8 {
    let of_reason = |reason| match reason {
        StopReason::Requested => signal.unwrap_or(Signal::Interrupt).exit_code(),
        _ => TIMED_OUT,
    };
    match &outcome.ending {
        Ending::Completed { exit_code } => u8::try_from(*exit_code).unwrap_or(u8::MAX),
        Ending::Interrupted { reason } => of_reason(*reason),
        Ending::SandboxLost { cause, .. } => match cause {
            LossCause::Exit(Exit::Exited { code: 0 }) => 1,
            LossCause::Exit(Exit::Exited { code }) => u8::try_from(*code).unwrap_or(1),
            LossCause::Exit(Exit::Signaled { signal }) => {
                u8::try_from(128 + signal).unwrap_or(KILLED)
            }
            LossCause::NotStopped(reason) | LossCause::WorkLeft(reason) => of_reason(*reason),
            _ => KILLED,
        },
        _ => HOST,
    }
}
