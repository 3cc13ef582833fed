//! The embedded runtime: real CPython, sealed by the Linux kernel.
//!
//! A zygote holds an interpreter ready; each sandbox is a fork of it that isolates itself for good before model
//! code runs. See `docs/local-runtime.md`.
#![cfg(target_os = "linux")]

mod cgroup;
mod config;
mod discover;
mod guest;
mod memory;
mod output;
mod pool;
mod process;
mod runtime;
mod session;
mod start;
mod sys;
#[cfg(feature = "weaken")]
mod weaken;
#[cfg(not(feature = "weaken"))]
#[path = "whole.rs"]
mod weaken;
mod workspace;
mod zygote;

#[cfg(feature = "weaken")]
pub use codehatch_jail::{Protection, Weaken};
pub use config::LocalConfig;
pub use discover::{DiscoverError, OLDEST_PYTHON};
pub use runtime::LocalRuntime;
