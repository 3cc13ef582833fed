//! Where settings come from, and what wrong ones are told.

use std::fs;

use serde_json::json;

use crate::support::{Place, fake_server, fake_table, finish};

#[test]
fn the_usual_files_are_found_and_the_nearer_one_wins() {
    let place = Place::new();
    let zone = "import os\nprint(os.environ.get('WHERE'))";
    let run = || place.run(["run", "-c", zone]).stdout;
    assert_eq!(run(), "None\n");
    place.write(
        ".config/codehatch/config.toml",
        "[runtime]\nenv = { WHERE = \"user\" }\n",
    );
    assert_eq!(run(), "user\n");
    place.write("codehatch.toml", "[runtime]\nenv = { WHERE = \"here\" }\n");
    assert_eq!(run(), "here\n");
    place.write(
        "other/named.toml",
        "[runtime]\nenv = { WHERE = \"named\" }\n",
    );
    let named = place
        .run(["run", "--config", "other/named.toml", "-c", zone])
        .stdout;
    assert_eq!(named, "named\n");
    let findings = place.run(["doctor"]).stdout;
    assert!(
        findings.contains("configuration      codehatch.toml"),
        "{findings}"
    );
}

#[test]
fn the_user_s_own_file_is_found_below_the_home_directory() {
    let place = Place::new();
    place.write(
        ".config/codehatch/config.toml",
        "[runtime]\nenv = { WHERE = \"home\" }\n",
    );
    let mut command = place.command(["run", "-c", "import os\nprint(os.environ['WHERE'])"]);
    command.env_remove("XDG_CONFIG_HOME");
    assert_eq!(finish(command).stdout, "home\n");
}

#[test]
fn every_limit_is_in_force() {
    let place = Place::new();
    let limited = |limits: &str, program: &str| {
        place.write("codehatch.toml", format!("[limits]\n{limits}\n"));
        let done = place.run(["run", "-c", program]);
        let last = done.stderr.lines().last().unwrap_or_default();
        (done.code, last.to_owned())
    };
    let (code, said) = limited("block_time = 0.3", "while True: pass");
    assert!(
        code == 124 && said.contains("time limit of 0.3 s"),
        "{said}"
    );
    let (code, said) = limited("cpu_time = \"500ms\"", "while True: pass");
    assert!(
        code == 124 && said.contains("processor time than its limit of 0.5 s"),
        "{said}"
    );
    let (code, said) = limited("memory = \"64MiB\"", "x = bytearray(10**8)");
    assert_eq!((code, said.as_str()), (1, "MemoryError"));
    let write = "open('/workspace/a', 'wb').write(bytes(3 * 2**20))";
    let (code, said) = limited("workspace = \"2MiB\"", write);
    assert!(code == 1 && said.starts_with("OSError: [Errno "), "{said}");
    let write = "open('/tmp/a', 'wb').write(bytes(3 * 2**20))";
    let (code, said) = limited("temporary = \"2MiB\"", write);
    assert!(code == 1 && said.starts_with("OSError: [Errno "), "{said}");
    let open = "files = [open('/dev/null') for _ in range(100)]";
    let (code, said) = limited("open_files = 64", open);
    assert!(code == 1 && said.contains("Too many open files"), "{said}");
    let (code, said) = limited("code = 10", "print('more than ten bytes')");
    assert!(code == 2 && said.contains("more than 10 bytes"), "{said}");
}

#[test]
fn the_command_line_wins_over_the_file() {
    let place = Place::new();
    place.write(
        "codehatch.toml",
        "[runtime]\npython = \"/no/such\"\n[limits]\nblock_time = \"1ms\"\nmemory = \"1MiB\"\n\
         [artifacts]\ndir = \"from-file\"\n",
    );
    let program = "x = bytearray(10**7)\nopen('a', 'w').write('x')\nimport time\ntime.sleep(0.1)";
    let arguments = [
        "run",
        "-c",
        program,
        "--python",
        "python3",
        "--timeout",
        "20s",
        "--memory",
        "256MiB",
        "--artifacts",
        "from-line",
    ];
    let done = place.run(arguments);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert_eq!(place.read("from-line/a/v0/a"), "x");
    assert!(!place.path().join("from-file").exists());
}

#[test]
fn the_interpreter_is_found_beside_the_configuration() {
    let place = Place::new();
    let made = std::process::Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(place.path().join("project/.venv"))
        .status();
    assert!(made.expect("Python runs").success());
    place.write("project/codehatch.toml", "[runtime]\npython = \".venv\"\n");
    let program = "import sys\nsys.prefix != sys.base_prefix";
    let arguments = ["run", "--config", "project/codehatch.toml", "-c", program];
    assert_eq!(place.run(arguments).stdout, "true\n");
    // From within, where the path has but one part, and by name.
    let mut command = place.command(["run", "-c", program]);
    command.current_dir(place.path().join("project"));
    assert_eq!(finish(command).stdout, "true\n");
    let arguments = ["run", "--python", "project/.venv", "-c", program];
    assert_eq!(place.run(arguments).stdout, "true\n");
    let arguments = ["run", "--python", "project/.venv/bin/python", "-c", program];
    assert_eq!(place.run(arguments).stdout, "true\n");
    let mut command = place.command(["run", "-c", program]);
    command.env("CODEHATCH_PYTHON", "project/.venv");
    assert_eq!(finish(command).stdout, "true\n");
}

