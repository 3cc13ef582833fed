//! Starts a server's program in a clean environment, drains its stderr, and ends all of its processes.

use std::{
    collections::BTreeMap,
    io,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::watch,
    task::JoinSet,
    time,
};
use tokio_util::sync::CancellationToken;

use super::{tail::Tail, watcher::Watcher};
use crate::config::Secret;

/// The variables of the host's environment that a server inherits. All others are kept from it, so that the
/// host's own secrets do not leak; what it needs beside these is set in its configuration.
pub const HOST_VARIABLES: [&str; 21] = [
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// How long a server may take to leave after its stdin was closed, and again after SIGTERM.
const LEAVE_GRACE: Duration = Duration::from_secs(2);
/// How long a server whose output has ended may take to exit.
const EXIT_GRACE: Duration = Duration::from_secs(1);
/// How long the rest of its stderr is waited for once it is gone.
const DRAIN_GRACE: Duration = Duration::from_millis(200);
/// How long killed processes may take to vanish, and how often that is looked at.
const GROUP_GRACE: Duration = Duration::from_millis(500);
const GROUP_POLL: Duration = Duration::from_millis(2);
/// How long a failed call waits to learn how the server ended.
const REPORT_GRACE: Duration = Duration::from_secs(6);

/// What to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a BTreeMap<String, Secret>,
    pub(crate) cwd: Option<&'a PathBuf>,
}

/// A started server.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    watcher: Option<Watcher>,
    stderr: JoinSet<()>,
    link: Arc<Link>,
    exit: watch::Sender<Option<ExitStatus>>,
}

/// What a connection knows of its server's process.
#[derive(Debug)]
pub(crate) struct Link {
    /// Set when the server's output has ended.
    pub(crate) ended: CancellationToken,
    pub(crate) tail: Tail,
    group: Mutex<Option<Pid>>,
    exit: watch::Receiver<Option<ExitStatus>>,
}

impl Program<'_> {
    /// Starts the program in a process group of its own.
    pub(crate) fn start(self) -> io::Result<(Process, ChildStdin, ChildStdout)> {
        let mut command = Command::new(self.command);
        command.args(self.args).env_clear();
        for name in HOST_VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value.expose())));
        if let Some(cwd) = self.cwd {
            command.current_dir(cwd);
        }
        let mut child = command
            .process_group(0)
            .kill_on_drop(true)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let secrets = self.env.values().map(|secret| secret.expose().to_owned());
        Ok((
            Process::new(child, stderr, Tail::new(secrets)),
            stdin,
            stdout,
        ))
    }

    /// The command line, to be run by hand. Without the environment, which may hold secrets.
    pub(crate) fn shown(self) -> String {
        let words = std::iter::once(self.command).chain(self.args.iter().map(String::as_str));
        words.collect::<Vec<_>>().join(" ")
    }
}

impl Process {
    fn new(child: Child, stderr: ChildStderr, tail: Tail) -> Self {
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let watcher = group.and_then(|group| {
            Watcher::start(group)
                .inspect_err(|error| tracing::warn!(%error, "no /bin/sh to watch over the server"))
                .ok()
        });
        let (exit, exit_seen) = watch::channel(None);
        let link = Arc::new(Link {
            ended: CancellationToken::new(),
            tail,
            group: Mutex::new(group),
            exit: exit_seen,
        });
        let mut drain = JoinSet::new();
        drain.spawn(drain_stderr(stderr, Arc::clone(&link)));
        Self {
            child,
            watcher,
            stderr: drain,
            link,
            exit,
        }
    }

    pub(crate) fn link(&self) -> Arc<Link> {
        Arc::clone(&self.link)
    }

    /// Learns how the program ended, its output having ended. It may live on all the same.
    pub(crate) async fn note_exit(&mut self) {
        self.link.ended.cancel();
        if let Ok(Ok(status)) = time::timeout(EXIT_GRACE, self.child.wait()).await {
            let _ = time::timeout(DRAIN_GRACE, self.stderr.join_next()).await;
            self.exit.send_replace(Some(status));
        }
    }

    /// Waits for the program to leave, its stdin being closed; then asks, then kills. At the end no process
    /// of its group is left.
    pub(crate) async fn end(&mut self) {
        let mut status = time::timeout(LEAVE_GRACE, self.child.wait()).await;
        for signal in [Signal::TERM, Signal::KILL] {
            if status.is_err() {
                self.link.signal(signal);
                status = time::timeout(LEAVE_GRACE, self.child.wait()).await;
            }
        }
        // What the program started may have outlived it.
        self.link.signal(Signal::KILL);
        let vanishing = async {
            while self.link.has_members() {
                time::sleep(GROUP_POLL).await;
            }
        };
        // A zombie whose parent does not care would be waited for in vain.
        let _ = time::timeout(GROUP_GRACE, vanishing).await;
        self.link.kill();
        if let Some(watcher) = self.watcher.take() {
            watcher.dismiss().await;
        }
        // A process that left the group may hold the pipe open for ever.
        let _ = time::timeout(DRAIN_GRACE, self.stderr.join_next()).await;
        self.stderr.shutdown().await;
        self.exit.send_replace(status.ok().and_then(Result::ok));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.link.ended.cancel();
        self.link.kill();
    }
}

impl Link {
    /// Kills what is left of the server's process group, without waiting. The group is not touched again:
    /// its number may come to stand for other processes.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
        *self.group.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether a process of the group exists, be it a zombie.
    fn has_members(&self) -> bool {
        let group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
        group.is_some_and(|group| test_kill_process_group(group).is_ok())
    }

    fn signal(&self, signal: Signal) {
        let group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = *group {
            // ESRCH: the group is gone already.
            let _ = kill_process_group(group, signal);
        }
    }

    /// How the server ended, once that is known.
    pub(crate) async fn obituary(&self) -> Obituary {
        let mut exit = self.exit.clone();
        // On a timeout the process lives on with its output closed.
        let _ = time::timeout(REPORT_GRACE, exit.wait_for(Option::is_some)).await;
        let how = exit.borrow().map_or_else(
            || "closed its output".to_owned(),
            |status| match (status.code(), status.signal()) {
                (Some(code), _) => format!("exited with code {code}"),
                (None, Some(signal)) => format!("was killed by signal {signal}"),
                (None, None) => "ended".to_owned(),
            },
        );
        Obituary {
            how,
            last_words: self.last_words(),
        }
    }

    /// What the server last wrote, as the end of a message; empty if nothing.
    pub(crate) fn last_words(&self) -> String {
        match self.tail.text() {
            text if text.is_empty() => text,
            text => format!(". It last wrote:\n{text}"),
        }
    }
}

/// How a server came to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Obituary {
    /// As a predicate: `exited with code 3`.
    pub(crate) how: String,
    /// What it last wrote, as the end of a message; empty if nothing.
    pub(crate) last_words: String,
}

impl Obituary {
    /// For what has no process, and so no last words.
    pub(crate) fn plain(how: &str) -> Self {
        Self {
            how: how.to_owned(),
            last_words: String::new(),
        }
    }
}

/// Reads stderr to its end, so that the server never blocks on it.
async fn drain_stderr(mut stderr: ChildStderr, link: Arc<Link>) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        match stderr.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(read) => link.tail.push(&buffer[..read]),
        }
    }
}
