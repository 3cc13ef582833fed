//! Programs, blocks, inputs, artifacts, exit codes.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Done, Place, feed, finish, wait};

fn done(code: i32, stdout: &str, stderr: &str) -> Done {
    Done {
        code,
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
    }
}

#[test]
fn output_and_the_value_of_the_last_expression_are_printed() {
    let place = Place::new();
    let program = "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7";
    assert_eq!(
        place.run(["run", "-c", program]),
        done(0, "out\n42\n", "err\n")
    );
}

#[test]
fn a_value_stands_on_a_line_of_its_own() {
    let place = Place::new();
    let program = "print('no end', end='')\n'text'";
    assert_eq!(
        place.run([
            "run",
            "-c",
            program,
            "-c",
            "None",
            "-c",
            "{'a': [1, True, None]}"
        ]),
        done(0, "no end\n\"text\"\n{\"a\":[1,true,null]}\n", "")
    );
}

#[test]
fn files_share_variables_and_the_workspace_of_one_turn() {
    let place = Place::new();
    place.write(
        "one.py",
        "x = 20\nopen('note.txt', 'w').write('kept')\nNone",
    );
    place.write("two.py", "print(open('note.txt').read(), x + 1)");
    assert_eq!(
        place.run(["run", "one.py", "two.py"]),
        done(0, "kept 21\n", "")
    );
    assert!(
        !place.path().join("note.txt").exists(),
        "the workspace is the sandbox's own"
    );
}

#[test]
fn the_first_block_that_fails_is_the_last_one() {
    let place = Place::new();
    let blocks = ["run", "-c", "print(1)", "-c", "exit(7)", "-c", "print(3)"];
    assert_eq!(
        place.run(blocks),
        done(7, "1\n", "codehatch: The code exited with code 7.\n")
    );
}

