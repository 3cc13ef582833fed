//! Wrong or hostile input: an error that names the thing and the next step, nothing lost, nothing hung.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use serde_json::json;

use crate::support::{Place, fake_table, finish};

/// The exit code and the last line on stderr.
fn error(place: &Place, arguments: &[&str]) -> (i32, String) {
    let done = place.run_shown(arguments);
    assert_eq!(done.stdout, "", "nothing ran");
    (done.code, done.stderr.trim_end().to_owned())
}

#[test]
fn a_file_that_cannot_be_read_is_named_before_anything_runs() {
    let place = Place::new();
    place.write("good.py", "print('ran')");
    fs::create_dir(place.path().join("folder")).expect("a directory");
    insta::assert_snapshot!(error(&place, &["run", "good.py", "gone.py"]).1, @"codehatch: cannot read `gone.py`: No such file or directory (os error 2)");
    insta::assert_snapshot!(error(&place, &["run", "good.py", "folder"]).1, @"codehatch: cannot read `folder`: Is a directory (os error 21)");
    insta::assert_snapshot!(error(&place, &["run", "good.py", "--input", "gone.csv"]).1, @"codehatch: cannot read the input `gone.csv`: No such file or directory (os error 2)");
    insta::assert_snapshot!(error(&place, &["run", "good.py", "-", "-"]).1, @"codehatch: `-` is given twice, but standard input can be read only once");
    assert_eq!(error(&place, &["run", "gone.py"]).0, 2);
}

#[test]
fn code_that_is_no_text_or_too_long_is_refused_before_anything_runs() {
    let place = Place::new();
    place.write("good.py", "print('ran')");
    place.write("latin.py", b"x = 1\ny = 'gr\xFC\xDFe'\n");
    place.write("big.py", "#".repeat(10_000_000));
    insta::assert_snapshot!(error(&place, &["run", "good.py", "latin.py"]).1, @"codehatch: `latin.py` is not UTF-8 text (byte 13, line 2): save it as UTF-8");
    insta::assert_snapshot!(error(&place, &["run", "good.py", "big.py"]).1, @"codehatch: `big.py` has more than 1000000 bytes, the most that a block may have: split it, put data into a file for `--input`, or raise `code` in `[limits]`");
    assert_eq!(error(&place, &["run", "big.py"]).0, 2);
    place.write("codehatch.toml", "[limits]\ncode = \"11MB\"\n");
    let done = place.run(["run", "good.py", "big.py"]);
    assert_eq!(
        (done.code, done.stdout.as_str(), done.stderr.as_str()),
        (0, "ran\n", "")
    );
}

#[test]
fn code_with_null_bytes_raises_and_the_turn_goes_on() {
    let place = Place::new();
    let null = place.write("null.py", "print(1)\0");
    let done = place.run(["run", null.to_str().expect("UTF-8")]);
    assert_eq!((done.code, done.stdout.as_str()), (1, ""));
    assert!(done.stderr.contains("null bytes"), "{}", done.stderr);
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    let place = Place::new();
    place.write("codehatch.toml", "[limits]\nworkspace = \"1MiB\"\n");
    place.write("big.bin", vec![7; 2 << 20]);
    place.write("a/same.txt", "a");
    place.write("b/same.txt", "b");
    let error = |inputs: &[&str]| {
        let mut arguments = vec!["run", "-c", "print('ran')"];
        arguments.extend(inputs.iter().flat_map(|input| ["--input", input]));
        error(&place, &arguments).1
    };
    insta::assert_snapshot!(error(&["big.bin"]), @"codehatch: the input `big.bin` does not fit into the workspace of 1048576 bytes: raise `workspace` in `[limits]`");
    insta::assert_snapshot!(error(&["a/same.txt", "b/same.txt"]), @"codehatch: two inputs are called `same.txt`: give one of them another name, as in `--input b/same.txt=NAME`");
    insta::assert_snapshot!(error(&["a/same.txt=../out.txt"]), @"codehatch: cannot put the input `../out.txt` into the workspace: `../out.txt` is no name for a file in the workspace: it has an empty, `.` or `..` part");
    insta::assert_snapshot!(error(&["a/same.txt=/etc/passwd"]), @"codehatch: cannot put the input `/etc/passwd` into the workspace: `/etc/passwd` is no name for a file in the workspace: it is absolute");
    insta::assert_snapshot!(error(&["a/same.txt="]), @"codehatch: cannot put the input `` into the workspace: `` is no name for a file in the workspace: it is empty");
}

