//! The command with a directory of its own, and short words for what the tests do with it.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

/// Nothing that is tested takes longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(50);

/// An empty directory, in which the command runs with nothing of the developer's own configuration.
pub(crate) struct Place {
    directory: TempDir,
}

/// What the command did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// Exit code, or 128 + signal as shells have it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        Self { directory }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file, and gives its path.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, contents).expect("written");
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path().join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The command line, not started yet.
    pub(crate) fn command<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_codehatch"));
        command.args(arguments);
        self.settle(&mut command);
        command
    }

    /// Gives a program this directory, and takes what a developer may have set.
    pub(crate) fn settle(&self, command: &mut Command) {
        command
            .current_dir(self.path())
            .env("HOME", self.path())
            .env("XDG_CONFIG_HOME", self.path().join(".config"))
            .env("COLUMNS", "100")
            .env_remove("CODEHATCH_PYTHON")
            .env_remove("CODEHATCH_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    /// The command after `setup`, a shell command that may mount things nobody else sees. It runs as an ordinary
    /// user, who has this user's rights to files.
    pub(crate) fn in_namespace<A: AsRef<OsStr>>(
        &self,
        setup: &str,
        arguments: impl IntoIterator<Item = A>,
    ) -> Command {
        let mut command = Command::new("unshare");
        command.args([
            "--user",
            "--map-user=1000",
            "--map-group=1000",
            "--keep-caps",
            "--mount",
        ]);
        let script = format!("{setup} && exec setpriv --ambient-caps -all \"$0\" \"$@\"");
        command.args(["sh", "-c", &script, env!("CARGO_BIN_EXE_codehatch")]);
        command.args(arguments);
        self.settle(&mut command);
        command
    }

    /// Runs the command to its end.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Done {
        finish(self.command(arguments))
    }

    /// Runs the command to its end, with the directory's path shown as `[DIR]`.
    pub(crate) fn run_shown<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Done {
        self.shown(self.run(arguments))
    }

    pub(crate) fn shown(&self, mut done: Done) -> Done {
        let path = self.path().to_string_lossy();
        for text in [&mut done.stdout, &mut done.stderr] {
            *text = text.replace(&*path, "[DIR]");
        }
        done
    }

    /// Runs programs with `--json`; the exit code and an object for each block.
    pub(crate) fn reports<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> (i32, Vec<Value>) {
        let mut command = self.command(["run", "--json"]);
        command.args(arguments);
        let done = finish(command);
        assert_eq!(done.stderr, "");
        let lines = done.stdout.lines();
        let objects = lines
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        (done.code, objects)
    }
}

/// Runs a command to its end.
pub(crate) fn finish(mut command: Command) -> Done {
    let child = command.spawn().expect("it starts");
    wait(child)
}

/// Waits for a child whose output nobody has read yet.
pub(crate) fn wait(mut child: Child) -> Done {
    let read = |stream: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stream) = stream {
                stream.read_to_end(&mut bytes).expect("readable");
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = read(child.stdout.take().map(|stream| Box::new(stream) as _));
    let stderr = read(child.stderr.take().map(|stream| Box::new(stream) as _));
    let status = wait_status(&mut child);
    Done {
        code: code_of(status),
        stdout: stdout.join().expect("read"),
        stderr: stderr.join().expect("read"),
    }
}

/// Waits for the end, but not for ever.
pub(crate) fn wait_status(child: &mut Child) -> ExitStatus {
    let mut status = None;
    until("the command to end", || {
        status = child.try_wait().expect("a child");
        status.is_some()
    });
    status.expect("it ended")
}

pub(crate) fn code_of(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status
        .code()
        .or(status.signal().map(|signal| 128 + signal))
        .expect("it ended")
}

/// Waits for something that another process brings about.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        pause(Duration::from_millis(10));
    }
}

#[expect(clippy::disallowed_methods, reason = "no async runtime is held up")]
pub(crate) fn pause(time: Duration) {
    thread::sleep(time);
}

/// Lines of a stream, with the time of their arrival.
pub(crate) struct Lines(mpsc::Receiver<(Instant, String)>);

impl Lines {
    pub(crate) fn of(stream: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            for line in io::BufRead::lines(io::BufReader::new(stream)) {
                let Ok(line) = line else { return };
                if sender.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        Self(receiver)
    }

    /// The next line; `None` at the end.
    pub(crate) fn next(&self) -> Option<(Instant, String)> {
        match self.0.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("waited in vain for a line"),
        }
    }

    pub(crate) fn next_text(&self) -> Option<String> {
        self.next().map(|(_, line)| line)
    }

    pub(crate) fn rest(&self) -> Vec<String> {
        std::iter::from_fn(|| self.next_text()).collect()
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).expect("it runs");
}

