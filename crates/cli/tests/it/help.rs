//! Help that teaches, and the documentation that has it.

use std::collections::BTreeSet;

use crate::support::Place;

const DOCUMENTATION: &str = include_str!("../../../../docs/cli.md");

#[test]
fn help_is_as_documented() {
    let place = Place::new();
    for arguments in [
        &["--help"] as &[&str],
        &["run", "--help"],
        &["tools", "--help"],
        &["doctor", "--help"],
        &["completions", "--help"],
    ] {
        let done = place.run(arguments);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{arguments:?}");
        let lines: Vec<&str> = done.stdout.trim_end().lines().map(str::trim_end).collect();
        let command = arguments.join(" ");
        let shown = format!(
            "```text\n$ codehatch {command}\n{}\n```\n",
            lines.join("\n")
        );
        assert!(
            DOCUMENTATION.contains(&shown),
            "docs/cli.md must have this block:\n{shown}"
        );
    }
}

#[test]
fn the_documentation_names_every_key_of_a_report() {
    let (_, reports) = Place::new().reports(["-c", "1"]);
    let keys: BTreeSet<&str> = reports[0]
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    let section = DOCUMENTATION.split("### With `--json`").nth(1);
    let section = section.and_then(|rest| rest.split("\n##").next());
    let rows = section.expect("a section").lines();
    let documented: BTreeSet<&str> = rows
        .filter_map(|row| row.strip_prefix("| `")?.split(" | ").next())
        .flat_map(|names| names.split(", "))
        .map(|name| name.trim_matches('`'))
        .collect();
    assert_eq!(documented, keys);
}

#[test]
fn the_short_help_is_there_too_and_no_command_is_help() {
    let place = Place::new();
    let short = place.run(["-h"]);
    assert!(
        short.code == 0 && short.stdout.contains("codehatch doctor"),
        "{short:?}"
    );
    let none = place.run::<&str>([]);
    assert!(
        none.code == 2 && none.stderr.contains("codehatch doctor"),
        "{none:?}"
    );
}

#[test]
fn the_version_is_the_package_s() {
    let done = Place::new().run(["--version"]);
    assert_eq!(
        done.stdout,
        concat!("codehatch ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn help_and_version_touch_nothing() {
    let place = Place::new();
    // A configuration that is wrong, an interpreter that is gone: neither is looked at.
    place.write("codehatch.toml", "this is no TOML");
    for arguments in [
        &["--version"] as &[&str],
        &["--help"],
        &["run", "--help"],
        &["completions", "bash"],
    ] {
        let mut command = place.command(arguments);
        command.env("CODEHATCH_PYTHON", "/no/such/python");
        let done = crate::support::finish(command);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{arguments:?}");
    }
}
