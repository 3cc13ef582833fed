//! Descriptors that tokio waits on: the only module with `unsafe`.
#![expect(unsafe_code, reason = "tokio cannot know that a descriptor stays open")]

use std::{io, os::fd::OwnedFd};

use tokio::io::{Interest, unix::AsyncFd};

/// Lets tokio wait until `fd` can be read.
pub(crate) fn readable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open until it is dropped, always gives the same number, and is never
    // reopened on something else: `AsyncFd` lends it out by shared reference only.
    let registered = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
    registered.map_err(|error| error.into_parts().1)
}
