//! The reference's guest, behind a loop that answers its calls at once.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    time::Instant,
};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    ours::{Started, text_of},
    programs,
};

/// Its stubs: one module, as its hosts generate them.
const STUBS: &str = "from adk_code_mode_sandbox._rpc_client import call\n\
    def echo(**args): return call('demo.echo', args)\n\
    def length(**args): return call('demo.length', args)\n\
    def payload(**args): return call('demo.payload', args)\n";

/// How to start its guest.
pub(crate) struct Reference {
    python: PathBuf,
    package: PathBuf,
    tools: TempDir,
}

/// A guest that runs.
pub(crate) struct Guest {
    child: Child,
    stdout: ChildStdout,
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    _files: TempDir,
}

impl Reference {
    pub(crate) fn new(python: &Path, package: &Path) -> anyhow::Result<Self> {
        if !package.join("adk_code_mode_sandbox").is_dir() {
            bail!(
                "{} holds no adk_code_mode_sandbox: run scripts/test-env, or scripts/bench, which does",
                package.display()
            );
        }
        let tools = TempDir::new()?;
        let root = tools.path().join("tools");
        fs::create_dir(&root)?;
        fs::write(root.join("__init__.py"), "")?;
        fs::write(root.join("demo.py"), STUBS)?;
        Ok(Self {
            python: python.to_owned(),
            package: package.to_owned(),
            tools,
        })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "nothing else runs on the executor meanwhile"
    )]
    pub(crate) fn guest(&self) -> anyhow::Result<Guest> {
        let files = TempDir::new()?;
        let path = files.path().join("control");
        let listener = UnixListener::bind(&path)?;
        let mut child = Command::new(&self.python)
            .args(["-m", "adk_code_mode_sandbox"])
            .env_clear()
            .envs(env::var_os("PATH").map(|path| ("PATH", path)))
            .env("PYTHONPATH", &self.package)
            .env("ADK_CODE_MODE_CONTROL_SOCKET", &path)
            .env("ADK_CODE_MODE_TOOLS_DIR", self.tools.path().join("tools"))
            .env("ADK_CODE_MODE_WORKDIR", files.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", self.python.display()))?;
        let stdout = child.stdout.take().context("no stdout")?;
        // It either connects or ends; a guest that ends is not waited for.
        listener.set_nonblocking(true)?;
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    if let Some(status) = child.try_wait()? {
                        bail!("the reference's guest ended at start: {status}");
                    }
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
                Err(error) => return Err(error.into()),
            }
        };
        stream.set_nonblocking(false)?;
        let writer = stream.try_clone()?;
        Ok(Guest {
            child,
            stdout,
            reader: BufReader::with_capacity(1 << 20, stream),
            writer,
            _files: files,
        })
    }

    /// A guest up to the first thing that its code does, then its end.
    pub(crate) fn start(&self) -> anyhow::Result<Started> {
        let begin = Instant::now();
        let mut guest = self.guest()?;
        guest.send(&json!({"kind": "run", "code": programs::FIRST_LINE}))?;
        guest.stdout.read_exact(&mut [0])?;
        let first_line = begin.elapsed().as_secs_f64();
        guest.finish()?;
        let begin = Instant::now();
        guest.end()?;
        Ok(Started {
            first_line,
            close: begin.elapsed().as_secs_f64(),
        })
    }

    /// Turns a second, one after the other.
    pub(crate) fn short_turns(&self, turns: u32) -> anyhow::Result<f64> {
        let begin = Instant::now();
        for _ in 0..turns {
            let mut guest = self.guest()?;
            guest.run(programs::SHORT)?;
            guest.end()?;
        }
        Ok(f64::from(turns) / begin.elapsed().as_secs_f64())
    }
}

impl Guest {
    /// Seconds of a trivial block.
    pub(crate) fn block(&mut self) -> anyhow::Result<f64> {
        let begin = Instant::now();
        self.run(programs::TRIVIAL)?;
        Ok(begin.elapsed().as_secs_f64())
    }

    /// What a program prints about itself.
    pub(crate) fn figure(&mut self, program: &str) -> anyhow::Result<f64> {
        let text = self.run(program)?;
        let text = text.trim();
        text.parse().with_context(|| format!("no figure: {text:?}"))
    }

    /// Seconds until all of the output is here.
    pub(crate) fn output(&mut self, megabytes: u32) -> anyhow::Result<f64> {
        let begin = Instant::now();
        let text = self.run(&programs::output(megabytes))?;
        let took = begin.elapsed().as_secs_f64();
        if text.len() as u64 != u64::from(megabytes) * 1_000_000 {
            bail!("{} bytes of output", text.len());
        }
        Ok(took)
    }

    fn run(&mut self, code: &str) -> anyhow::Result<String> {
        self.send(&json!({"kind": "run", "code": code}))?;
        self.finish()
    }

    /// Answers calls until the block has ended; its output.
    fn finish(&mut self) -> anyhow::Result<String> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if self.reader.read_until(b'\n', &mut line)? == 0 {
                bail!("the reference's guest ended in a block");
            }
            let frame: Value = serde_json::from_slice(&line)?;
            match frame["kind"].as_str() {
                Some("tool_call") => self.answer(&frame, line.len())?,
                Some("output") if frame["exit_code"] == 0 => {
                    return Ok(frame["stdout"].as_str().unwrap_or_default().to_owned());
                }
                Some("output") => bail!("the reference's block failed: {}", frame["stderr"]),
                _ => {}
            }
        }
    }

    fn answer(&mut self, call: &Value, bytes: usize) -> anyhow::Result<()> {
        let value = match call["name"].as_str() {
            Some("demo.echo") => call["args"].to_string(),
            Some("demo.length") => bytes.to_string(),
            Some("demo.payload") => {
                let bytes = call["args"]["n"].as_u64().context("no length")?;
                text_of(usize::try_from(bytes)?)
            }
            other => bail!("an unknown tool: {other:?}"),
        };
        let id = &call["id"];
        let frame =
            format!("{{\"kind\":\"tool_result\",\"id\":{id},\"ok\":true,\"value\":{value}}}\n");
        Ok(self.writer.write_all(frame.as_bytes())?)
    }

    fn send(&mut self, frame: &Value) -> anyhow::Result<()> {
        Ok(self.writer.write_all(format!("{frame}\n").as_bytes())?)
    }

    fn end(mut self) -> anyhow::Result<()> {
        self.send(&json!({"kind": "shutdown"}))?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // After `end` both do nothing; after an error nothing may stay.
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}
