//! Carries requests and results as text past rmcp, which would round numbers and refuse odd tools.
//!
//! rmcp runs the protocol (ids, lifecycle, sessions, cancellation). A request made here holds a [`Slot`];
//! when its answer comes, the result's text goes into the slot, and rmcp gets an empty result in its place.

mod decode;
mod encode;
mod envelope;
mod lifecycle;
mod slot;
mod split;

pub(crate) use decode::{Arrival, Codec};
pub(crate) use envelope::Envelope;
pub(crate) use lifecycle::Lifecycle;
pub(crate) use slot::{Exact, Slot, WireFault};
pub(crate) use split::{elements, member, members, raw, string};
