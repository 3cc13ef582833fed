//! Frames between a host and a sandbox: what crosses the boundary, and how much of it may.
//!
//! Everything decoded here may come from hostile code. Nothing is believed beyond its shape, and every
//! size is checked before memory is set aside for it. This crate does no I/O.
#![warn(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::wildcard_enum_match_arm
)]

mod json;

pub use json::{JsonError, JsonFault, MAX_NESTING, RawJson};
