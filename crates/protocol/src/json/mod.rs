//! JSON as Python writes it: one value kept as text, so that nothing in it is rounded or lost.

mod error;
mod raw;
mod scan;

pub use error::{JsonError, JsonFault};
pub use raw::RawJson;
pub use scan::MAX_NESTING;
