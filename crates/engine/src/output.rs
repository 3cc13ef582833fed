//! Reads what the processes of a sandbox write to its pipes.

use std::io;

use codehatch_runtime::{OutputSource, OutputStream};
use futures_util::future::OptionFuture;
use tokio::io::AsyncReadExt;

/// Bytes that are read at once: a pipe's worth.
pub(crate) const READ_BYTES: usize = 64 * 1024;

/// Reads what a stream has next; `None` where there is no stream. Cancel-safe.
pub(crate) async fn read(
    stream: &mut Option<OutputStream>,
    buffer: &mut [u8],
) -> Option<io::Result<usize>> {
    OptionFuture::from(stream.as_mut().map(|stream| stream.read(buffer))).await
}

/// Takes what is there, up to a pipe's worth: a process that writes on cannot hold the host here.
pub(crate) fn drain(
    stream: &mut Option<OutputStream>,
    buffer: &mut [u8],
    mut take: impl FnMut(&[u8]),
) {
    const ROUNDS: usize = 32;
    let Some(source) = stream else {
        return;
    };
    for _ in 0..ROUNDS {
        match OutputSource::read_now(&mut **source, buffer) {
            Ok(length @ 1..) => take(&buffer[..length]),
            _ => return,
        }
    }
}
