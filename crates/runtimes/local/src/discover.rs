//! Finds the Python on the host and asks it what it is. Runs it outside of any sandbox: it is the user's own.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use codehatch_jail::{Environment, Interpreter};
use serde::Deserialize;
use tokio::{process::Command, time::timeout};

/// Oldest version that the guest runs on.
pub const OLDEST_PYTHON: (u8, u8) = (3, 9);

/// Longest wait for an interpreter to describe itself. A cold start from a network disk takes seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// Why no interpreter could be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoverError {
    /// There is none.
    #[error(
        "no Python found (looked for {}): install it, for example with \
         `apt-get install python3`, or name one with `python` in `[runtime]` or `--python`",
        names.join(", ")
    )]
    NotFound {
        /// What was looked for in `PATH`.
        names: Vec<String>,
    },
    /// The configured path leads to none.
    #[error(
        "`{}` is neither a Python interpreter nor a virtual environment: name one with `python` in \
         `[runtime]` or `--python`",
        path.display()
    )]
    NoInterpreter {
        /// The path.
        path: PathBuf,
    },
    /// It does not start, or does not answer.
    #[error(
        "cannot ask the Python at `{}` what it is: {detail}; check that it can be run, or name another one \
         with `python` in `[runtime]` or `--python`",
        path.display()
    )]
    NoAnswer {
        /// Its path.
        path: PathBuf,
        /// What it said instead.
        detail: String,
        /// What the system said, where it did.
        source: Option<io::Error>,
    },
    /// It is too old.
    #[error(
        "the Python at `{}` is {found}, but {}.{} or newer is needed: \
         install a newer one, or name one with `python` in `[runtime]` or `--python`",
        path.display(), OLDEST_PYTHON.0, OLDEST_PYTHON.1
    )]
    TooOld {
        /// Its path.
        path: PathBuf,
        /// Its version.
        found: String,
    },
    /// It is no CPython with a global interpreter lock.
    #[error(
        "the Python at `{}` is {kind}, but the local runtime needs the standard build of CPython: \
         name one with `python` in `[runtime]` or `--python`",
        path.display()
    )]
    WrongKind {
        /// Its path.
        path: PathBuf,
        /// What it is.
        kind: String,
    },
}

/// An interpreter that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// How it is started on the host.
    pub(crate) command: PathBuf,
    /// For the jail.
    pub(crate) interpreter: Interpreter,
    /// For example `3.12.4`.
    pub(crate) version: String,
}

/// What [`FACTS`] prints.
#[derive(Deserialize)]
struct Facts {
    implementation: String,
    free_threaded: bool,
    version: [u8; 3],
    base_prefix: PathBuf,
    executable: PathBuf,
    prefix: PathBuf,
    system_site_packages: bool,
}

const FACTS: &str = r#"
import json, os, sys, sysconfig
base = os.path.realpath(sys.base_prefix)
prefix = os.path.realpath(sys.prefix)
system = True
if prefix != base:
    try:
        with open(os.path.join(prefix, "pyvenv.cfg"), encoding="utf-8") as settings:
            pairs = [line.partition("=") for line in settings]
        system = {k.strip().lower(): v.strip().lower() for k, _, v in pairs}.get(
            "include-system-site-packages", "false") == "true"
    except OSError:
        system = False
print(json.dumps({
    "implementation": sys.implementation.name,
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "version": list(sys.version_info[:3]),
    "base_prefix": base,
    "executable": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
    "prefix": prefix,
    "system_site_packages": system,
}))
"#;

/// Import names and what provides them. Version 3.9 has no `packages_distributions`.
const PACKAGES: &str = r#"
import importlib.metadata, json
hidden = {"pip", "setuptools", "wheel", "codehatch-guest", "adk-code-mode-sandbox"}
packages = {}
for dist in importlib.metadata.distributions():
    name, version = dist.metadata["Name"], dist.version
    if not name or name.lower() in hidden:
        continue
    tops = (dist.read_text("top_level.txt") or "").split()
    if not tops:
        for file in dist.files or ():
            if file.suffix in (".py", ".so") and not file.parts[0].endswith((".dist-info", "..")):
                tops.append(file.parts[0].split(".")[0] if len(file.parts) == 1 else file.parts[0])
    for top in set(tops):
        if top.isidentifier() and top != "__pycache__":
            packages.setdefault(top, {})[name] = version
print(json.dumps(packages))
"#;

