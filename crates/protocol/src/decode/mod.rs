//! From a line to a frame: one pass over its bytes, which copies only what the frame keeps.

mod error;
mod field;
mod guest;
mod host;
mod key;
mod members;
mod nested;

pub use error::{DecodeError, DecodeFault};

use std::{borrow::Cow, str, sync::Arc};

use crate::{
    caps::Caps,
    frame::{CallId, Frame, FrameKind, GuestFrame, HostFrame, Peer},
    json::{JsonType, Scanner},
    split::Line,
};
use field::Fields;
use key::Key;
use members::Members;

/// Bytes of a line that is too long in which the id of its call is looked for.
pub(crate) const PREFIX_BYTES: usize = 1024;

impl GuestFrame {
    /// Decodes a line that came from a guest, with or without the end of the line.
    ///
    /// A frame of the other direction is an error, and so is whatever [`Caps`] and the constants beside them rule
    /// out. Lenient as the reference where that is harmless: unknown keys are dropped, missing fields take their
    /// defaults, the last of two equal keys counts.
    pub fn decode(line: &[u8], caps: Caps) -> Result<Self, DecodeError> {
        Self::from_line(Line::Whole(Cow::Borrowed(line)), caps)
    }

    /// As [`decode`](Self::decode), for what a [`LineSplitter`](crate::LineSplitter) yields. Large values of a line
    /// that is owned are not copied.
    pub fn from_line(line: Line<'_>, caps: Caps) -> Result<Self, DecodeError> {
        decode(line, caps, |fields| match fields.kind.sender() {
            Peer::Guest => guest::frame(fields),
            Peer::Host => Err(wrong_direction(fields.kind)),
        })
    }
}

impl HostFrame {
    /// Decodes a line that came from a host, with or without the end of the line. As [`GuestFrame::decode`].
    pub fn decode(line: &[u8], caps: Caps) -> Result<Self, DecodeError> {
        Self::from_line(Line::Whole(Cow::Borrowed(line)), caps)
    }

    /// As [`decode`](Self::decode), for what a [`LineSplitter`](crate::LineSplitter) yields. Large values of a line
    /// that is owned are not copied.
    pub fn from_line(line: Line<'_>, caps: Caps) -> Result<Self, DecodeError> {
        decode(line, caps, |fields| match fields.kind.sender() {
            Peer::Host => host::frame(fields),
            Peer::Guest => Err(wrong_direction(fields.kind)),
        })
    }
}

impl Frame {
    /// Decodes a line of either direction: for tools that watch a connection. As [`GuestFrame::decode`].
    pub fn decode(line: &[u8], caps: Caps) -> Result<Self, DecodeError> {
        Self::from_line(Line::Whole(Cow::Borrowed(line)), caps)
    }

    /// As [`decode`](Self::decode), for what a [`LineSplitter`](crate::LineSplitter) yields. Large values of a line
    /// that is owned are not copied.
    pub fn from_line(line: Line<'_>, caps: Caps) -> Result<Self, DecodeError> {
        decode(line, caps, |fields| match fields.kind.sender() {
            Peer::Guest => guest::frame(fields).map(Self::Guest),
            Peer::Host => host::frame(fields).map(Self::Host),
        })
    }
}

impl DecodeError {
    /// The error for a line of `bytes` bytes, of which only the first ones are at hand.
    ///
    /// Looks for the id of a call in the first 1,024 bytes of `prefix`.
    pub fn too_long(prefix: &[u8], bytes: u64, caps: Caps) -> Self {
        let prefix = prefix.get(..PREFIX_BYTES).unwrap_or(prefix);
        Self {
            fault: DecodeFault::TooLong {
                bytes,
                limit: caps.frame_bytes,
            },
            call: call_in(prefix),
        }
    }

    fn not_utf8(line: &[u8], error: str::Utf8Error) -> Self {
        Self {
            fault: DecodeFault::NotUtf8 {
                offset: error.valid_up_to(),
            },
            call: call_in(line),
        }
    }
}

