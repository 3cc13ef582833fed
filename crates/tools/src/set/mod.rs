//! All tools of a turn: found by name, written as stubs and catalog, compared by fingerprint.

mod file;
mod fingerprint;
mod registry;
mod reuse;
mod search;
mod suggest;
mod tool_ref;
mod toolset;

pub use file::StubFile;
pub use fingerprint::Fingerprint;
pub use tool_ref::ToolRef;
pub use toolset::{Diagnostic, ProviderTools, ToolSet};
