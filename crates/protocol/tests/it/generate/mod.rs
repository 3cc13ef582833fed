//! Values, frames and lines for property tests.

mod frame;
mod json;
mod line;

pub(crate) use frame::{Values, guest_frame, host_frame};
pub(crate) use json::{any_json, python_json, text};
pub(crate) use line::{loose_frame, mutated};
