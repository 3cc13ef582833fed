//! MCP servers that die, hang, answer garbage or have a great many tools.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Place, address_table, fake_table, free_port};

/// A good server, a bad one, and a program that uses the good one; stdout, stderr, and how long it took.
fn beside_a_good_one(bad: &str) -> (String, String, Duration) {
    let place = Place::new();
    let good = fake_table("good", &json!({}));
    place.write("codehatch.toml", format!("{good}\n{bad}"));
    let program = "from tools.good import echo\necho(n=1)";
    let began = Instant::now();
    let done = place.run_shown(["run", "-c", program]);
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (0, "{\"n\":1}\n"),
        "{}",
        done.stderr
    );
    (done.stdout, done.stderr, began.elapsed())
}

/// What is said of a bad server, which costs the good one nothing.
fn said_of(bad: &str) -> String {
    beside_a_good_one(bad).1
}

#[test]
fn a_server_that_cannot_be_started_is_named_once() {
    insta::assert_snapshot!(said_of("[mcp.bad]\ncommand = \"no-such-server\"\n"), @"codehatch: MCP server `bad` cannot be started: `no-such-server`; check that it is installed, or give its full path");
}

#[test]
fn a_server_that_dies_is_named_with_its_last_words() {
    let said = said_of(&fake_table(
        "bad",
        &json!({"start": {"die": 3, "words": "no licence found\n"}}),
    ));
    assert!(
        said.starts_with("codehatch: MCP server `bad` exited with code 3; run `"),
        "{said}"
    );
    assert!(
        said.ends_with("It last wrote:\nno licence found\n"),
        "{said}"
    );
    assert_eq!(said.matches("exited with code 3").count(), 1, "{said}");
}

#[test]
fn a_server_that_hangs_is_given_up_in_its_time() {
    let table = fake_table("bad", &json!({"start": {"hang": true}})) + "connect_timeout = \"1s\"\n";
    let (_, said, took) = beside_a_good_one(&table);
    assert!(
        said.starts_with("codehatch: MCP server `bad` gave no MCP answer within 1s; "),
        "{said}"
    );
    assert!(said.contains("`connect_timeout`"), "{said}");
    assert!(took < Duration::from_secs(15), "{took:?}");
}

#[test]
fn a_server_that_answers_garbage_is_named() {
    let said = said_of(
        "[mcp.bad]\ncommand = \"sh\"\nargs = [\"-c\", \"echo this is no JSON; sleep 60\"]\nconnect_timeout = \"1s\"\n",
    );
    assert!(
        said.starts_with("codehatch: MCP server `bad` gave no MCP answer"),
        "{said}"
    );
    assert!(said.contains("this is no JSON"), "{said}");
}

#[test]
fn a_server_that_floods_is_given_up_in_its_time() {
    let table = "[mcp.bad]\ncommand = \"yes\"\nconnect_timeout = \"1s\"\n";
    let (_, said, took) = beside_a_good_one(table);
    let lines = "\ny".repeat(10);
    let end = format!("It last wrote:\n…{lines}\n");
    assert!(
        said.starts_with("codehatch: MCP server `bad` gave no MCP answer within 1s; ")
            && said.ends_with(&end),
        "{said}"
    );
    assert!(took < Duration::from_secs(8), "{took:?}");
}

#[test]
fn a_server_that_never_ends_its_list_is_given_up() {
    let table = fake_table("bad", &json!({"pages": "endless"})) + "list_timeout = \"100ms\"\n";
    assert_eq!(said_of(&table), "");
    let place = Place::new();
    place.write("codehatch.toml", table);
    let problem =
        "`tools after the first 0`: the list took longer than 100ms; the rest is left out";
    let done = place.run(["tools", "--format", "names"]);
    assert_eq!(
        (done.code, done.stderr),
        (0, format!("codehatch: bad: {problem}\n"))
    );
    let findings = place.run(["doctor"]).stdout;
    let line = format!("mcp server         bad: 0 tools\n                          {problem}\n");
    assert!(findings.contains(&line), "{findings}");
}

#[test]
fn an_address_where_nobody_answers_is_named() {
    let url = format!("http://127.0.0.1:{}/mcp", free_port());
    let said = said_of(&(address_table("bad", &url) + "connect_timeout = \"2s\"\n"));
    assert!(
        said.starts_with("codehatch: MCP server `bad` cannot be reached: "),
        "{said}"
    );
    let said = said_of(
        &(address_table("bad", "http://no-such-host.invalid/mcp") + "connect_timeout = \"2s\"\n"),
    );
    assert!(
        said.starts_with("codehatch: MCP server `bad` cannot be reached: "),
        "{said}"
    );
}

#[test]
fn ten_thousand_tools_are_usable() {
    let place = Place::new();
    place.write(
        "codehatch.toml",
        fake_table("many", &json!({"pages": 10_000})),
    );
    let names = place.run(["tools", "--format", "names"]);
    assert_eq!(names.code, 0, "{}", names.stderr);
    let many = names
        .stdout
        .lines()
        .filter(|name| name.starts_with("tools.many.tool_"));
    assert_eq!(many.count(), 10_000);
    let catalog = place.run(["tools"]).stdout;
    assert!(
        catalog.len() < 60_000 && catalog.contains("tools.many"),
        "{} bytes",
        catalog.len()
    );
    let program = "import tools.many\nprint(hasattr(tools.many, 'tool_9999'))";
    assert_eq!(place.run(["run", "-c", program]).stdout, "True\n");
}

#[test]
fn schemas_that_refer_to_themselves_are_usable() {
    let place = Place::new();
    let node = json!({"type": "object", "properties": {
        "value": {"type": "integer"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    }});
    let schema = json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}},
        "required": ["root"], "$defs": {"Node": node}});
    let loops = json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}});
    let tools = json!([
        {"name": "echo", "inputSchema": schema},
        {"name": "loops", "inputSchema": loops},
    ]);
    place.write(
        "codehatch.toml",
        fake_table("odd", &json!({"tools": tools})),
    );
    let program = "from tools.odd import echo\necho({'value': 1, 'children': [{'value': 2}]})";
    let done = place.run(["run", "-c", program]);
    assert_eq!(
        done.stdout, "{\"root\":{\"value\":1,\"children\":[{\"value\":2}]}}\n",
        "{}",
        done.stderr
    );
}

#[test]
fn a_server_that_dies_in_mid_call_fails_that_call_only() {
    let place = Place::new();
    let tools: Vec<Value> = ["echo", "die"]
        .iter()
        .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
        .collect();
    place.write(
        "codehatch.toml",
        fake_table("fake", &json!({"tools": tools})),
    );
    let program = "from tools import ToolError\nfrom tools.fake import echo, die\n\
                   print(echo(n=1))\ntry:\n    die(words='crash')\nexcept ToolError as error:\n    print('failed')\n\
                   print(echo(n=2))";
    let done = place.run(["run", "-c", program]);
    assert_eq!(
        done.stdout, "{'n': 1}\nfailed\n{'n': 2}\n",
        "{}",
        done.stderr
    );
}

#[test]
fn a_server_that_will_not_leave_does_not_keep_the_command() {
    let place = Place::new();
    let scenario = json!({"start": {"ignores_term": true, "stays": true}});
    place.write("codehatch.toml", fake_table("fake", &scenario));
    let began = Instant::now();
    let done = place.run(["run", "-c", "from tools.fake import echo\necho()"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "{}\n"));
    assert!(
        began.elapsed() < Duration::from_secs(12),
        "{:?}",
        began.elapsed()
    );
}
