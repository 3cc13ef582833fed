//! The table, and the samples behind it.

use std::{collections::BTreeMap, fs, io::Write as _, path::Path, process::Command};

use anyhow::Context;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

/// What is timed: its name, its unit, how many of those a sample is, and the target.
struct Metric {
    name: &'static str,
    unit: &'static str,
    scale: f64,
    target: Option<Target>,
}

enum Target {
    AtMost(f64),
    AtLeast(f64),
}

const METRICS: &[Metric] = &[
    metric(
        "start to first line, no pool",
        "ms",
        1e3,
        Some(Target::AtMost(3.0)),
    ),
    metric(
        "start to first line, pool",
        "ms",
        1e3,
        Some(Target::AtMost(0.3)),
    ),
    metric("end of a turn", "ms", 1e3, None),
    metric("short turns", "/s", 1.0, None),
    metric(
        "short turns, 4 at once",
        "/s",
        1.0,
        Some(Target::AtLeast(400.0)),
    ),
    metric("warm block", "ms", 1e3, None),
    metric("call", "µs", 1e6, Some(Target::AtMost(40.0))),
    metric(
        "calls of 16 threads",
        "/s",
        1.0,
        Some(Target::AtLeast(20_000.0)),
    ),
    metric("result of 10 MB", "s", 1.0, Some(Target::AtMost(0.15))),
    metric("result of 50 MB", "s", 1.0, Some(Target::AtMost(0.8))),
    metric("arguments of 10 MB", "s", 1.0, None),
    metric("stdout of 50 MB", "s", 1.0, Some(Target::AtMost(0.6))),
    metric(
        "host memory growth at that",
        "MB",
        1.0,
        Some(Target::AtMost(16.0)),
    ),
];

const fn metric(
    name: &'static str,
    unit: &'static str,
    scale: f64,
    target: Option<Target>,
) -> Metric {
    Metric {
        name,
        unit,
        scale,
        target,
    }
}

/// Says on stderr what comes now.
pub(crate) fn progress(what: &str) {
    // Progress that cannot be shown is no reason to stop.
    let _shown = writeln!(std::io::stderr(), "timing {what} …");
}

/// All samples of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    machine: Machine,
    ours: BTreeMap<&'static str, Vec<f64>>,
    reference: BTreeMap<&'static str, Vec<f64>>,
}

#[derive(Debug, Serialize)]
struct Machine {
    user: u32,
    cores: usize,
    kernel: String,
    python: String,
}

impl Report {
    pub(crate) fn new(python: &Path) -> anyhow::Result<Self> {
        let version = Command::new(python).arg("-V").output();
        let version = version.with_context(|| format!("running {}", python.display()))?;
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        Ok(Self {
            machine: Machine {
                user: user()?,
                cores: std::thread::available_parallelism()?.get(),
                kernel: kernel.trim().to_owned(),
                python: String::from_utf8_lossy(&version.stdout).trim().to_owned(),
            },
            ours: BTreeMap::new(),
            reference: BTreeMap::new(),
        })
    }

    /// Adds a sample of ours, in seconds or in the metric's own unit.
    pub(crate) fn ours(&mut self, name: &'static str, sample: f64) {
        self.ours.entry(name).or_default().push(sample);
    }

    /// Adds a sample of the reference.
    pub(crate) fn reference(&mut self, name: &'static str, sample: f64) {
        self.reference.entry(name).or_default().push(sample);
    }

    pub(crate) fn print(&self) -> anyhow::Result<()> {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header([
            "",
            "ours, median",
            "p90",
            "worst",
            "reference",
            "ratio",
            "target",
        ]);
        for metric in METRICS {
            let Some(ours) = Summary::of(self.ours.get(metric.name)) else {
                continue;
            };
            let show = |value: f64| format!("{} {}", round(value * metric.scale), metric.unit);
            let reference = Summary::of(self.reference.get(metric.name));
            let target = match &metric.target {
                Some(Target::AtMost(most)) => format!("≤ {most} {}", metric.unit),
                Some(Target::AtLeast(least)) => format!("≥ {least} {}", metric.unit),
                None => String::new(),
            };
            // Of rates the slow end is the low one.
            let (slow, worst) = match metric.unit {
                "/s" => (ours.p10, ours.least),
                _ => (ours.p90, ours.most),
            };
            let ratio = reference.as_ref().map(|reference| match metric.unit {
                "/s" => ours.median / reference.median,
                _ => reference.median / ours.median,
            });
            table.add_row([
                metric.name.to_owned(),
                show(ours.median),
                show(slow),
                show(worst),
                reference.map_or("–".to_owned(), |it| show(it.median)),
                ratio.map_or(String::new(), |ratio| format!("{} ×", round(ratio))),
                target,
            ]);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let machine = &self.machine;
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "User {}, {} cores, Linux {}, {}. The reference is adk-code-mode-sandbox 2.0.0.\n\n{table}",
            machine.user, machine.cores, machine.kernel, machine.python
        )?;
        Ok(())
    }

    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        fs::write(path, text + "\n").with_context(|| format!("writing {}", path.display()))
    }
}

struct Summary {
    least: f64,
    p10: f64,
    median: f64,
    p90: f64,
    most: f64,
}

impl Summary {
    fn of(samples: Option<&Vec<f64>>) -> Option<Self> {
        let mut sorted = samples?.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |percent: usize| sorted.get((sorted.len() - 1) * percent / 100).copied();
        Some(Self {
            least: at(0)?,
            p10: at(10)?,
            median: at(50)?,
            p90: at(90)?,
            most: at(100)?,
        })
    }
}

/// Three significant digits are more than the machine repeats.
fn round(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

fn user() -> anyhow::Result<u32> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let first = line.and_then(|ids| ids.split_whitespace().next());
    Ok(first.context("no user id in /proc/self/status")?.parse()?)
}
