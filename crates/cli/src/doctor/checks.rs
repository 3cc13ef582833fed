//! What the probe's findings mean.

use std::{collections::BTreeMap, fs};

use codehatch::{BlockOutcome, Diagnostic, Ending, ResultValue};
use serde::{Deserialize, Serialize};

/// Runs in the sandbox and tells what it meets there.
pub(super) const PROBE: &str = include_str!("probe.py");

/// What [`PROBE`] found.
#[derive(Debug, Deserialize)]
pub(super) struct Probe {
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
    /// Directories that Python imports from and the sandbox's user may not read.
    unreadable: Vec<String>,
}

/// One finding.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) ok: bool,
    /// What was found; where that is a fault, also what mends it.
    pub(super) detail: String,
}

impl Check {
    pub(super) fn new(name: &'static str, ok: bool, detail: impl Into<String>) -> Self {
        Self {
            name,
            ok,
            detail: detail.into(),
        }
    }
}

/// Reads what the probe found; else what went wrong.
pub(super) fn probe(outcome: &BlockOutcome) -> Result<Probe, String> {
    if let Ending::HostError { message } = &outcome.ending {
        return Err(message.clone());
    }
    match &outcome.result {
        Some(ResultValue::Json { value, .. }) => {
            serde_json::from_str(value.get()).map_err(|error| error.to_string())
        }
        _ => Err(outcome
            .message()
            .unwrap_or_else(|| outcome.stderr.text.clone())),
    }
}

/// What isolates, item by item.
/// `bound` says what keeps all processes of a sandbox together within its memory.
pub(super) fn isolation(probe: &Probe, bound: &str) -> Vec<Check> {
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
        check("memory limit", memory(probe.memory_limit, bound)),
        check("environment", (true, probe.environment.join(", "))),
    ]
}

fn memory(bytes: i64, bound: &str) -> (bool, String) {
    let detail = format!("{} MiB: {bound}", bytes / (1024 * 1024));
    (bytes > 0, detail)
}

/// Whether what is installed can be imported.
pub(super) fn packages(probe: &Probe) -> Check {
    let name = "packages";
    if probe.unreadable.is_empty() {
        return Check::new(name, true, "all of Python's directories can be read");
    }
    let places = probe.unreadable.join(", ");
    let detail = format!(
        "the sandbox's user may not read {places} (as it is called inside): nothing can be imported from there; \
         `chmod -R a+rX` it on the host"
    );
    Check::new(name, false, detail)
}

/// What a server offers, and what is wrong with single tools of it.
pub(super) fn server(
    name: &str,
    tools: usize,
    problems: &[(Option<String>, Diagnostic)],
) -> String {
    const MOST: usize = 3;
    let mut detail = match tools {
        1 => format!("{name}: 1 tool"),
        tools => format!("{name}: {tools} tools"),
    };
    let of_server = problems
        .iter()
        .filter(|(of, _)| of.as_deref() == Some(name));
    let texts: Vec<String> = of_server
        .map(|(_, Diagnostic { problem, .. })| format!("\n`{}`: {}", problem.tool, problem.reason))
        .collect();
    let more = texts.len().saturating_sub(MOST);
    detail.extend(texts.into_iter().take(MOST));
    let rest = (more > 0).then(|| format!("\n… and {more} more, see `codehatch tools`"));
    detail.extend(rest);
    detail
}
