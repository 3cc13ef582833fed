//! The `codehatch` command: arguments → configuration → library; prints, and chooses exit codes.

mod args;
mod config;
mod doctor;
mod exit;
mod report;
mod run;
mod screen;
mod servers;
mod setup;
mod signals;
mod sources;
mod tools;

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use clap::Parser;
use tracing_subscriber::{EnvFilter, fmt};

use crate::args::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let level = match arguments.verbose {
        // What the commands say themselves, of servers and of files that are not kept, is not said twice.
        0 => {
            "warn,codehatch_engine::engine=error,codehatch_engine::keep=error,\
             codehatch_mcp::stdio::transport=error,rmcp=off"
        }
        1 => "info,codehatch=debug",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_env("CODEHATCH_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .without_time()
        .init();
    // One thread answers the sandbox soonest: nothing has to be handed over between threads.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(dispatch(arguments.command)),
        Err(error) => Err(anyhow::Error::new(error).context("cannot start the async runtime")),
    };
    match result {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}

async fn dispatch(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Run(arguments) => run::run(*arguments).await,
        Command::Doctor(arguments) => doctor::doctor(*arguments).await,
        Command::Tools(arguments) => tools::tools(*arguments).await,
        Command::Completions { shell } => {
            io::stdout().write_all(&args::completions(shell))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