#[test]
fn an_interpreter_that_cannot_be_used_is_named_with_what_to_do() {
    let place = Place::new();
    place.write("not-python", "#!/bin/sh\necho hello\n");
    place.write(
        "broken",
        "#!/bin/sh\necho 'no such library' >&2\nexit 127\n",
    );
    place.write("old", "#!/bin/sh\necho '{\"implementation\": \"cpython\", \"free_threaded\": false, \
        \"version\": [3, 8, 18], \"base_prefix\": \"/usr\", \"executable\": \"/usr/bin/python3.8\", \
        \"prefix\": \"/usr\", \"system_site_packages\": true}'\n");
    place.write("locked", "");
    for name in ["not-python", "broken", "old"] {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(place.path().join(name), mode).expect("set");
    }
    fs::create_dir(place.path().join("empty")).expect("a directory");
    let error = |python: &str| {
        let (code, text) = error(&place, &["run", "--python", python, "-c", "print(1)"]);
        assert_eq!(code, 70);
        text
    };
    insta::assert_snapshot!(error("./old"), @"codehatch: the code could not be run: cannot start a sandbox with the local runtime: the Python at `[DIR]/old` is 3.8.18, but 3.9 or newer is needed: install a newer one, or name one with `python` in `[runtime]` or `--python`");
    insta::assert_snapshot!(error("./gone"), @"codehatch: the code could not be run: cannot start a sandbox with the local runtime: `./gone` is neither a Python interpreter nor a virtual environment: name one with `python` in `[runtime]` or `--python`");
    insta::assert_snapshot!(error("no-such-python"), @"codehatch: the code could not be run: cannot start a sandbox with the local runtime: no Python found (looked for no-such-python): install it, for example with `apt-get install python3`, or name one with `python` in `[runtime]` or `--python`");
    insta::assert_snapshot!(error("empty"), @"codehatch: the code could not be run: cannot start a sandbox with the local runtime: `empty` is neither a Python interpreter nor a virtual environment: name one with `python` in `[runtime]` or `--python`");
    insta::assert_snapshot!(error("./not-python"), @r#"codehatch: the code could not be run: cannot start a sandbox with the local runtime: cannot ask the Python at `[DIR]/not-python` what it is: it printed "hello"; check that it can be run, or name another one with `python` in `[runtime]` or `--python`"#);
    insta::assert_snapshot!(error("./broken"), @"codehatch: the code could not be run: cannot start a sandbox with the local runtime: cannot ask the Python at `[DIR]/broken` what it is: no such library; check that it can be run, or name another one with `python` in `[runtime]` or `--python`");
    insta::assert_snapshot!(error("./locked"), @"codehatch: the code could not be run: cannot start a sandbox with the local runtime: cannot ask the Python at `[DIR]/locked` what it is: Permission denied (os error 13); check that it can be run, or name another one with `python` in `[runtime]` or `--python`");
}

#[test]
fn a_real_old_interpreter_is_refused_where_there_is_one() {
    let home = std::env::var("HOME").unwrap_or_default();
    let versions = fs::read_dir(format!("{home}/.pyenv/versions"))
        .into_iter()
        .flatten();
    for version in versions.flatten() {
        let name = version.file_name().to_string_lossy().into_owned();
        if !name.starts_with("3.8.") && !name.starts_with("2.") {
            continue;
        }
        let place = Place::new();
        let python = version.path().join("bin/python");
        let done = place.run([
            "run",
            "-c",
            "print(1)",
            "--python",
            &python.to_string_lossy(),
        ]);
        assert_eq!((done.code, done.stdout.as_str()), (70, ""));
        assert!(
            done.stderr.contains(&python.to_string_lossy().into_owned()),
            "{}",
            done.stderr
        );
    }
}

#[test]
fn no_interpreter_at_all_is_said_with_what_to_install() {
    let place = Place::new();
    // An empty /usr/bin, as on a system without Python.
    let script = "mount -t tmpfs none /usr/bin && exec \"$0\" run -c 'print(1)'";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
    command.arg(env!("CARGO_BIN_EXE_codehatch"));
    place.settle(&mut command);
    command.env("PATH", "/usr/bin:/bin");
    let done = finish(command);
    assert_eq!((done.code, done.stdout.as_str()), (70, ""));
    insta::assert_snapshot!(done.stderr, @"codehatch: the code could not be run: cannot start a sandbox with the local runtime: no Python found (looked for python3, python3.14, python3.13, python3.12, python3.11, python3.10, python3.9): install it, for example with `apt-get install python3`, or name one with `python` in `[runtime]` or `--python`");
}

#[test]
fn a_module_that_cannot_be_preloaded_is_named() {
    let place = Place::new();
    place.write(
        "codehatch.toml",
        "[runtime]\npreload = [\"no_such_module\"]\n",
    );
    let (code, text) = error(&place, &["run", "-c", "print(1)"]);
    assert_eq!(code, 70);
    assert!(text.contains("No module named 'no_such_module'"), "{text}");
}

#[test]
fn artifacts_that_have_no_place_are_an_error_before_anything_runs() {
    let place = Place::new();
    place.write("file", "");
    let (code, text) = error(&place, &["run", "--artifacts", "file", "-c", "print(1)"]);
    assert_eq!(code, 2);
    insta::assert_snapshot!(text, @"codehatch: cannot keep artifacts in `file`; name another directory with `--artifacts`, or with `dir` in `[artifacts]`: File exists (os error 17)");
    fs::create_dir(place.path().join("ro")).expect("a directory");
    let arguments = ["run", "--artifacts", "ro/kept", "-c", "print(1)"];
    let done = place.shown(finish(
        place.in_namespace("mount -t tmpfs -o ro none ro", arguments),
    ));
    assert_eq!((done.code, done.stdout.as_str()), (2, ""));
    insta::assert_snapshot!(done.stderr, @"codehatch: cannot keep artifacts in `ro/kept`; name another directory with `--artifacts`, or with `dir` in `[artifacts]`: Read-only file system (os error 30)");
}

#[test]
fn artifacts_that_no_longer_fit_are_named_and_nothing_else_is_lost() {
    let place = Place::new();
    let program = "open('small.txt', 'w').write('kept')\n\
                   open('large.bin', 'wb').write(bytes(3 * 2**20))\nprint('ran')";
    place.write("codehatch.toml", "[artifacts]\nmax_size = \"2MiB\"\n");
    let done = place.run(["run", "--artifacts", "kept", "-c", program]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "ran\n"));
    assert!(
        done.stderr
            .starts_with("codehatch: `large.bin` was not kept: ")
            && done
                .stderr
                .contains("are over `artifact_bytes` = 2097152; ")
            && done.stderr.lines().count() == 1,
        "{}",
        done.stderr
    );
    assert_eq!(place.read("kept/small.txt/v0/small.txt"), "kept");
    // A disk that is full: the tools raise, the files are named.
    let program = "from tools import save_artifact, ToolError\n\
                   open('large.bin', 'wb').write(bytes(3 * 2**20))\n\
                   try:\n    save_artifact(filename='a.txt', content='x' * (3 * 2**20))\n\
                   except ToolError as error:\n    print('refused:', error)";
    fs::create_dir(place.path().join("disk")).expect("a directory");
    let arguments = ["run", "--artifacts", "disk", "-c", program];
    let setup = "mount -t tmpfs -o size=1m none disk";
    let done = finish(place.in_namespace(setup, arguments));
    insta::assert_snapshot!(format!("{} {}{}", done.code, done.stdout, done.stderr), @r"
    0 refused: ArtifactError: cannot save artifact `a.txt`: 3145728 bytes are over `artifact_bytes` = 2097152; save less, or raise the limit on the host
    codehatch: `large.bin` was not kept: cannot save artifact `large.bin`: its disk or quota is full; free space there, or choose another place
    ");
}

#[test]
fn code_that_closes_its_own_descriptors_loses_the_sandbox_at_most() {
    let place = Place::new();
    let program = "import os\nprint('before', flush=True)\nfor fd in range(3, 1000):\n    \
                   try: os.close(fd)\n    except OSError: pass\nprint('after')";
    let done = place.run(["run", "-c", program, "-c", "print('next')"]);
    insta::assert_snapshot!(format!("{} {}{}", done.code, done.stdout, done.stderr), @r"
    0 before
    after
    next
    ");
    let program =
        "import os\nos.close(1)\nos.close(2)\ntry:\n    print('lost')\nexcept OSError:\n    pass";
    let done = place.run(["run", "-c", program, "-c", "print('back')"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert!(done.stdout.ends_with("back\n"), "{done:?}");
}

#[test]
fn a_fork_bomb_meets_its_limit() {
    let place = Place::new();
    place.write("codehatch.toml", "[limits]\nprocesses = 20\n");
    let program = "import os, time\ncount = 0\ntry:\n    while True:\n        \
                   if os.fork() == 0:\n            time.sleep(30)\n            os._exit(0)\n        \
                   count += 1\nexcept BlockingIOError:\n    print(count < 20)";
    let done = place.run(["run", "-c", program, "-c", "print('next')"]);
    assert_eq!(
        (done.code, done.stdout.as_str(), done.stderr.as_str()),
        (0, "True\nnext\n", "")
    );
}

#[test]
fn a_wrong_command_line_says_what_is_expected() {
    let place = Place::new();
    let error = |arguments: &[&str]| {
        let (code, text) = error(&place, arguments);
        assert_eq!(code, 2);
        text
    };
    insta::assert_snapshot!(
        "wrong_commands",
        [
            &["run"] as &[&str],
            &["run", "-c", "1", "a.py"],
            &["run", "-c", "1", "--timeout", "0"],
            &["run", "-c", "1", "--memory", "lots"],
            &["run", "-c", "1", "--tiemout", "5s"],
            &["tools", "--format", "yaml"],
            &["tool"],
            &["completions", "tcsh"],
        ]
        .map(|arguments| format!(
            "$ codehatch {}\n{}\n",
            arguments.join(" "),
            error(arguments)
        ))
        .join("\n")
    );
}

#[test]
fn servers_that_misbehave_cost_their_own_tools_only() {
    let place = Place::new();
    let good = fake_table("good", &json!({}));
    place.write(
        "codehatch.toml",
        good + &fake_table(
            "dead",
            &json!({"start": {"die": 3, "words": "no licence\n"}}),
        ),
    );
    let program = "from tools.good import echo\nprint(echo(n=1))\n\
                   try:\n    import tools.dead\nexcept ImportError as error:\n    print('missing')";
    let done = place.run(["run", "-c", program]);
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (0, "{'n': 1}\nmissing\n")
    );
    assert!(
        done.stderr
            .starts_with("codehatch: MCP server `dead` exited with code 3"),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains("no licence"), "{}", done.stderr);
    assert_eq!(
        done.stderr.matches("exited with code 3").count(),
        1,
        "{}",
        done.stderr
    );
}

#[test]
fn values_with_which_nothing_could_run_are_refused_before_anything_starts() {
    for (text, said) in [
        (
            "[limits]\nopen_files = 3\n",
            "`open_files` in `[limits]` is 3: a sandbox needs at least 32",
        ),
        (
            "[limits]\nframe = 10\n",
            "`frame` in `[limits]` is 10 bytes: host and sandbox need at least 65536 to talk",
        ),
        (
            "[runtime]\nrun_as = 4294967295\n",
            "`run_as` in `[runtime]` is 4294967295, which is the id of no user",
        ),
    ] {
        let place = Place::new();
        let config = place.write("codehatch.toml", text);
        let config = config.to_str().expect("UTF-8");
        let output = place
            .command(["run", "--config", config, "-c", "print(1)"])
            .output()
            .expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
        assert!(output.stdout.is_empty());
    }
}
