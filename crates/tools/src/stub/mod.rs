//! The `tools` package as Python source: what a guest imports, and what a model can read.
//!
//! Every module is a preamble followed by blocks. A block starts at column 0 with `class `, `def ` or a name
//! and ` = `, and nothing inside one does; so a guest can compile the one function that is used.

mod block;
mod file;
mod function;

pub(crate) use block::push_type_block;
pub(crate) use file::{RUNTIME, package_source, push_all, push_preamble};
pub(crate) use function::push_function;
