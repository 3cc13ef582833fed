//! Output comes as it is written, in order, and ends well when nobody reads it.

use std::{
    fs::OpenOptions,
    io::Read,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use crate::support::{Done, Lines, Place, finish, pause, signal, wait_status};

#[test]
fn output_is_seen_before_the_block_ends() {
    let place = Place::new();
    let program = "import sys, time\nprint('first')\nprint('second', file=sys.stderr)\n\
                   time.sleep(0.8)\nprint('third')";
    let mut child = place
        .command(["run", "-c", program])
        .spawn()
        .expect("it starts");
    let stdout = Lines::of(child.stdout.take().expect("a pipe"));
    let stderr = Lines::of(child.stderr.take().expect("a pipe"));
    let (first, text) = stdout.next().expect("a line");
    assert_eq!(text, "first");
    let (second, text) = stderr.next().expect("a line");
    assert_eq!(text, "second");
    assert!(
        child.try_wait().expect("a child").is_none(),
        "it still runs"
    );
    let (third, text) = stdout.next().expect("a line");
    assert_eq!(text, "third");
    let early = Duration::from_millis(600);
    assert!(
        third - first > early && third - second > early,
        "they came only at the end"
    );
    assert!(wait_status(&mut child).success());
}

#[test]
fn both_streams_keep_their_order_where_they_are_one() {
    let place = Place::new();
    let program = "import sys, time\nfor n in range(6):\n    \
                   print(n, file=sys.stderr if n % 2 else sys.stdout)\n    time.sleep(0.05)\n1 / 0";
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = place.command(["run", "-c", program]);
    command
        .stdout(writer.try_clone().expect("a pipe"))
        .stderr(writer);
    let mut child = command.spawn().expect("it starts");
    drop(command);
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("text");
    assert!(!wait_status(&mut child).success());
    assert!(text.starts_with("0\n1\n2\n3\n4\n5\nTraceback"), "{text}");
}

#[test]
fn what_child_processes_and_c_code_write_comes_as_well() {
    let place = Place::new();
    let program = "import subprocess, ctypes\n\
                   subprocess.run(['sh', '-c', 'echo child; echo complaint >&2'])\n\
                   libc = ctypes.CDLL(None)\nlibc.puts(b'from C')\nlibc.fflush(None)\nNone";
    let done = place.run(["run", "-c", program]);
    assert_eq!(
        done,
        Done {
            code: 0,
            stdout: "child\nfrom C\n".into(),
            stderr: "complaint\n".into(),
        }
    );
}

#[test]
fn bytes_that_are_no_text_come_through() {
    let place = Place::new();
    let program = "import sys\nsys.stdout.buffer.write(bytes(range(256)))\nNone";
    let mut command = place.command(["run", "-c", program]);
    let output = command.output().expect("it runs");
    assert_eq!(output.stdout, (0..=255).collect::<Vec<u8>>());
}

#[test]
fn a_gigabyte_comes_through_whole_without_being_held() {
    let place = Place::new();
    let program = "import sys\npiece = b'x' * (2**20 - 1) + b'\\n'\n\
                   for _ in range(1024): sys.stdout.buffer.write(piece)";
    let mut child = place
        .command(["run", "-c", program])
        .spawn()
        .expect("it starts");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut buffer = vec![0; 1 << 20];
    let mut total = 0_usize;
    let mut most = 0;
    loop {
        match stdout.read(&mut buffer).expect("readable") {
            0 => break,
            length => total += length,
        }
        most = most.max(resident_bytes(child.id()));
    }
    assert_eq!((total, wait_status(&mut child).code()), (1 << 30, Some(0)));
    // The store for artifacts in memory takes 100 MiB of it.
    assert!(most < 400 << 20, "{most} bytes were resident");
}

fn resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.map(|line| line.trim().trim_end_matches(" kB").trim());
    kilobytes
        .and_then(|text| text.parse::<u64>().ok())
        .unwrap_or_default()
        * 1024
}

