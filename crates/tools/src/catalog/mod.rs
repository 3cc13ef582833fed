//! The block of text that tells a model what it can use: Python, packages and tools, within a budget.

mod block;
mod entry;
mod environment;
mod fit;
mod options;

pub(crate) use block::{Section, render as render_block};
pub(crate) use entry::{least_bytes, push_definition, push_entry};
pub use options::{CatalogOptions, Environment};
