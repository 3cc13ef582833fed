//! The kinds of frames, and who sends each.

use std::fmt;

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// The code inside the sandbox.
    Guest,
    /// The process with the tools.
    Host,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Guest => "guest",
            Self::Host => "host",
        })
    }
}

/// The `kind` of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// The guest is up.
    Ready,
    /// Run a block.
    Run,
    /// Call a tool.
    ToolCall,
    /// What a tool call came to.
    ToolResult,
    /// A line for the host's log.
    Log,
    /// A block has ended.
    Done,
    /// What a block wrote to stdout and stderr.
    Output,
    /// A picture that a block made. Extension `image`.
    Image,
    /// A piece of output, while the block runs. Extension `chunk`.
    Chunk,
    /// The turn is over.
    Shutdown,
    /// Stop the block that runs. From version 4 on.
    Interrupt,
}

impl FrameKind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Ready,
        Self::Run,
        Self::ToolCall,
        Self::ToolResult,
        Self::Log,
        Self::Done,
        Self::Output,
        Self::Image,
        Self::Chunk,
        Self::Shutdown,
        Self::Interrupt,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Run => "run",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Log => "log",
            Self::Done => "done",
            Self::Output => "output",
            Self::Image => "image",
            Self::Chunk => "chunk",
            Self::Shutdown => "shutdown",
            Self::Interrupt => "interrupt",
        }
    }

    /// The kind of this name on the wire.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Who sends frames of this kind.
    pub const fn sender(self) -> Peer {
        match self {
            Self::Run | Self::ToolResult | Self::Shutdown | Self::Interrupt => Peer::Host,
            Self::Ready
            | Self::ToolCall
            | Self::Log
            | Self::Done
            | Self::Output
            | Self::Image
            | Self::Chunk => Peer::Guest,
        }
    }
}

impl fmt::Display for FrameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in FrameKind::ALL {
            assert_eq!(FrameKind::from_name(kind.as_str()), Some(kind));
        }
        assert_eq!(FrameKind::from_name("Ready"), None);
    }
}