#[test]
fn a_reader_that_has_enough_ends_the_command() {
    let place = Place::new();
    let endless = "run -c 'while True: print(\"x\" * 100)'";
    for arguments in [
        endless,
        "tools",
        "tools --format stubs",
        "completions bash",
        "doctor",
    ] {
        let script = format!("\"$0\" {arguments} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}");
        let mut command = std::process::Command::new("bash");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_codehatch")]);
        place.settle(&mut command);
        let done = finish(command);
        // A short text may be written before the reader is gone.
        let ended_well = done.stdout == "141\n" || (done.stdout == "0\n" && arguments != endless);
        assert!(
            ended_well && done.stderr.is_empty(),
            "{arguments}: {done:?}"
        );
    }
}

#[test]
fn a_full_disk_is_named() {
    let place = Place::new();
    let full = OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("a device");
    let mut command = place.command(["run", "-c", "print('x' * 10000)"]);
    command.stdout(full);
    let done = finish(command);
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            70,
            "codehatch: cannot write the block's output: No space left on device (os error 28)\n"
        )
    );
}

#[test]
fn a_reader_that_stalls_holds_up_no_signal() {
    let stalls = |kind, code| {
        let place = Place::new();
        let program = "print('started')\nwhile True: print('x' * 1000)";
        let mut child = place
            .command(["run", "-c", program])
            .spawn()
            .expect("it starts");
        // The pipe is never read, and so is full soon.
        let mut stdout = child.stdout.take().expect("a pipe");
        stdout.read_exact(&mut [0]).expect("output");
        pause(Duration::from_millis(300));
        let began = Instant::now();
        signal(&child, kind);
        assert_eq!(wait_status(&mut child).code(), Some(code));
        let took = began.elapsed();
        assert!(took < Duration::from_secs(15), "{took:?}");
    };
    thread::scope(|scope| {
        scope.spawn(|| stalls(Signal::INT, 130));
        scope.spawn(|| stalls(Signal::TERM, 143));
    });
}

#[test]
fn a_slow_reader_loses_nothing() {
    let place = Place::new();
    let program = "for n in range(50000): print(n, 'x' * 50)";
    let mut child = place
        .command(["run", "-c", program])
        .spawn()
        .expect("it starts");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut text = Vec::new();
    let mut buffer = vec![0; 200_000];
    loop {
        pause(Duration::from_millis(10));
        match stdout.read(&mut buffer).expect("readable") {
            0 => break,
            length => text.extend_from_slice(&buffer[..length]),
        }
    }
    let lines = (0..50_000).map(|n| format!("{n} {}\n", "x".repeat(50)));
    let expected = lines.collect::<Vec<_>>().concat();
    assert!(
        text == expected.as_bytes(),
        "{} bytes of {}",
        text.len(),
        expected.len()
    );
    assert!(wait_status(&mut child).success());
}

#[test]
fn a_pipe_that_another_program_made_non_blocking_loses_nothing() {
    let place = Place::new();
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let flags = rustix::fs::fcntl_getfl(&writer).expect("flags");
    rustix::fs::fcntl_setfl(&writer, flags | rustix::fs::OFlags::NONBLOCK).expect("set");
    let mut command = place.command(["run", "-c", "print('x' * 1000000)"]);
    command.stdout(writer);
    let mut child = command.spawn().expect("it starts");
    drop(command);
    pause(Duration::from_millis(500));
    let mut text = Vec::new();
    reader.read_to_end(&mut text).expect("readable");
    assert_eq!(
        (text.len(), wait_status(&mut child).code()),
        (1_000_001, Some(0))
    );
}

#[test]
fn nothing_but_text_is_written_into_a_pipe() {
    let place = Place::new();
    let program = "import time\ntime.sleep(0.7)\nprint('done')";
    let done = place.run(["run", "-c", program]);
    assert_eq!(
        done,
        Done {
            code: 0,
            stdout: "done\n".into(),
            stderr: String::new(),
        }
    );
    for arguments in [
        &["tools"] as &[&str],
        &["doctor"],
        &["--help"],
        &["run", "--help"],
        &["run"],
    ] {
        let done = place.run(arguments);
        assert!(
            !(done.stdout + &done.stderr).contains('\u{1b}'),
            "{arguments:?}"
        );
    }
}

#[test]
fn closed_standard_streams_are_no_trouble() {
    let place = Place::new();
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let script = format!("\"$0\" run -c 'print(1); exit(3)' {closed}");
        let mut command = std::process::Command::new("bash");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_codehatch")]);
        place.settle(&mut command);
        command.stdin(Stdio::null());
        assert_eq!(finish(command).code, 3, "{closed}");
    }
}
