//! Frames from a host.

use super::{
    error::DecodeFault,
    field::Fields,
    key::Key,
    nested::{error, extensions},
};
use crate::frame::{FrameKind, HostFrame, Interrupt, Run, ToolResult};

pub(super) fn frame(fields: &Fields<'_>) -> Result<HostFrame, DecodeFault> {
    match fields.kind {
        FrameKind::Run => run(fields).map(HostFrame::Run),
        FrameKind::ToolResult => tool_result(fields).map(HostFrame::ToolResult),
        FrameKind::Shutdown => Ok(HostFrame::Shutdown),
        FrameKind::Interrupt => interrupt(fields).map(HostFrame::Interrupt),
        kind @ (FrameKind::Ready
        | FrameKind::ToolCall
        | FrameKind::Log
        | FrameKind::Done
        | FrameKind::Output
        | FrameKind::Image
        | FrameKind::Chunk) => Err(DecodeFault::WrongDirection { kind }),
    }
}

fn run(fields: &Fields<'_>) -> Result<Run, DecodeFault> {
    Ok(Run {
        code: fields.text(Key::Code)?,
        extensions: extensions(fields)?,
        block: fields.extension_integer(Key::Block),
    })
}

fn tool_result(fields: &Fields<'_>) -> Result<ToolResult, DecodeFault> {
    Ok(ToolResult {
        id: fields.call_id()?,
        ok: fields.boolean_or(Key::Ok, true)?,
        value: fields.value(Key::Value),
        error: error(fields)?,
    })
}

fn interrupt(fields: &Fields<'_>) -> Result<Interrupt, DecodeFault> {
    Ok(Interrupt {
        message: fields.text(Key::Message)?,
    })
}
