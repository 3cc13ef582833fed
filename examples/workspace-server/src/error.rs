//! What can go wrong in a tool, in words that a model can act on.

use std::io;

/// Why a tool gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ToolError {
    /// The path is absolute, or climbs out of the directory.
    #[error("`{path}` is not inside the workspace; give a path relative to it, without `..`")]
    Outside { path: String },
    /// The path leads to nothing.
    #[error("there is no `{path}`; list_files shows what there is")]
    Missing { path: String },
    /// The path leads to a directory or the like.
    #[error("`{path}` is no file; list_files with `{path}/**` shows what is in it")]
    NotAFile { path: String },
    /// The file holds no text.
    #[error("`{path}` is not text in UTF-8")]
    NotText { path: String },
    /// The file is too large to be read whole.
    #[error("`{path}` has {bytes} bytes, more than the limit of {limit}")]
    TooLarge {
        path: String,
        bytes: u64,
        limit: u64,
    },
    /// The lines asked for do not exist.
    #[error("`{path}` has {lines} lines; line {first} is beyond its end")]
    BeyondEnd {
        path: String,
        lines: u64,
        first: u64,
    },
    /// The glob cannot be read.
    #[error("`{glob}` is no glob: {reason}")]
    BadGlob { glob: String, reason: String },
    /// The regular expression cannot be read.
    #[error("the pattern is no regular expression: {reason}")]
    BadPattern { reason: String },
    /// There is no `git` program.
    #[error("the `git` program is not installed on the server; history is not available")]
    NoGit,
    /// The directory is no repository, or git failed otherwise.
    #[error("git failed: {reason}")]
    Git { reason: String },
    /// git took too long.
    #[error("git took longer than {seconds} s; ask for less")]
    GitTimeout { seconds: u64 },
    /// The file system failed.
    #[error("cannot read `{path}`: {source}")]
    Io { path: String, source: io::Error },
    /// The worker that did the job is gone.
    #[error("the work was cut off; try again")]
    Interrupted,
}
