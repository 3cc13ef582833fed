//! `codehatch doctor`, where everything is well and where something is missing.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Done, Place, fake_table, finish};

fn findings(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("JSON: {done:?}"))
}

/// The names of what failed, and the details.
fn failures(findings: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    findings["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter(|check| check["ok"] == json!(false))
        .map(|check| (text(&check["name"]), text(&check["detail"])))
        .collect()
}

#[test]
fn a_sound_machine_is_told_so() {
    let place = Place::new();
    place.write("codehatch.toml", fake_table("fake", &json!({})));
    let done = place.run(["doctor", "--json"]);
    let mut shape = findings(&done);
    assert_eq!(failures(&shape), []);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    // What differs from machine to machine.
    for key in ["start_ms", "block_ms"] {
        assert!(shape[key].take().as_f64().is_some_and(|time| time > 0.0));
    }
    for check in shape["checks"].as_array_mut().expect("checks") {
        if ["host", "python", "environment", "memory limit"]
            .contains(&check["name"].as_str().expect("text"))
        {
            check["detail"] = json!("[…]");
        }
    }
    insta::assert_json_snapshot!("sound", shape);
    let text = place.run(["doctor"]);
    assert_eq!(text.code, 0);
    assert!(text.stdout.starts_with(concat!(
        "codehatch ",
        env!("CARGO_PKG_VERSION"),
        "\n  ok   host "
    )));
    assert!(
        text.stdout
            .ends_with("\nEverything that isolates is in force.\n"),
        "{}",
        text.stdout
    );
}

#[test]
fn namespaces_that_are_used_up_are_named_with_the_command_that_mends_it() {
    let place = Place::new();
    let setup = "echo 0 > /proc/sys/user/max_user_namespaces";
    let done = finish(place.in_namespace(setup, ["doctor", "--json"]));
    assert_eq!(
        (done.code, findings(&done)["isolated"].clone()),
        (1, json!(false))
    );
    let failures = failures(&findings(&done));
    insta::assert_json_snapshot!(failures, @r#"
    [
      [
        "sandbox",
        "cannot start a sandbox with the local runtime: cannot create the zygote's namespaces: No space left on device (os error 28); user namespaces are used up or switched off: `sysctl user.max_user_namespaces=10000`"
      ]
    ]
    "#);
    let text = finish(place.in_namespace(setup, ["doctor"]));
    assert!(text.stdout.contains("\n  FAIL sandbox "), "{}", text.stdout);
    assert!(
        text.stdout
            .ends_with("\nSomething that isolates is missing: no program is run without it.\n"),
        "{}",
        text.stdout
    );
    let run = finish(place.in_namespace(setup, ["run", "-c", "print('ran')"]));
    assert_eq!((run.code, run.stdout.as_str()), (70, ""));
    assert!(
        run.stderr
            .contains("`sysctl user.max_user_namespaces=10000`"),
        "{}",
        run.stderr
    );
}

/// As container runtimes do it.
#[test]
fn a_profile_that_forbids_namespaces_is_noticed_and_nothing_runs_unsealed() {
    let place = Place::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/no_namespaces.py");
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new("python3");
        command
            .args([script, env!("CARGO_BIN_EXE_codehatch")])
            .args(arguments);
        place.settle(&mut command);
        finish(command)
    };
    let done = run(&["doctor", "--json"]);
    assert_eq!(done.code, 1);
    let failures = failures(&findings(&done));
    assert_eq!(failures.len(), 1, "{failures:?}");
    let (name, detail) = &failures[0];
    assert_eq!(name, "sandbox");
    assert!(
        detail.contains("cannot create the zygote's namespaces: "),
        "{detail}"
    );
    let done = run(&["run", "-c", "print('ran')"]);
    assert_eq!((done.code, done.stdout.as_str()), (70, ""));
}

#[test]
fn a_missing_interpreter_is_a_finding() {
    let place = Place::new();
    let done = place.run(["doctor", "--json", "--python", "/no/such/python"]);
    assert_eq!(done.code, 1);
    insta::assert_json_snapshot!(failures(&findings(&done)), @r#"
    [
      [
        "python",
        "cannot start a sandbox with the local runtime: `/no/such/python` is neither a Python interpreter nor a virtual environment: name one with `python` in `[runtime]` or `--python`"
      ]
    ]
    "#);
}

#[test]
fn packages_that_the_sandbox_may_not_read_are_a_finding_for_root() {
    let place = Place::new();
    let venv = place.path().join("venv");
    let made = std::process::Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv)
        .status();
    assert!(made.expect("Python runs").success());
    let locked = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(venv.join("lib"), locked).expect("set");
    let done = place.run(["doctor", "--json", "--python", "venv"]);
    let failures = failures(&findings(&done));
    if rustix::process::geteuid().is_root() {
        // Sandboxes run as another user then.
        assert_eq!((done.code, failures.len()), (1, 1));
        assert_eq!(failures[0].0, "packages");
        assert!(failures[0].1.contains("`chmod -R a+rX`"), "{failures:?}");
        assert_eq!(findings(&done)["isolated"], json!(true));
    } else {
        assert_eq!((done.code, failures), (0, vec![]));
    }
}

#[test]
fn servers_and_places_that_fail_are_findings_and_the_rest_is_examined() {
    let place = Place::new();
    place.write("file", "");
    let down = "[mcp.down]\ncommand = \"no-such-server\"\n[artifacts]\ndir = \"file\"\n";
    place.write("codehatch.toml", fake_table("up", &json!({})) + "\n" + down);
    let done = place.run_shown(["doctor", "--json"]);
    assert_eq!(
        (done.code, findings(&done)["isolated"].clone()),
        (1, json!(true))
    );
    insta::assert_json_snapshot!(failures(&findings(&done)), @r#"
    [
      [
        "artifacts",
        "cannot keep artifacts in `file`; name another directory with `--artifacts`, or with `dir` in `[artifacts]`: File exists (os error 17)"
      ],
      [
        "mcp server",
        "MCP server `down` cannot be started: `no-such-server`; check that it is installed, or give its full path"
      ]
    ]
    "#);
    let text = place.run(["doctor"]).stdout;
    assert!(
        text.ends_with(
            "\nEverything that isolates is in force. Programs run without what failed.\n"
        ),
        "{text}"
    );
}

#[test]
fn the_profile_for_ubuntu_names_this_program() {
    let done = Place::new().run(["doctor", "--apparmor-profile"]);
    assert_eq!(done.code, 0);
    let line = format!(
        "profile codehatch {} flags=(unconfined) {{",
        env!("CARGO_BIN_EXE_codehatch")
    );
    assert!(
        done.stdout.contains(&line) && done.stdout.contains("\n  userns,\n"),
        "{}",
        done.stdout
    );
}
