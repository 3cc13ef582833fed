//! What a host and a guest see of the tools.
#![cfg(test)]

mod checks;
mod fixtures;
mod hostile;
mod python;
mod reports;
mod schemas;
mod snapshots;
mod stability;
