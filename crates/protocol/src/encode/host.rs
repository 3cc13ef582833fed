//! Frames from a host.

use super::{
    guest::{block, extensions},
    object::Object,
};
use crate::{
    frame::{HostFrame, ToolErrorPayload, ToolResult},
    version::ProtocolVersion,
};

pub(super) fn write(frame: &HostFrame, version: ProtocolVersion, object: &mut Object<'_>) {
    match frame {
        HostFrame::Run(frame) => object.text("code", &frame.code),
        HostFrame::ToolResult(frame) => tool_result(frame, version, object),
        HostFrame::Shutdown => {}
        HostFrame::Interrupt(frame) => object.text("message", &frame.message),
    }
    object.text("kind", frame.kind().as_str());
    if let HostFrame::Run(frame) = frame {
        extensions(&frame.extensions, object);
        block(frame.block, object);
    }
}

fn tool_result(frame: &ToolResult, version: ProtocolVersion, object: &mut Object<'_>) {
    object.json("id", frame.id.json());
    object.boolean("ok", frame.ok);
    object.value("value", &frame.value);
    match &frame.error {
        Some(payload) => object.object("error", |object| error(payload, version, object)),
        None => object.null("error"),
    }
}

fn error(payload: &ToolErrorPayload, version: ProtocolVersion, object: &mut Object<'_>) {
    object.text("type", &payload.type_name);
    object.text("message", &payload.message);
    object.optional_text("trace", payload.trace.as_deref());
    if version.carries_http_errors() {
        match payload.status_code {
            Some(status) => object.integer("status_code", status),
            None => object.null("status_code"),
        }
        object.value("body", &payload.body);
    }
}
