//! Frames between a host and a sandbox: what crosses the boundary, and how much of it may.
//!
//! Everything decoded here may come from hostile code. Nothing is believed beyond its shape, and every
//! size is checked before memory is set aside for it. This crate does no I/O.
//!
//! A host reads into a [`LineSplitter`], makes a [`GuestFrame`] of each [`Line`], and writes [`HostFrame`]s in the
//! form that the guest's [`ProtocolVersion`] has; a guest does the reverse. What tools take and return stays text on
//! the way, as [`RawJson`], which can be read into Rust types and written from them without changing a value.
//! `docs/protocol.md` describes the wire.
//!
//! ```
//! use codehatch_protocol::{Caps, GuestFrame, HostFrame, ProtocolVersion, RawJson, ToolResult};
//!
//! let line = br#"{"id":"7f","name":"add","args":{"a":1,"b":2},"timeout":null,"kind":"tool_call"}"#;
//! let GuestFrame::ToolCall(call) = GuestFrame::decode(line, Caps::default())? else {
//!     unreachable!("a host would do something else");
//! };
//! let value = RawJson::from_serialize(&3)?;
//! let mut out = Vec::new();
//! HostFrame::ToolResult(ToolResult::success(call.id, value)).encode(ProtocolVersion::V4, &mut out)?;
//! assert_eq!(out, b"{\"id\":\"7f\",\"ok\":true,\"value\":3,\"error\":null,\"kind\":\"tool_result\"}\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Fuzzing
//!
//! `scripts/fuzz 300` runs each target in `fuzz/` for 300 seconds, and `scripts/fuzz 300 split_lines` one of them. That
//! needs a stable toolchain and a C++ compiler. With `cargo-fuzz` installed, the same is
//! `cargo fuzz run --sanitizer none split_lines -- -max_total_time=300`.
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
