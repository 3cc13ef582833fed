//! The configuration file.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use serde::Deserialize;

use crate::{
    exit::UsageError,
    value::{Size, Time},
};

/// `codehatch.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    #[serde(default)]
    pub(crate) runtime: RuntimeConfig,
    #[serde(default)]
    pub(crate) limits: LimitsConfig,
    #[serde(default)]
    pub(crate) artifacts: ArtifactsConfig,
    #[serde(default)]
    pub(crate) mcp: BTreeMap<String, ServerConfig>,
    /// Where relative paths in it start.
    #[serde(skip)]
    pub(crate) directory: PathBuf,
}

/// `[runtime]`: the sandbox.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuntimeConfig {
    /// Interpreter or virtual environment.
    pub(crate) python: Option<PathBuf>,
    /// Modules that every block finds loaded.
    #[serde(default)]
    pub(crate) preload: Vec<String>,
    /// Environment variables of model code.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// As root: the user that sandboxes run as.
    pub(crate) run_as: Option<u32>,
}

/// `[limits]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsConfig {
    /// Wall clock of a block.
    pub(crate) block_time: Option<Time>,
    /// Processor time of a block.
    pub(crate) cpu_time: Option<Time>,
    /// Time to stop once asked to.
    pub(crate) grace: Option<Time>,
    /// Wall clock of a tool call.
    pub(crate) call_time: Option<Time>,
    /// Tool calls at once.
    pub(crate) parallel_calls: Option<std::num::NonZeroUsize>,
    /// Memory of the sandbox.
    pub(crate) memory: Option<Size>,
    /// Size of the workspace.
    pub(crate) workspace: Option<Size>,
    /// Size of /tmp and of /dev/shm.
    pub(crate) temporary: Option<Size>,
    /// Processes and threads.
    pub(crate) processes: Option<u32>,
    /// Open files of a process.
    pub(crate) open_files: Option<u32>,
    /// Processors, such as 1.5.
    pub(crate) cpus: Option<f32>,
    /// Bytes of stdout and of stderr that an outcome shows.
    pub(crate) output: Option<Size>,
    /// Bytes of a block's source.
    pub(crate) code: Option<Size>,
    /// Bytes of one call's arguments or result.
    pub(crate) frame: Option<Size>,
}

/// `[artifacts]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArtifactsConfig {
    /// Where they are kept.
    pub(crate) dir: Option<PathBuf>,
    /// Bytes of one artifact.
    pub(crate) max_size: Option<Size>,
    /// Bytes of all artifacts.
    pub(crate) max_total: Option<Size>,
}

/// `[mcp.NAME]`: a server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerConfig {
    /// The program, for a server over standard input and output.
    pub(crate) command: Option<String>,
    #[serde(default)]
    pub(crate) args: Vec<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: Option<PathBuf>,
    /// The address, for a server over HTTP.
    pub(crate) url: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Time to start and connect.
    pub(crate) connect_timeout: Option<Time>,
    /// Time to list its tools.
    pub(crate) list_timeout: Option<Time>,
}

impl Config {
    /// Reads the file that was named, else the usual one; without any, everything is at its default.
    pub(crate) fn load(named: Option<&Path>) -> anyhow::Result<Self> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => match usual_files().into_iter().find(|path| path.is_file()) {
                Some(path) => path,
                None => {
                    return Ok(Self {
                        directory: ".".into(),
                        ..Self::default()
                    });
                }
            },
        };
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read the configuration `{}`", path.display()))
            .context(UsageError)?;
        let mut config = Self::parse(&path, &text)?;
        path.parent()
            .unwrap_or(Path::new(""))
            .clone_into(&mut config.directory);
        Ok(config)
    }

    fn parse(path: &Path, text: &str) -> anyhow::Result<Self> {
        toml::from_str(text).map_err(|error| {
            let error = error.to_string();
            anyhow!("{}: {}", path.display(), error.trim_end()).context(UsageError)
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let error = Config::parse(Path::new("codehatch.toml"), text).expect_err("wrong");
        format!("{error:#}").replace("see `codehatch --help`: ", "")
    }

    #[test]
    fn every_key_of_the_documentation_is_read() {
        let text = include_str!("../../../docs/codehatch.example.toml");
        let config = Config::parse(Path::new("x"), text).expect("the example is right");
        assert_eq!(config.limits.memory, Some(Size(256 * 1024 * 1024)));
        assert_eq!(config.mcp.len(), 2);
    }

    #[test]
    fn a_wrong_key_is_shown_with_its_line_and_what_is_allowed() {
        insta::assert_snapshot!("wrong_key", error("[limits]\nmemroy = \"1GiB\"\n"));
        insta::assert_snapshot!("wrong_table", error("[runtimes]\npython = \"x\"\n"));
    }

    #[test]
    fn a_wrong_value_is_shown_with_its_line_and_what_is_expected() {
        insta::assert_snapshot!("wrong_size", error("[limits]\nmemory = \"lots\"\n"));
        insta::assert_snapshot!("wrong_time", error("[limits]\nblock_time = true\n"));
        insta::assert_snapshot!("wrong_syntax", error("[limits\n"));
    }
}
