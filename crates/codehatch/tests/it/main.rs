//! The whole, from a block's source to its ending, on the real local runtime.
//!
//! `scripts/test-as-user` runs the same tests as an ordinary user.
#![cfg(all(target_os = "linux", feature = "function", feature = "local"))]

#[cfg(test)]
mod admission;
#[cfg(test)]
mod background;
#[cfg(test)]
mod blocks;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod files;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod leaks;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod output;
#[cfg(test)]
mod pythons;
#[cfg(test)]
mod sealed;
#[cfg(test)]
mod security;
#[cfg(test)]
mod support;
#[cfg(test)]
mod time;
#[cfg(test)]
mod values;
