//! The seam between the engine and what starts sandboxes.
//!
//! A runtime starts sandboxes of one kind and hands out plain byte streams; it knows nothing of frames,
//! tools or blocks.

mod error;
mod limits;
mod sandbox;
mod workspace;

pub use error::{StartError, WorkspaceError};
pub use limits::Limits;
pub use sandbox::{
    BoxFuture, Control, Environment, Exit, OutputSource, OutputStream, Sandbox, SandboxHandle,
    SandboxRuntime, StartRequest, ToolTree, Usage,
};
pub use workspace::{
    Baseline, Change, CollectLimits, Collected, CollectedFile, Entry, Skipped, Stamp, Workspace,
    check_path,
};
