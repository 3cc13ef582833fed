//! Where settings and servers come from: `codehatch.toml`, and the files of other MCP clients.

mod mcp_json;
mod secret;
mod server;
#[cfg(test)]
mod tests;
pub(crate) mod value;

use std::{
    collections::BTreeMap,
    env, fmt, fs,
    num::{NonZeroU32, NonZeroUsize},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use codehatch::mcp::McpServer;
use serde::Deserialize;
use toml::Spanned;

use self::{
    server::ServerTable,
    value::{Cpus, Size, Time},
};
use crate::exit::UsageError;

/// Everything that was configured.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The file that it was read from, if there is one.
    pub(crate) file: Option<PathBuf>,
    pub(crate) runtime: RuntimeTable,
    pub(crate) limits: LimitsTable,
    pub(crate) artifacts: ArtifactsTable,
    /// Servers by name, secrets resolved.
    pub(crate) mcp: BTreeMap<String, McpServer>,
    /// What the user should know about servers of other clients' files.
    pub(crate) notes: Vec<String>,
}

/// `codehatch.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    runtime: RuntimeTable,
    limits: LimitsTable,
    artifacts: ArtifactsTable,
    mcp: BTreeMap<String, Spanned<ServerTable>>,
}

/// `[runtime]`: the sandbox.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RuntimeTable {
    /// Interpreter or virtual environment.
    pub(crate) python: Option<PathBuf>,
    /// Modules that every block finds loaded.
    pub(crate) preload: Vec<String>,
    /// Environment variables of model code.
    pub(crate) env: BTreeMap<String, String>,
    /// As root: the user that sandboxes run as.
    pub(crate) run_as: Option<NonZeroU32>,
}

/// `[limits]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitsTable {
    /// Wall clock of a block.
    pub(crate) block_time: Option<Time>,
    /// Processor time of a block.
    pub(crate) cpu_time: Option<Time>,
    /// Time to stop once asked to.
    pub(crate) grace: Option<Time>,
    /// Wall clock of a tool call.
    pub(crate) call_time: Option<Time>,
    /// Tool calls at once.
    pub(crate) parallel_calls: Option<NonZeroUsize>,
    /// Memory of the sandbox.
    pub(crate) memory: Option<Size>,
    /// Size of the workspace.
    pub(crate) workspace: Option<Size>,
    /// Size of /tmp and of /dev/shm.
    pub(crate) temporary: Option<Size>,
    /// Processes and threads.
    pub(crate) processes: Option<NonZeroU32>,
    /// Open files of a process.
    pub(crate) open_files: Option<NonZeroU32>,
    /// Processors.
    pub(crate) cpus: Option<Cpus>,
    /// Bytes of stdout and of stderr that an outcome shows.
    pub(crate) output: Option<Size>,
    /// Bytes of a block's source.
    pub(crate) code: Option<Size>,
    /// Bytes of one call's arguments or result.
    pub(crate) frame: Option<Size>,
}

/// `[artifacts]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ArtifactsTable {
    /// Where they are kept.
    pub(crate) dir: Option<PathBuf>,
    /// Bytes of one artifact.
    pub(crate) max_size: Option<Size>,
    /// Bytes of all artifacts.
    pub(crate) max_total: Option<Size>,
}

impl Config {
    /// Reads the file that was named, else the usual one; without any, everything is at its default.
    pub(crate) fn load(named: Option<&Path>) -> anyhow::Result<Self> {
        let usual = || usual_files().into_iter().find(|path| path.is_file());
        let Some(path) = named.map(Path::to_owned).or_else(usual) else {
            return Ok(Self::default());
        };
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read the configuration `{}`", path.display()))
            .context(UsageError::default())?;
        Self::of_text(path, &text).context(UsageError::default())
    }

    fn of_text(path: PathBuf, text: &str) -> anyhow::Result<Self> {
        let file = File::parse(&path, text)?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let mut mcp = BTreeMap::new();
        for (name, table) in file.mcp {
            let at = Place {
                path: &path,
                text,
                offset: table.span().start,
            };
            let server = table.into_inner().into_server(&name, &at, directory)?;
            mcp.insert(name, server);
        }
        let mut runtime = file.runtime;
        runtime.python = runtime.python.map(|python| from(directory, python));
        let mut artifacts = file.artifacts;
        artifacts.dir = artifacts.dir.map(|dir| directory.join(dir));
        Ok(Self {
            runtime,
            limits: file.limits,
            artifacts,
            mcp,
            notes: Vec::new(),
            file: Some(path),
        })
    }

    /// Adds the servers of another client's file; they replace those of the same name.
    pub(crate) fn add_servers(&mut self, path: &Path) -> anyhow::Result<()> {
        mcp_json::load(path, &mut self.mcp, &mut self.notes).context(UsageError::default())
    }
}

impl File {
    fn parse(path: &Path, text: &str) -> anyhow::Result<Self> {
        toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let at = Place { path, text, offset };
            // The first line of its own text says only where; the next ones show the place.
            let shown = error.to_string();
            let shown: Vec<&str> = shown.trim_end().lines().collect();
            let excerpt = shown
                .iter()
                .skip(1)
                .take_while(|line| line.starts_with(' ') || line.contains(" | "));
            let mut message = format!("{at}: {}", error.message().trim_end());
            for line in excerpt {
                message.push('\n');
                message.push_str(line);
            }
            anyhow!(message)
        })
    }
}

/// A place in a file, shown as `codehatch.toml:12`.
#[derive(Clone, Copy, Debug)]
struct Place<'a> {
    path: &'a Path,
    text: &'a str,
    offset: usize,
}

impl Place<'_> {
    fn moved(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.text.get(..self.offset).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        write!(f, "{}:{line}", self.path.display())
    }
}

/// A path in a configuration starts where the configuration is. A bare name is looked up in `PATH`.
fn from(directory: &Path, path: PathBuf) -> PathBuf {
    if path.components().count() == 1 && !directory.join(&path).exists() {
        path
    } else {
        directory.join(path)
    }
}

fn usual_files() -> Vec<PathBuf> {
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".config"));
    let user = env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(home);
    let mut files = vec![PathBuf::from("codehatch.toml")];
    files.extend(user.map(|user| user.join("codehatch/config.toml")));
    files
}
