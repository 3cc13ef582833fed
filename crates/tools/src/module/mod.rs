//! One namespace: its tools read, its types named, and everything that is written about it.

mod expr;
mod notes;
mod render;
mod shape;
mod types;

pub(crate) use expr::{Dialect, Shadow, push_type};
pub(crate) use notes::{has_notes, push_description, push_limits, push_notes};
pub(crate) use render::{Stub, Summary, stub, summary};
pub(crate) use shape::{Shape, Tool};
pub(crate) use types::{NamedType, TypeNames, Types};
