//! Frames over a sandbox's control channel, read and written by one task.

use std::{collections::VecDeque, io};

use codehatch_protocol::{Caps, DecodeError, GuestFrame, HostFrame, LineSplitter, ProtocolVersion};
use codehatch_runtime::Control;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Splits a control channel into its two directions.
pub(crate) fn open(control: Control, caps: Caps) -> (FrameReader, FrameWriter) {
    let reader = FrameReader {
        stream: control.reader,
        splitter: LineSplitter::new(caps),
        caps,
    };
    let writer = FrameWriter {
        stream: control.writer,
        frames: VecDeque::new(),
        written: 0,
        queued: 0,
        version: ProtocolVersion::LATEST,
    };
    (reader, writer)
}

/// Frames from a guest.
pub(crate) struct FrameReader {
    stream: Box<dyn AsyncRead + Send + Unpin>,
    splitter: LineSplitter,
    caps: Caps,
}

impl FrameReader {
    /// The next frame, or what was wrong with it; `None` at the end. Cancel-safe.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Result<GuestFrame, DecodeError>>> {
        loop {
            if let Some(line) = self.splitter.next_line() {
                return Ok(Some(GuestFrame::from_line(line, self.caps)));
            }
            let read = self.stream.read(self.splitter.spare_mut()).await?;
            if read == 0 {
                // A frame without its end is none: the guest died while it was writing.
                return Ok(None);
            }
            self.splitter.commit(read);
        }
    }
}

/// Frames to a guest. They are queued at once and written when the guest reads.
pub(crate) struct FrameWriter {
    stream: Box<dyn AsyncWrite + Send + Unpin>,
    frames: VecDeque<Vec<u8>>,
    /// Bytes of the first frame that are written already.
    written: usize,
    queued: usize,
    version: ProtocolVersion,
}

impl FrameWriter {
    /// Speaks the guest's version from now on.
    pub(crate) fn set_version(&mut self, version: ProtocolVersion) {
        self.version = version;
    }

    /// The version that the guest speaks, or the newest as long as it has not said.
    pub(crate) fn version(&self) -> ProtocolVersion {
        self.version
    }

    pub(crate) fn queue(&mut self, frame: &HostFrame) {
        let mut bytes = Vec::new();
        // Fails for kinds that the guest's version lacks only; those are not sent.
        if frame.encode(self.version, &mut bytes).is_ok() {
            self.queued += bytes.len();
            self.frames.push_back(bytes);
        }
    }

    /// Bytes that wait for the guest to read.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued
    }

    /// Writes until the queue is empty. Cancel-safe: what is written is not written again.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        while let Some(frame) = self.frames.front() {
            let rest = frame.get(self.written..).unwrap_or_default();
            let written = self.stream.write(rest).await?;
            if written == 0 && !rest.is_empty() {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.written += written;
            self.queued -= written;
            if self.written >= frame.len() {
                self.frames.pop_front();
                self.written = 0;
            }
        }
        self.stream.flush().await
    }
}