#[test]
fn modules_are_loaded_ahead_and_variables_are_set() {
    let place = Place::new();
    let text =
        "[runtime]\npreload = [\"decimal\"]\nenv = { TZ = \"Asia/Tokyo\", WORD = \"a=b c\" }\n";
    place.write("codehatch.toml", text);
    let program =
        "import sys, os\nprint('decimal' in sys.modules, os.environ['TZ'], os.environ['WORD'])";
    assert_eq!(
        place.run(["run", "-c", program]).stdout,
        "True Asia/Tokyo a=b c\n"
    );
}

/// A server that tells its environment.
fn environment_server(place: &Place) -> String {
    let tools = json!([{"name": "environment", "inputSchema": {"type": "object"}}]);
    fake_table(
        "fake",
        &json!({"tools": tools, "log": place.path().join("log")}),
    )
}

const ENVIRONMENT: &str = "from tools.fake import environment\nenvironment()";

#[test]
fn secrets_reach_the_server_they_are_for_and_nobody_else() {
    let place = Place::new();
    place.write("secrets/token", "from-a-file\n");
    let env = "env = { A = \"env:CANARY_A\", B = \"file:secrets/token\", C = \"plain\", D = \"text:env:D\" }\n";
    place.write("codehatch.toml", environment_server(&place) + env);
    let program = format!(
        "import os\nprint('CANARY' in str(os.environ))\nseen = {}\n\
         print([seen[name] for name in 'ABCD'], 'CANARY_A' in seen, 'OTHER_CANARY' in seen)",
        "__import__('tools.fake', fromlist=['environment']).environment()"
    );
    let mut command = place.command(["-vv", "run", "-c", &program]);
    command
        .env("CANARY_A", "canary-value")
        .env("OTHER_CANARY", "other-value");
    let done = finish(command);
    assert_eq!(
        done.stdout,
        "False\n['canary-value', 'from-a-file', 'plain', 'env:D'] False False\n"
    );
    assert!(!done.stderr.contains("canary-value"), "{}", done.stderr);
    assert!(!done.stderr.contains("from-a-file"), "{}", done.stderr);
}

#[test]
fn a_secret_that_is_missing_is_named_with_file_and_line() {
    let place = Place::new();
    let run = |env: &str| {
        place.write("codehatch.toml", format!("[mcp.a]\ncommand = \"x\"\n{env}"));
        let done = place.run_shown(["run", "-c", "print(1)"]);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""));
        done.stderr
    };
    insta::assert_snapshot!(run("env = { T = \"env:NO_SUCH_VARIABLE\" }"), @"codehatch: codehatch.toml:3: mcp.a.env.T: the environment variable `NO_SUCH_VARIABLE` is not set; set it, or change `env:NO_SUCH_VARIABLE`");
    insta::assert_snapshot!(run("[mcp.a.env]\nT = \"file:secrets/none\""), @"codehatch: codehatch.toml:4: mcp.a.env.T: cannot read the secret from `secrets/none`: No such file or directory (os error 2)");
}

