//! The command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::config::value::{Size, Time};

const AFTER_HELP: &str = "\
Start here:
  codehatch doctor                      check that sandboxes work on this machine
  codehatch run -c 'print(6 * 7)'       run a program, sealed
  codehatch run script.py --mcp-config mcp.json
                                        … with the tools of MCP servers
  codehatch tools --mcp-config mcp.json show what a program can call

Configuration is read from --config, else ./codehatch.toml, else
$XDG_CONFIG_HOME/codehatch/config.toml.";

/// Runs Python that a language model wrote: sealed, in about a millisecond, with your tools.
#[derive(Debug, Parser)]
#[command(name = "codehatch", version, about, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Say more on stderr; twice for everything. `CODEHATCH_LOG` takes a filter instead.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run programs as the blocks of one turn.
    Run(Box<RunArguments>),
    /// Show the tools that a program can call.
    Tools(Box<ToolsArguments>),
    /// Check what isolation this machine gives, by running a real sandbox.
    Doctor(Box<DoctorArguments>),
    /// Print a completion script for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

/// Where settings and tools come from.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SourceArguments {
    /// Configuration file [default: ./codehatch.toml, else the user's]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// MCP servers as other clients write them ("mcpServers"); may be given more than once
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp_config: Vec<PathBuf>,
    /// Python interpreter or virtual environment [default: python3 in PATH]
    #[arg(long, value_name = "PATH", env = "CODEHATCH_PYTHON")]
    pub(crate) python: Option<PathBuf>,
}

const RUN_HELP: &str = "\
Each FILE is one block; all share variables and files. What they print streams
through. The value of a block's last expression is printed after it, unless it
is None. A block that does not end with 0 ends the run.

Exit codes:
  0        every block ended well
  1        a block raised
  1 … 255  what a block gave to exit()
  2        the command line, a file or the configuration is wrong; nothing ran
  70       the host is at fault: no sandbox can be started, output not written
  124      a block ran into a time limit
  129, 130, 143
           the command was ended by SIGHUP, by Ctrl-C, by SIGTERM
  137      the sandbox was lost for lack of memory; when its process ended by
           itself: 128 + its signal, or its own exit code
  141      whoever read the output is gone

Ctrl-C stops the running block and keeps what it did; a second one kills it.";

#[derive(Clone, Debug, Args)]
#[command(
    after_help = RUN_HELP,
    override_usage = "codehatch run [OPTIONS] FILE…\n       codehatch run [OPTIONS] -c CODE [-c CODE]…"
)]
pub(crate) struct RunArguments {
    /// Programs, in order; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "code")]
    pub(crate) files: Vec<PathBuf>,
    /// Run this text instead of files; more than once for more blocks
    #[arg(short, long = "code", value_name = "CODE", conflicts_with = "files")]
    pub(crate) code: Vec<String>,
    /// Print one JSON object a block instead of its output
    #[arg(long)]
    pub(crate) json: bool,
    /// Put this file into the workspace first; NAME is where (default: its own name)
    #[arg(long, value_name = "FILE[=NAME]")]
    pub(crate) input: Vec<String>,
    /// Keep artifacts in this directory [default: none are kept]
    #[arg(long, value_name = "DIR")]
    pub(crate) artifacts: Option<PathBuf>,
    /// Time limit of each block, for example 90s or 5m [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = Time::parse)]
    pub(crate) timeout: Option<Time>,
    /// Memory limit of the sandbox, for example 256MiB [default: 512MiB]
    #[arg(long, value_name = "SIZE", value_parser = Size::parse)]
    pub(crate) memory: Option<Size>,
    #[command(flatten)]
    pub(crate) source: SourceArguments,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ToolsArguments {
    /// What to show
    #[arg(long, value_enum, default_value_t = ToolsFormat::Catalog)]
    pub(crate) format: ToolsFormat,
    /// Longest catalog, in characters
    #[arg(long, value_name = "CHARS", default_value_t = 50_000)]
    pub(crate) budget: usize,
    #[command(flatten)]
    pub(crate) source: SourceArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolsFormat {
    /// What the model reads: Python version, packages, functions with types
    Catalog,
    /// The functions' names, one a line
    Names,
    /// The generated Python package, file by file
    Stubs,
    /// Everything about each tool, as JSON
    Json,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the `AppArmor` profile that lets this program create namespaces where Ubuntu restricts that
    #[arg(long)]
    pub(crate) apparmor_profile: bool,
    #[command(flatten)]
    pub(crate) source: SourceArguments,
}

/// A completion script.
pub(crate) fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "codehatch", &mut script);
    script
}
