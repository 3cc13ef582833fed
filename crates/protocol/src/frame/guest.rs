//! Frames that a guest sends. Nothing in them is to be believed: they come from hostile code.

use indexmap::IndexMap;

use super::{
    call_id::CallId, exit_code::ExitCode, extension::Extensions, kind::FrameKind,
    timeout::CallTimeout,
};
use crate::{
    json::RawJson,
    version::{ProtocolVersion, VersionError},
};

/// From a guest to its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestFrame {
    /// The guest is up.
    Ready(Ready),
    /// Call a tool.
    ToolCall(ToolCall),
    /// A line for the host's log.
    Log(Log),
    /// The block has ended.
    Done(Done),
    /// What the block wrote. Follows `done`.
    Output(Output),
    /// A picture that the block made. Extension [`EXTENSION_IMAGE`](crate::EXTENSION_IMAGE).
    Image(Image),
    /// Output of the block that runs. Extension [`EXTENSION_CHUNK`](crate::EXTENSION_CHUNK).
    Chunk(Chunk),
}

impl GuestFrame {
    /// Its `kind` on the wire.
    pub fn kind(&self) -> FrameKind {
        match self {
            Self::Ready(_) => FrameKind::Ready,
            Self::ToolCall(_) => FrameKind::ToolCall,
            Self::Log(_) => FrameKind::Log,
            Self::Done(_) => FrameKind::Done,
            Self::Output(_) => FrameKind::Output,
            Self::Image(_) => FrameKind::Image,
            Self::Chunk(_) => FrameKind::Chunk,
        }
    }
}

/// Packages of a sandbox: import name → distribution → version, in the order that the guest gave.
pub type Packages = IndexMap<String, IndexMap<String, String>>;

/// Sent once, after boot. Hosts can do without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The version of the protocol that the guest speaks, as announced; see [`version`](Self::version). 4 if missing.
    pub protocol_version: i64,
    /// The version of its Python, such as `3.13.1`. Empty if not said; written from version 2 on.
    pub python_version: String,
    /// What can be imported. At most [`MAX_PACKAGES`](crate::MAX_PACKAGES) names and
    /// [`MAX_DISTRIBUTIONS`](crate::MAX_DISTRIBUTIONS) distributions. A distribution without a version has an empty
    /// one. Written from version 2 on.
    pub packages: Packages,
    /// Extensions that the guest knows.
    pub extensions: Extensions,
}

impl Ready {
    /// A guest that speaks `version` and says no more.
    pub fn new(version: ProtocolVersion) -> Self {
        Self {
            protocol_version: version.number().into(),
            python_version: String::new(),
            packages: Packages::new(),
            extensions: Extensions::NONE,
        }
    }

    /// The announced version, unless it is too new for this crate.
    pub fn version(&self) -> Result<ProtocolVersion, VersionError> {
        ProtocolVersion::announced(self.protocol_version)
    }
}

impl Default for Ready {
    fn default() -> Self {
        Self::new(ProtocolVersion::LATEST)
    }
}

/// Asks the host to call a tool. Answered once by a `tool_result` with its id, in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Echoed in the answer.
    pub id: CallId,
    /// The tool, as its stub knows it. Must be looked up: it can be any text.
    pub name: String,
    /// A JSON object.
    pub args: RawJson,
    /// How long it may take, as the guest wishes. The host clamps it.
    pub timeout: Option<CallTimeout>,
}

/// A line for the host's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// How grave it is, such as `info`, which is also the default. Can be any text.
    pub level: String,
    /// What happened.
    pub msg: String,
}

/// The block has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// What its code ended with.
    pub exit_code: ExitCode,
    /// Threads or processes of the block are still at work. `false` if not said; written from version 4 on.
    pub background_work: bool,
    /// The value of its last expression, if that is not `None`. Extension
    /// [`EXTENSION_RESULT`](crate::EXTENSION_RESULT).
    pub result: Option<BlockResult>,
    /// Which block has ended, if the host has said which it is and the guest is one that repeats it.
    pub block: Option<i64>,
}

/// The value of a block's last expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockResult {
    /// The name of its Python type, such as `dict` or `DataFrame`.
    pub type_name: String,
    /// The value itself, or a picture of it in words.
    pub content: ResultContent,
}

/// How a block's result came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultContent {
    /// As JSON.
    Value(RawJson),
    /// As Python's `repr`, where JSON has nothing to hold it.
    Repr(String),
}

/// What the block wrote to `sys.stdout` and `sys.stderr`. What C code and child processes write is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Standard output.
    pub stdout: String,
    /// Standard error, a traceback included.
    pub stderr: String,
    /// As in [`Done`].
    pub exit_code: ExitCode,
}

/// A picture that the block made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its media type, such as `image/png`. Can be any text.
    pub mime_type: String,
    /// Its bytes as base64. Can be any text.
    pub data: String,
}

/// Output of the block that runs, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Where it was written to.
    pub stream: Stream,
    /// What was written.
    pub data: String,
}

/// A stream of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// `stdout`.
    Stdout,
    /// `stderr`.
    Stderr,
}

impl Stream {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}
