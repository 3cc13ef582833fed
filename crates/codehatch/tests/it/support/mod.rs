//! What all tests share: an engine on the real local runtime, tools, and eyes on the host.

pub(crate) mod alone;
pub(crate) mod host;
pub(crate) mod session;
pub(crate) mod slow_store;
pub(crate) mod tools;

pub(crate) use self::{
    alone::alone,
    host::{unique, until},
    session::{Session, Setup, artifact, json, message, quick},
};
