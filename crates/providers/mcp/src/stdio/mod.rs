//! A server as a child process: its life, and the protocol over its standard input and output.

mod lines;
mod process;
mod tail;
mod transport;
mod watcher;

pub use process::HOST_VARIABLES;
pub(crate) use process::{Link, Obituary, Program};
pub(crate) use transport::{Settings, StdioTransport};
