//! A Python process with a release of the reference, which answers questions about its codec.

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::hex::hexadecimal;

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/reference/driver.py");

/// The process; ended when dropped.
#[derive(Debug)]
pub(crate) struct Reference {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Reference {
    /// Starts the process with a release whose environment `scripts/test-env` has installed.
    pub(crate) fn start(release: &str) -> Self {
        let python = environments().join(format!("reference-{release}/bin/python"));
        let mut child = Command::new(&python)
            .arg(DRIVER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                let path = python.display();
                panic!("cannot run `{path}`: {error}; install the tests' environments with `scripts/test-env`")
            });
        Self {
            questions: child.stdin.take().expect("piped"),
            answers: BufReader::new(child.stdout.take().expect("piped")),
            child,
        }
    }

    /// Asks one question and waits for its answer.
    pub(crate) fn ask(&mut self, name: &str, arguments: &[Option<&[u8]>]) -> Value {
        let arguments: Vec<_> = arguments.iter().map(|each| each.map(hexadecimal)).collect();
        let question = json!({"name": name, "arguments": arguments});
        writeln!(self.questions, "{question}").expect("the driver reads");
        let mut answer = String::new();
        self.answers
            .read_line(&mut answer)
            .expect("the driver writes");
        serde_json::from_str(&answer)
            .expect("the driver answers in JSON; its traceback is on stderr")
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn environments() -> PathBuf {
    match env::var_os("CODEHATCH_TEST_ENV") {
        Some(path) => path.into(),
        None => concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/test-env").into(),
    }
}
