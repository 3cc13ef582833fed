//! Code mode for agents: a model writes a Python program, the program runs sealed and calls your tools.
//!
//! ```no_run
//! use codehatch::{Builder, CatalogOptions, function::FunctionTool};
//!
//! /// Adds two numbers.
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Add {
//!     a: i64,
//!     b: i64,
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let add = FunctionTool::plain("add", |Add { a, b }| Ok::<_, String>(a + b));
//! let engine = Builder::new().tool(add).build().await?;
//!
//! // What the model reads, and what it may write after reading it.
//! println!("{}", engine.catalog(CatalogOptions::default()).await?);
//! let program = "from tools import add\nsum(add(a=n, b=1) for n in range(10))";
//!
//! let mut turn = engine.turn();
//! let outcome = turn.execute(program).await;
//! println!("{} {:?}", outcome.stdout.text, outcome.result);
//! turn.close().await;
//! engine.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Turn`] is one invocation of an agent: its blocks share variables and files. [`Turn::execute`] runs a block;
//! its [`Execution`] is a stream of [`Event`]s and a future of the [`BlockOutcome`].

mod builder;

pub use builder::{BuildError, Builder};
pub use codehatch_engine::{
    BlockNumber, BlockOutcome, BlockState, CallNumber, CallRecord, CapturedText, Ending, Engine,
    EngineLimits, Event, Execution, FileError, LossCause, Observer, ProviderReport, ResultValue,
    Started, Stop, StopReason, Turn, TurnId, TurnLimits,
};
pub use codehatch_protocol::{RawJson, Stream};
pub use codehatch_runtime::{CollectLimits, Limits};
pub use codehatch_tools::{
    Annotations, BoxFuture, CatalogOptions, Diagnostic, Listing, ProviderError, ToolFault,
    ToolOutput, ToolProblem, ToolProvider, ToolRequest, ToolSet, ToolSpec,
};

/// Where artifacts are kept.
pub mod artifacts {
    pub use codehatch_artifacts::*;
}

/// Rust functions as tools.
#[cfg(feature = "function")]
pub mod function {
    pub use codehatch_function::*;
}

/// The embedded sandbox.
#[cfg(all(feature = "local", target_os = "linux"))]
pub mod local {
    pub use codehatch_local::*;
}

/// Tools of MCP servers.
#[cfg(feature = "mcp")]
pub mod mcp {
    pub use codehatch_mcp::*;
}

/// What a sandbox runtime is, for those who write one.
pub mod runtime {
    pub use codehatch_runtime::*;
}
