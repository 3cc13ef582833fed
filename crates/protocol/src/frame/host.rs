//! Frames that a host sends.

use std::fmt;

use super::{call_id::CallId, extension::Extensions, kind::FrameKind};
use crate::json::RawJson;

/// From a host to its guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostFrame {
    /// Run a block.
    Run(Run),
    /// What a tool call came to.
    ToolResult(ToolResult),
    /// The turn is over: the guest ends.
    Shutdown,
    /// Stop the block that runs. Only for guests that know it, see
    /// [`takes_interrupt`](crate::ProtocolVersion::takes_interrupt).
    Interrupt(Interrupt),
}

impl HostFrame {
    /// Its `kind` on the wire.
    pub fn kind(&self) -> FrameKind {
        match self {
            Self::Run(_) => FrameKind::Run,
            Self::ToolResult(_) => FrameKind::ToolResult,
            Self::Shutdown => FrameKind::Shutdown,
            Self::Interrupt(_) => FrameKind::Interrupt,
        }
    }
}

/// Runs a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The Python source.
    pub code: String,
    /// Extensions that the host knows.
    pub extensions: Extensions,
    /// Which block of the turn it is, for its [`Done`](crate::Done) to say the same. Not sent if `None`.
    pub block: Option<i64>,
}

/// What a tool call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call.
    pub id: CallId,
    /// Whether the call went well. Decides what the guest looks at.
    pub ok: bool,
    /// What the tool returned; `null` for a failure.
    pub value: RawJson,
    /// Why it failed.
    pub error: Option<ToolErrorPayload>,
}

impl ToolResult {
    /// A call that went well.
    pub fn success(id: CallId, value: RawJson) -> Self {
        Self {
            id,
            ok: true,
            value,
            error: None,
        }
    }

    /// A call that failed.
    pub fn failure(id: CallId, error: ToolErrorPayload) -> Self {
        Self {
            id,
            ok: false,
            value: RawJson::null(),
            error: Some(error),
        }
    }
}

/// Why a tool call failed, as the guest's exception shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolErrorPayload {
    /// The name of the error's type, such as `ValueError`. `Error` if missing.
    pub type_name: String,
    /// What it said.
    pub message: String,
    /// Where it came from, for people.
    pub trace: Option<String>,
    /// The HTTP status that a service answered with. Written from version 3 on.
    pub status_code: Option<i64>,
    /// The body of that answer; `null` for other errors. Written from version 3 on.
    pub body: RawJson,
}

impl ToolErrorPayload {
    /// An error with a type and a message.
    pub fn new(type_name: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            type_name: type_name.into(),
            message: message.into(),
            trace: None,
            status_code: None,
            body: RawJson::null(),
        }
    }
}

impl fmt::Debug for ToolErrorPayload {
    /// Shows no content, as [`RawJson`] does: what tools say must not reach a log by way of `{:?}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolErrorPayload")
            .field("type_name", &self.type_name)
            .field("message", &format_args!("{} bytes", self.message.len()))
            .field("trace", &self.trace.as_ref().map(String::len))
            .field("status_code", &self.status_code)
            .field("body", &self.body)
            .finish()
    }
}

/// Stops the block that runs, once it is back from a tool call: answer pending calls right after this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// What the exception in the block's code says.
    pub message: String,
}
