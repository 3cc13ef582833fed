//! However the command ends, nothing of it stays: no process, no mount, no file.

use std::{collections::BTreeSet, fs, path::Path, process::Child, time::Duration};

use rustix::process::Signal;
use serde_json::json;

use crate::support::{
    Lines, Place, Process, descendants, fake_table, is_alive, pause, signal, until, wait_status,
};

fn mounts() -> String {
    fs::read_to_string("/proc/self/mounts").expect("mounts")
}

/// A program that starts processes and threads, writes files, and goes on for ever, with a server that is called.
const PROGRAM: &str = "import subprocess, threading, time, os\n\
    from tools.fake import family\n\
    open('big.bin', 'wb').write(bytes(10**6))\n\
    for _ in range(3): subprocess.Popen(['sleep', '600'], start_new_session=True)\n\
    if os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\n\
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n\
    family()\nprint('started')\ntime.sleep(600)";

/// Starts the program; also all processes that belong to it.
fn start(place: &Place) -> (Child, Lines, BTreeSet<Process>) {
    let scenario = json!({"tools": [{"name": "family", "inputSchema": {"type": "object"}}]});
    place.write("codehatch.toml", fake_table("fake", &scenario));
    fs::create_dir(place.path().join("tmp")).expect("a directory");
    let mut command = place.command(["run", "--artifacts", "kept", "-c", PROGRAM]);
    command.env("TMPDIR", place.path().join("tmp"));
    let mut child = command.spawn().expect("it starts");
    let stdout = Lines::of(child.stdout.take().expect("a pipe"));
    assert_eq!(stdout.next_text().as_deref(), Some("started"));
    let family = descendants(child.id());
    // Zygote, init, interpreter, fork, 3 children; watcher, server and its child.
    assert!(family.len() >= 9, "{family:?}");
    (child, stdout, family)
}

fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

fn nothing_is_left(place: &Place, family: &BTreeSet<Process>, before: &str) {
    until("the last process to end", || !family.iter().any(is_alive));
    assert_eq!(mounts(), before);
    assert_eq!(files(&place.path().join("tmp")), Vec::<String>::new());
}

#[test]
fn nothing_is_left_when_the_command_is_killed() {
    let place = Place::new();
    let before = mounts();
    let (mut child, _stdout, family) = start(&place);
    signal(&child, Signal::KILL);
    wait_status(&mut child);
    nothing_is_left(&place, &family, &before);
    // What it had not finished goes when the artifacts are next opened.
    let done = place.run([
        "run",
        "--config",
        "/dev/null",
        "--artifacts",
        "kept",
        "-c",
        "1",
    ]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert_eq!(files(&place.path().join("kept/.staging")), ["lock"]);
}

#[test]
fn nothing_is_left_when_the_command_is_interrupted() {
    for times in [1, 2, 3] {
        let place = Place::new();
        let before = mounts();
        let (mut child, _stdout, family) = start(&place);
        for _ in 0..times {
            // The first is sent in the middle of a block; the others may come when it has just ended.
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_child(&child),
                Signal::INT,
            );
            pause(Duration::from_millis(100));
        }
        assert_eq!(wait_status(&mut child).code(), Some(130));
        nothing_is_left(&place, &family, &before);
    }
}

#[test]
fn nothing_is_left_when_the_sandbox_is_lost_or_the_block_ends() {
    let endings = [
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            137,
        ),
        ("exit(4)", 4),
    ];
    for (ending, code) in endings {
        let place = Place::new();
        let scenario = json!({"tools": [{"name": "family", "inputSchema": {"type": "object"}}]});
        place.write("codehatch.toml", fake_table("fake", &scenario));
        let before = mounts();
        let mut command = place.command(["run", "-"]);
        let mut child = command
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
        let program = PROGRAM.replace("time.sleep(600)", "time.sleep(1)");
        crate::support::feed(&mut child, format!("{program}\n{ending}").as_bytes());
        fs::create_dir(place.path().join("tmp")).expect("a directory");
        let stdout = Lines::of(child.stdout.take().expect("a pipe"));
        assert_eq!(stdout.next_text().as_deref(), Some("started"));
        let family = descendants(child.id());
        assert_eq!(wait_status(&mut child).code(), Some(code));
        nothing_is_left(&place, &family, &before);
    }
}
