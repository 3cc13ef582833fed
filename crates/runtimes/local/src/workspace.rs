//! The workspace of a session, reached from the host through a descriptor of its directory.
//!
//! Everything below that directory is hostile: links, pipes, files that change while they are read. Paths are
//! resolved by the kernel below the directory only (`openat2(2)`), and what is opened is checked afterwards.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Write},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    sync::{Arc, Mutex, PoisonError},
};

use codehatch_runtime::{
    Baseline, BoxFuture, CollectLimits, Collected, Entry, Skipped, Stamp, Workspace,
    WorkspaceError, check_path,
};
use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, chmodat, fstat, mkdirat,
        openat2, unlinkat,
    },
    io::Errno,
};

/// Deepest directory that is looked into.
const MAX_DEPTH: usize = 32;

/// A session's workspace.
#[derive(Debug)]
pub(crate) struct LocalWorkspace {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    directory: OwnedFd,
    /// Who owns the files on the host, if that is not the host's own user.
    owner: Option<u32>,
    resolution: Resolution,
    baseline: Mutex<Baseline>,
}

impl LocalWorkspace {
    pub(crate) fn new(directory: OwnedFd, owner: Option<u32>, resolution: Resolution) -> Self {
        let shared = Shared {
            directory,
            owner,
            resolution,
            baseline: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }
}

impl Workspace for LocalWorkspace {
    fn put(&mut self, path: &str, contents: Vec<u8>) -> BoxFuture<'_, Result<(), WorkspaceError>> {
        let shared = Arc::clone(&self.shared);
        let path = path.to_owned();
        Box::pin(async move {
            check_path(&path)?;
            blocking(move || shared.put(&path, &contents)).await
        })
    }

    fn collect(
        &mut self,
        limits: CollectLimits,
    ) -> BoxFuture<'_, Result<Collected, WorkspaceError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            if shared.is_surely_empty() {
                return Ok(Collected::default());
            }
            blocking(move || Ok(shared.collect(limits))).await
        })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or(Err(WorkspaceError::Gone))
}

fn io_error(path: &str) -> impl FnOnce(Errno) -> WorkspaceError + use<'_> {
    move |errno| WorkspaceError::Io {
        path: path.to_owned(),
        source: errno.into(),
    }
}

/// How paths are resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolution {
    /// Below the directory, and through no link.
    strict: ResolveFlags,
    /// Below the directory, through links that stay there.
    below: ResolveFlags,
}

impl Resolution {
    pub(crate) const BENEATH: Self = {
        let below = ResolveFlags::BENEATH
            .union(ResolveFlags::NO_MAGICLINKS)
            .union(ResolveFlags::NO_XDEV);
        Self {
            strict: below.union(ResolveFlags::NO_SYMLINKS),
            below,
        }
    };

    /// As any program resolves them, to test that tests notice.
    #[cfg(feature = "weaken")]
    pub(crate) const ANYWHERE: Self = Self {
        strict: ResolveFlags::empty(),
        below: ResolveFlags::empty(),
    };
}

impl Shared {
    fn put(&self, path: &str, contents: &[u8]) -> Result<(), WorkspaceError> {
        let _user = self
            .owner
            .map(codehatch_jail::FileUser::become_user)
            .transpose()
            .map_err(|source| WorkspaceError::Io {
                path: path.to_owned(),
                source,
            })?;
        let mut at = 0;
        while let Some(slash) = path[at..].find('/') {
            at += slash;
            match mkdirat(&self.directory, &path[..at], Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => at += 1,
                Err(errno) => return Err(io_error(path)(errno)),
            }
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        let file = openat2(&self.directory, path, flags, mode, self.resolution.strict)
            .map_err(io_error(path))?;
        let mut file = File::from(file);
        let written = file.write_all(contents).and_then(|()| Ok(fstat(&file)?));
        match written {
            Ok(stat) => {
                let mut baseline = self.baseline.lock().unwrap_or_else(PoisonError::into_inner);
                baseline.note(path, stamp(&stat), contents);
                Ok(())
            }
            Err(error) => {
                // Half a file is worse than none. Through no link, as above: what is removed is in the workspace.
                drop(file);
                let _ = self.remove(path);
                Err(if error.kind() == io::ErrorKind::StorageFull {
                    WorkspaceError::Full {
                        path: path.to_owned(),
                        bytes: contents.len() as u64,
                    }
                } else {
                    WorkspaceError::Io {
                        path: path.to_owned(),
                        source: error,
                    }
                })
            }
        }
    }

    fn remove(&self, path: &str) -> Result<(), Errno> {
        let (directory, name) = path.rsplit_once('/').unwrap_or((".", path));
        unlinkat(self.open_directory(directory)?, name, AtFlags::empty())
    }

    /// Nothing was there, and still nothing is: the common case, which costs one look.
    fn is_surely_empty(&self) -> bool {
        if !self
            .baseline
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
        {
            return false;
        }
        let Ok(directory) = self.open_directory(".") else {
            return false;
        };
        let Ok(mut entries) = Dir::read_from(directory) else {
            return false;
        };
        entries.all(|entry| {
            entry.is_ok_and(|entry| matches!(entry.file_name().to_bytes(), b"." | b".."))
        })
    }

    fn open_directory(&self, path: &str) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat2(
            &self.directory,
            path,
            flags,
            Mode::empty(),
            self.resolution.strict,
        )
    }

    fn collect(&self, limits: CollectLimits) -> Collected {
        let mut walk = Walk {
            shared: self,
            limits,
            entries: Vec::new(),
            skipped: Vec::new(),
            seen: 0,
        };
        walk.directory("", 0);
        let Walk {
            mut entries,
            mut skipped,
            ..
        } = walk;
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        skipped.sort_by(|a, b| a.path.cmp(&b.path));
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let now_ns = i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec);
        let mut baseline = self.baseline.lock().unwrap_or_else(PoisonError::into_inner);
        baseline.compare(entries, skipped, limits, now_ns)
    }
}

