//! Why a zygote or a session did not start, and what to do about it.

use std::{fs, io, path::Path, time::Duration};

use crate::{
    child::LaunchStep,
    wire::{SessionStep, StepFailure},
};

/// Why a zygote did not start. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// Something was missing before the first step.
    #[error("cannot prepare the sandbox")]
    Prepare {
        /// What the system said.
        source: io::Error,
    },
    /// A step of its isolation failed. No isolation is ever skipped.
    #[error("cannot {}{}: {source}{}", step.describe(), of(detail), remedy(*step, source))]
    Step {
        /// Which step.
        step: LaunchStep,
        /// What it was working on; may be empty.
        detail: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The interpreter did not report in time.
    #[error(
        "the interpreter in the sandbox was not ready within {waited:?}{}",
        said(log)
    )]
    NotReady {
        /// How long the host waited.
        waited: Duration,
        /// The end of its output.
        log: String,
    },
    /// The interpreter ended while it was starting.
    #[error(
        "the interpreter in the sandbox ended while it was starting{}",
        said(log)
    )]
    Ended {
        /// The end of its output.
        log: String,
    },
}

impl LaunchError {
    pub(crate) fn step(step: LaunchStep, detail: String, errno: i32) -> Self {
        Self::Step {
            step,
            detail,
            source: io::Error::from_raw_os_error(errno),
        }
    }
}

fn of(detail: &str) -> String {
    if detail.is_empty() {
        String::new()
    } else {
        format!(" ({detail})")
    }
}

fn said(log: &str) -> String {
    if log.is_empty() {
        String::new()
    } else {
        format!("; it said:\n{log}")
    }
}

/// Why a session was not isolated, or a tools tree not put in place.
#[derive(Debug, thiserror::Error)]
#[error("cannot {}: {source}{}", step.describe(), session_remedy(*step, source))]
pub struct StepError {
    /// Which step.
    pub step: SessionStep,
    /// What the kernel said.
    pub source: io::Error,
}

impl From<StepFailure> for StepError {
    fn from(failure: StepFailure) -> Self {
        Self {
            step: failure.step,
            source: failure.error(),
        }
    }
}

const DOCKER: &str = "use the docker runtime";

/// The next step for a failed step of the launch, as a sentence to append.
fn remedy(step: LaunchStep, error: &io::Error) -> String {
    let code = error.raw_os_error().unwrap_or_default();
    let text = match (step, code) {
        (LaunchStep::Namespaces, _) => namespaces(code),
        (LaunchStep::IdMap, libc::EPERM | libc::EACCES) => id_map(),
        (LaunchStep::NewRoot | LaunchStep::PrivateMounts, libc::EACCES | libc::EPERM)
            if restricts_user_namespaces() =>
        {
            id_map()
        }
        (LaunchStep::NewRoot | LaunchStep::PrivateMounts | LaunchStep::FillRoot, libc::EACCES) => {
            format!(
                "a security module forbids mounting, as AppArmor's docker-default does: \
                 run the container with `--security-opt apparmor=unconfined`, or {DOCKER}"
            )
        }
        (LaunchStep::Proc, libc::EPERM) => format!(
            "/proc is masked here, as in a container: \
             run it with `--security-opt systempaths=unconfined`, or {DOCKER}"
        ),
        (LaunchStep::OpenSource | LaunchStep::FillRoot, libc::ENOSYS) => {
            "this needs Linux 5.13 or newer".into()
        }
        (LaunchStep::OpenSource, libc::EACCES | libc::ENOENT) => {
            "choose an interpreter that this user can read".into()
        }
        (LaunchStep::Execute, libc::ENOENT | libc::EACCES) => {
            "the interpreter or its loader is not below its prefix or /usr: \
             choose another one with `python` in the configuration"
                .into()
        }
        _ => return String::new(),
    };
    format!("; {text}")
}

fn namespaces(code: i32) -> String {
    match code {
        libc::ENOSPC | libc::EUSERS => "user namespaces are used up or switched off: \
             `sysctl user.max_user_namespaces=10000`"
            .into(),
        libc::ENOSYS => {
            "this needs Linux 5.13 or newer, or a container runtime that lets clone3 through".into()
        }
        libc::EPERM if reads("/proc/sys/kernel/unprivileged_userns_clone", "0") => {
            "unprivileged user namespaces are switched off: \
             `sysctl kernel.unprivileged_userns_clone=1`"
                .into()
        }
        libc::EPERM if in_container() => format!(
            "this container's seccomp profile forbids namespaces: \
             run it with `--security-opt seccomp=unconfined`, or {DOCKER}"
        ),
        libc::EPERM | libc::EACCES if restricts_user_namespaces() => id_map(),
        _ => format!("the system forbids namespaces; {DOCKER}"),
    }
}

fn id_map() -> String {
    if restricts_user_namespaces() {
        "AppArmor restricts user namespaces here: install the profile that \
         `codehatch doctor --apparmor-profile` prints"
            .into()
    } else {
        format!("the system forbids user namespaces to this program; {DOCKER}")
    }
}

/// Ubuntu from 23.10 on.
fn restricts_user_namespaces() -> bool {
    reads(
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    )
}

fn in_container() -> bool {
    Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists()
}

fn reads(path: &str, value: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.trim() == value)
}

/// The next step for a failed step of a session, as a sentence to append.
fn session_remedy(step: SessionStep, error: &io::Error) -> String {
    let code = error.raw_os_error().unwrap_or_default();
    let text = match (step, code) {
        (SessionStep::Clone, libc::ENOSPC | libc::EUSERS) => {
            "namespaces are used up: raise `user.max_user_namespaces`, `user.max_net_namespaces` \
             and their kin, or run fewer turns at once"
        }
        (SessionStep::Clone | SessionStep::Fork, libc::EAGAIN | libc::ENOMEM) => {
            "the host has no room for more processes: run fewer turns at once"
        }
        (SessionStep::Landlock, libc::ENOSYS | libc::EOPNOTSUPP) => {
            "this kernel runs without landlock: boot it with `lsm=landlock,...` (Linux 5.13 or newer)"
        }
        (SessionStep::Proc, libc::EPERM) => {
            "/proc is masked here, as in a container: \
             run it with `--security-opt systempaths=unconfined`"
        }
        (SessionStep::Descriptors, libc::EBADF) => {
            "the limit on open files is too high for this host: raise `ulimit -Hn` or lower `open_files`"
        }
        _ => return String::new(),
    };
    format!("; {text}")
}
