use codehatch::{TurnLimits, artifacts::ArtifactLimits, mcp::McpTransport};

use super::*;
use crate::setup;

const EXAMPLE: &str = include_str!("../../../../docs/codehatch.example.toml");

fn error(text: &str) -> String {
    let error = Config::of_text("codehatch.toml".into(), text).expect_err("wrong");
    crate::exit::text_of(&error)
}

/// The example with everything set that is behind a `#`, but not the sentences, which begin with a space.
fn whole_example() -> String {
    let settings = EXAMPLE.lines().map(|line| match line.strip_prefix('#') {
        Some(setting) if !setting.starts_with(' ') => setting,
        _ => line,
    });
    settings.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_example_as_it_is_changes_nothing() {
    let config = Config::of_text("codehatch.toml".into(), EXAMPLE).expect("right");
    assert_eq!(setup::limits(&config.limits), TurnLimits::default());
    assert_eq!(setup::local(&config), setup::local(&Config::default()));
    let limits = ArtifactLimits::default();
    assert_eq!(setup::artifact_limits(&config.artifacts, limits), limits);
    assert_eq!((config.artifacts.dir, config.mcp.len()), (None, 0));
}

#[test]
fn the_example_shows_every_key_and_sets_it_to_something_that_is_allowed() {
    let whole = whole_example();
    let file = File::parse(Path::new("x"), &whole).expect("the example is right");
    assert_eq!(file.mcp.keys().collect::<Vec<_>>(), ["git", "tracker"]);
    let keys = |table: &str| -> Vec<String> {
        let error = error(&format!("[{table}]\nno_such_key = 1\n"));
        let allowed = error.lines().next().expect("a line");
        let keys = allowed.split('`').skip(3).step_by(2);
        keys.map(str::to_owned).collect()
    };
    let mut shown: Vec<&str> = Vec::new();
    for line in whole.lines() {
        if let Some((key, _)) = line.split_once(" = ")
            && !line.starts_with('#')
        {
            shown.push(key);
        }
    }
    let all = ["runtime", "limits", "artifacts", "mcp.x"]
        .map(keys)
        .concat();
    shown.sort_unstable();
    let mut all: Vec<&str> = all.iter().map(String::as_str).collect();
    all.sort_unstable();
    assert_eq!(shown, all);
}

/// Those that are not set in the example, but said in its sentences.
#[test]
fn the_defaults_that_the_example_only_mentions_are_those_of_the_library() {
    let file = File::parse(Path::new("x"), &whole_example()).expect("right");
    let server = McpServer::new("x", McpTransport::http("http://localhost/"));
    let tracker = file.mcp["tracker"].get_ref();
    assert_eq!(tracker.connect_timeout, Some(Time(server.connect_timeout)));
    assert_eq!(tracker.list_timeout, Some(Time(server.list_timeout)));
    let total = file.artifacts.max_total.map(|size| size.0);
    assert_eq!(total, Some(ArtifactLimits::default().total_bytes));
    assert_eq!(ArtifactLimits::in_memory().total_bytes, 256 << 20);
    let limits = TurnLimits::default();
    assert_eq!(
        (limits.cpu_time, limits.call_time, limits.sandbox.cpu_milli),
        (None, None, None)
    );
}

#[test]
fn a_wrong_key_is_shown_with_its_line_and_what_is_allowed() {
    insta::assert_snapshot!("wrong_key", error("[limits]\nmemroy = \"1GiB\"\n"));
    insta::assert_snapshot!("wrong_table", error("[runtimes]\npython = \"x\"\n"));
    insta::assert_snapshot!(
        "wrong_server_key",
        error("[mcp.git]\ncommand = \"x\"\nargv = []\n")
    );
}

#[test]
fn a_wrong_value_is_shown_with_its_line_and_what_is_expected() {
    insta::assert_snapshot!("wrong_size", error("[limits]\nmemory = \"lots\"\n"));
    insta::assert_snapshot!("wrong_time", error("[limits]\nblock_time = true\n"));
    insta::assert_snapshot!("wrong_cpus", error("[limits]\n\ncpus = -1.0\n"));
    insta::assert_snapshot!("wrong_count", error("[limits]\nprocesses = 0\n"));
    insta::assert_snapshot!("wrong_type", error("[mcp.a]\nargs = \"x\"\n"));
    insta::assert_snapshot!("wrong_syntax", error("[limits\n"));
}

#[test]
fn a_wrong_server_is_shown_with_its_line_and_what_to_change() {
    insta::assert_snapshot!(
        error("[mcp.a]\ncommand = \"x\"\nurl = \"http://localhost/\"\n"),
        @"codehatch.toml:1: mcp.a: has both `command` and `url`; keep one of them"
    );
    insta::assert_snapshot!(
        error("[limits]\n[mcp.a]\nargs = []\n"),
        @"codehatch.toml:2: mcp.a: needs `command` (a program) or `url` (an address)"
    );
    insta::assert_snapshot!(
        error("[mcp.a]\nurl = \"http://localhost/\"\nargs = []\n"),
        @"codehatch.toml:1: mcp.a: `args` goes with a `command`, not with a `url`"
    );
    insta::assert_snapshot!(
        error("[mcp.a]\ncommand = \"x\"\nheaders = {}\n"),
        @"codehatch.toml:1: mcp.a: `headers` go with a `url`; a `command` has `env`"
    );
    insta::assert_snapshot!(
        error("[mcp.a]\nurl = \"localhost:8000\"\n"),
        @"codehatch.toml:1: MCP server `a`: `localhost:8000` is not an http or https address"
    );
    insta::assert_snapshot!(
        error("[mcp.a]\ncommand = \"\"\n"),
        @"codehatch.toml:1: MCP server `a`: `command` is empty"
    );
    insta::assert_snapshot!(
        error("[mcp.a]\ncommand = \"x\"\n\n[mcp.a.env]\nA = \"b\"\nTOKEN = \"env:CODEHATCH_NO_SUCH\"\n"),
        @"codehatch.toml:6: mcp.a.env.TOKEN: the environment variable `CODEHATCH_NO_SUCH` is not set; set it, or change `env:CODEHATCH_NO_SUCH`"
    );
    insta::assert_snapshot!(
        error("[mcp.a]\nurl = \"http://localhost/\"\nheaders = { A = \"file:no-such\" }\n"),
        @"codehatch.toml:3: mcp.a.headers.A: cannot read the secret from `no-such`: No such file or directory (os error 2)"
    );
}

#[test]
fn paths_start_where_the_configuration_is() {
    let text = "[runtime]\npython = \"venv/bin/python\"\n[artifacts]\ndir = \"kept\"\n\
                [mcp.a]\ncommand = \"server\"\ncwd = \"work\"\n";
    let config = Config::of_text("/etc/project/codehatch.toml".into(), text).expect("right");
    assert_eq!(
        config.runtime.python,
        Some("/etc/project/venv/bin/python".into())
    );
    assert_eq!(config.artifacts.dir, Some("/etc/project/kept".into()));
    let shown = format!("{:?}", config.mcp["a"]);
    assert!(
        shown.contains("cwd: Some(\"/etc/project/work\")"),
        "{shown}"
    );
}

mod of_other_clients {
    use super::*;

    fn load(text: &str) -> (anyhow::Result<()>, Config) {
        let directory = tempfile::TempDir::new().expect("a directory");
        let path = directory.path().join("mcp.json");
        fs::write(&path, text).expect("written");
        let mut config = Config::default();
        let loaded = config.add_servers(&path).map_err(|error| {
            let text = crate::exit::text_of(&error);
            anyhow!(text.replace(&format!("{}/", directory.path().display()), ""))
        });
        let prefix = format!("{}/", directory.path().display());
        for note in &mut config.notes {
            *note = note.replace(&prefix, "");
        }
        (loaded, config)
    }

    fn error(text: &str) -> String {
        load(text).0.expect_err("wrong").to_string()
    }

    #[test]
    fn files_of_several_clients_are_read() {
        let claude = r#"{
            "globalShortcut": "",
            "mcpServers": {
                "git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "${CARGO_PKG_NAME}"},
                        "autoApprove": [], "type": "stdio"},
                "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"X": "y"}},
                "gemini": {"httpUrl": "https://example.com/g", "trust": true, "env": null},
                "windsurf": {"serverUrl": "https://example.com/w"},
                "off": {"command": "x", "disabled": true},
                "off too": {"command": "x", "enabled": false}
            }
        }"#;
        let vs_code = r#"{
            // Asked once.
            "inputs": [{"type": "promptString", "id": "token"}],
            "servers": {
                "git": {"type": "stdio", "command": "uvx", /* pinned */ "args": ["${env:CARGO_PKG_NAME}"],},
            },
        }"#;
        let settings = r#"{"editor.tabSize": 4, "mcp": {"servers": {"a": {"command": "a", "cwd": "${userHome}"}}}}"#;
        let mut all = Vec::new();
        for text in [
            claude,
            vs_code,
            &settings.replace("${userHome}", "/home/ann"),
        ] {
            let (loaded, config) = load(text);
            loaded.expect("right");
            assert_eq!(config.notes, Vec::<String>::new());
            all.extend(
                config
                    .mcp
                    .into_values()
                    .map(|server| (server.name, server.transport)),
            );
        }
        insta::assert_debug_snapshot!("clients", all);
    }

    #[test]
    fn values_stand_for_themselves() {
        let (loaded, config) =
            load(r#"{"mcpServers": {"a": {"command": "a", "env": {"DB": "file:dev.db"}}}}"#);
        loaded.expect("no reference");
        let McpTransport::Stdio { env, .. } = &config.mcp["a"].transport else {
            panic!("a program");
        };
        assert_eq!(env["DB"].expose(), "file:dev.db");
    }

    #[test]
    fn what_is_not_done_is_said() {
        let text = r#"{"servers": {
            "old": {"type": "sse", "url": "https://example.com/sse"},
            "file": {"command": "a", "envFile": ".env"}
        }}"#;
        let (loaded, config) = load(text);
        loaded.expect("right");
        insta::assert_snapshot!(config.notes.join("\n"), @r#"
        mcp.json: servers.file: its `envFile` is not read; name the variables in `env`, as `"NAME": "${NAME}"`
        mcp.json: servers.old: its type `sse` is the transport of 2024, which is not spoken; streamable HTTP is tried at the same address
        "#);
    }

    #[test]
    fn a_wrong_file_says_where_and_what() {
        insta::assert_snapshot!(error("{\"mcp\": {}}"), @"mcp.json: has no servers: expected an object `mcpServers`, or `servers` as VS Code has it, from names to servers");
        insta::assert_snapshot!(error("{\n\"mcpServers\": {\"a\": {\"args\": 5}}}"), @"mcp.json:2: invalid type: integer `5`, expected a sequence");
        insta::assert_snapshot!(error("{\n\n\"mcpServers\""), @"mcp.json:3: EOF while parsing an object");
        insta::assert_snapshot!(error("{\"mcpServers\": {\"a\": {}}}"), @"mcp.json: mcpServers.a: needs `command` (a program) or `url` (an address)");
        insta::assert_snapshot!(error("{\"mcpServers\": {\"a\": {\"command\": \"a\", \"url\": \"b\"}}}"), @"mcp.json: mcpServers.a: has both `command` and `url`; keep one of them");
        insta::assert_snapshot!(error("{\"servers\": {\"a\": {\"url\": \"a b\"}}}"), @"mcp.json: servers.a: MCP server `a`: `a b` is not an http or https address");
        insta::assert_snapshot!(error("{\"mcpServers\": {\"a\": {\"command\": \"a\", \"env\": {\"T\": \"${NO_SUCH_X}\"}}}}"), @"mcp.json: mcpServers.a.env.T: the environment variable `NO_SUCH_X` is not set; set it, or write `${NO_SUCH_X:-default}`");
    }
}
