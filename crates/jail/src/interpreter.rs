//! The CPython that a jail runs, as found on the host, and where it appears inside.

use std::path::{Path, PathBuf};

/// Where an interpreter from outside `/usr` appears in the sandbox.
pub(crate) const PYTHON_DIR: &str = "/opt/python";
/// Where a virtual environment appears in the sandbox.
pub(crate) const ENVIRONMENT_DIR: &str = "/opt/env";

/// An interpreter on the host. All paths are absolute, and the prefixes free of symbolic links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// Major and minor version.
    pub version: (u8, u8),
    /// `sys.base_prefix`: where the standard library is installed.
    pub base_prefix: PathBuf,
    /// The executable, below `base_prefix`.
    pub executable: PathBuf,
    /// `sys.prefix`, if it is a virtual environment.
    pub environment: Option<Environment>,
}

/// A virtual environment on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Where it is.
    pub prefix: PathBuf,
    /// Whether the packages of the base interpreter can be imported as well.
    pub system_site_packages: bool,
}

impl Interpreter {
    /// Whether it is part of the system, which the sandbox sees anyway.
    pub(crate) fn is_system(&self) -> bool {
        self.base_prefix.starts_with("/usr")
    }

    /// Its prefix inside the sandbox.
    pub(crate) fn inner_prefix(&self) -> PathBuf {
        if self.is_system() {
            self.base_prefix.clone()
        } else {
            PYTHON_DIR.into()
        }
    }

    /// The base executable inside the sandbox.
    pub(crate) fn inner_executable(&self) -> PathBuf {
        let below = self.executable.strip_prefix(&self.base_prefix);
        self.inner_prefix()
            .join(below.unwrap_or(Path::new("bin/python3")))
    }

    /// What to execute inside the sandbox: the environment's link where there is one.
    pub(crate) fn inner_command(&self) -> PathBuf {
        match self.environment {
            Some(_) => Path::new(ENVIRONMENT_DIR).join("bin/python"),
            None => self.inner_executable(),
        }
    }

    /// Where the loader finds the interpreter's shared library, if it is not where it was built for.
    pub(crate) fn inner_library_path(&self) -> Option<PathBuf> {
        let (major, minor) = self.version;
        let name = format!("lib/libpython{major}.{minor}.so.1.0");
        let moved = !self.is_system() && self.base_prefix.join(name).exists();
        moved.then(|| Path::new(PYTHON_DIR).join("lib"))
    }

    /// Directories of programs inside the sandbox, most specific first.
    pub(crate) fn inner_path(&self) -> String {
        let mut path = String::new();
        if self.environment.is_some() {
            path.push_str(ENVIRONMENT_DIR);
            path.push_str("/bin:");
        }
        if !self.is_system() {
            path.push_str(PYTHON_DIR);
            path.push_str("/bin:");
        }
        path + "/usr/local/bin:/usr/bin:/bin"
    }
}
