//! Frames between a host and a sandbox: what crosses the boundary, and how much of it may.
//!
//! Everything decoded here may come from hostile code. Nothing is believed beyond its shape, and every
//! size is checked before memory is set aside for it. This crate does no I/O.
#![warn(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::wildcard_enum_match_arm
)]

mod caps;
mod decode;
mod encode;
mod frame;
mod json;
mod split;
mod version;

pub use caps::{Caps, MAX_CALL_ID_BYTES, MAX_DISTRIBUTIONS, MAX_EXTENSIONS, MAX_PACKAGES};
pub use decode::{DecodeError, DecodeFault};
pub use encode::EncodeError;
pub use frame::{
    BlockResult, CallId, CallIdError, CallTimeout, Chunk, Done, EXTENSION_CHUNK, EXTENSION_IMAGE,
    EXTENSION_RESULT, ExitCode, Extensions, Frame, FrameKind, GuestFrame, HostFrame, Image,
    Interrupt, Log, Output, Packages, Peer, Ready, ResultContent, Run, Stream, ToolCall,
    ToolErrorPayload, ToolResult,
};
pub use json::{
    FromJsonError, FromJsonFault, JsonError, JsonFault, JsonType, MAX_NESTING, RawJson,
    ToJsonError, ToJsonFault, tag_text, untag_text,
};
pub use split::{Line, LineSplitter};
pub use version::{ProtocolVersion, VersionError};
