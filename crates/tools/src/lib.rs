//! What tools are called, what the model reads about them, and the seam to wherever they come from.
//!
//! Pure: nothing here does I/O or knows of sandboxes.

mod catalog;
mod module;
mod names;
mod provider;
mod schema;
mod set;
mod stub;
mod text;

pub use catalog::{CatalogOptions, Environment};
pub use provider::{
    Annotations, BoxFuture, Listing, ProviderError, ToolFault, ToolOutput, ToolProblem,
    ToolProvider, ToolRequest, ToolSpec,
};
pub use set::{Diagnostic, Fingerprint, ProviderTools, StubFile, ToolRef, ToolSet};