struct Walk<'a> {
    shared: &'a Shared,
    limits: CollectLimits,
    entries: Vec<Entry>,
    skipped: Vec<Skipped>,
    seen: usize,
}

impl Walk<'_> {
    fn directory(&mut self, path: &str, depth: usize) {
        let place = if path.is_empty() { "." } else { path };
        let opened = with_permission(self.shared, place, 0o500, || {
            self.shared.open_directory(place)
        });
        // Unlocked until its files are open: they are reached through it.
        let (entries, _unlocked) = match opened
            .and_then(|(directory, unlocked)| Ok((Dir::read_from(directory)?, unlocked)))
        {
            Ok(opened) => opened,
            Err(errno) => return self.skip(path, &errno.to_string()),
        };
        for entry in entries {
            let Ok(entry) = entry else {
                return;
            };
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b".." | b"__pycache__") {
                continue;
            }
            self.seen += 1;
            if self.seen > self.limits.entries {
                return self.skip(path, "the workspace has more files than are looked at");
            }
            let path = match join(path, name) {
                Ok(path) => path,
                Err((shown, reason)) => {
                    self.skip(&shown, reason);
                    continue;
                }
            };
            match entry.file_type() {
                FileType::Directory if depth >= MAX_DEPTH => self.skip(&path, "it is too deep"),
                FileType::Directory => self.directory(&path, depth + 1),
                FileType::RegularFile | FileType::Symlink => self.file(path),
                _ => self.skip(&path, "it is no regular file"),
            }
        }
    }

    fn file(&mut self, path: String) {
        // A pipe that has taken the file's place must not block, nor a terminal take over.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let below = self.shared.resolution.below;
        let open = || openat2(&self.shared.directory, &path, flags, Mode::empty(), below);
        let file = match with_permission(self.shared, &path, 0o400, open) {
            Ok((file, _)) => File::from(file),
            Err(Errno::XDEV) => {
                return self.skip(&path, "it is a link that leads out of the workspace");
            }
            Err(Errno::LOOP) => return self.skip(&path, "it is a link that cannot be followed"),
            Err(Errno::NOENT) => return self.skip(&path, "it is a link that leads nowhere"),
            Err(errno) => return self.skip(&path, &errno.to_string()),
        };
        match fstat(&file) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_file() => {
                self.entries.push(Entry {
                    path,
                    file,
                    stamp: stamp(&stat),
                });
            }
            // A link to a directory, whose files are collected where they are.
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_dir() => {}
            _ => self.skip(&path, "it is no regular file"),
        }
    }

    fn skip(&mut self, path: &str, reason: &str) {
        // Bounded like everything that a session can make many of.
        if self.skipped.len() < self.limits.files {
            self.skipped.push(Skipped {
                path: path.to_owned(),
                reason: reason.to_owned(),
            });
        }
    }
}

/// Something that is unlocked. Dropping this gives it its mode back.
struct Unlocked {
    file: OwnedFd,
    mode: Mode,
}

impl Unlocked {
    fn new(file: OwnedFd, wanted: Mode) -> Result<Self, Errno> {
        let mode = Mode::from_raw_mode(fstat(&file)?.st_mode & 0o7777);
        let unlocked = Self { file, mode };
        unlocked.set_mode(mode | wanted)?;
        Ok(unlocked)
    }

    fn set_mode(&self, mode: Mode) -> Result<(), Errno> {
        // The only way to change the mode of what an O_PATH descriptor stands for.
        let name = format!("/proc/self/fd/{}", self.file.as_fd().as_raw_fd());
        chmodat(CWD, &name, mode, AtFlags::empty())
    }
}

impl Drop for Unlocked {
    fn drop(&mut self) {
        let _ = self.set_mode(self.mode);
    }
}

/// Opens what its owner has locked, by unlocking it: the host's user owns it as well.
fn with_permission(
    shared: &Shared,
    path: &str,
    wanted: u32,
    open: impl Fn() -> Result<OwnedFd, Errno>,
) -> Result<(OwnedFd, Option<Unlocked>), Errno> {
    match open() {
        Err(Errno::ACCESS) => {}
        other => return other.map(|opened| (opened, None)),
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let strict = shared.resolution.strict;
    let locked = openat2(&shared.directory, path, flags, Mode::empty(), strict)?;
    let unlocked = Unlocked::new(locked, Mode::from_raw_mode(wanted))?;
    Ok((open()?, Some(unlocked)))
}

/// The path of an entry, or why it cannot be one and how to show it.
fn join(directory: &str, name: &[u8]) -> Result<String, (String, &'static str)> {
    let text = OsStr::from_bytes(name).to_string_lossy();
    let path = if directory.is_empty() {
        text.clone().into_owned()
    } else {
        format!("{directory}/{text}")
    };
    if std::str::from_utf8(name).is_err() {
        return Err((path.escape_debug().to_string(), "its name is no UTF-8 text"));
    }
    match check_path(&path) {
        Ok(()) => Ok(path),
        Err(WorkspaceError::Path { path, fault }) => Err((path, fault)),
        Err(_) => Err((text.escape_debug().to_string(), "its name cannot be kept")),
    }
}

fn stamp(stat: &Stat) -> Stamp {
    let nanoseconds =
        |seconds: i64, rest: u64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    Stamp {
        bytes: stat.st_size.cast_unsigned(),
        inode: stat.st_ino,
        modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
    }
}
