//! Servers in real use, over stdio and over HTTP, in both eras.

use codehatch_mcp::{McpProvider, McpServer, McpTransport};
use codehatch_tools::{ToolFault, ToolProvider};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{Service, call, free_port, installed, names, provider, value};

fn stdio(name: &str, command: &str, args: &[&str]) -> McpProvider {
    provider(McpServer::new(
        name,
        McpTransport::stdio(command, args.iter().copied()),
    ))
}

fn node_server(name: &str, args: &[&str]) -> McpProvider {
    let script = installed(&format!(
        "mcp-npm/node_modules/@modelcontextprotocol/server-{name}/dist/index.js"
    ));
    let args: Vec<&str> = std::iter::once(script.as_str())
        .chain(args.iter().copied())
        .collect();
    stdio(name, "node", &args)
}

fn git(directory: &TempDir, args: &[&str]) {
    let output = std::process::Command::new("git")
        .current_dir(directory.path())
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"])
        .args(args)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{output:?}");
}

/// A directory with a canonical path, as servers compare it.
fn directory() -> (TempDir, String) {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().canonicalize().expect("it exists");
    let path = path.to_string_lossy().into_owned();
    (directory, path)
}

async fn check_everything(provider: &McpProvider) {
    let listing = provider.list().await.expect("a listing");
    assert_eq!(listing.problems, []);
    assert!(names(&listing).contains(&"echo"), "{:?}", names(&listing));
    assert_eq!(
        value(provider, "echo", &json!({"message": "hé"})).await,
        json!("Echo: hé")
    );
    let sum = value(provider, "get-sum", &json!({"a": 2, "b": 40})).await;
    assert_eq!(sum, json!("The sum of 2 and 40 is 42."));
    let weather = value(
        provider,
        "get-structured-content",
        &json!({"location": "Chicago"}),
    )
    .await;
    assert_eq!(
        weather,
        json!({"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82})
    );
    let image = value(provider, "get-tiny-image", &json!({})).await;
    assert_eq!(image[1]["type"], "image");
    assert_eq!(image[1]["mimeType"], "image/png");
    let fault = call(provider, "get-sum", r#"{"a":"x"}"#)
        .await
        .expect_err("not a number");
    assert!(matches!(fault, ToolFault::Failed { .. }), "{fault:?}");
}

#[tokio::test]
async fn server_everything_over_stdio() {
    let provider = node_server("everything", &["stdio"]);
    check_everything(&provider).await;
    provider.close().await;
}

#[tokio::test]
async fn server_everything_over_http() {
    let script =
        installed("mcp-npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let command = ["node".to_owned(), script, "streamableHttp".to_owned()];
    let port = free_port();
    let service = Service::start(port, &command, &[("PORT", port.to_string())]).await;
    let provider = provider(McpServer::new(
        "everything",
        McpTransport::http(service.url()),
    ));
    check_everything(&provider).await;
    provider.close().await;
}

#[tokio::test]
async fn server_filesystem_over_stdio() {
    let (directory, path) = directory();
    std::fs::write(directory.path().join("a.txt"), "one\ntwo\n").expect("a file");
    let provider = node_server("filesystem", &[&path]);
    provider.list().await.expect("a listing");
    let read = value(
        &provider,
        "read_text_file",
        &json!({"path": format!("{path}/a.txt")}),
    )
    .await;
    assert_eq!(read, json!({"content": "one\ntwo\n"}));
    let written = json!({"path": format!("{path}/b.txt"), "content": "new"});
    value(&provider, "write_file", &written).await;
    assert_eq!(
        std::fs::read_to_string(directory.path().join("b.txt")).expect("a file"),
        "new"
    );
    let outside = call(&provider, "read_text_file", r#"{"path":"/etc/passwd"}"#).await;
    let Err(ToolFault::Failed { kind, message }) = outside else {
        panic!("{outside:?}");
    };
    assert_eq!(kind, "McpToolError");
    assert!(message.contains("Access denied"), "{message}");
    provider.close().await;
}

#[tokio::test]
async fn server_memory_over_stdio() {
    let (_directory, path) = directory();
    let script =
        installed("mcp-npm/node_modules/@modelcontextprotocol/server-memory/dist/index.js");
    let transport = McpTransport::Stdio {
        command: "node".to_owned(),
        args: vec![script],
        env: [(
            "MEMORY_FILE_PATH".to_owned(),
            format!("{path}/memory.json").into(),
        )]
        .into(),
        cwd: None,
    };
    let provider = provider(McpServer::new("memory", transport));
    provider.list().await.expect("a listing");
    let ann = json!({"name": "Ann", "entityType": "person", "observations": ["writes Rust"]});
    value(&provider, "create_entities", &json!({"entities": [ann]})).await;
    let graph = value(&provider, "read_graph", &json!({})).await;
    assert_eq!(graph, json!({"entities": [ann], "relations": []}));
    provider.close().await;
}

#[tokio::test]
async fn mcp_server_time_over_stdio() {
    let provider = stdio("time", &installed("mcp-servers/bin/mcp-server-time"), &[]);
    let listing = provider.list().await.expect("a listing");
    assert_eq!(names(&listing), ["get_current_time", "convert_time"]);
    let asked = json!({"source_timezone": "UTC", "time": "16:30", "target_timezone": "Asia/Tokyo"});
    let converted = value(&provider, "convert_time", &asked).await;
    assert_eq!(converted["time_difference"], "+9.0h");
    let fault = call(
        &provider,
        "get_current_time",
        r#"{"timezone":"Nowhere/At_All"}"#,
    )
    .await;
    let Err(ToolFault::Failed { kind, message }) = fault else {
        panic!("{fault:?}");
    };
    assert_eq!(kind, "McpToolError");
    assert!(message.contains("Nowhere/At_All"), "{message}");
    provider.close().await;
}

#[tokio::test]
async fn mcp_server_git_over_stdio() {
    let (directory, path) = directory();
    git(&directory, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(directory.path().join("a.txt"), "one\n").expect("a file");
    git(&directory, &["add", "."]);
    git(&directory, &["commit", "--quiet", "-m", "Add a file"]);
    let provider = stdio(
        "git",
        &installed("mcp-servers/bin/mcp-server-git"),
        &["--repository", &path],
    );
    provider.list().await.expect("a listing");
    let log = value(&provider, "git_log", &json!({"repo_path": path})).await;
    let log = log.to_string();
    assert!(log.contains("Add a file") && log.contains("Ann"), "{log}");
    let status = value(&provider, "git_status", &json!({"repo_path": path})).await;
    assert!(
        status.as_str().expect("text").contains("nothing to commit"),
        "{status}"
    );
    provider.close().await;
}

/// The same four tools, whatever carries them.
async fn check_sdk(provider: &McpProvider) {
    let listing = provider.list().await.expect("a listing");
    assert_eq!(names(&listing), ["add", "mirror", "fail", "words"]);
    let big = "123456789012345678901234567890";
    let sum = call(provider, "add", &format!("{{\"a\":{big},\"b\":1}}")).await;
    assert_eq!(
        sum,
        Ok("{\"result\":123456789012345678901234567891}".to_owned())
    );
    let mirrored = call(provider, "mirror", r#"{"point":{"x":1.0,"y":2.5}}"#).await;
    assert_eq!(mirrored, Ok("{\"x\":-1.0,\"y\":-2.5}".to_owned()));
    assert_eq!(
        value(provider, "words", &json!({"text": "héllo"})).await,
        json!("héllo")
    );
    let fault = call(provider, "fail", r#"{"why":"because"}"#)
        .await
        .expect_err("it fails");
    assert!(
        matches!(&fault, ToolFault::Failed { kind, .. } if kind == "McpToolError"),
        "{fault:?}"
    );
}

const SDK_SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake/sdk_server.py");

#[tokio::test]
async fn the_python_sdk_of_both_eras_over_stdio() {
    for version in [1, 2] {
        let python = installed(&format!("mcp-sdk-{version}/bin/python"));
        let provider = stdio("sdk", &python, &[SDK_SERVER]);
        check_sdk(&provider).await;
        provider.close().await;
    }
}

#[tokio::test]
async fn the_python_sdk_of_both_eras_over_http() {
    for version in [1, 2] {
        let port = free_port();
        let python = installed(&format!("mcp-sdk-{version}/bin/python"));
        let command = [python, SDK_SERVER.to_owned(), port.to_string()];
        let service = Service::start(port, &command, &[]).await;
        let provider = provider(McpServer::new("sdk", McpTransport::http(service.url())));
        check_sdk(&provider).await;
        provider.close().await;
    }
}
