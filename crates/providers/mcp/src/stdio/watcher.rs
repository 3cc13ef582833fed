//! Ends a server's processes when the host dies without ending them, even by SIGKILL.
//!
//! A tiny shell holds one end of a pipe whose other end only the host has. When the host is gone, the shell
//! reads the end of the pipe and kills the server's process group. `PR_SET_PDEATHSIG` would not do: it
//! reaches the child but not what the child started (`npx`, `uvx`), and it fires when the *thread* that
//! forked ends, see prctl(2).

use std::{io, process::Stdio, time::Duration};

use rustix::process::Pid;
use tokio::{
    io::AsyncWriteExt,
    process::{Child, Command},
    time,
};

/// A line means that the host has ended the group itself. (dash takes no `--` here.)
const SCRIPT: &str = r#"read -r _ || kill -KILL "-$0""#;

/// How long the shell may take to leave once it is told so.
const LEAVE_GRACE: Duration = Duration::from_secs(1);

/// The shell that watches over one process group.
#[derive(Debug)]
pub(crate) struct Watcher {
    shell: Child,
}

impl Watcher {
    /// Watches over `group`.
    pub(crate) fn start(group: Pid) -> io::Result<Self> {
        let shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT])
            .arg(group.as_raw_pid().to_string())
            .env_clear()
            .current_dir("/")
            // A group of its own: neither Ctrl-C in the terminal nor the group's end may reach it.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { shell })
    }

    /// Says that the group is gone, and waits until the shell is too.
    pub(crate) async fn dismiss(mut self) {
        if let Some(mut pipe) = self.shell.stdin.take() {
            // It may have left already; then there is nobody to tell.
            let _ = pipe.write_all(b"\n").await;
        }
        if time::timeout(LEAVE_GRACE, self.shell.wait()).await.is_err() {
            let _ = self.shell.kill().await;
        }
    }
}