/// Finds the interpreter: the configured one (an executable or a virtual environment), else the best in
/// `PATH`.
pub(crate) async fn discover(configured: Option<&Path>) -> Result<Found, DiscoverError> {
    if let Some(path) = configured {
        return examine(&executable_of(path)?).await;
    }
    let mut names = vec!["python3".to_owned()];
    names.extend(
        (OLDEST_PYTHON.1..=14)
            .rev()
            .map(|minor| format!("python3.{minor}")),
    );
    let mut first_error = None;
    for candidate in names
        .iter()
        .map(PathBuf::from)
        .chain(["/usr/bin/python3".into()])
    {
        match examine(&candidate).await {
            Ok(found) => return Ok(found),
            Err(DiscoverError::NotFound { .. }) => {}
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    Err(first_error.unwrap_or(DiscoverError::NotFound { names }))
}

/// The packages that can be imported with it.
pub(crate) async fn packages(
    found: &Found,
) -> Result<BTreeMap<String, BTreeMap<String, String>>, DiscoverError> {
    let output = ask(&found.command, PACKAGES).await?;
    serde_json::from_slice(&output.stdout).map_err(|error| DiscoverError::NoAnswer {
        path: found.command.clone(),
        detail: error.to_string(),
        source: None,
    })
}

fn executable_of(path: &Path) -> Result<PathBuf, DiscoverError> {
    if path.is_dir() {
        let candidates = ["bin/python3", "bin/python"].map(|name| path.join(name));
        return candidates
            .into_iter()
            .find(|candidate| candidate.is_file())
            .map(absolute)
            .ok_or_else(|| DiscoverError::NoInterpreter {
                path: path.to_owned(),
            });
    }
    // A bare name is looked up in PATH.
    if path.components().count() == 1 && !path.is_absolute() {
        return Ok(path.to_owned());
    }
    if path.is_file() {
        return Ok(absolute(path.to_owned()));
    }
    Err(DiscoverError::NoInterpreter {
        path: path.to_owned(),
    })
}

/// It is started elsewhere than where its path begins.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

async fn examine(command: &Path) -> Result<Found, DiscoverError> {
    let output = ask(command, FACTS).await?;
    let facts: Facts =
        serde_json::from_slice(&output.stdout).map_err(|_| DiscoverError::NoAnswer {
            path: command.to_owned(),
            detail: format!("it printed {:?}", tail(&output.stdout)),
            source: None,
        })?;
    let [major, minor, micro] = facts.version;
    let version = format!("{major}.{minor}.{micro}");
    let path = command.to_owned();
    if (major, minor) < OLDEST_PYTHON {
        return Err(DiscoverError::TooOld {
            path,
            found: version,
        });
    }
    if facts.implementation != "cpython" {
        return Err(DiscoverError::WrongKind {
            path,
            kind: facts.implementation,
        });
    }
    if facts.free_threaded {
        return Err(DiscoverError::WrongKind {
            path,
            kind: "a free-threaded build".into(),
        });
    }
    let environment = (facts.prefix != facts.base_prefix).then_some(Environment {
        prefix: facts.prefix,
        system_site_packages: facts.system_site_packages,
    });
    let interpreter = Interpreter {
        version: (major, minor),
        base_prefix: facts.base_prefix,
        executable: facts.executable,
        environment,
    };
    Ok(Found {
        command: path,
        interpreter,
        version,
    })
}

/// Where programs are, if nobody says so.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

async fn ask(command: &Path, script: &str) -> Result<Output, DiscoverError> {
    let no_answer = |detail: String, source| DiscoverError::NoAnswer {
        path: command.to_owned(),
        detail,
        source,
    };
    // -I: neither the current directory nor the environment may add code.
    let mut asked = Command::new(command);
    if std::env::var_os("PATH").is_none() {
        // What libc looks through then finds links of which Python makes a wrong prefix.
        asked.env("PATH", USUAL_PATH);
    }
    let output = asked
        .args(["-I", "-c", script])
        .current_dir("/")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    match timeout(ANSWER_WITHIN, output).await {
        Err(_) => Err(no_answer(
            format!("no answer within {ANSWER_WITHIN:?}"),
            None,
        )),
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => Err(DiscoverError::NotFound {
            names: vec![command.display().to_string()],
        }),
        Ok(Err(error)) => Err(no_answer(error.to_string(), Some(error))),
        Ok(Ok(output)) if output.status.success() => Ok(output),
        Ok(Ok(output)) => Err(no_answer(tail(&output.stderr), None)),
    }
}

fn tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    text.char_indices()
        .rev()
        .nth(500)
        .map_or(text, |(at, _)| &text[at..])
        .to_owned()
}
