//! Times Codehatch beside the reference's guest, on one machine in one run, each in turn.
//!
//! `scripts/bench` runs it as root and as an ordinary user. Both run the same programs with the same Python; the
//! reference's guest has no host beside a loop that answers its calls at once, which favours it.
#![cfg(target_os = "linux")]

mod memory;
mod ours;
mod programs;
mod reference;
mod report;

use std::{path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};

use crate::{
    ours::Ours,
    reference::{Guest, Reference},
    report::Report,
};

/// What is timed, and how often.
#[derive(Debug, Parser)]
#[command(about, version)]
struct Arguments {
    /// Directory that holds the package `adk_code_mode_sandbox`.
    #[arg(long, value_name = "DIR")]
    reference: PathBuf,
    /// The Python of both.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// Rounds of what is short; what is long has fewer.
    #[arg(long, default_value_t = 40)]
    rounds: usize,
    /// Writes all samples to a file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Times these groups alone.
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    only: Vec<Group>,
    /// Times the reference with results of 50 MB, too. Takes minutes.
    #[arg(long)]
    all: bool,
}

/// Long enough for the pool to have a session ready again.
const REFILL: Duration = Duration::from_millis(40);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Group {
    /// From nothing to the first line of a program, and the end of a turn.
    Starts,
    /// Turns of one block with one call, one after the other.
    Turns,
    /// Trivial blocks, and tool calls of one and of many threads.
    Calls,
    /// Tool calls with large arguments and results.
    Values,
    /// Much output, and what it costs the host in memory.
    Output,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    // One thread, as in a server that runs one executor a core.
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let reference = Reference::new(&arguments.python, &arguments.reference)?;
    let report = executor.block_on(measure(&arguments, &reference))?;
    report.print()?;
    if let Some(path) = &arguments.json {
        report.write(path)?;
    }
    Ok(())
}

async fn measure(arguments: &Arguments, reference: &Reference) -> anyhow::Result<Report> {
    let rounds = arguments.rounds;
    let few = rounds.div_ceil(8);
    let mut report = Report::new(&arguments.python)?;
    let wanted = |group| arguments.only.is_empty() || arguments.only.contains(&group);

    if wanted(Group::Output) {
        report::progress("output");
        // First of all: memory that others have freed would hide what this one takes.
        output(&mut report, few, arguments, &mut reference.guest()?).await?;
    }
    let cold = Ours::new(&arguments.python, 0).await?;
    // The zygote starts with the first turn.
    cold.start().await?;
    if wanted(Group::Starts) {
        report::progress("starts");
        starts(&mut report, &cold, arguments, reference).await?;
    }
    if wanted(Group::Turns) {
        report::progress("short turns");
        for round in 0..few {
            report.ours("short turns", cold.short_turns(50).await?);
            report.ours(
                "short turns, 4 at once",
                cold.short_turns_at_once(4, 25).await?,
            );
            if round % 2 == 0 {
                report.reference("short turns", reference.short_turns(4)?);
            }
        }
    }
    let mut turn = cold.turn();
    let mut guest = reference.guest()?;
    if wanted(Group::Calls) {
        report::progress("blocks and calls");
        for _ in 0..rounds {
            report.ours("warm block", turn.block().await?);
            report.reference("warm block", guest.block()?);
        }
        for _ in 0..few {
            for (name, program) in [
                ("call", programs::sequential_calls(1000)),
                ("calls of 16 threads", programs::threads(16, 100)),
            ] {
                report.ours(name, turn.figure(&program).await?);
                report.reference(name, guest.figure(&program)?);
            }
        }
    }
    if wanted(Group::Values) {
        report::progress("large values (the reference takes about 20 s for 10 MB)");
        for round in 0..few {
            for (name, program, slow) in [
                ("result of 10 MB", programs::result(10), false),
                ("result of 50 MB", programs::result(50), true),
                ("arguments of 10 MB", programs::arguments(10), false),
            ] {
                report.ours(name, turn.figure(&program).await?);
                if round == 0 && (arguments.all || !slow) {
                    report.reference(name, guest.figure(&program)?);
                }
            }
        }
    }
    turn.close().await;
    cold.close().await;
    Ok(report)
}

async fn starts(
    report: &mut Report,
    cold: &Ours,
    arguments: &Arguments,
    reference: &Reference,
) -> anyhow::Result<()> {
    let warm = Ours::new(&arguments.python, 1).await?;
    warm.start().await?;
    for round in 0..arguments.rounds {
        // Or the pool would fill in the middle of the next start.
        tokio::time::sleep(REFILL).await;
        for _ in 0..4 {
            let started = cold.start().await?;
            report.ours("start to first line, no pool", started.first_line);
            report.ours("end of a turn", started.close);
        }
        report.ours("start to first line, pool", warm.start().await?.first_line);
        if round % 4 == 0 {
            let started = reference.start()?;
            report.reference("start to first line, no pool", started.first_line);
            report.reference("end of a turn", started.close);
        }
    }
    warm.close().await;
    Ok(())
}

async fn output(
    report: &mut Report,
    rounds: usize,
    arguments: &Arguments,
    guest: &mut Guest,
) -> anyhow::Result<()> {
    let ours = Ours::new(&arguments.python, 0).await?;
    let mut turn = ours.turn();
    turn.block().await?;
    for round in 0..rounds {
        let before = memory::begin()?;
        report.ours("stdout of 50 MB", turn.output(50).await?);
        report.ours("host memory growth at that", memory::growth(before)?);
        if round == 0 {
            report.reference("stdout of 50 MB", guest.output(50)?);
        }
    }
    turn.close().await;
    ours.close().await;
    Ok(())
}