#[test]
fn a_program_is_read_from_standard_input_between_files() {
    let place = Place::new();
    place.write("one.py", "x = 1");
    place.write("three.py", "print(x)");
    let mut command = place.command(["run", "one.py", "-", "three.py"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    feed(&mut child, b"x += 1\n");
    assert_eq!(wait(child), done(0, "2\n", ""));
}

#[test]
fn programs_come_from_pipes_as_well() {
    let place = Place::new();
    let mut command = std::process::Command::new("bash");
    let script = "\"$0\" run <(echo 'x = 4') <(echo 'x * x')";
    command.args(["-c", script, env!("CARGO_BIN_EXE_codehatch")]);
    place.settle(&mut command);
    assert_eq!(finish(command), done(0, "16\n", ""));
}

#[test]
fn a_byte_order_mark_and_line_ends_of_windows_are_no_errors() {
    let place = Place::new();
    place.write("a.py", "\u{feff}x = 1\r\nif x:\r\n    print('Grüße')\r\n");
    assert_eq!(place.run(["run", "a.py"]), done(0, "Grüße\n", ""));
}

#[test]
fn an_empty_program_does_nothing() {
    let place = Place::new();
    place.write("empty.py", "");
    place.write("comment.py", "# only a comment");
    assert_eq!(
        place.run(["run", "empty.py", "comment.py"]),
        done(0, "", "")
    );
}

/// The exit codes that `run --help` lists.
#[test]
fn exit_codes_tell_how_the_last_block_ended() {
    let place = Place::new();
    let config = place.write("grace.toml", "[limits]\ngrace = \"200ms\"\n");
    let config = config.to_str().expect("UTF-8");
    let spin = "import itertools\nsum(itertools.repeat(0))";
    for (code, program, arguments) in [
        (0, "exit()", &[] as &[&str]),
        (0, "exit(0)", &[]),
        (5, "exit(5)", &[]),
        (255, "exit(255)", &[]),
        // Python itself would make these 0 and 255; a failure must stay one.
        (255, "exit(256)", &[]),
        (255, "exit(-1)", &[]),
        (1, "exit('words')", &[]),
        (1, "1 / 0", &[]),
        (1, "no syntax", &[]),
        (124, "while True: pass", &["--timeout", "300ms"]),
        // The sandbox does not stop, and is killed.
        (124, spin, &["--timeout", "300ms", "--config", config]),
        (
            137,
            "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
            &[],
        ),
        (139, "import ctypes\nctypes.string_at(0)", &[]),
        (134, "import os\nos.abort()", &[]),
        (3, "import os\nos._exit(3)", &[]),
        (1, "import os\nos._exit(0)", &[]),
        (2, "print(1)", &["--timeout", "soon"]),
        (70, "print(1)", &["--python", "/no/such/python"]),
    ] {
        let mut command = place.command(["run", "-c", program]);
        command.args(arguments);
        let done = finish(command);
        assert_eq!(done.code, code, "{program}: {}{}", done.stdout, done.stderr);
    }
}

#[test]
fn memory_beyond_the_limit_is_refused_and_a_crowd_of_processes_is_ended() {
    let place = Place::new();
    let one = place.run([
        "run",
        "--memory",
        "64MiB",
        "-c",
        "x = bytearray(100 * 2**20)",
    ]);
    assert_eq!(
        (one.code, one.stderr.lines().last()),
        (1, Some("MemoryError"))
    );
    let crowd = "import os, time\n\
                 for _ in range(8):\n    \
                     if os.fork() == 0:\n        \
                         x = bytearray(b'x') * (40 * 2**20)\n        \
                         time.sleep(20)\n\
                 time.sleep(20)";
    let (code, reports) = place.reports(["--memory", "64MiB", "-c", crowd]);
    assert_eq!(code, 137);
    assert_eq!(reports[0]["status"], "sandbox_lost");
    let message = reports[0]["message"].as_str().expect("words");
    assert!(message.contains("memory"), "{message}");
}

#[test]
fn a_block_that_is_stopped_keeps_its_output_and_the_state() {
    let place = Place::new();
    let program = "x = 'kept'\nprint('so far')\nimport time\ntime.sleep(60)";
    let (code, reports) = place.reports(["--timeout", "500ms", "-c", program]);
    assert_eq!(code, 124);
    let Value::Object(report) = &reports[0] else {
        panic!("{reports:?}");
    };
    assert_eq!(
        (&report["status"], &report["state"], &report["stdout"]),
        (&json!("interrupted"), &json!("kept"), &json!("so far\n"))
    );
    insta::assert_snapshot!(report["message"].as_str().expect("words"), @"The code was stopped because it ran for longer than its time limit of 0.5 s. Its output so far is shown. Variables and files are kept. Do not simply run it again: check first which of its effects took place.");
}

#[test]
fn json_has_an_object_for_each_block() {
    let place = Place::new();
    place.write(
        "a.py",
        "import sys\nprint('out')\nprint('err', file=sys.stderr)\n{'n': 2**70, 'x': 0.1}",
    );
    let blocks = [
        "a.py", "-", // empty
    ];
    let (code, mut reports) = place.reports(blocks);
    assert_eq!(code, 0);
    for report in &mut reports {
        let took = report["duration_ms"].take();
        assert!(took.as_f64().is_some_and(|took| took > 0.0), "{took}");
    }
    insta::assert_json_snapshot!("json", reports);
    // Numbers are what Python had, to the last digit.
    let exact = place.run(["run", "--json", "-c", "[2**70, 0.1]"]).stdout;
    assert!(
        exact.contains("\"result\":[1180591620717411303424,0.1],"),
        "{exact}"
    );
}

#[test]
fn values_that_json_lacks_are_text() {
    let place = Place::new();
    let (_, reports) = place.reports(["-c", "[float('nan'), 1]", "-c", "object", "-c", "{1, 2}"]);
    let shown: Vec<_> = reports
        .iter()
        .map(|report| {
            (
                &report["result"],
                &report["result_type"],
                &report["result_is_repr"],
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (&json!("[NaN,1]"), &json!("list"), &json!(true)),
            (&json!("<class 'object'>"), &json!("type"), &json!(true)),
            (&json!("{1, 2}"), &json!("set"), &json!(true)),
        ]
    );
}

#[test]
fn json_names_tool_calls_and_artifacts() {
    let place = Place::new();
    let program = "from tools import save_artifact, load_artifact, ToolError\n\
                   save_artifact(filename='a.json', content='[1]')\n\
                   save_artifact(filename='a.json', content='[1, 2]')\n\
                   try:\n    load_artifact(filename='')\nexcept ToolError:\n    pass\n\
                   open('made.txt', 'w').write('12345')\nNone";
    let (_, mut reports) = place.reports(["-c", program]);
    for call in reports[0]["tool_calls"].as_array_mut().expect("calls") {
        assert!(call["ms"].take().is_f64());
    }
    assert_eq!(
        reports[0]["tool_calls"],
        json!([
            {"name": "save_artifact", "ok": true, "ms": null},
            {"name": "save_artifact", "ok": true, "ms": null},
            {"name": "load_artifact", "ok": false, "ms": null},
        ])
    );
    assert_eq!(
        reports[0]["artifacts"],
        json!([{"name": "made.txt", "version": 0, "bytes": 5}])
    );
}

#[test]
fn what_earlier_blocks_left_running_is_told_apart() {
    let place = Place::new();
    let first = "import threading, time\n\
                 gate = threading.Event()\n\
                 def late():\n    gate.wait()\n    import os\n    os.write(1, b'late\\n')\n\
                 threading.Thread(target=late).start()\nNone";
    // The thread writes between the blocks: the second one's end lets it go.
    let second = "import threading\nthreading.Timer(0.0, gate.set).start()\nNone";
    let third = "import time\ntime.sleep(0.3)\nprint('third')";
    let (_, reports) = place.reports(["-c", first, "-c", second, "-c", third]);
    let written: String = reports
        .iter()
        .flat_map(|report| [&report["earlier_output"], &report["stdout"]])
        .map(|text| text.as_str().expect("text"))
        .collect();
    assert!(
        written.contains("late\n") && written.contains("third\n"),
        "{written}"
    );
}

#[test]
fn inputs_are_in_the_workspace_under_their_own_name_or_another() {
    let place = Place::new();
    place.write("data/sales.csv", "a,b\n1,2\n");
    place.write("odd=name.txt", "odd");
    place.write("bytes.bin", [0, 255, 10]);
    let program = "import os\nprint(sorted(os.listdir()), os.listdir('in'))\n\
                   print(open('sales.csv').read(), open('bytes.bin', 'rb').read(), end='')";
    let arguments = [
        "run",
        "-c",
        program,
        "--input",
        "data/sales.csv",
        "--input",
        "odd=name.txt",
        "--input",
        "bytes.bin",
        "--input",
        "data/sales.csv=in/other.csv",
    ];
    assert_eq!(
        place.run(arguments),
        done(
            0,
            "['bytes.bin', 'in', 'odd=name.txt', 'sales.csv'] ['other.csv']\na,b\n1,2\n b'\\x00\\xff\\n'",
            ""
        )
    );
}

#[test]
fn artifacts_are_kept_with_every_version() {
    let place = Place::new();
    let program = "open('report.txt', 'w').write('first')\n\
                   import os\nos.mkdir('plots')\nopen('plots/a.svg', 'w').write('<svg/>')\nNone";
    let again = "open('report.txt', 'a').write(', second')\nNone";
    let arguments = ["run", "--artifacts", "kept", "-c", program, "-c", again];
    assert_eq!(place.run(arguments), done(0, "", ""));
    assert_eq!(place.read("kept/report.txt/v0/report.txt"), "first");
    assert_eq!(place.read("kept/report.txt/v1/report.txt"), "first, second");
    assert_eq!(place.read("kept/plots/a.svg/v0/a.svg"), "<svg/>");
    // The next run goes on from there.
    let loaded = "from tools import load_artifact\nload_artifact(filename='report.txt')['data']";
    assert_eq!(
        place.run(["run", "--artifacts", "kept", "-c", loaded]),
        done(0, "\"first, second\"\n", "")
    );
}

#[test]
fn output_beyond_the_limit_is_written_whole_and_kept_as_an_artifact() {
    let place = Place::new();
    let program = "for n in range(20000): print(n)";
    let run = place.run(["run", "--artifacts", "kept", "-c", program]);
    let lines = (0..20_000).map(|n| format!("{n}\n"));
    let expected = lines.collect::<Vec<_>>().concat();
    assert_eq!(run, done(0, &expected, ""));
    let (_, reports) = place.reports(["--artifacts", "kept", "-c", program]);
    let shown = reports[0]["stdout"].as_str().expect("text");
    assert!(shown.len() < 51_000 && shown.starts_with("0\n1\n") && shown.ends_with("19999\n"));
    assert!(shown.contains("bytes left out"), "{shown}");
    let name = reports[0]["artifacts"][0]["name"].as_str().expect("a name");
    assert_eq!(reports[0]["artifacts"][0]["bytes"], expected.len());
    let file = name.rsplit('/').next().expect("a file");
    assert_eq!(place.read(&format!("kept/{name}/v0/{file}")), expected);
}

#[test]
fn the_verbose_command_says_more_and_only_on_stderr() {
    let place = Place::new();
    let quiet = place.run(["run", "-c", "1"]);
    let verbose = place.run(["-vv", "run", "-c", "1"]);
    assert_eq!(quiet, done(0, "1\n", ""));
    assert_eq!((verbose.code, verbose.stdout.as_str()), (0, "1\n"));
}
