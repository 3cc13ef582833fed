//! Turns untrusted text into Python source and into lines that a model reads. The only place that quotes.

mod clip;
mod doc;
mod literal;
mod visible;

pub(crate) use clip::{clip, first_sentence};
pub(crate) use doc::Docstring;
pub(crate) use literal::{push_repr, push_str, push_value};
pub(crate) use visible::push_line;
