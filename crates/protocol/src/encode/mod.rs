//! From a frame to a line, to the byte as the reference's releases write it.

mod guest;
mod host;
mod object;

use crate::{
    frame::{Frame, FrameKind, GuestFrame, HostFrame},
    json::JsonType,
    version::ProtocolVersion,
};
use object::Object;

/// Why a frame cannot be written. Nothing has been appended then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The peer does not know the kind, and a guest dies of a kind that it does not know.
    #[error(
        "a peer of protocol version {version} knows no `{kind}` frame: kill its sandbox instead"
    )]
    UnknownToPeer {
        /// The kind of frame.
        kind: FrameKind,
        /// The version that the peer speaks.
        version: ProtocolVersion,
    },
    /// The arguments of a tool call are no object, which hosts refuse.
    #[error("`args` of the `tool_call` frame is {found}, expected an object")]
    ArgsNotAnObject {
        /// What they are.
        found: JsonType,
    },
}

impl GuestFrame {
    /// Appends the frame as a line, `\n` included, in the form that `version` has.
    ///
    /// Fields are in the reference's order, those that the version lacks are left out, and fields of extensions come
    /// last and only if they hold something. Whether the peer knows an extension is for the caller to heed.
    pub fn encode(&self, version: ProtocolVersion, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if let Self::ToolCall(call) = self
            && call.args.json_type() != JsonType::Object
        {
            let found = call.args.json_type();
            return Err(EncodeError::ArgsNotAnObject { found });
        }
        line(out, |object| guest::write(self, version, object));
        Ok(())
    }
}

impl HostFrame {
    /// Appends the frame as a line, `\n` included, in the form that `version` has. As [`GuestFrame::encode`].
    ///
    /// An `interrupt` for a version that does not take it is an error.
    pub fn encode(&self, version: ProtocolVersion, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if matches!(self, Self::Interrupt(_)) && !version.takes_interrupt() {
            let kind = self.kind();
            return Err(EncodeError::UnknownToPeer { kind, version });
        }
        line(out, |object| host::write(self, version, object));
        Ok(())
    }
}

impl Frame {
    /// Appends the frame as a line, as its direction's `encode` does.
    pub fn encode(&self, version: ProtocolVersion, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::Guest(frame) => frame.encode(version, out),
            Self::Host(frame) => frame.encode(version, out),
        }
    }
}

fn line(out: &mut Vec<u8>, fields: impl FnOnce(&mut Object<'_>)) {
    Object::write(out, fields);
    out.push(b'\n');
}

#[cfg(test)]
mod tests;