#[test]
fn wrong_configurations_are_shown_with_file_and_line() {
    let place = Place::new();
    let run = |text: &str| {
        place.write("codehatch.toml", text);
        let done = place.run_shown(["run", "-c", "print(1)"]);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""));
        done.stderr
    };
    insta::assert_snapshot!(run("[limits]\nblock_tiem = \"60s\"\n"), @r#"
    codehatch: codehatch.toml:2: unknown field `block_tiem`, expected one of `block_time`, `cpu_time`, `grace`, `call_time`, `parallel_calls`, `memory`, `workspace`, `temporary`, `processes`, `open_files`, `cpus`, `output`, `code`, `frame`
      |
    2 | block_tiem = "60s"
      | ^^^^^^^^^^
    "#);
    insta::assert_snapshot!(run("[runtime]\npython = 3.12\n"), @r"
    codehatch: codehatch.toml:2: invalid type: floating point `3.12`, expected path string
      |
    2 | python = 3.12
      |          ^^^^
    ");
    insta::assert_snapshot!(run("[mcp.a]\ncommand = \"x\"\nurl = \"http://localhost/\"\n"), @"codehatch: codehatch.toml:1: mcp.a: has both `command` and `url`; keep one of them");
    insta::assert_snapshot!(run("[mcp.a]\ncommand = \"x\"\ntransport = \"stdio\"\n"), @r#"
    codehatch: codehatch.toml:3: unknown field `transport`, expected one of `command`, `args`, `env`, `cwd`, `url`, `headers`, `connect_timeout`, `list_timeout`
      |
    3 | transport = "stdio"
      | ^^^^^^^^^
    "#);
    insta::assert_snapshot!(run("[mcp.a\n"), @r"
    codehatch: codehatch.toml:1: unclosed table, expected `]`
      |
    1 | [mcp.a
      |       ^
    ");
    let done = place.run_shown(["run", "--config", "gone.toml", "-c", "1"]);
    assert_eq!(done.code, 2);
    insta::assert_snapshot!(done.stderr, @"codehatch: cannot read the configuration `gone.toml`: No such file or directory (os error 2)");
    fs::write(
        place.path().join("codehatch.toml"),
        b"[runtime]\npython = \"\xFF\"\n",
    )
    .expect("written");
    let done = place.run_shown(["run", "-c", "1"]);
    assert_eq!(done.code, 2);
    insta::assert_snapshot!(done.stderr, @"codehatch: cannot read the configuration `codehatch.toml`: stream did not contain valid UTF-8");
}

#[test]
fn the_files_of_other_clients_are_read_as_they_are() {
    let place = Place::new();
    let command = fake_server(&json!({
        "tools": [{"name": "environment", "inputSchema": {"type": "object"}}],
    }));
    let server = |env: serde_json::Value| json!({"command": command[0], "args": &command[1..], "env": env, "type": "stdio"});
    let env =
        json!({"WHO": "${WHO}", "WHERE": "${workspaceFolder}", "D": "${NO_SUCH_VARIABLE:-d}"});
    let claude = json!({"mcpServers": {"fake": server(env.clone())}});
    let vs_code = json!({"inputs": [], "servers": {"fake": server(env.clone())}});
    let cursor = json!({"mcpServers": {"fake": server(env)}});
    for (file, text) in [
        ("claude/.mcp.json", claude.to_string()),
        (
            "project/.vscode/mcp.json",
            format!("// with a comment\n{vs_code}"),
        ),
        ("project/.cursor/mcp.json", cursor.to_string()),
    ] {
        place.write(file, text);
        let program = format!(
            "{ENVIRONMENT}\nseen = environment()\nprint(seen['WHO'], seen['D'])\nprint(seen['WHERE'])"
        );
        let mut command = place.command(["run", "--mcp-config", file, "-c", &program]);
        command.env("WHO", "ann");
        let done = place.shown(finish(command));
        let folder = file.split('/').next().expect("a folder");
        assert_eq!(done.stderr, "");
        assert_eq!(done.stdout, format!("ann d\n[DIR]/{folder}\n"));
    }
}

#[test]
fn several_files_are_merged_and_the_last_one_wins() {
    let place = Place::new();
    let tool = |name: &str| {
        fake_server(&json!({"tools": [{"name": name, "inputSchema": {"type": "object"}}]}))
    };
    let file = |servers: &[(&str, &str)]| {
        let servers: serde_json::Map<_, _> = servers
            .iter()
            .map(|(name, tool_name)| {
                let command = tool(tool_name);
                (
                    (*name).to_owned(),
                    json!({"command": command[0], "args": &command[1..]}),
                )
            })
            .collect();
        json!({"mcpServers": servers}).to_string()
    };
    place.write(
        "codehatch.toml",
        fake_table("a", &json!({})) + &fake_table("b", &json!({})),
    );
    place.write("one.json", file(&[("b", "of_one"), ("c", "of_one")]));
    place.write("two.json", file(&[("c", "of_two")]));
    let arguments = [
        "tools",
        "--format",
        "names",
        "--mcp-config",
        "one.json",
        "--mcp-config",
        "two.json",
    ];
    let done = place.run(arguments);
    let names: Vec<&str> = done
        .stdout
        .lines()
        .filter(|name| name.matches('.').count() == 2)
        .collect();
    assert_eq!(names, ["tools.a.echo", "tools.b.of_one", "tools.c.of_two"]);
}

#[test]
fn wrong_files_of_other_clients_are_named() {
    let place = Place::new();
    let run = |text: &str| {
        place.write("mcp.json", text);
        let done = place.run_shown(["run", "--mcp-config", "mcp.json", "-c", "print(1)"]);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""));
        done.stderr
    };
    insta::assert_snapshot!(run("{}"), @"codehatch: mcp.json: has no servers: expected an object `mcpServers`, or `servers` as VS Code has it, from names to servers");
    insta::assert_snapshot!(run("{\n  \"mcpServers\": {\n    \"a\": {\"command\": 5}\n  }\n}"), @"codehatch: mcp.json:3: invalid type: integer `5`, expected a string");
    insta::assert_snapshot!(run("{\"servers\": {\"a\": {\"command\": \"${input:tool}\"}}}"), @"codehatch: mcp.json: servers.a.command: `${input:tool}` would be asked of a user, and nobody can be asked here: put the value of `tool` into an environment variable, and write `${NAME}`");
    insta::assert_snapshot!(run("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": [\"${NO_SUCH_VARIABLE}\"]}}}"), @"codehatch: mcp.json: mcpServers.a.args: the environment variable `NO_SUCH_VARIABLE` is not set; set it, or write `${NO_SUCH_VARIABLE:-default}`");
}
