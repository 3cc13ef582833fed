//! What the sandbox's root directory is made of: a list of operations, worked out before the fork.
//!
//! The root is a new tmpfs that gets directories, small files, and read-only views of the host's `/usr`
//! and of the interpreter. Views of other places go through an overlay, whose entry in `mountinfo` says
//! nothing of where they come from.

use std::{
    ffi::CString,
    fs, io,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::interpreter::{ENVIRONMENT_DIR, Interpreter, PYTHON_DIR};

/// Tools trees that a zygote can hold at once.
pub const TOOL_SLOTS: u32 = 32;

/// Where parts of overlays are gathered; gone when the root is complete.
const STAGE: &str = ".stage";

/// One operation on the new root, whose paths are relative to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Makes a directory that all may enter.
    Dir { path: CString },
    /// Makes a symbolic link.
    Link { to: CString, path: CString },
    /// Writes a new file that all may read.
    File { path: CString, contents: Contents },
    /// Attaches an opened source.
    Attach {
        source: usize,
        path: CString,
        flags: AttachFlags,
    },
    /// Mounts a small tmpfs.
    Tmpfs { path: CString },
    /// Mounts an overlay of `lower` (colon-separated), read-only.
    Overlay { options: CString, path: CString },
    /// Lets go of a mount; what uses it goes on.
    Detach { path: CString },
}

/// What an attached source may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttachFlags {
    /// A tree: no writing, no setuid, no devices.
    ReadOnly,
    /// A device node: no setuid, no execution.
    Device,
}

/// The contents of a file, shown by length only in debug output.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Contents(pub(crate) Arc<[u8]>);

impl std::fmt::Debug for Contents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// How to build the root.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Host paths to open, before anything is mounted over them.
    pub(crate) sources: Vec<CString>,
    /// In this order.
    pub(crate) ops: Vec<Op>,
}

/// A file of the guest: path below its directory, and contents.
pub type GuestFile = (&'static str, &'static [u8]);

/// Where the guest's Python code and the session module are inside the sandbox.
pub const GUEST_DIR: &str = "/opt/codehatch";

/// Plans the root for `interpreter`, with the guest's files.
pub(crate) fn plan(
    interpreter: &Interpreter,
    guest: &[GuestFile],
    filter: &[u8],
) -> io::Result<Plan> {
    let mut plan = Plan {
        sources: Vec::new(),
        ops: Vec::new(),
    };
    for dir in [
        "dev",
        "dev/shm",
        "etc",
        "opt",
        "proc",
        "run",
        "run/tools",
        "tmp",
        "tools",
        "workspace",
    ] {
        plan.dir(dir);
    }
    for slot in 0..TOOL_SLOTS {
        plan.dir(&format!("run/tools/{slot}"));
    }
    plan.system()?;
    plan.devices();
    plan.settings();
    plan.interpreter(interpreter);
    plan.guest(guest);
    plan.file(&format!("{}/filter.bin", &GUEST_DIR[1..]), filter);
    Ok(plan)
}

impl Plan {
    fn dir(&mut self, path: &str) {
        self.ops.push(Op::Dir {
            path: c_string(path),
        });
    }

    fn link(&mut self, to: impl AsRef<Path>, path: &str) {
        self.ops.push(Op::Link {
            to: c_string(to.as_ref()),
            path: c_string(path),
        });
    }

    fn file(&mut self, path: &str, contents: &[u8]) {
        let contents = Contents(contents.into());
        self.ops.push(Op::File {
            path: c_string(path),
            contents,
        });
    }

    fn attach(&mut self, source: &Path, path: &str, flags: AttachFlags) {
        self.sources.push(c_string(source));
        let source = self.sources.len() - 1;
        self.ops.push(Op::Attach {
            source,
            path: c_string(path),
            flags,
        });
    }

