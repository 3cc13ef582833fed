//! Programs over servers in real use: they loop, filter and join over four and more of them, through both transports.

use std::{fs, io::Write, process::Command};

use serde_json::{Value, json};

use crate::support::{
    Lines, Place, Service, address_table, descendants, free_port, installed, node_server,
    program_table, wait_status, workspace_server,
};

/// A repository with notes of two people, each commit at a known time.
fn repository(place: &Place) -> String {
    let commits = [
        ("Ann", "2026-03-01T09:30:00Z", "Plan the garden"),
        ("Bob", "2026-03-01T15:05:00Z", "Order seeds"),
        ("Ann", "2026-03-02T20:45:00Z", "Note the weather"),
    ];
    let notes = [
        ("garden.md", "# Garden\nTODO buy soil\nTODO dig\n"),
        ("seeds/list.md", "Tomatoes\nTODO order beans\n"),
        ("weather.md", "Rain.\n"),
    ];
    let folder = place.path().join("repository");
    fs::create_dir(&folder).expect("a directory");
    let folder = folder.canonicalize().expect("it exists");
    let git = |arguments: &[&str], date: &str| {
        let output = Command::new("git")
            .current_dir(&folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_COMMITTER_DATE", date)
            .args(arguments)
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{output:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"], "");
    for ((author, date, subject), (note, text)) in commits.into_iter().zip(notes) {
        place.write(&format!("repository/{note}"), text);
        git(&["add", "."], date);
        let user = format!("user.name={author}");
        let mail = format!("user.email={author}@example.com");
        let commit = ["commit", "--quiet", "--date", date, "-m", subject];
        git(&[&["-c", &user, "-c", &mail], &commit[..]].concat(), date);
    }
    folder.to_string_lossy().into_owned()
}

fn time_server() -> Vec<String> {
    vec![installed("mcp-servers/bin/mcp-server-time")]
}

fn git_server(repository: &str) -> Vec<String> {
    let server = installed("mcp-servers/bin/mcp-server-git");
    vec![server, "--repository".into(), repository.into()]
}

/// The server with a knowledge graph, which it keeps in a file of this place.
fn memory_table(place: &Place) -> String {
    let file = toml::Value::from(place.path().join("graph.json").to_string_lossy().as_ref());
    program_table("memory", &node_server("memory", &[]))
        + &format!("env = {{ MEMORY_FILE_PATH = {file} }}\n")
}

/// The tools that were called, each with how often; all calls must have gone well.
fn calls(report: &Value) -> Value {
    let mut counts = serde_json::Map::new();
    for call in report["tool_calls"].as_array().expect("calls") {
        assert_eq!(call["ok"], json!(true), "{call}");
        let count = counts.entry(call["name"].as_str().expect("a name"));
        let count = count.or_insert(json!(0));
        *count = json!(count.as_u64().expect("a count") + 1);
    }
    Value::Object(counts)
}

/// Runs a program with `--json` that must end well; its report.
fn report(place: &Place, program: &str) -> Value {
    place.write("program.py", program);
    let (code, mut reports) = place.reports(["program.py"]);
    let report = reports.pop().expect("a report");
    assert_eq!((code, &report["stderr"]), (0, &json!("")), "{report:#}");
    report
}

#[test]
fn a_program_joins_files_history_notes_and_time_of_four_servers_over_stdio() {
    let place = Place::new();
    let repository = repository(&place);
    place.write(
        "codehatch.toml",
        [
            program_table("filesystem", &node_server("filesystem", &[&repository])),
            memory_table(&place),
            program_table("git", &git_server(&repository)),
            program_table("time", &time_server()),
        ]
        .join("\n"),
    );
    let program = include_str!("programs/garden.py");
    let report = report(&place, &program.replace("[REPOSITORY]", &repository));
    assert_eq!(
        report["result"],
        json!({
            "to do": {"garden.md": ["buy soil", "dig"], "seeds/list.md": ["order beans"]},
            "written": {
                "seeds/list.md": ["Bob", "Order seeds", "2026-03-01", "00:05"],
                "garden.md": ["Ann", "Plan the garden", "2026-03-01", "18:30"],
            },
            "beans": [
                {"name": "seeds/list.md", "entityType": "note", "observations": ["order beans"]},
            ],
            "commits": 3,
        })
    );
    assert_eq!(
        calls(&report),
        json!({
            "filesystem.directory_tree": 1,
            "filesystem.read_text_file": 3,
            "git.git_log": 1,
            "git.git_show": 3,
            "time.convert_time": 2,
            "memory.create_entities": 1,
            "memory.create_relations": 1,
            "memory.search_nodes": 1,
        })
    );
}

#[test]
fn threads_and_coroutines_call_five_servers_over_http_and_stdio_at_once() {
    let place = Place::new();
    let repository = repository(&place);
    let [everything, workspace, sdk] = [free_port(), free_port(), free_port()];
    let sdk_server = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../providers/mcp/tests/fake/sdk_server.py"
    );
    let services = [
        Service::start(
            everything,
            &node_server("everything", &["streamableHttp"]),
            &[("PORT", everything.to_string())],
        ),
        Service::start(
            workspace,
            &[
                workspace_server(),
                repository,
                "--http".into(),
                format!("127.0.0.1:{workspace}"),
            ],
            &[],
        ),
        Service::start(
            sdk,
            &[
                installed("mcp-sdk-2/bin/python"),
                sdk_server.into(),
                sdk.to_string(),
            ],
            &[],
        ),
    ];
    place.write(
        "codehatch.toml",
        [
            address_table("everything", &services[0].url),
            address_table("workspace", &services[1].url),
            address_table("sdk", &services[2].url),
            program_table("time", &time_server()),
            memory_table(&place),
        ]
        .join("\n"),
    );
    let program = include_str!("programs/at_once.py");
    place.write("program.py", program);
    let (code, reports) = place.reports(["program.py"]);
    let report = &reports[0];
    assert_eq!((code, &report["stderr"]), (0, &json!("")), "{report:#}");
    let sums: Vec<u32> = (0..20).map(|n| 2 * n).collect();
    assert_eq!(
        report["result"],
        json!({
            "sums": sums,
            "total": 380,
            "warm": ["Chicago", "Los Angeles"],
            "mirrored": {"x": -1.5, "y": 2.0},
            "failed": ["McpToolError", true, "sdk.fail"],
            "hours": ["+9.0h", "+5.5h"],
            "people": {"Ann": ["TODO buy soil", "TODO dig"], "Bob": ["TODO order beans"]},
        })
    );
    let calls = report["tool_calls"].as_array().expect("calls");
    let failed: Vec<&Value> = calls.iter().filter(|call| call["ok"] != true).collect();
    assert_eq!(
        (calls.len(), failed.len(), &failed[0]["name"]),
        (1 + 3 + 20 + 3 + 20 + 3 + 2 + 2, 1, &json!("sdk.fail"))
    );
}

#[test]
fn a_server_that_dies_in_mid_program_costs_one_call_and_is_connected_again() {
    let place = Place::new();
    let repository = repository(&place);
    // Whoever reads it waits until somebody writes: the call is under way for as long as the test wants.
    let pipe = format!("{repository}/pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    place.write(
        "codehatch.toml",
        [
            program_table("filesystem", &node_server("filesystem", &[&repository])),
            memory_table(&place),
            program_table("git", &git_server(&repository)),
            program_table("time", &time_server()),
        ]
        .join("\n"),
    );
    let program = include_str!("programs/survives.py");
    let program = program.replace("[REPOSITORY]", &repository);
    let mut command = place.command(["run", "--json", "-c", &program]);
    let mut child = command.spawn().expect("it starts");
    // Succeeds once the server has opened the other end, so once it has the call.
    let mut writer = fs::File::options().write(true).open(&pipe).expect("a pipe");
    kill_server(child.id(), "server-filesystem");
    // Should it still live, it answers now, and the test fails instead of waiting.
    let _ = writer.write_all(b"alive");
    drop(writer);
    let lines = Lines::of(child.stdout.take().expect("a pipe")).rest();
    assert!(wait_status(&mut child).success(), "{lines:?}");
    let report: Value = serde_json::from_str(&lines[0]).expect("JSON");
    let found = |name: &str| json!({"name": name, "commits": 3, "hour": "+9.0h"});
    let error = report["result"]["seen"][1]["error"].as_str();
    let error = error.expect("words").to_owned();
    assert!(
        error.contains("filesystem") && error.contains("signal 9"),
        "{error}"
    );
    assert_eq!(
        report["result"],
        json!({
            "seen": [
                found("garden.md"),
                {"name": "pipe", "error": error},
                found("seeds/list.md"),
                found("weather.md"),
            ],
            "kept": ["garden.md", "seeds/list.md", "weather.md"],
        })
    );
    let calls = report["tool_calls"].as_array().expect("calls");
    let failed: Vec<&Value> = calls.iter().filter(|call| call["ok"] != true).collect();
    assert_eq!((calls.len(), failed.len()), (4 + 3 * 3 + 1, 1), "{calls:?}");
    assert_eq!(failed[0]["name"], "filesystem.read_text_file");
}

/// Kills the server that the command has started.
fn kill_server(command: u32, name: &str) {
    let mut killed = 0;
    for process in descendants(command) {
        let line = fs::read_to_string(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        let mut parts = line.split('\0');
        if parts.next() == Some("node") && parts.any(|part| part.contains(name)) {
            let pid = i32::try_from(process.pid).ok();
            let pid = pid
                .and_then(rustix::process::Pid::from_raw)
                .expect("a number");
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
            killed += 1;
        }
    }
    assert_eq!(killed, 1, "servers called {name}");
}
