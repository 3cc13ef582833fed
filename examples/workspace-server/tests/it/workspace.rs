use std::{process::Stdio, time::Duration};

use codehatch_mcp::{McpProvider, McpServer, McpTransport};
use codehatch_protocol::RawJson;
use codehatch_tools::{ToolFault, ToolProvider, ToolRequest};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

const PROGRAM: &str = env!("CARGO_BIN_EXE_codehatch-example-workspace");

fn git(directory: &TempDir, args: &[&str]) {
    let output = std::process::Command::new("git")
        .current_dir(directory.path())
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"])
        .args(args)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{output:?}");
}

/// A small project with a history.
fn project() -> TempDir {
    let directory = TempDir::new().expect("a temporary directory");
    git(&directory, &["init", "--quiet"]);
    for (name, text, subject) in [
        ("lib.rs", "// TODO: more\nfn a() {}\n", "Start"),
        ("main.py", "import os\n\nprint(1)\n", "Add Python"),
        ("lib.rs", "// TODO: more\nfn a() {}\nfn b() {}\n", "Add b"),
    ] {
        std::fs::write(directory.path().join(name), text).expect("a file");
        git(&directory, &["add", "."]);
        git(&directory, &["commit", "--quiet", "-m", subject]);
    }
    directory
}

async fn call(provider: &McpProvider, tool: &str, arguments: &Value) -> Result<Value, ToolFault> {
    let request = ToolRequest {
        tool: tool.to_owned(),
        args: RawJson::parse(arguments.to_string()).expect("well-formed"),
    };
    let output = provider.call(request).await?;
    Ok(serde_json::from_str(output.value.get()).expect("JSON"))
}

async fn check(provider: &McpProvider) {
    let listing = provider.list().await.expect("a listing");
    assert_eq!(listing.problems, []);
    for tool in &listing.tools {
        assert_eq!(tool.annotations.read_only, Some(true), "{}", tool.name);
        let output = tool.output_schema.as_ref().expect("a typed result");
        assert_eq!(output["type"], "object", "{}", tool.name);
        assert!(!tool.description.is_empty(), "{}", tool.name);
    }
    let mut names: Vec<_> = listing
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "count_lines",
            "file_history",
            "list_files",
            "read_text",
            "recent_commits",
            "search_text"
        ]
    );

    // What a program of the README does: files, filtered, joined with their history.
    let files = call(provider, "list_files", &json!({"glob": "**/*.rs"})).await;
    assert_eq!(
        files,
        Ok(
            json!({"files": [{"path": "lib.rs", "bytes": 34, "language": "Rust"}], "truncated": false})
        )
    );
    let history = call(provider, "file_history", &json!({"path": "lib.rs"}))
        .await
        .expect("a history");
    let subjects: Vec<_> = history["commits"]
        .as_array()
        .expect("commits")
        .iter()
        .map(|commit| commit["subject"].as_str().expect("text"))
        .collect();
    assert_eq!(subjects, ["Add b", "Start"]);
    let counts = call(provider, "count_lines", &json!({}))
        .await
        .expect("counts");
    assert_eq!(counts["total_lines"], 6);
    let found = call(provider, "search_text", &json!({"pattern": "TODO"}))
        .await
        .expect("matches");
    assert_eq!(
        found["matches"],
        json!([{"path": "lib.rs", "line": 1, "text": "// TODO: more"}])
    );
    let text = call(
        provider,
        "read_text",
        &json!({"path": "main.py", "first_line": 3}),
    )
    .await;
    assert_eq!(text.expect("text")["text"], "print(1)\n");
    let recent = call(provider, "recent_commits", &json!({"limit": 1}))
        .await
        .expect("commits");
    assert_eq!(recent["commits"][0]["files"], json!(["lib.rs"]));
    assert_eq!(
        call(provider, "read_text", &json!({"path": "../x"})).await,
        Err(ToolFault::Failed {
            kind: "McpToolError".to_owned(),
            message: "`../x` is not inside the workspace; give a path relative to it, without `..`"
                .to_owned()
        })
    );
    provider.close().await;
}

fn provider(transport: McpTransport) -> McpProvider {
    McpProvider::new(McpServer::new("workspace", transport)).expect("a valid description")
}

#[tokio::test]
async fn over_stdio() {
    let project = project();
    let directory = project.path().to_string_lossy();
    check(&provider(McpTransport::stdio(PROGRAM, [&*directory]))).await;
}

/// The server over HTTP at a port that was free a moment ago.
async fn serve(project: &TempDir) -> (Child, String) {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let child = Command::new(PROGRAM)
        .arg(project.path())
        .arg("--http")
        .arg(address.to_string())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("the server starts");
    let listening = async {
        while tokio::net::TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(15), listening)
        .await
        .expect("it listens");
    (child, format!("http://{address}/mcp"))
}

#[tokio::test]
async fn over_http() {
    let project = project();
    let (_child, url) = serve(&project).await;
    check(&provider(McpTransport::http(url))).await;
}
