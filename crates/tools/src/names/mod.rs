//! Python names for servers, tools and parameters: always valid, never two the same, never dependent on order.

mod assign;
mod ident;
mod suffix;

pub(crate) use assign::{Candidate, assign};
pub(crate) use ident::{
    MAX_NAME_CHARS, camel_case, is_identifier, namespace_ident, parameter_ident, tool_ident,
};
pub(crate) use suffix::suffix;
