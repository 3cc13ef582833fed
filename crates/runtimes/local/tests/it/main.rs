//! What hostile code tries, each for real inside a session: the threat model's rows by their numbers.
//!
//! A row is a [`threat!`](crate::support): an attack that prints one fact a line, what it prints in the sealed
//! sandbox, and, with the feature `weaken`, what has to go before it prints something else, and what that is.
//! `docs/threat-model.md` has the rows as a table. `scripts/test-as-user` runs them as an ordinary user as well.
#![cfg(target_os = "linux")]

#[cfg(test)]
#[macro_use]
mod support;

#[cfg(test)]
mod artifacts;
#[cfg(test)]
mod channel;
#[cfg(test)]
mod denied_calls;
#[cfg(test)]
mod files;
#[cfg(test)]
mod kernel;
#[cfg(test)]
mod legitimate;
#[cfg(test)]
mod network;
#[cfg(test)]
mod resources;
#[cfg(test)]
mod table;
#[cfg(test)]
mod zygote;
