//! Which system calls a session may make: a policy as data, and the program that the kernel runs.

mod policy;
mod program;

pub use policy::{Answer, Arch, DENIED, DENIED_ARGUMENTS, Denied, DeniedArgument, Test};
pub use program::Program;
