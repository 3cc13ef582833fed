//! The block of text that tells a model what it can use: Python, packages and tools, within a budget.

mod block;
mod entry;
mod environment;
mod fit;
mod options;

pub(crate) use block::render as render_block;
pub(crate) use entry::{Entry, push_definition};
pub use options::{CatalogOptions, Environment};
