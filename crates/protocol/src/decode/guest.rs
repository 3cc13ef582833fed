//! Frames from a guest.

use super::{
    error::DecodeFault,
    field::Fields,
    key::Key,
    nested::{extensions, packages, result},
};
use crate::{
    frame::{
        Chunk, Done, ExitCode, FrameKind, GuestFrame, Image, Log, Output, Ready, Stream, ToolCall,
    },
    version::ProtocolVersion,
};

pub(super) fn frame(fields: &Fields<'_>) -> Result<GuestFrame, DecodeFault> {
    match fields.kind {
        FrameKind::Ready => ready(fields).map(GuestFrame::Ready),
        FrameKind::ToolCall => tool_call(fields).map(GuestFrame::ToolCall),
        FrameKind::Log => log(fields).map(GuestFrame::Log),
        FrameKind::Done => done(fields).map(GuestFrame::Done),
        FrameKind::Output => output(fields).map(GuestFrame::Output),
        FrameKind::Image => image(fields).map(GuestFrame::Image),
        FrameKind::Chunk => chunk(fields).map(GuestFrame::Chunk),
        kind @ (FrameKind::Run
        | FrameKind::ToolResult
        | FrameKind::Shutdown
        | FrameKind::Interrupt) => Err(DecodeFault::WrongDirection { kind }),
    }
}

fn ready(fields: &Fields<'_>) -> Result<Ready, DecodeFault> {
    let newest = ProtocolVersion::LATEST.number().into();
    Ok(Ready {
        protocol_version: fields.integer_or(Key::ProtocolVersion, newest)?,
        python_version: fields.text(Key::PythonVersion)?,
        packages: packages(fields)?,
        extensions: extensions(fields)?,
    })
}

fn tool_call(fields: &Fields<'_>) -> Result<ToolCall, DecodeFault> {
    Ok(ToolCall {
        id: fields.call_id()?,
        name: fields.text(Key::Name)?,
        args: fields.object(Key::Args)?,
        timeout: fields.timeout()?,
    })
}

fn log(fields: &Fields<'_>) -> Result<Log, DecodeFault> {
    Ok(Log {
        level: fields.text_or(Key::Level, "info")?,
        msg: fields.text(Key::Msg)?,
    })
}

fn done(fields: &Fields<'_>) -> Result<Done, DecodeFault> {
    Ok(Done {
        exit_code: ExitCode::new(fields.integer_or(Key::ExitCode, 0)?),
        background_work: fields.boolean_or(Key::BackgroundWork, false)?,
        result: result(fields)?,
        block: fields.extension_integer(Key::Block),
    })
}

fn output(fields: &Fields<'_>) -> Result<Output, DecodeFault> {
    Ok(Output {
        stdout: fields.text(Key::Stdout)?,
        stderr: fields.text(Key::Stderr)?,
        exit_code: ExitCode::new(fields.integer_or(Key::ExitCode, 0)?),
    })
}

fn image(fields: &Fields<'_>) -> Result<Image, DecodeFault> {
    Ok(Image {
        mime_type: fields.text(Key::MimeType)?,
        data: fields.text(Key::Data)?,
    })
}

fn chunk(fields: &Fields<'_>) -> Result<Chunk, DecodeFault> {
    let expected = "`stdout` or `stderr`";
    let Some(stream) = fields.get(Key::Stream) else {
        return Err(DecodeFault::FieldMissing {
            kind: fields.kind,
            field: Key::Stream.as_str(),
            expected,
        });
    };
    let stream = match fields.text(Key::Stream)?.as_str() {
        "stdout" => Stream::Stdout,
        "stderr" => Stream::Stderr,
        _ => return Err(fields.wrong(Key::Stream, stream.text, expected)),
    };
    Ok(Chunk {
        stream,
        data: fields.text(Key::Data)?,
    })
}
