//! Exit codes, and how errors are printed.

use std::{io::Write, process::ExitCode};

use codehatch::{BlockOutcome, Ending, LossCause, StopReason, runtime::Exit};

/// A wrong command line or configuration.
pub(crate) const USAGE: u8 = 2;
/// The host is at fault, `EX_SOFTWARE` of sysexits.h.
pub(crate) const HOST: u8 = 70;
/// A time limit, as `timeout(1)` has it.
pub(crate) const TIMED_OUT: u8 = 124;
/// `SIGINT`, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;
/// `SIGKILL`, as shells have it.
const KILLED: u8 = 137;

/// An error in what the user gave: exit code 2 instead of 70.
#[derive(Debug)]
pub(crate) struct UsageError;

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("see `codehatch --help`")
    }
}

impl std::error::Error for UsageError {}

/// Prints an error with its causes and gives the exit code for it.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let is_usage = error.chain().any(<dyn std::error::Error>::is::<UsageError>);
    let mut text = String::new();
    for cause in error.chain().filter(|cause| !cause.is::<UsageError>()) {
        let cause = cause.to_string();
        // Many messages show their cause already.
        if !text.contains(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    let _ = writeln!(std::io::stderr(), "codehatch: {text}");
    ExitCode::from(if is_usage { USAGE } else { HOST })
}

/// The exit code that tells how a block ended.
pub(crate) fn code_of(outcome: &BlockOutcome) -> u8 {
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

fn of_reason(reason: StopReason) -> u8 {
    match reason {
        StopReason::Requested => INTERRUPTED,
        _ => TIMED_OUT,
    }
}
