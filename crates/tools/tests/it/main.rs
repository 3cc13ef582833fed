//! What a host and a guest see of the tools.
#![cfg(test)]

mod checks;
mod fixtures;
mod hostile;
mod python;
mod reports;
mod snapshots;
mod stability;
