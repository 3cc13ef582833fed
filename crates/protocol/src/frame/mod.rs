//! What crosses the wire, as types: one for each kind of frame, and one for each direction.

mod call_id;
mod exit_code;
mod extension;
mod guest;
mod host;
mod kind;
mod timeout;

pub use call_id::{CallId, CallIdError};
pub use exit_code::ExitCode;
pub use extension::{EXTENSION_CHUNK, EXTENSION_IMAGE, EXTENSION_RESULT, Extensions};
pub use guest::{
    BlockResult, Chunk, Done, GuestFrame, Image, Log, Output, Packages, Ready, ResultContent,
    Stream, ToolCall,
};
pub use host::{HostFrame, Interrupt, Run, ToolErrorPayload, ToolResult};
pub use kind::{FrameKind, Peer};
pub use timeout::CallTimeout;

/// A frame of either direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// From a guest to its host.
    Guest(GuestFrame),
    /// From a host to its guest.
    Host(HostFrame),
}

impl Frame {
    /// Its `kind` on the wire.
    pub fn kind(&self) -> FrameKind {
        match self {
            Self::Guest(frame) => frame.kind(),
            Self::Host(frame) => frame.kind(),
        }
    }
}

impl From<GuestFrame> for Frame {
    fn from(frame: GuestFrame) -> Self {
        Self::Guest(frame)
    }
}

impl From<HostFrame> for Frame {
    fn from(frame: HostFrame) -> Self {
        Self::Host(frame)
    }
}
