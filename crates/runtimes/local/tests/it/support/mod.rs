//! Attacks as rows, and what they run in.

#[macro_use]
mod threat;

pub(crate) mod alone;
pub(crate) mod host;
pub(crate) mod session;

pub(crate) use session::{Session, Setup, block_on};
#[cfg(feature = "weaken")]
pub(crate) use threat::noticed;
pub(crate) use threat::{Attack, contained};
