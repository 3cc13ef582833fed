//! Why a sandbox did not start, or a file did not cross.

use std::io;

/// Why a sandbox did not start. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
#[error("cannot start a sandbox with the {runtime} runtime: {message}")]
pub struct StartError {
    /// The runtime's name.
    pub runtime: &'static str,
    /// What failed, and what to do about it.
    pub message: String,
    /// Whether the same start may succeed if tried again.
    pub transient: bool,
    /// The cause, where there is one.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl StartError {
    /// An error that stays until somebody mends its cause.
    pub fn new(
        runtime: &'static str,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self {
            runtime,
            message: error.to_string(),
            transient: false,
            source: Some(Box::new(error)),
        }
    }

    /// An error of which only the text is known.
    pub fn message(runtime: &'static str, message: impl Into<String>) -> Self {
        Self {
            runtime,
            message: message.into(),
            transient: false,
            source: None,
        }
    }

    /// Marks the error as one that may pass.
    #[must_use]
    pub fn transient(mut self) -> Self {
        self.transient = true;
        self
    }

    /// Whether the same start may succeed if tried again.
    pub fn is_transient(&self) -> bool {
        self.transient
    }
}

/// Why a file did not get into or out of a workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The name leaves the workspace or cannot be a file's.
    #[error("`{path}` is no name for a file in the workspace: {fault}")]
    Path {
        /// The name.
        path: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The workspace is full.
    #[error(
        "the workspace has no room for `{path}` ({bytes} bytes): raise `workspace` in `[limits]`"
    )]
    Full {
        /// The file.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// The sandbox is gone.
    #[error("the sandbox of this workspace is gone")]
    Gone,
    /// Anything else.
    #[error("cannot access `{path}` in the workspace")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}
