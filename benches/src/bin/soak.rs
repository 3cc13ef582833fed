//! Runs turns for a long time and looks whether anything stays: `scripts/soak` runs it as root and as an ordinary user.
//!
//! Every turn has an answer of its own, which is checked. A wrong one, or anything that grows, fails the run.
#![cfg(target_os = "linux")]

use std::{
    fs,
    io::Write as _,
    num::NonZeroUsize,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use clap::Parser;
use codehatch::{Builder, Engine, EngineLimits, Turn, function::FunctionTool, local::LocalConfig};
use futures_util::future::try_join_all;
use serde_json::json;

/// Turns that come before the first look: pools and caches fill with them.
const WARM_UP: u64 = 300;
/// Memory that the allocator may keep beyond what it had, in bytes.
const SLACK: i64 = 12_000_000;

/// How long, and how much at once.
#[derive(Debug, Parser)]
#[command(about, version)]
struct Arguments {
    /// Turns one after the other.
    #[arg(long, default_value_t = 10_000)]
    turns: u64,
    /// Turns at once, after that.
    #[arg(long, default_value_t = 200)]
    at_once: u64,
    /// For how long, in seconds.
    #[arg(long, default_value_t = 300)]
    seconds: u64,
    /// The Python.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
}

/// What this process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    memory_bytes: i64,
    descriptors: i64,
    threads: i64,
    processes: i64,
    mounts: i64,
    temporary_files: i64,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let executor = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let grown = executor.block_on(soak(&arguments))?;
    Ok(if grown {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

async fn soak(arguments: &Arguments) -> anyhow::Result<bool> {
    let any = json!({"type": "object", "additionalProperties": true});
    let echo = FunctionTool::raw("echo", any, |args| async move { Ok(args) });
    let at_once = usize::try_from(arguments.at_once)?;
    let running = NonZeroUsize::new(at_once).context("at least one at once")?;
    let engine = Builder::new()
        .local(LocalConfig::default().with_python(&arguments.python))
        .tool(echo)
        .engine_limits(EngineLimits::default().with_running_blocks(running))
        .build()
        .await?;

    say(&format!("{} turns in a row", arguments.turns));
    for seed in 0..WARM_UP {
        turn(&engine, seed, 1).await?;
    }
    let before = settled().await?;
    let begin = Instant::now();
    for seed in 0..arguments.turns {
        turn(&engine, seed, 1).await?;
    }
    let took = begin.elapsed();
    let mut grown = report("in a row", arguments.turns, took, before, settled().await?)?;

    say(&format!(
        "{} turns at once for {} s",
        arguments.at_once, arguments.seconds
    ));
    // A first wave, so that the allocator has what it takes for so many.
    lanes(&engine, arguments.at_once, Duration::ZERO).await?;
    let before = settled().await?;
    let begin = Instant::now();
    let turns = lanes(
        &engine,
        arguments.at_once,
        Duration::from_secs(arguments.seconds),
    )
    .await?;
    let took = begin.elapsed();
    grown |= report("at once", turns, took, before, settled().await?)?;
    engine.close().await;
    Ok(grown)
}

/// So many turns at once, each followed by another until the time is up, and at least one: how many there were.
async fn lanes(engine: &Engine, lanes: u64, time: Duration) -> anyhow::Result<u64> {
    let end = Instant::now() + time;
    let lane = async |lane: u64| {
        let mut turns = 0;
        loop {
            turn(engine, lane * 1_000_000 + turns, 3).await?;
            turns += 1;
            if Instant::now() >= end {
                return anyhow::Ok(turns);
            }
        }
    };
    let turns = try_join_all((0..lanes).map(lane)).await?;
    Ok(turns.into_iter().sum())
}

/// One turn of so many blocks, whose answers depend on `seed` and on the blocks before.
async fn turn(engine: &Engine, seed: u64, blocks: u64) -> anyhow::Result<()> {
    let mut turn = engine.turn();
    let result = run(&mut turn, seed, blocks).await;
    turn.close().await;
    result
}

async fn run(turn: &mut Turn, seed: u64, blocks: u64) -> anyhow::Result<()> {
    for block in 0..blocks {
        let program = format!(
            "from tools import echo\n\
             assert {block} == 0 or kept == {seed} + {block} - 1, 'state of another'\n\
             kept = {seed} + {block}\n\
             import os\n\
             open('/tmp/{seed}-{block}.txt', 'x').close()\n\
             print(sum(echo(v=kept + i)['v'] for i in range(3)), len(os.listdir('/tmp')))"
        );
        let outcome = turn.execute(program).await;
        let expected = format!("{} {}\n", 3 * (seed + block) + 3, block + 2);
        if !outcome.is_success() {
            bail!(
                "turn {seed}, block {block}: {:?}\n{}",
                outcome.ending,
                outcome.stderr.text
            );
        }
        ensure!(
            outcome.stdout.text == expected,
            "turn {seed}, block {block}: {:?} instead of {expected:?}",
            outcome.stdout.text
        );
    }
    Ok(())
}

/// What is held when what is on its way out is gone.
async fn settled() -> anyhow::Result<Held> {
    // Threads for blocking work go after ten idle seconds.
    tokio::time::sleep(Duration::from_secs(12)).await;
    held()
}

fn held() -> anyhow::Result<Held> {
    let status = fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| -> anyhow::Result<i64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        Ok(number.context("a field of /proc/self/status")?.parse()?)
    };
    let count = |path: &str| anyhow::Ok(i64::try_from(fs::read_dir(path)?.count())?);
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    Ok(Held {
        memory_bytes: field("VmRSS:")? * 1024,
        descriptors: count("/proc/self/fd")?,
        threads: field("Threads:")?,
        processes: descendants()?,
        mounts: i64::try_from(mounts.lines().count())?,
        temporary_files: count(&std::env::temp_dir().to_string_lossy())?,
    })
}

/// Processes below this one.
fn descendants() -> anyhow::Result<i64> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        // It may just have ended.
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (pid, parent)));
    }
    let mut family = vec![std::process::id()];
    let mut at = 0;
    while let Some(&pid) = family.get(at) {
        family.extend(
            parents
                .iter()
                .filter(|(_, parent)| *parent == pid)
                .map(|(pid, _)| *pid),
        );
        at += 1;
    }
    Ok(i64::try_from(family.len())? - 1)
}

/// Prints a phase; whether anything has grown.
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn report(
    phase: &str,
    turns: u64,
    took: Duration,
    before: Held,
    after: Held,
) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    let rate = turns as f64 / took.as_secs_f64();
    let mut grown = false;
    writeln!(
        out,
        "{phase}: {turns} turns in {:.0} s, {rate:.0} a second, every answer right",
        took.as_secs_f64()
    )?;
    for (name, before, after, slack) in [
        (
            "memory, bytes",
            before.memory_bytes,
            after.memory_bytes,
            SLACK,
        ),
        ("descriptors", before.descriptors, after.descriptors, 0),
        ("threads", before.threads, after.threads, 0),
        ("processes", before.processes, after.processes, 0),
        ("mounts", before.mounts, after.mounts, 0),
        (
            "temporary files",
            before.temporary_files,
            after.temporary_files,
            0,
        ),
    ] {
        let is_more = after > before + slack;
        let mark = if is_more { "  GROWN" } else { "" };
        writeln!(out, "  {name:<16} {before:>12} → {after:>12}{mark}")?;
        grown |= is_more;
    }
    Ok(grown)
}

/// Says on stderr what comes now.
fn say(what: &str) {
    // Progress that cannot be shown is no reason to stop.
    let _shown = writeln!(std::io::stderr(), "{what} …");
}