    /// Shows a file or directory of the host at its own path.
    #[cfg(feature = "weaken")]
    pub(crate) fn show(&mut self, path: &Path) {
        let inner = path.strip_prefix("/").unwrap_or(path);
        for above in inner
            .ancestors()
            .skip(1)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
        {
            let dir = Op::Dir {
                path: c_string(above),
            };
            if !above.as_os_str().is_empty() && !self.ops.contains(&dir) {
                self.ops.push(dir);
            }
        }
        let inner = inner.to_string_lossy();
        if path.is_dir() {
            self.dir(&inner);
        } else {
            self.file(&inner, b"");
        }
        self.attach(path, &inner, AttachFlags::ReadOnly);
    }

    /// `/usr`, and the directories that are links into it on most systems.
    fn system(&mut self) -> io::Result<()> {
        self.dir("usr");
        self.attach(Path::new("/usr"), "usr", AttachFlags::ReadOnly);
        for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
            let path = Path::new("/").join(name);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => self.link(fs::read_link(&path)?, name),
                Ok(found) if found.is_dir() => {
                    self.dir(name);
                    self.attach(&path, name, AttachFlags::ReadOnly);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn devices(&mut self) {
        for (name, source) in [
            ("null", "/dev/null"),
            // Reads as zeros as well. Mapped, the real one would be memory that no limit counts.
            ("zero", "/dev/full"),
            ("full", "/dev/full"),
            ("random", "/dev/random"),
            ("urandom", "/dev/urandom"),
        ] {
            let path = format!("dev/{name}");
            self.file(&path, b"");
            self.attach(Path::new(source), &path, AttachFlags::Device);
        }
        self.link("/proc/self/fd", "dev/fd");
        self.link("/proc/self/fd/0", "dev/stdin");
        self.link("/proc/self/fd/1", "dev/stdout");
        self.link("/proc/self/fd/2", "dev/stderr");
    }

    /// `/etc`: what libraries look up, and nothing of this host.
    fn settings(&mut self) {
        self.file("etc/passwd", b"user:x:1000:1000:user:/tmp/home:/bin/sh\n");
        self.file("etc/group", b"user:x:1000:\n");
        self.file(
            "etc/nsswitch.conf",
            b"passwd: files\ngroup: files\nhosts: files\n",
        );
        self.file("etc/hosts", b"127.0.0.1 localhost sandbox\n");
        // Public facts about the system: its libraries, time zone, file types and chosen alternatives.
        for name in ["ld.so.cache", "localtime", "mime.types", "os-release"] {
            if let Ok(contents) = fs::read(Path::new("/etc").join(name)) {
                self.file(&format!("etc/{name}"), &contents);
            }
        }
        for name in ["alternatives", "fonts"] {
            let path = Path::new("/etc").join(name);
            if path.is_dir() {
                let inner = format!("etc/{name}");
                self.dir(&inner);
                self.attach(&path, &inner, AttachFlags::ReadOnly);
            }
        }
    }

    fn interpreter(&mut self, interpreter: &Interpreter) {
        let system = interpreter.is_system();
        if system && interpreter.environment.is_none() {
            return;
        }
        self.dir(STAGE);
        self.ops.push(Op::Tmpfs {
            path: c_string(STAGE),
        });
        self.dir(".stage/empty");
        if !system {
            self.dir(&PYTHON_DIR[1..]);
            self.dir(".stage/python");
            self.attach(
                &interpreter.base_prefix,
                ".stage/python",
                AttachFlags::ReadOnly,
            );
            self.overlay("lowerdir=.stage/empty:.stage/python", PYTHON_DIR);
        }
        if let Some(environment) = &interpreter.environment {
            self.dir(&ENVIRONMENT_DIR[1..]);
            self.dir(".stage/env");
            self.attach(&environment.prefix, ".stage/env", AttachFlags::ReadOnly);
            self.environment_skeleton(interpreter, environment.system_site_packages);
            self.overlay("lowerdir=.stage/skeleton:.stage/env", ENVIRONMENT_DIR);
        }
        self.ops.push(Op::Detach {
            path: c_string(STAGE),
        });
    }

    /// What lies over a virtual environment: its interpreter and settings, with inner paths.
    fn environment_skeleton(&mut self, interpreter: &Interpreter, system_site_packages: bool) {
        let executable = interpreter.inner_executable();
        let home = executable.parent().unwrap_or(Path::new("/usr/bin"));
        let (major, minor) = interpreter.version;
        self.dir(".stage/skeleton");
        self.dir(".stage/skeleton/bin");
        for name in [
            "python".to_owned(),
            "python3".to_owned(),
            format!("python{major}.{minor}"),
        ] {
            self.link(&executable, &format!(".stage/skeleton/bin/{name}"));
        }
        let settings = format!(
            "home = {}\ninclude-system-site-packages = {system_site_packages}\nversion = {major}.{minor}\n",
            home.display(),
        );
        self.file(".stage/skeleton/pyvenv.cfg", settings.as_bytes());
    }

    fn overlay(&mut self, options: &str, path: &str) {
        let path = c_string(path.trim_start_matches('/'));
        self.ops.push(Op::Overlay {
            options: c_string(options),
            path,
        });
    }

    fn guest(&mut self, files: &[GuestFile]) {
        let root = &GUEST_DIR[1..];
        self.dir(root);
        let mut made: Vec<PathBuf> = Vec::new();
        for (path, contents) in files {
            for dir in Path::new(path)
                .ancestors()
                .skip(1)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
            {
                if !dir.as_os_str().is_empty() && !made.iter().any(|known| known == dir) {
                    self.dir(&format!("{root}/{}", dir.display()));
                    made.push(dir.to_owned());
                }
            }
            self.file(&format!("{root}/{path}"), contents);
        }
        self.file(&format!("{root}/_codehatch_session.so"), SESSION_MODULE);
    }
}

/// The extension module that forks sessions.
const SESSION_MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/_codehatch_session.so"));

/// A path or text for the kernel. A NUL inside cannot come from a file system; it would end the text.
fn c_string(path: impl AsRef<Path>) -> CString {
    let mut bytes = path.as_ref().as_os_str().to_owned().into_vec();
    bytes.retain(|&byte| byte != 0);
    CString::new(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter::Environment;

    /// The operations that depend on the interpreter, one a line.
    fn interpreter_ops(interpreter: &Interpreter) -> String {
        let mut plan = Plan {
            sources: Vec::new(),
            ops: Vec::new(),
        };
        plan.interpreter(interpreter);
        let lines: Vec<String> = plan.ops.iter().map(|op| format!("{op:?}")).collect();
        format!("{:?}\n{}", plan.sources, lines.join("\n"))
    }

    #[test]
    fn the_system_interpreter_needs_nothing_beyond_usr() {
        let system = Interpreter {
            version: (3, 11),
            base_prefix: "/usr".into(),
            executable: "/usr/bin/python3.11".into(),
            environment: None,
        };
        assert_eq!(interpreter_ops(&system), "[]\n");
        assert_eq!(system.inner_command(), Path::new("/usr/bin/python3.11"));
        assert_eq!(system.inner_path(), "/usr/local/bin:/usr/bin:/bin");
    }

    #[test]
    fn an_environment_appears_at_a_neutral_path_with_its_own_settings() {
        let interpreter = Interpreter {
            version: (3, 12),
            base_prefix: "/home/ada/.pyenv/versions/3.12.1".into(),
            executable: "/home/ada/.pyenv/versions/3.12.1/bin/python3.12".into(),
            environment: Some(Environment {
                prefix: "/home/ada/project/.venv".into(),
                system_site_packages: false,
            }),
        };
        insta::assert_snapshot!(interpreter_ops(&interpreter));
        assert_eq!(
            interpreter.inner_command(),
            Path::new("/opt/env/bin/python")
        );
        assert_eq!(
            interpreter.inner_path(),
            "/opt/env/bin:/opt/python/bin:/usr/local/bin:/usr/bin:/bin"
        );
    }

    #[test]
    fn the_guest_gets_its_directories_before_its_files() {
        let mut plan = Plan {
            sources: Vec::new(),
            ops: Vec::new(),
        };
        plan.guest(&[("a/b/c.py", b"1"), ("a/d.py", b"22")]);
        let lines: Vec<String> = plan
            .ops
            .iter()
            .take(5)
            .map(|op| format!("{op:?}"))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
