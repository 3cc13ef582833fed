//! Tools that tests give to programs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use codehatch::{RawJson, ToolFault, function::FunctionTool};
use serde_json::{Value, json};

/// A tool that takes any arguments and gives them back as they came.
pub(crate) fn echo() -> FunctionTool {
    FunctionTool::raw("echo", any(), |args| async { Ok(args) })
}

/// A tool that gives its arguments back after `ms` milliseconds, and counts how many of it run at once.
pub(crate) fn echo_after(gauge: &Gauge) -> FunctionTool {
    let gauge = gauge.clone();
    FunctionTool::raw("echo_after", any(), move |args| {
        let gauge = gauge.clone();
        async move {
            let _running = gauge.enter();
            let value: Value = args.deserialize().expect("JSON");
            let ms = value["ms"].as_u64().unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(args)
        }
    })
}

/// The schema of any arguments.
pub(crate) fn any() -> Value {
    json!({"type": "object", "additionalProperties": true})
}

pub(crate) fn raw(value: &Value) -> RawJson {
    RawJson::parse(value.to_string()).expect("JSON")
}

pub(crate) fn failed(kind: &str, message: &str) -> ToolFault {
    ToolFault::Failed {
        kind: kind.to_owned(),
        message: message.to_owned(),
    }
}

/// Counts what runs at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    total: Arc<AtomicUsize>,
    completed: Arc<AtomicUsize>,
}

/// One that runs, until it is dropped.
pub(crate) struct Running(Gauge);

impl Gauge {
    pub(crate) fn enter(&self) -> Running {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.total.fetch_add(1, Ordering::SeqCst);
        Running(self.clone())
    }

    /// How many run.
    pub(crate) fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    /// How many ran at once, at most.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    /// How many have begun.
    pub(crate) fn total(&self) -> usize {
        self.total.load(Ordering::SeqCst)
    }

    /// How many came to their end instead of being dropped.
    pub(crate) fn completed(&self) -> usize {
        self.completed.load(Ordering::SeqCst)
    }
}

impl Running {
    /// It came to its end.
    pub(crate) fn complete(self) {
        self.0.completed.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}
