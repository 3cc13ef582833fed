//! What tools are called, what the model reads about them, and the seam to wherever they come from.
//!
//! Pure: nothing here does I/O or knows of sandboxes.
//!
//! ```
//! use std::sync::Arc;
//!
//! use codehatch_tools::{CatalogOptions, Listing, ProviderTools, ToolSet, ToolSpec};
//! use serde_json::json;
//!
//! let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]});
//! let listing = Listing {
//!     tools: vec![ToolSpec::new("get-user", schema).with_description("Reads a user.")],
//!     problems: vec![],
//! };
//! let set = ToolSet::build(&[ProviderTools { namespace: Some("crm"), listing: Arc::new(listing) }]);
//!
//! let tool = set.resolve("crm.get_user").expect("it was listed");
//! assert_eq!(tool.spec().name, "get-user");
//! assert_eq!(tool.signature(), "def get_user(id: int)");
//! assert!(set.catalog(&CatalogOptions::default()).contains("    Reads a user.\n"));
//! assert_eq!(set.files()[2].path(), "crm.py");
//! ```

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
