//! Frames from a guest.

use super::object::Object;
use crate::{
    frame::{BlockResult, Done, Extensions, GuestFrame, Ready, ResultContent, ToolCall},
    version::ProtocolVersion,
};

pub(super) fn write(frame: &GuestFrame, version: ProtocolVersion, object: &mut Object<'_>) {
    let kind = frame.kind().as_str();
    match frame {
        // The one kind whose name comes first.
        GuestFrame::Ready(frame) => {
            object.text("kind", kind);
            return ready(frame, version, object);
        }
        GuestFrame::ToolCall(frame) => tool_call(frame, object),
        GuestFrame::Log(frame) => {
            object.text("level", &frame.level);
            object.text("msg", &frame.msg);
        }
        GuestFrame::Done(frame) => done(frame, version, object),
        GuestFrame::Output(frame) => {
            object.text("stdout", &frame.stdout);
            object.text("stderr", &frame.stderr);
            object.integer("exit_code", frame.exit_code.get());
        }
        GuestFrame::Image(frame) => {
            object.text("mime_type", &frame.mime_type);
            object.text("data", &frame.data);
        }
        GuestFrame::Chunk(frame) => {
            object.text("stream", frame.stream.as_str());
            object.text("data", &frame.data);
        }
    }
    object.text("kind", kind);
    if let GuestFrame::Done(frame) = frame {
        block(frame.block, object);
        if let Some(value) = &frame.result {
            object.object("result", |object| result(value, object));
        }
    }
}

fn ready(frame: &Ready, version: ProtocolVersion, object: &mut Object<'_>) {
    object.integer("protocol_version", frame.protocol_version);
    if version.reports_packages() {
        object.text("python_version", &frame.python_version);
        object.object("packages", |object| {
            for (import, providers) in &frame.packages {
                object.object(import, |object| {
                    for (name, version) in providers {
                        object.text(name, version);
                    }
                });
            }
        });
    }
    extensions(&frame.extensions, object);
}

fn tool_call(frame: &ToolCall, object: &mut Object<'_>) {
    object.json("id", frame.id.json());
    object.text("name", &frame.name);
    object.value("args", &frame.args);
    object.timeout("timeout", frame.timeout);
}

fn done(frame: &Done, version: ProtocolVersion, object: &mut Object<'_>) {
    object.integer("exit_code", frame.exit_code.get());
    if version.reports_background_work() {
        object.boolean("background_work", frame.background_work);
    }
}

fn result(result: &BlockResult, object: &mut Object<'_>) {
    object.text("type", &result.type_name);
    match &result.content {
        ResultContent::Value(value) => object.value("value", value),
        ResultContent::Repr(repr) => object.text("repr", repr),
    }
}

/// Which block, where it is known: old peers drop it.
pub(super) fn block(block: Option<i64>, object: &mut Object<'_>) {
    if let Some(number) = block {
        object.integer("block", number);
    }
}

/// An extension's field: old peers drop it, but it is not sent for nothing.
pub(super) fn extensions(extensions: &Extensions, object: &mut Object<'_>) {
    if !extensions.is_empty() {
        object.texts("extensions", extensions.iter());
    }
}
