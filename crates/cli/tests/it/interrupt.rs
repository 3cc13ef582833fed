//! Signals end the command in good order: the first stops the block, the second kills it.

use std::{
    fs::File,
    process::Child,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Lines, Place, fake_table, pause, signal, until, wait_status};

/// Starts a program and waits until it has printed `started`.
fn started(place: &Place, arguments: &[&str]) -> (Child, Lines, Lines) {
    let mut child = place.command(arguments).spawn().expect("it starts");
    let stdout = Lines::of(child.stdout.take().expect("a pipe"));
    let stderr = Lines::of(child.stderr.take().expect("a pipe"));
    assert_eq!(stdout.next_text().as_deref(), Some("started"));
    (child, stdout, stderr)
}

const SLEEPER: &str = "import time\ntry:\n    print('started')\n    time.sleep(60)\nfinally:\n    print('cleaned up')";
/// Stays in C, where no request to stop is looked at, and passes over one that comes before.
const STUBBORN: &str = "\
import itertools
begun = False
while True:
    try:
        if not begun:
            begun = True
            print('started')
        sum(itertools.repeat(0))
    except BaseException:
        pass";

#[test]
fn one_ctrl_c_stops_the_block_and_says_what_is_kept() {
    let place = Place::new();
    let (mut child, stdout, stderr) =
        started(&place, &["run", "-c", SLEEPER, "-c", "print('next')"]);
    signal(&child, Signal::INT);
    assert_eq!(stdout.rest(), ["cleaned up"]);
    assert_eq!(wait_status(&mut child).code(), Some(130));
    let said = stderr.rest();
    insta::assert_snapshot!(said.last().expect("words"), @"codehatch: The code was stopped because it was cancelled. Its output so far is shown. Variables and files are kept. Do not simply run it again: check first which of its effects took place.");
}

#[test]
fn a_second_ctrl_c_kills_at_once_and_says_what_is_lost() {
    let place = Place::new();
    let (mut child, stdout, stderr) = started(&place, &["run", "-c", STUBBORN]);
    let began = Instant::now();
    signal(&child, Signal::INT);
    pause(Duration::from_millis(300));
    assert!(
        child.try_wait().expect("a child").is_none(),
        "the block has its grace"
    );
    signal(&child, Signal::INT);
    assert_eq!(wait_status(&mut child).code(), Some(130));
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(stdout.rest(), Vec::<String>::new());
    let said = stderr.rest();
    insta::assert_snapshot!(said.last().expect("words"), @"codehatch: The sandbox was lost: the code was to be stopped because it was cancelled, and did not stop. Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.");
}

#[test]
fn the_report_is_written_however_a_block_is_stopped() {
    let place = Place::new();
    for (program, signals, status, state) in [
        (SLEEPER, 1, "interrupted", "kept"),
        (STUBBORN, 2, "sandbox_lost", "lost"),
    ] {
        // The report holds the output back, so a file tells that the program runs.
        let mark = place.path().join("log");
        let _ = std::fs::remove_file(&mark);
        let scenario = json!({"log": mark});
        let config = place.write("codehatch.toml", fake_table("fake", &scenario));
        let program = format!("from tools.fake import echo\necho(begun=True)\n{program}");
        let arguments = [
            "run",
            "--json",
            "--config",
            config.to_str().expect("UTF-8"),
            "-c",
            &program,
        ];
        let mut child = place.command(arguments).spawn().expect("it starts");
        let stdout = Lines::of(child.stdout.take().expect("a pipe"));
        until("the call", || {
            std::fs::read_to_string(&mark).is_ok_and(|log| log.contains("begun"))
        });
        pause(Duration::from_millis(200));
        for _ in 0..signals {
            signal(&child, Signal::INT);
            pause(Duration::from_millis(200));
        }
        let lines = stdout.rest();
        assert_eq!(wait_status(&mut child).code(), Some(130));
        let report: Value = serde_json::from_str(&lines[0]).expect("JSON");
        assert_eq!(
            (
                lines.len(),
                &report["status"],
                &report["state"],
                &report["exit_code"]
            ),
            (1, &json!(status), &json!(state), &json!(130))
        );
        assert!(
            report["stdout"]
                .as_str()
                .expect("text")
                .starts_with("started\n"),
            "{report}"
        );
        assert_eq!(report["tool_calls"][0]["name"], "fake.echo");
    }
}

