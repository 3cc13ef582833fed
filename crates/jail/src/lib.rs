//! Builds the local sandbox around CPython: everything that isolates, and nothing else.
//!
//! The host launches a [`Zygote`]: an interpreter in namespaces of its own, on a read-only root, with the
//! guest's code loaded. For each session the zygote forks; the child isolates itself further, for good, and
//! only then runs model code. This crate is small, knows no async runtime, and holds all `unsafe` of the
//! local runtime. Linux only.

mod child;
mod error;
mod interpreter;
mod launch;
mod root;
pub mod seccomp;
mod socket;
mod sys;
#[cfg(feature = "weaken")]
mod weaken;
#[cfg(not(feature = "weaken"))]
#[path = "whole.rs"]
mod weaken;
mod wire;

pub use child::LaunchStep;
pub use error::{LaunchError, StepError};
pub use interpreter::{Environment, Interpreter};
pub use launch::{
    Answer, SessionProcess, ToolArchive, Zygote, ZygoteConfig, receive_status, send_command,
    status_pair,
};
pub use root::{GUEST_DIR, GuestFile, TOOL_SLOTS};
pub use sys::FileUser;
#[cfg(feature = "weaken")]
pub use weaken::{Protection, Weaken};
pub use wire::{Command, SessionLimits, SessionStep, Status, StepFailure};
