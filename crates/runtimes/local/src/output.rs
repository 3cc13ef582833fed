//! The host's end of a session's standard output or error.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use codehatch_runtime::OutputSource;
use tokio::{
    io::{AsyncRead, ReadBuf},
    net::unix::pipe::Receiver,
};

/// A pipe that the session's processes write to.
#[derive(Debug)]
pub(crate) struct PipeOutput(pub(crate) Receiver);

impl AsyncRead for PipeOutput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl OutputSource for PipeOutput {
    fn read_now(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Asks the kernel itself: tokio may not have heard yet of what arrived last.
        Ok(rustix::io::retry_on_intr(|| {
            rustix::io::read(&self.0, &mut *buffer)
        })?)
    }
}
