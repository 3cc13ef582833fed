//! `codehatch tools` in every format.

use serde_json::{Value, json};

use crate::support::{Place, fake_table};

fn odd_tools() -> Value {
    json!([
        {
            "name": "create-issue",
            "description": "Creates an issue.\nSecond line.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "title": {"type": "string", "description": "In one line"},
                    "labels": {"type": "array", "items": {"enum": ["bug", "idea"]}},
                    "class": {"type": "integer", "minimum": 1},
                },
                "required": ["title"],
            },
            "outputSchema": {
                "type": "object",
                "properties": {"number": {"type": "integer"}},
                "required": ["number"],
            },
            "annotations": {"destructiveHint": false, "readOnlyHint": false},
        },
        {"name": "anything", "inputSchema": {"type": "string"}},
        {"name": "print", "inputSchema": {"type": "object", "properties": []}},
        {"inputSchema": {"type": "object"}},
    ])
}

/// One server with odd schemas, without the tools for artifacts, which have tests of their own.
fn place() -> Place {
    let place = Place::new();
    place.write(
        "codehatch.toml",
        fake_table("tracker", &json!({"tools": odd_tools()})),
    );
    place
}

#[test]
fn the_catalog_is_what_the_model_reads() {
    let done = place().run(["tools"]);
    assert_eq!(done.code, 0);
    let (before, rest) = done
        .stdout
        .split_once("<tools-package>")
        .expect("a list of tools");
    assert!(
        before.contains("<python-version>") && before.contains("<installed-packages>"),
        "{before}"
    );
    insta::assert_snapshot!("catalog", rest);
    insta::assert_snapshot!("catalog_complaints", done.stderr);
}

#[test]
fn a_budget_bounds_the_catalog() {
    let place = place();
    let catalog = |budget: usize| place.run(["tools", "--budget", &budget.to_string()]).stdout;
    let long = place.run(["tools"]).stdout;
    let length = long.trim_end().chars().count();
    assert_eq!(catalog(length), long);
    let short = catalog(length - 1);
    assert!(short.trim_end().chars().count() < length, "{short}");
    assert!(short.contains("tools.tracker"), "{short}");
    // Python, its packages and one sentence on the tools are kept.
    let shortest = catalog(1);
    assert!(
        shortest.contains("6 functions are too many to list here."),
        "{shortest}"
    );
}

#[test]
fn names_are_lines() {
    let done = place().run(["tools", "--format", "names"]);
    assert_eq!(done.code, 0);
    insta::assert_snapshot!(done.stdout, @r"
    tools.tracker.anything
    tools.tracker.create_issue
    tools.tracker.print
    tools.list_artifacts
    tools.load_artifact
    tools.save_artifact
    ");
}

#[test]
fn stubs_are_python_that_compiles() {
    let done = place().run(["tools", "--format", "stubs"]);
    assert_eq!(done.code, 0);
    let tracker = done
        .stdout
        .split("# /tools/tracker.py\n")
        .nth(1)
        .expect("the module");
    insta::assert_snapshot!(
        "stubs",
        tracker.split("# /tools/").next().expect("its text")
    );
    let mut python = std::process::Command::new("python3");
    python.args([
        "-c",
        "import sys; compile(sys.argv[1], 'stubs', 'exec', 0x1000000)",
        tracker,
    ]);
    let ran = python.output().expect("Python runs");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
fn json_has_everything_about_each_tool() {
    let done = place().run(["tools", "--format", "json"]);
    assert_eq!(done.code, 0);
    let all: Vec<Value> = serde_json::from_str(&done.stdout).expect("JSON");
    let of_server: Vec<&Value> = all
        .iter()
        .filter(|tool| {
            tool["path"]
                .as_str()
                .is_some_and(|path| path.starts_with("tracker."))
        })
        .collect();
    insta::assert_json_snapshot!("json", of_server);
}

#[test]
fn a_server_that_is_down_is_named_and_the_others_are_shown() {
    let place = Place::new();
    let down = "[mcp.down]\ncommand = \"no-such-server\"\n";
    place.write("codehatch.toml", fake_table("up", &json!({})) + "\n" + down);
    for format in ["catalog", "names", "stubs", "json"] {
        let done = place.run(["tools", "--format", format]);
        assert_eq!(done.code, 1, "{format}");
        assert!(
            done.stdout.contains("up") && !done.stdout.contains("down"),
            "{}",
            done.stdout
        );
        assert_eq!(
            done.stderr,
            "codehatch: MCP server `down` cannot be started: `no-such-server`; check that it is installed, or \
             give its full path\n"
        );
    }
}

#[test]
fn names_need_no_python() {
    let place = place();
    let arguments = ["tools", "--python", "/no/such/python", "--format"];
    let names = place.run([&arguments[..], &["names"]].concat());
    assert!(
        names.code == 0 && names.stdout.contains("tools.tracker.create_issue"),
        "{names:?}"
    );
    let catalog = place.run([&arguments[..], &["catalog"]].concat());
    assert_eq!((catalog.code, catalog.stdout.as_str()), (70, ""));
    assert!(
        catalog.stderr.contains("`/no/such/python`"),
        "{}",
        catalog.stderr
    );
}