#[test]
fn the_polite_kill_and_a_lost_terminal_stop_the_block_as_well() {
    for (kind, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let place = Place::new();
        let (mut child, stdout, _stderr) = started(&place, &["run", "-c", SLEEPER]);
        signal(&child, kind);
        assert_eq!(stdout.rest(), ["cleaned up"]);
        assert_eq!(wait_status(&mut child).code(), Some(code));
    }
}

#[test]
fn a_signal_that_the_command_was_started_to_ignore_is_ignored() {
    let place = Place::new();
    let mut command = std::process::Command::new("bash");
    let program = "print('started')\nimport time\ntime.sleep(1)\nprint('end')";
    let script = "trap '' HUP; exec \"$0\" run -c \"$1\"";
    command.args(["-c", script, env!("CARGO_BIN_EXE_codehatch"), program]);
    place.settle(&mut command);
    let mut child = command.spawn().expect("it starts");
    let stdout = Lines::of(child.stdout.take().expect("a pipe"));
    assert_eq!(stdout.next_text().as_deref(), Some("started"));
    signal(&child, Signal::HUP);
    assert_eq!(stdout.rest(), ["end"]);
    assert_eq!(wait_status(&mut child).code(), Some(0));
}

#[test]
fn a_tool_call_under_way_is_cancelled() {
    let place = Place::new();
    let log = place.path().join("log");
    place.write(
        "codehatch.toml",
        fake_table(
            "fake",
            &json!({"log": log, "tools": [{"name": "hang", "inputSchema": {"type": "object"}}]}),
        ),
    );
    let program = "from tools.fake import hang\nprint('started')\nhang()";
    let (mut child, _stdout, stderr) = started(&place, &["run", "-c", program]);
    until("the call", || {
        std::fs::read_to_string(&log).is_ok_and(|log| log.contains("\"name\":\"hang\""))
    });
    signal(&child, Signal::INT);
    assert_eq!(wait_status(&mut child).code(), Some(130));
    let said = stderr.rest().join("\n");
    assert!(said.contains("Variables and files are kept"), "{said}");
    assert!(
        std::fs::read_to_string(&log)
            .expect("a log")
            .contains("notifications/cancelled")
    );
}

#[test]
fn a_signal_while_servers_are_waited_for_ends_the_command() {
    let place = Place::new();
    let log = place.path().join("log");
    place.write(
        "codehatch.toml",
        fake_table("slow", &json!({"log": log, "start": {"hang": true}})),
    );
    for arguments in [&["run", "-c", "print(1)"] as &[&str], &["tools"]] {
        let _ = std::fs::remove_file(&log);
        let mut child = place.command(arguments).spawn().expect("it starts");
        until("the server", || log.exists());
        let began = Instant::now();
        signal(&child, Signal::INT);
        assert_eq!(wait_status(&mut child).code(), Some(130), "{arguments:?}");
        assert!(
            began.elapsed() < Duration::from_secs(8),
            "{:?}",
            began.elapsed()
        );
        let stdout = Lines::of(child.stdout.take().expect("a pipe"));
        assert_eq!(stdout.rest(), Vec::<String>::new());
    }
}

#[test]
fn a_program_is_not_run_when_its_text_never_came() {
    let place = Place::new();
    let mut command = place.command(["run", "-"]);
    let (_reader, writer) = std::io::pipe().expect("a pipe");
    let (reader, _open) = std::io::pipe().expect("a pipe");
    drop(writer);
    let mut child = command
        .stdin(File::from(std::os::fd::OwnedFd::from(reader)))
        .spawn()
        .expect("it starts");
    pause(Duration::from_millis(200));
    signal(&child, Signal::INT);
    assert!(!wait_status(&mut child).success());
}
