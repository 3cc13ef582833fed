//! The provider against a scripted server that does most things wrong, and against servers in real use.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod http;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod process;
#[cfg(test)]
mod real;
#[cfg(test)]
mod start;
#[cfg(test)]
mod support;
