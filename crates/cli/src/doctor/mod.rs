//! `codehatch doctor`: tries everything that isolates, in a real sandbox.

mod checks;

use std::{
    fs,
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use codehatch::{Engine, Event, local::LocalRuntime};
use serde::Serialize;

use self::checks::{Check, PROBE};
use crate::{args::DoctorArguments, config::Config, exit, screen::Screen, servers, setup};

/// Lets this program create user namespaces where Ubuntu's `AppArmor` forbids that to unknown programs.
const APPARMOR_PROFILE: &str = "\
# /etc/apparmor.d/codehatch; load it with: sudo apparmor_parser -r /etc/apparmor.d/codehatch
abi <abi/4.0>,
include <tunables/global>

profile codehatch @EXECUTABLE@ flags=(unconfined) {
  userns,
  include if exists <local/codehatch>
}
";

/// Everything that was found.
#[derive(Debug, Serialize)]
struct Findings {
    /// Nothing is wrong.
    ok: bool,
    /// Programs run, and sealed in every respect.
    isolated: bool,
    version: &'static str,
    checks: Vec<Check>,
    /// Until the first line of a program ran, in milliseconds; the sandbox was forked for it.
    start_ms: Option<f64>,
    /// An empty block in a running sandbox, in milliseconds.
    block_ms: Option<f64>,
}

pub(crate) async fn doctor(arguments: DoctorArguments) -> anyhow::Result<ExitCode> {
    if arguments.apparmor_profile {
        let executable = std::env::current_exe()?;
        let profile = APPARMOR_PROFILE.replace("@EXECUTABLE@", &executable.display().to_string());
        write!(io::stdout().lock(), "{profile}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut config = setup::load(&arguments.source)?;
    let mut checks = vec![host(), configuration(&config)];
    let runtime = Arc::new(LocalRuntime::new(setup::local(&config)));
    let engine = match setup::engine_with(&config, Arc::clone(&runtime)).await {
        Ok(engine) => {
            checks.push(artifacts(&config));
            engine
        }
        Err(error) => {
            checks.push(Check::new("artifacts", false, exit::text_of(&error)));
            config.artifacts.dir = None;
            setup::engine_with(&config, Arc::clone(&runtime)).await?
        }
    };
    let findings = examine(&engine, &runtime, &config, checks).await?;
    engine.close().await;
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&findings)?)?;
    } else {
        print(&mut out, &findings)?;
    }
    Ok(if findings.ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn examine(
    engine: &Engine,
    runtime: &LocalRuntime,
    config: &Config,
    mut checks: Vec<Check>,
) -> anyhow::Result<Findings> {
    let screen = Screen::start()?;
    let (mut start_ms, mut block_ms, mut isolated) = (None, None, false);
    match engine.environment().await {
        // Without it there is nothing to run in a sandbox.
        Err(error) => checks.push(Check::new("python", false, error.to_string())),
        Ok(environment) => {
            let python = format!(
                "{}, {} packages",
                environment.python_version,
                environment.packages.len()
            );
            checks.push(Check::new("python", true, python));
            let servers = servers::ask(engine, config, &screen).await;
            let mut turn = engine.turn();
            match checks::probe(&turn.execute(PROBE).await) {
                Ok(probe) => {
                    let found = checks::isolation(&probe, &runtime.memory_bound().await);
                    isolated = found.iter().all(|check| check.ok);
                    checks.extend(found);
                    checks.push(checks::packages(&probe));
                    block_ms = Some(milliseconds(turn.execute("").await.took));
                    start_ms = time_start(engine).await;
                }
                Err(detail) => checks.push(Check::new("sandbox", false, detail)),
            }
            turn.close().await;
            let problems = engine.problems().await;
            for server in servers {
                // The artifact tools are no server.
                if let Some(name) = &server.namespace {
                    checks.push(match servers::complaint(&server) {
                        None => {
                            let detail = checks::server(name, server.tools, &problems);
                            Check::new("mcp server", true, detail)
                        }
                        Some(complaint) => Check::new("mcp server", false, complaint),
                    });
                }
            }
        }
    }
    screen.flush().await?;
    Ok(Findings {
        ok: isolated && checks.iter().all(|check| check.ok),
        isolated,
        version: env!("CARGO_PKG_VERSION"),
        checks,
        start_ms,
        block_ms,
    })
}

fn host() -> Check {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let detail = format!("Linux {}, {}", kernel.trim(), std::env::consts::ARCH);
    Check::new("host", true, detail)
}

fn configuration(config: &Config) -> Check {
    let detail = match &config.file {
        Some(file) => file.display().to_string(),
        None => "none: everything is at its default".to_owned(),
    };
    Check::new("configuration", true, detail)
}

fn artifacts(config: &Config) -> Check {
    let detail = match &config.artifacts.dir {
        Some(dir) => format!("kept in {}", dir.display()),
        None => "kept as long as a command runs".to_owned(),
    };
    Check::new("artifacts", true, detail)
}

async fn time_start(engine: &Engine) -> Option<f64> {
    let began = std::time::Instant::now();
    let mut turn = engine.turn();
    let mut execution = turn.execute("print()");
    let mut first = None;
    while let Some(event) = execution.next_event().await {
        if matches!(event, Event::Output { .. }) {
            first.get_or_insert_with(|| milliseconds(began.elapsed()));
        }
    }
    drop(execution);
    turn.close().await;
    first
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e5).round() / 1e2
}

fn print(out: &mut impl Write, findings: &Findings) -> io::Result<()> {
    writeln!(out, "codehatch {}", findings.version)?;
    for check in &findings.checks {
        let mark = if check.ok { "ok  " } else { "FAIL" };
        // Further lines of a message stay in their column.
        let detail = check
            .detail
            .trim_end()
            .replace('\n', "\n                          ");
        writeln!(out, "  {mark} {:<18} {detail}", check.name)?;
    }
    if let (Some(start), Some(block)) = (findings.start_ms, findings.block_ms) {
        writeln!(
            out,
            "  start of a sandbox to its first line: {start} ms; an empty block: {block} ms"
        )?;
    }
    writeln!(
        out,
        "{}",
        match (findings.isolated, findings.ok) {
            (true, true) => "Everything that isolates is in force.",
            (true, false) =>
                "Everything that isolates is in force. Programs run without what failed.",
            (false, _) => "Something that isolates is missing: no program is run without it.",
        }
    )
}
