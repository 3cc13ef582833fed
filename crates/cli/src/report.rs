//! A block's outcome as JSON, and as text for people.

use std::io::Write;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use codehatch::{BlockOutcome, BlockState, Ending, ResultValue};
use serde::Serialize;
use serde_json::value::RawValue;

/// One line of `codehatch run --json`.
#[derive(Serialize)]
pub(crate) struct Report<'a> {
    /// Where the block's code came from.
    source: &'a str,
    stdout: &'a str,
    stderr: &'a str,
    /// The value of the last expression, as JSON or as text.
    result: Option<Box<RawValue>>,
    /// The name of its Python type.
    result_type: Option<&'a str>,
    /// Whether `result` is only the value's text form.
    result_is_repr: bool,
    exit_code: u8,
    status: &'static str,
    state: &'static str,
    /// What to tell a model of the ending.
    message: Option<String>,
    tool_calls: Vec<Call<'a>>,
    artifacts: Vec<Artifact>,
    skipped: Vec<Skipped<'a>>,
    images: Vec<Image<'a>>,
    duration_ms: f64,
}

#[derive(Serialize)]
struct Call<'a> {
    name: &'a str,
    ok: bool,
    ms: f64,
}

#[derive(Serialize)]
struct Artifact {
    name: String,
    version: u32,
    bytes: u64,
}

#[derive(Serialize)]
struct Skipped<'a> {
    name: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct Image<'a> {
    mime_type: &'a str,
    data: String,
}

impl<'a> Report<'a> {
    pub(crate) fn new(source: &'a str, outcome: &'a BlockOutcome, exit_code: u8) -> Self {
        let (result, result_type, result_is_repr) = result(outcome.result.as_ref());
        Self {
            source,
            stdout: &outcome.stdout.text,
            stderr: &outcome.stderr.text,
            result,
            result_type,
            result_is_repr,
            exit_code,
            status: status(&outcome.ending),
            state: match outcome.state {
                BlockState::Kept => "kept",
                BlockState::Lost => "lost",
            },
            message: outcome.message(),
            tool_calls: outcome
                .calls
                .iter()
                .map(|call| Call {
                    name: &call.tool,
                    ok: call.ok,
                    ms: milliseconds(call.took),
                })
                .collect(),
            artifacts: outcome
                .artifacts
                .iter()
                .map(|saved| Artifact {
                    name: saved.name.to_string(),
                    version: saved.version,
                    bytes: saved.bytes,
                })
                .collect(),
            skipped: outcome
                .skipped
                .iter()
                .map(|skipped| Skipped {
                    name: &skipped.path,
                    reason: &skipped.reason,
                })
                .collect(),
            images: outcome
                .images
                .iter()
                .map(|(mime_type, bytes)| Image {
                    mime_type,
                    data: STANDARD.encode(bytes),
                })
                .collect(),
            duration_ms: milliseconds(outcome.took),
        }
    }

    /// Writes it as one line.
    pub(crate) fn write(&self, mut out: impl Write) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        out.write_all(&line)?;
        out.flush()?;
        Ok(())
    }
}

fn status(ending: &Ending) -> &'static str {
    match ending {
        Ending::Completed { .. } => "completed",
        Ending::Interrupted { .. } => "interrupted",
        Ending::SandboxLost { .. } => "sandbox_lost",
        _ => "host_error",
    }
}

/// JSON that every reader takes: what only Python's JSON has, such as NaN, becomes its text.
fn result(value: Option<&ResultValue>) -> (Option<Box<RawValue>>, Option<&str>, bool) {
    match value {
        None => (None, None, false),
        Some(ResultValue::Json { type_name, value }) if value.is_standard() => (
            RawValue::from_string(value.get().to_owned()).ok(),
            Some(type_name),
            false,
        ),
        Some(ResultValue::Json { type_name, value }) => {
            (quoted(value.get()), Some(type_name), true)
        }
        Some(ResultValue::Repr { type_name, text }) => (quoted(text), Some(type_name), true),
    }
}

fn quoted(text: &str) -> Option<Box<RawValue>> {
    serde_json::value::to_raw_value(text).ok()
}

fn milliseconds(time: std::time::Duration) -> f64 {
    // To the microsecond.
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// The value of a last expression, for people.
pub(crate) fn value_text(value: &ResultValue) -> &str {
    match value {
        ResultValue::Json { value, .. } => value.get(),
        ResultValue::Repr { text, .. } => text,
    }
}
