//! What tools are called, what the model reads about them, and the seam to wherever they come from.
//!
//! Pure: nothing here does I/O or knows of sandboxes.

mod provider;

pub use provider::{
    Annotations, BoxFuture, Listing, ProviderError, ToolFault, ToolOutput, ToolProblem,
    ToolProvider, ToolRequest, ToolSpec,
};
