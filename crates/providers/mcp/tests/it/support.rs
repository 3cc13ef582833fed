//! Servers to test with, and short words for what the tests do.

use std::{path::PathBuf, process::Stdio, time::Duration};

use codehatch_mcp::{McpProvider, McpServer, McpTransport};
use codehatch_protocol::RawJson;
use codehatch_tools::{Listing, ToolFault, ToolProvider, ToolRequest};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A scripted server and the file in which it notes what it got.
pub(crate) struct Fake {
    scenario: Value,
    log: PathBuf,
    _directory: TempDir,
}

impl Fake {
    pub(crate) fn new(mut scenario: Value) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let log = directory.path().join("log");
        scenario["log"] = json!(log);
        Self {
            scenario,
            log,
            _directory: directory,
        }
    }

    /// Its command line.
    pub(crate) fn command(&self) -> Vec<String> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake/server.py");
        // Not the `python3` of the path: it may be a shell script that adds to the environment.
        vec![
            installed("mcp-sdk-1/bin/python"),
            script.to_owned(),
            self.scenario.to_string(),
        ]
    }

    pub(crate) fn server(&self) -> McpServer {
        let command = self.command();
        let transport = McpTransport::stdio(&*command[0], command[1..].iter().map(String::as_str));
        McpServer::new("fake", transport)
    }

    pub(crate) fn provider(&self) -> McpProvider {
        provider(self.server())
    }

    /// The lines of the log that contain `part`.
    pub(crate) fn noted(&self, part: &str) -> Vec<String> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines = text.lines().filter(|line| line.contains(part));
        lines.map(str::to_owned).collect()
    }

    /// Waits until the log has `count` lines that contain `part`.
    pub(crate) async fn wait_for(&self, part: &str, count: usize) {
        until(&format!("{count} × `{part}` in the log"), || {
            self.noted(part).len() >= count
        })
        .await;
    }
}

impl Fake {
    /// Makes a call that is never answered, and drops it once the server has it.
    pub(crate) async fn give_up_hanging_call(&self, provider: &McpProvider) {
        tokio::select! {
            outcome = call(provider, "hang", "{}") => panic!("it hangs: {outcome:?}"),
            () = self.wait_for("\"name\":\"hang\"", 1) => {}
        }
    }
}

pub(crate) fn provider(server: McpServer) -> McpProvider {
    McpProvider::new(server).expect("a valid description")
}

/// Waits for something that another process brings about.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(15), waiting).await;
    waited.unwrap_or_else(|_| panic!("never saw {what}"));
}

/// Calls a tool with arguments given as JSON text; the text of its value.
pub(crate) async fn call(
    provider: &McpProvider,
    tool: &str,
    arguments: &str,
) -> Result<String, ToolFault> {
    let request = ToolRequest {
        tool: tool.to_owned(),
        args: RawJson::parse(arguments).expect("well-formed arguments"),
    };
    let output = provider.call(request).await?;
    Ok(output.value.get().to_owned())
}

/// Calls a tool that must succeed; its value.
pub(crate) async fn value(provider: &McpProvider, tool: &str, arguments: &Value) -> Value {
    let text = call(provider, tool, &arguments.to_string()).await;
    let text = text.unwrap_or_else(|fault| panic!("{tool}: {fault}"));
    serde_json::from_str(&text).expect("JSON")
}

pub(crate) fn names(listing: &Listing) -> Vec<&str> {
    listing
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect()
}

/// The message of a listing that must fail.
pub(crate) async fn list_error(provider: &McpProvider) -> String {
    let error = provider.list().await.expect_err("the server is unusable");
    error.to_string()
}

/// A file of the tests' environment, or the command that installs it.
pub(crate) fn installed(path: &str) -> String {
    let root = std::env::var_os("CODEHATCH_TEST_ENV").map_or_else(
        || {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../../target/test-env"
            ))
        },
        PathBuf::from,
    );
    let path = root.join(path);
    assert!(
        path.exists(),
        "{} is missing: run scripts/test-env first",
        path.display()
    );
    path.to_string_lossy().into_owned()
}

/// Whether a process of that number exists and has not ended.
pub(crate) fn is_alive(pid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default();
    !state.is_empty() && !state.trim_start().starts_with(['Z', 'X'])
}

/// A server that runs beside the tests and is reached over HTTP.
pub(crate) struct Service {
    child: tokio::process::Child,
    pub(crate) port: u16,
}

impl Service {
    /// Starts a command that will listen on `port`, and waits until it does.
    pub(crate) async fn start(port: u16, command: &[String], env: &[(&str, String)]) -> Self {
        let mut program = tokio::process::Command::new(&command[0]);
        program.args(&command[1..]).envs(env.iter().cloned());
        program
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = program
            .kill_on_drop(true)
            .spawn()
            .expect("the server starts");
        let service = Self { child, port };
        let listening = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        until(
            &format!("`{}` listen on {port}", command.join(" ")),
            listening,
        )
        .await;
        service
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Kills it and waits until it is gone.
    pub(crate) async fn stop(&mut self) {
        self.child.kill().await.expect("it runs");
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

impl Fake {
    /// Starts it as an HTTP service on `port`.
    pub(crate) async fn serve(&self, port: u16) -> Service {
        let mut fake = self.command();
        let mut scenario = self.scenario.clone();
        scenario["port"] = json!(port);
        fake[2] = scenario.to_string();
        Service::start(port, &fake, &[]).await
    }
}
