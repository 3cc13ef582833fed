//! What runs inside the zygote in native code: forking one isolated session per request.
//!
//! It is an extension module of CPython (limited API) without libc and without an allocator, because it
//! runs between `clone3` and the first line of a session, where only system calls are safe.
#![no_std]

mod init;
mod isolate;
mod message;
mod module;
mod network;
mod serve;
mod sys;
mod tools;
#[cfg(feature = "weaken")]
pub mod weaken;

pub use module::PyInit__codehatch_session;

/// There is nobody to report to in here: the host sees the exit status.
#[cfg(embedded)]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    sys::exit(message::EXIT_PANIC)
}
