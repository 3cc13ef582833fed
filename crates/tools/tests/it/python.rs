//! A real Python that imports what was generated.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use codehatch_tools::ToolSet;
use serde_json::{Value, json};

/// One interpreter, kept for many requests.
#[derive(Debug)]
pub(crate) struct Python {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Python {
    /// Starts `python3`, with warnings as errors. Without one the test fails.
    pub(crate) fn start() -> Self {
        let mut child = Command::new("python3")
            .args(["-W", "error", "-c", include_str!("driver.py")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is installed");
        let requests = child.stdin.take().expect("stdin is piped");
        let answers = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Self {
            child,
            requests,
            answers,
        }
    }

    /// Imports the package of `set` and carries out `steps`; returns what each gave.
    pub(crate) fn run(&mut self, set: &ToolSet, steps: &[Value]) -> Vec<Value> {
        self.ask(set, steps, false)
            .expect("the package can be imported")
    }

    /// As [`Python::run`], in a guest that knows no `HTTPStatusError`.
    pub(crate) fn run_in_old_guest(&mut self, set: &ToolSet, steps: &[Value]) -> Vec<Value> {
        self.ask(set, steps, true)
            .expect("the package can be imported")
    }

    /// As [`Python::run`]; what keeps the package from being imported is the error.
    pub(crate) fn ask(
        &mut self,
        set: &ToolSet,
        steps: &[Value],
        old: bool,
    ) -> Result<Vec<Value>, String> {
        let files: Vec<_> = set
            .files()
            .iter()
            .map(|file| json!([file.path(), file.source()]))
            .collect();
        let request = json!({"files": files, "steps": steps, "old": old});
        writeln!(self.requests, "{request}").expect("Python reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("Python answers");
        let mut answer: Value = serde_json::from_str(&line).expect("an answer is JSON");
        if let Some(broken) = answer["broken"].as_str() {
            return Err(broken.to_owned());
        }
        assert_eq!(answer["canary"], 0, "code from a specification was run");
        let Value::Array(results) = answer["results"].take() else {
            panic!("results are a list: {answer}");
        };
        Ok(results)
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A step: a call with keyword arguments.
pub(crate) fn call(path: &str, kwargs: &Value) -> Value {
    json!({"call": path, "kwargs": kwargs})
}

/// What a call gives that sends `args`.
pub(crate) fn sent(path: &str, args: &Value) -> Value {
    json!({"sent": [[path, args]]})
}

/// What a step gives that fails.
pub(crate) fn error(text: &str) -> Value {
    json!({"error": text})
}
