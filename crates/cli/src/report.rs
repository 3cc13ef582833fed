//! A block's outcome as JSON, and as text for people.

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
    /// What work that earlier blocks left behind wrote before this block began.
    earlier_output: &'a str,
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
    deleted: &'a [String],
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
            earlier_output: &outcome.earlier_output,
            result,
            result_type,
            result_is_repr,
            exit_code,
            status: status(&outcome.ending),
            state: match outcome.state {
                BlockState::Kept => "kept",
                BlockState::Lost => "lost",
            },
            message: message(outcome),
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
            deleted: &outcome.deleted,
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

    /// Its text, one line without an end.
    pub(crate) fn to_line(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
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

/// What to say of the ending. There is no state to speak of where nothing could be started.
fn message(outcome: &BlockOutcome) -> Option<String> {
    match &outcome.ending {
        Ending::HostError { message } if outcome.block.0 == 1 => {
            Some(format!("the code could not be run: {message}"))
        }
        _ => outcome.message(),
    }
}

/// What a person is told once a block has ended, beside its output; more where one may be watching.
pub(crate) fn messages(
    outcome: &BlockOutcome,
    watched: bool,
    keeps_artifacts: bool,
) -> Vec<String> {
    let mut messages = Vec::new();
    if !outcome.earlier_output.is_empty() {
        messages.push(format!(
            "before this block began, work of earlier blocks wrote:\n{}",
            outcome.earlier_output.trim_end()
        ));
    }
    messages.extend(message(outcome));
    let skipped = outcome.skipped.iter();
    messages.extend(
        skipped.map(|skipped| format!("`{}` was not kept: {}", skipped.path, skipped.reason)),
    );
    if !watched {
        return messages;
    }
    for (mime_type, data) in &outcome.images {
        messages.push(format!(
            "a figure ({mime_type}, {} bytes); --json prints it",
            data.len()
        ));
    }
    for saved in &outcome.artifacts {
        messages.push(format!(
            "saved {} (version {}, {} bytes)",
            saved.name, saved.version, saved.bytes
        ));
    }
    if !outcome.artifacts.is_empty() && !keeps_artifacts {
        messages.push(
            "artifacts are gone when this command ends; --artifacts DIR keeps them".to_owned(),
        );
    }
    messages
}