/// Gives a child its standard input, and closes that.
pub(crate) fn feed(child: &mut Child, text: &[u8]) {
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(text).expect("it reads");
}

/// A file of the tests' environment, or the command that installs it.
pub(crate) fn installed(path: &str) -> String {
    let root = std::env::var_os("CODEHATCH_TEST_ENV").map_or_else(
        || {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../target/test-env"
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

/// `[mcp.NAME]` with a program.
pub(crate) fn program_table(name: &str, command: &[String]) -> String {
    let (program, arguments) = command.split_first().expect("a program");
    let mut server = toml::Table::new();
    server.insert("command".into(), program.clone().into());
    server.insert("args".into(), arguments.to_vec().into());
    table(name, server)
}

/// `[mcp.NAME]` with an address.
pub(crate) fn address_table(name: &str, url: &str) -> String {
    let mut server = toml::Table::new();
    server.insert("url".into(), url.into());
    table(name, server)
}

fn table(name: &str, server: toml::Table) -> String {
    let servers = toml::Table::from_iter([(name.to_owned(), server.into())]);
    let all = toml::Table::from_iter([("mcp".to_owned(), servers.into())]);
    toml::to_string(&all).expect("TOML")
}

/// The command line of a scripted MCP server, which does what `scenario` tells it.
pub(crate) fn fake_server(scenario: &Value) -> Vec<String> {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../providers/mcp/tests/fake/server.py"
    );
    // Not the `python3` of the path: it may be a shell script that is slow to start.
    vec![
        installed("mcp-sdk-1/bin/python"),
        script.to_owned(),
        scenario.to_string(),
    ]
}

/// `[mcp.NAME]` with a scripted server.
pub(crate) fn fake_table(name: &str, scenario: &Value) -> String {
    program_table(name, &fake_server(scenario))
}

/// The command line of a server from the npm registry.
pub(crate) fn node_server(name: &str, arguments: &[&str]) -> Vec<String> {
    let script = installed(&format!(
        "mcp-npm/node_modules/@modelcontextprotocol/server-{name}/dist/index.js"
    ));
    let mut command = vec!["node".to_owned(), script];
    command.extend(arguments.iter().map(|&argument| argument.to_owned()));
    command
}

/// The server that ships in this repository. Tests of the whole workspace have built it already.
pub(crate) fn workspace_server() -> String {
    let codehatch = Path::new(env!("CARGO_BIN_EXE_codehatch"));
    let server = codehatch.with_file_name("codehatch-example-workspace");
    if !server.exists() {
        let directory = codehatch.parent().and_then(Path::file_name);
        let profile = match directory.and_then(OsStr::to_str) {
            Some("debug") | None => "dev",
            Some(profile) => profile,
        };
        let built = Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "--package",
                "codehatch-example-workspace",
            ])
            .args(["--profile", profile])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.expect("cargo runs").success());
    }
    server.to_string_lossy().into_owned()
}

/// A server that runs beside the tests and is reached over HTTP.
pub(crate) struct Service {
    child: Child,
    pub(crate) url: String,
}

impl Service {
    /// Starts a command that will listen on `port`, and waits until it does.
    pub(crate) fn start(port: u16, command: &[String], env: &[(&str, String)]) -> Self {
        let child = Command::new(&command[0])
            .args(&command[1..])
            .envs(env.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let service = Self {
            child,
            url: format!("http://127.0.0.1:{port}/mcp"),
        };
        until(&format!("`{}` to listen", command.join(" ")), || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        service
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A process, told from later ones of the same number by when it started.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    started: String,
}

/// Parent, start time and state of a process, see `proc_pid_stat(5)`.
fn stat(pid: u32) -> Option<(u32, String, String)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    Some((
        fields[1].parse().ok()?,
        fields[19].to_owned(),
        fields[0].to_owned(),
    ))
}

/// Everything that a process has started, and what that has started.
pub(crate) fn descendants(root: u32) -> BTreeSet<Process> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc").expect("proc").flatten() {
        let pid = entry.file_name().to_string_lossy().parse::<u32>();
        if let Ok(pid) = pid
            && let Some((parent, started, _)) = stat(pid)
        {
            all.push((parent, Process { pid, started }));
        }
    }
    let mut found = BTreeSet::new();
    let mut roots = vec![root];
    while let Some(root) = roots.pop() {
        for (_, process) in all.iter().filter(|(parent, _)| *parent == root) {
            if found.insert(process.clone()) {
                roots.push(process.pid);
            }
        }
    }
    found
}

pub(crate) fn is_alive(process: &Process) -> bool {
    stat(process.pid).is_some_and(|(_, started, state)| {
        started == process.started && state != "Z" && state != "X"
    })
}
