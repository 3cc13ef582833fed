//! `codehatch doctor`: tries everything that isolates, in a real sandbox.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use codehatch::{BlockOutcome, Engine, Event, ResultValue, local::LocalRuntime};
use serde::{Deserialize, Serialize};

use crate::{args::DoctorArguments, setup};

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

/// Runs in the sandbox and tells what it meets there.
const PROBE: &str = include_str!("doctor_probe.py");

/// What [`PROBE`] found.
#[derive(Debug, Deserialize)]
struct Probe {
    python: String,
    uid: u32,
    capabilities: String,
    no_new_privileges: bool,
    seccomp: u32,
    namespaces: BTreeMap<String, String>,
    /// What was tried → the name of the errno, or null if it went well.
    tried: BTreeMap<String, Option<String>>,
    processes_seen: usize,
    processes_limit: i64,
    memory_limit: i64,
    environment: Vec<String>,
}

/// One finding.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    detail: String,
}

/// Everything that was found.
#[derive(Debug, Serialize)]
struct Findings {
    ok: bool,
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
    let config = setup::load(&arguments.source)?;
    let runtime = Arc::new(LocalRuntime::new(setup::local(&config)));
    let engine = setup::engine_with(&config, Arc::clone(&runtime)).await?;
    let mut findings = examine(&engine).await;
    if let Some(check) = findings
        .checks
        .iter_mut()
        .find(|check| check.name == "memory limit")
    {
        check.detail = format!("{}: {}", check.detail, runtime.memory_bound().await);
    }
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

async fn examine(engine: &Engine) -> Findings {
    let mut checks = vec![host()];
    let mut turn = engine.turn();
    let outcome = turn.execute(PROBE).await;
    let (mut start_ms, mut block_ms) = (None, None);
    match probe(&outcome) {
        Ok(probe) => {
            checks.extend(sandbox_checks(&probe));
            block_ms = Some(milliseconds(turn.execute("").await.took));
            start_ms = time_start(engine).await;
        }
        Err(detail) => checks.push(Check {
            name: "sandbox",
            ok: false,
            detail,
        }),
    }
    turn.close().await;
    for provider in engine.providers().await {
        // The artifact tools are no server.
        if provider.namespace.is_some() {
            let name = provider.namespace.unwrap_or_default();
            let (ok, detail) = match provider.error {
                None => (true, format!("{name}: {} tools", provider.tools)),
                Some(error) => (false, error),
            };
            checks.push(Check {
                name: "mcp server",
                ok,
                detail,
            });
        }
    }
    let ok = checks.iter().all(|check| check.ok);
    Findings {
        ok,
        version: env!("CARGO_PKG_VERSION"),
        checks,
        start_ms,
        block_ms,
    }
}

fn host() -> Check {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let detail = format!("Linux {}, {}", kernel.trim(), std::env::consts::ARCH);
    Check {
        name: "host",
        ok: true,
        detail,
    }
}

fn probe(outcome: &BlockOutcome) -> Result<Probe, String> {
    if let Some(message) = outcome.message() {
        return Err(message);
    }
    match &outcome.result {
        Some(ResultValue::Json { value, .. }) => {
            serde_json::from_str(value.get()).map_err(|error| error.to_string())
        }
        _ => Err(outcome.stderr.text.clone()),
    }
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

fn sandbox_checks(probe: &Probe) -> Vec<Check> {
    let refused = |what: &str, errnos: &[&str]| match probe.tried.get(what) {
        Some(Some(errno)) => (
            errnos.contains(&errno.as_str()),
            format!("refused ({errno})"),
        ),
        Some(None) => (false, "went well, and must not".to_owned()),
        None => (false, "was not tried".to_owned()),
    };
    let check = |name, (ok, detail): (bool, String)| Check { name, ok, detail };
    let shared: Vec<&str> = probe
        .namespaces
        .iter()
        .filter(|(name, id)| {
            fs::read_link(format!("/proc/self/ns/{name}"))
                .is_ok_and(|ours| ours.to_string_lossy() == **id)
        })
        .map(|(name, _)| name.as_str())
        .collect();
    let namespaces = if shared.is_empty() {
        let names: Vec<&str> = probe.namespaces.keys().map(String::as_str).collect();
        (
            probe.namespaces.len() == 7,
            format!("own: {}", names.join(", ")),
        )
    } else {
        (
            false,
            format!("shared with the host: {}", shared.join(", ")),
        )
    };
    let capabilities = probe.capabilities.chars().all(|digit| digit == '0');
    let seen = probe.processes_seen;
    vec![
        check("python", (true, probe.python.clone())),
        check("namespaces", namespaces),
        check("user", (probe.uid != 0, format!("id {} inside", probe.uid))),
        check(
            "capabilities",
            (
                capabilities,
                format!("effective set {}", probe.capabilities),
            ),
        ),
        check("no new privileges", (probe.no_new_privileges, "set".into())),
        check(
            "seccomp",
            (probe.seccomp == 2, format!("mode {}", probe.seccomp)),
        ),
        check(
            "landlock",
            refused(
                "write outside, where the kernel would allow it",
                &["EACCES"],
            ),
        ),
        check(
            "read-only root",
            refused("write to /usr", &["EROFS", "EACCES"]),
        ),
        check(
            "host files",
            refused("read the host's /etc/shadow", &["ENOENT"]),
        ),
        check(
            "network",
            refused("open an internet socket", &["EAFNOSUPPORT"]),
        ),
        check("mounting", refused("mount", &["EPERM"])),
        check("new namespaces", refused("unshare", &["EPERM"])),
        check("other processes", (seen <= 2, format!("{seen} seen"))),
        check(
            "process limit",
            (
                probe.processes_limit > 0,
                format!("{} processes and threads", probe.processes_limit),
            ),
        ),
        check("memory limit", memory(probe.memory_limit)),
        check("environment", (true, probe.environment.join(", "))),
    ]
}

fn memory(bytes: i64) -> (bool, String) {
    let detail = format!("{} MiB", bytes / (1024 * 1024));
    (bytes > 0, detail)
}

fn print(out: &mut impl Write, findings: &Findings) -> io::Result<()> {
    writeln!(out, "codehatch {}", findings.version)?;
    for check in &findings.checks {
        let mark = if check.ok { "ok  " } else { "FAIL" };
        writeln!(out, "  {mark} {:<18} {}", check.name, check.detail)?;
    }
    if let (Some(start), Some(block)) = (findings.start_ms, findings.block_ms) {
        writeln!(
            out,
            "  start of a sandbox to its first line: {start} ms; an empty block: {block} ms"
        )?;
    }
    let verdict = if findings.ok {
        "Everything that isolates is in force."
    } else {
        "Something is missing: programs are not run without it."
    };
    writeln!(out, "{verdict}")
}