/// Decodes a line with a function for the frames that may come.
fn decode<T>(
    line: Line<'_>,
    caps: Caps,
    frame: impl FnOnce(&Fields<'_>) -> Result<T, DecodeFault>,
) -> Result<T, DecodeError> {
    match line {
        Line::TooLong { prefix, bytes } => Err(DecodeError::too_long(prefix, bytes, caps)),
        Line::Whole(Cow::Borrowed(line)) => {
            let line = checked(line, caps)?;
            let text = str::from_utf8(line).map_err(|error| DecodeError::not_utf8(line, error))?;
            decode_text(text, None, frame)
        }
        Line::Whole(Cow::Owned(mut line)) => {
            let length = checked(&line, caps)?.len();
            line.truncate(length);
            let text = String::from_utf8(line)
                .map_err(|error| DecodeError::not_utf8(error.as_bytes(), error.utf8_error()))?;
            let source = Arc::new(text);
            decode_text(&source, Some(&source), frame)
        }
    }
}

/// A line without its end, unless it is blank or too long.
fn checked(line: &[u8], caps: Caps) -> Result<&[u8], DecodeError> {
    let line = trimmed(line);
    if line.len() > caps.frame_bytes {
        let bytes = u64::try_from(line.len()).unwrap_or(u64::MAX);
        return Err(DecodeError::too_long(line, bytes, caps));
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return Err(DecodeFault::Blank.into());
    }
    Ok(line)
}

/// Decodes a text, which is the whole of `source` if that is given.
fn decode_text<T>(
    text: &str,
    source: Option<&Arc<String>>,
    frame: impl FnOnce(&Fields<'_>) -> Result<T, DecodeFault>,
) -> Result<T, DecodeError> {
    if text.starts_with('\u{FEFF}') {
        return Err(DecodeFault::ByteOrderMark.into());
    }
    if Scanner::new(text).peek() != Some(b'{') {
        return Err(match Scanner::new(text).only_value() {
            Ok(_) => DecodeFault::NotAnObject {
                found: JsonType::of(text),
            },
            Err(source) => DecodeFault::Json { source },
        }
        .into());
    }
    let (members, scanned) = Members::read(text);
    let kind = match scanned {
        Ok(()) => frame_kind(&members),
        Err(source) => Err(DecodeFault::Json { source }),
    };
    kind.and_then(|kind| {
        frame(&Fields {
            kind,
            members: &members,
            source,
        })
    })
    .map_err(|fault| DecodeError {
        fault,
        call: call_of(&members),
    })
}

/// A line without its end, as the reference's `rstrip` leaves it.
fn trimmed(mut line: &[u8]) -> &[u8] {
    while let [head @ .., b'\r' | b'\n'] = line {
        line = head;
    }
    line
}

fn frame_kind(members: &Members<'_>) -> Result<FrameKind, DecodeFault> {
    let Some(name) = members.get(Key::Kind) else {
        return Err(DecodeFault::KindMissing);
    };
    let Some(name) = members::text(name) else {
        return Err(DecodeFault::KindNotText {
            found: JsonType::of(name.text),
        });
    };
    FrameKind::from_name(&name).ok_or_else(|| DecodeFault::UnknownKind {
        kind: name.chars().take(40).collect(),
    })
}

fn wrong_direction(kind: FrameKind) -> DecodeFault {
    DecodeFault::WrongDirection { kind }
}

/// The id of the call in the beginning of a line, which may end anywhere.
fn call_in(prefix: &[u8]) -> Option<CallId> {
    let valid = match str::from_utf8(prefix) {
        Ok(text) => text,
        Err(error) => str::from_utf8(prefix.get(..error.valid_up_to())?).ok()?,
    };
    call_of(&Members::read(valid).0)
}

/// The id of the call that a frame is about, unless it says to be of a kind that is about none.
///
/// The reference writes `kind` last, so that a frame that breaks off has none.
fn call_of(members: &Members<'_>) -> Option<CallId> {
    let kind = members.get(Key::Kind).map(members::text);
    let may_have_call = match kind {
        None => true,
        Some(name) => name.is_some_and(|name| matches!(&*name, "tool_call" | "tool_result")),
    };
    let id = members.get(Key::Id).filter(|_| may_have_call)?;
    CallId::from_scalar(id.text).ok()
}

#[cfg(test)]
mod tests;
