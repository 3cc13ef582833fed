//! Starts zygotes, from the host's side.

use std::{
    borrow::Cow,
    ffi::{CStr, CString},
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid},
};

use crate::{
    child::{self, LaunchStep, Prepared, REPORT_BYTES, Report},
    error::{LaunchError, StepError},
    interpreter::Interpreter,
    root::{GuestFile, Op, Plan},
    socket::{message_pair, receive_message, send_message},
    sys::{self, Forked, Pointers},
    weaken,
    wire::{self, Command, Request, SessionLimits},
};

/// Runs the guest's zygote; its directory holds the guest's packages only.
const BOOT: &str = "import sys; sys.path.append('/opt/codehatch'); from codehatch_guest import zygote; zygote.main()";

/// Longest wait for the interpreter to load the guest. A cold start from disk takes about a second.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// Most bytes of the zygote's own output that an error shows.
const LOG_TAIL_BYTES: usize = 4096;

/// What a zygote is made of.
#[derive(Clone, Debug)]
pub struct ZygoteConfig {
    /// The interpreter.
    pub interpreter: Interpreter,
    /// The guest's code.
    pub guest: Vec<GuestFile>,
    /// Modules that every session finds imported.
    pub preload: Vec<String>,
    /// Environment variables of model code, beyond the fixed ones.
    pub variables: Vec<(String, String)>,
    /// As root: the user and group that sessions run as on the host. `None` picks an unused one.
    pub run_as: Option<u32>,
    /// What is left out, to test that tests notice.
    #[cfg(feature = "weaken")]
    pub weaken: crate::Weaken,
}

/// A running zygote: an interpreter that forks sessions. Dropping it kills it and all of its sessions.
#[derive(Debug)]
pub struct Zygote {
    control: OwnedFd,
    process: OwnedFd,
    pid: i32,
    user: Option<u32>,
    log: File,
    #[cfg(feature = "weaken")]
    without: u64,
}

/// A session that a zygote has forked.
#[derive(Debug)]
pub struct SessionProcess {
    /// Process id of its init in the zygote's namespace.
    pub inner_pid: i32,
    /// Stands for its init: killing that kills the session.
    pub pidfd: OwnedFd,
}

impl Zygote {
    /// Starts a zygote and waits until it can fork sessions. Blocks for about 50 ms.
    ///
    /// A thread of its own stays with it: the kernel kills the zygote when the thread that forked it ends,
    /// so that must be no thread of a pool, see `PR_SET_PDEATHSIG` in prctl(2).
    pub fn launch(config: ZygoteConfig) -> Result<Self, LaunchError> {
        let (sender, receiver) = mpsc::channel();
        thread::Builder::new()
            .name("codehatch-zygote".into())
            .spawn(move || {
                sys::block_signals(true);
                match start(&config) {
                    Ok(zygote) => {
                        let pid = zygote.pid;
                        // If nobody waits any more, this drops and thereby kills the zygote.
                        drop(sender.send(Ok(zygote)));
                        wait_for(pid);
                    }
                    Err(error) => drop(sender.send(Err(error))),
                }
            })
            .map_err(|source| LaunchError::Prepare { source })?;
        receiver.recv().map_err(|_| LaunchError::Prepare {
            source: io::Error::other("the launching thread ended"),
        })?
    }

    /// The socket to wait on: readable when an answer is there.
    pub fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Who its sessions are on the host, if not the host's own user.
    pub fn user(&self) -> Option<u32> {
        self.user
    }

    /// Its process id on the host.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Asks for a session without waiting. Answers come in the order of requests, see [`Self::answer`].
    ///
    /// `descriptors`: the guest's end of the control socket, of stdout and stderr, and of the status
    /// socket; `cgroup`: the directory of the cgroup that it starts in.
    pub fn request_fork(
        &self,
        limits: &SessionLimits,
        tools: Option<u32>,
        descriptors: [BorrowedFd<'_>; 4],
        cgroup: Option<BorrowedFd<'_>>,
    ) -> io::Result<()> {
        let request = Request::Fork {
            limits: *limits,
            tools,
            has_cgroup: cgroup.is_some(),
        };
        let fds: Vec<BorrowedFd<'_>> = descriptors.into_iter().chain(cgroup).collect();
        send_message(self.control(), &self.bytes_of(request), &fds)
    }

    /// Asks to replace the tools tree in `slot`, which is below [`TOOL_SLOTS`](crate::TOOL_SLOTS).
    pub fn request_tools(&self, slot: u32, archive: &ToolArchive) -> io::Result<()> {
        let request = Request::Tools { slot };
        // A description of its own: the zygote reads it from the start, however often it is sent.
        let path = format!("/proc/self/fd/{}", archive.0.as_raw_fd());
        let file = File::open(path)?;
        send_message(self.control(), &self.bytes_of(request), &[file.as_fd()])
    }

    #[cfg(not(feature = "weaken"))]
    #[expect(
        clippy::unused_self,
        reason = "builds that can be weakened ask the zygote"
    )]
    fn bytes_of(&self, request: Request) -> Vec<u8> {
        request.to_bytes()
    }

    #[cfg(feature = "weaken")]
    fn bytes_of(&self, request: Request) -> Vec<u8> {
        [request.to_bytes(), self.without.to_ne_bytes().to_vec()].concat()
    }

    /// Takes the next answer, without waiting: `WouldBlock` if there is none yet.
    pub fn answer(&self) -> io::Result<Result<Answer, StepError>> {
        let mut buffer = [0; 64];
        let (length, fds) = receive_message(self.control(), &mut buffer)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let reply = wire::parse_reply(&buffer[..length])
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        Ok(match (reply, fds.into_iter().next()) {
            (Err(failure), _) => Err(StepError::from(failure)),
            (Ok(inner_pid), Some(pidfd)) => Ok(Answer::Forked(SessionProcess { inner_pid, pidfd })),
            (Ok(_), None) => Ok(Answer::ToolsReady),
        })
    }

    /// Kills it, and thereby every session of it.
    pub fn kill(&self) {
        kill(self.process.as_fd());
    }

    /// Stands for its process: readable when it has ended.
    pub fn process(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// The end of what it wrote to its standard streams, for error messages.
    pub fn log_tail(&mut self) -> String {
        log_tail(&mut self.log)
    }
}

impl AsFd for Zygote {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

impl Drop for Zygote {
    fn drop(&mut self) {
        self.kill();
    }
}

impl SessionProcess {
    /// Kills the session: every process of it.
    pub fn kill(&self) {
        kill(self.pidfd.as_fd());
    }
}

/// What a zygote answers.
#[derive(Debug)]
pub enum Answer {
    /// A session exists; its status socket tells how its isolation went.
    Forked(SessionProcess),
    /// The tools tree is in place.
    ToolsReady,
}

/// A tools tree, packed for zygotes.
#[derive(Debug)]
pub struct ToolArchive(OwnedFd);

impl ToolArchive {
    /// Packs files: path below `/tools`, and contents. Directories are added as needed.
    pub fn pack<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> io::Result<Self> {
        const DIRECTORY: u64 = u64::MAX;
        let mut bytes = Vec::new();
        let mut entry = |path: &str, length: u64, contents: &[u8]| {
            let name_length = u32::try_from(path.len() + 1).map_err(io::Error::other)?;
            bytes.extend(name_length.to_ne_bytes());
            bytes.extend(length.to_ne_bytes());
            bytes.extend(path.as_bytes());
            bytes.push(0);
            bytes.extend(contents);
            Ok::<(), io::Error>(())
        };
        let mut made: Vec<PathBuf> = Vec::new();
        for (path, contents) in files {
            let mut dirs: Vec<&Path> = Path::new(path).ancestors().skip(1).collect();
            dirs.reverse();
            for dir in dirs {
                if !dir.as_os_str().is_empty() && !made.iter().any(|known| known == dir) {
                    entry(&dir.to_string_lossy(), DIRECTORY, b"")?;
                    made.push(dir.to_owned());
                }
            }
            entry(path, contents.len() as u64, contents)?;
        }
        sealed_file(&bytes).map(Self)
    }
}

/// Sends a command to a session's init.
pub fn send_command(status: BorrowedFd<'_>, command: Command) -> io::Result<()> {
    send_message(status, &command.to_bytes(), &[])
}

/// Receives a status message and its descriptor, without waiting. `None` when the session is gone.
pub fn receive_status(
    status: BorrowedFd<'_>,
) -> io::Result<Option<(wire::Status, Option<OwnedFd>)>> {
    let mut buffer = [0; 64];
    let (length, fds) = receive_message(status, &mut buffer)?;
    if length == 0 {
        return Ok(None);
    }
    let message = wire::Status::parse(&buffer[..length])
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(Some((message, fds.into_iter().next())))
}

/// A pair of connected sockets that keep messages apart, for a session's status.
pub fn status_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    message_pair()
}

/// Runs on the zygote's own thread.
fn start(config: &ZygoteConfig) -> Result<Zygote, LaunchError> {
    let prepare = |source| LaunchError::Prepare { source };
    let plan = weaken::planned(config).map_err(prepare)?;
    let (control, theirs) = message_pair().map_err(prepare)?;
    let (mut report, report_end) = io::pipe().map_err(prepare)?;
    let (log, log_end) = io::pipe().map_err(prepare)?;
    let null = File::open("/dev/null").map_err(prepare)?;
    let user = user(config.run_as);
    let (uid, gid) = user.unwrap_or_else(|| {
        (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        )
    });
    let program = c_string(config.interpreter.inner_command().as_os_str().as_bytes());
    let mut prepared = Prepared {
        trees: plan.sources.iter().map(|_| None).collect(),
        plan,
        base: base_directory(),
        namespaces: weaken::namespaces(config),
        read_only_root: weaken::read_only_root(config),
        become_user: user,
        uid_map: c_string(format!("0 {uid} 1").as_bytes()),
        gid_map: c_string(format!("0 {gid} 1").as_bytes()),
        arguments: Pointers::new(arguments(config, &program)),
        variables: Pointers::new(variables(config)),
        program,
        // Out of the way of the numbers that the child gives out.
        control: high_copy(&theirs).map_err(prepare)?,
        log: high_copy(&log_end).map_err(prepare)?,
        null: high_copy(&null).map_err(prepare)?,
        report: high_copy(&report_end).map_err(prepare)?,
    };
    drop((theirs, report_end, log_end, null));
    let namespaces = child::first_namespaces(&prepared);
    let forked = match sys::fork_into(namespaces, false) {
        Ok(Forked::Child) => child::run(&mut prepared),
        Ok(Forked::Parent(pid, pidfd)) => (pid, pidfd),
        Err(errno) => {
            let errno = errno.raw_os_error();
            return Err(LaunchError::step(
                LaunchStep::Namespaces,
                String::new(),
                errno,
            ));
        }
    };
    // The child has its own: with these open the end of its reports would not be noticed.
    let Prepared {
        plan,
        program,
        control: theirs,
        log: log_end,
        null,
        report: report_end,
        ..
    } = prepared;
    drop((theirs, log_end, null, report_end));
    let (pid, process) = launched(forked, &plan, &program, &mut report)?;
    let mut zygote = Zygote {
        control,
        process,
        pid,
        user: user.map(|(uid, _)| uid),
        log: File::from(OwnedFd::from(log)),
        #[cfg(feature = "weaken")]
        without: config.weaken.bits(),
    };
    match wait_ready(&zygote) {
        Ok(()) => Ok(zygote),
        Err(not_ready) => {
            zygote.kill();
            wait_for(pid);
            Err(not_ready(zygote.log_tail()))
        }
    }
}

/// Reads the child's reports until the interpreter has started: the zygote's process.
fn launched(
    (mut pid, mut process): (i32, OwnedFd),
    plan: &Plan,
    program: &CStr,
    report: &mut impl Read,
) -> Result<(i32, OwnedFd), LaunchError> {
    let prepare = |source| LaunchError::Prepare { source };
    loop {
        let mut bytes = [0; REPORT_BYTES];
        if let Err(error) = report.read_exact(&mut bytes) {
            return match error.kind() {
                io::ErrorKind::UnexpectedEof => Ok((pid, process)),
                _ => Err(prepare(error)),
            };
        }
        match Report::parse(bytes) {
            Some(Report::Forked(zygote)) => {
                // Not reaped yet, so the id cannot belong to anybody else.
                process = open_pidfd(zygote).map_err(prepare)?;
                wait_for(pid);
                pid = zygote;
            }
            Some(Report::Failed {
                step,
                detail,
                errno,
            }) => {
                wait_for(pid);
                return Err(LaunchError::step(
                    step,
                    detail_text(plan, program, step, detail),
                    errno,
                ));
            }
            None => return Err(prepare(io::ErrorKind::InvalidData.into())),
        }
    }
}

/// What a failed step was working on.
fn detail_text(plan: &Plan, program: &CStr, step: LaunchStep, detail: u32) -> String {
    let at = usize::try_from(detail).unwrap_or(usize::MAX);
    let text = match step {
        LaunchStep::OpenSource => plan.sources.get(at).map(|path| path.to_string_lossy()),
        LaunchStep::FillRoot => plan.ops.get(at).map(|op| match op {
            Op::Attach { source, .. } => plan.sources[*source].to_string_lossy(),
            other => format!("{other:?}").into(),
        }),
        LaunchStep::Execute => Some(program.to_string_lossy()),
        _ => None,
    };
    text.map(Cow::into_owned).unwrap_or_default()
}

type NotReady = Box<dyn FnOnce(String) -> LaunchError>;

fn wait_ready(zygote: &Zygote) -> Result<(), NotReady> {
    let deadline = Instant::now() + READY_WITHIN;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let milliseconds = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        if milliseconds == 0 {
            return Err(Box::new(|log| LaunchError::NotReady {
                waited: READY_WITHIN,
                log,
            }));
        }
        if !wait_readable(zygote.control(), milliseconds).unwrap_or(true) {
            continue;
        }
        let mut buffer = [0; 16];
        return match receive_message(zygote.control(), &mut buffer) {
            Ok((5, _)) if buffer.starts_with(b"ready") => Ok(()),
            _ => Err(Box::new(|log| LaunchError::Ended { log })),
        };
    }
}

/// As root: the user that the zygote becomes. Its processes would count as root's otherwise, whom no limit on
/// processes binds, and its files would be root's.
fn user(run_as: Option<u32>) -> Option<(u32, u32)> {
    // Where systemd takes its dynamic users from; a user of the system there is passed over.
    const UNUSED: std::ops::RangeInclusive<u32> = 61_184..=65_519;
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let uid = run_as.or_else(|| {
        let mut candidates = UNUSED.rev();
        candidates.find(|&uid| !sys::user_exists(uid))
    })?;
    Some((uid, uid))
}

fn arguments(config: &ZygoteConfig, program: &CString) -> Vec<CString> {
    let mut arguments = vec![program.clone()];
    // -I: no environment variable and no user's directory has a say. -B: nothing could be written anyway.
    let fixed = ["-I", "-B", "-X", "int_max_str_digits=0", "-c", BOOT];
    arguments.extend(fixed.iter().map(|text| c_string(text.as_bytes())));
    arguments.extend(config.preload.iter().map(|name| c_string(name.as_bytes())));
    arguments
}

/// The environment of model code: nothing of the host's.
fn variables(config: &ZygoteConfig) -> Vec<CString> {
    let path = config.interpreter.inner_path();
    let libraries = config.interpreter.inner_library_path();
    let libraries = libraries.as_deref().and_then(Path::to_str);
    let mut fixed = vec![
        ("PATH", path.as_str()),
        ("HOME", "/tmp/home"),
        ("USER", "user"),
        ("LOGNAME", "user"),
        ("LANG", "C.UTF-8"),
        ("TMPDIR", "/tmp"),
        ("TERM", "dumb"),
        ("MPLBACKEND", "agg"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ];
    fixed.extend(libraries.map(|libraries| ("LD_LIBRARY_PATH", libraries)));
    let own = config
        .variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let fixed = fixed
        .into_iter()
        .filter(|(name, _)| !config.variables.iter().any(|(own, _)| own == name));
    fixed
        .chain(own)
        .map(|(name, value)| c_string(format!("{name}={value}").as_bytes()))
        .collect()
}

/// A directory that exists everywhere; what is in it is hidden from the zygote only.
fn base_directory() -> CString {
    let candidates = ["/tmp", "/run", "/mnt", "/proc"];
    let found = candidates.into_iter().find(|path| Path::new(path).is_dir());
    c_string(found.unwrap_or("/tmp").as_bytes())
}

fn c_string(bytes: &[u8]) -> CString {
    CString::new(bytes.split(|&byte| byte == 0).next().unwrap_or_default()).unwrap_or_default()
}

/// The end of a pipe's contents, without waiting for more.
fn log_tail(log: &mut File) -> String {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    while wait_readable(log.as_fd(), 0).unwrap_or(false) {
        match log.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(length) => bytes.extend(&part[..length]),
        }
    }
    let start = bytes.len().saturating_sub(LOG_TAIL_BYTES);
    String::from_utf8_lossy(&bytes[start..]).trim().to_owned()
}

fn high_copy(fd: &impl AsFd) -> io::Result<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(fd, 16).map_err(io::Error::from)
}

fn open_pidfd(pid: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Kills a process. One that has ended is no error.
fn kill(pidfd: BorrowedFd<'_>) {
    let _ = pidfd_send_signal(pidfd, Signal::KILL);
}

/// Waits until a child has ended, and reaps it.
fn wait_for(pid: i32) {
    while let Err(rustix::io::Errno::INTR) = waitpid(Pid::from_raw(pid), WaitOptions::empty()) {}
}

/// Waits until there is something to read. `false` if the time ran out.
fn wait_readable(fd: BorrowedFd<'_>, milliseconds: u64) -> io::Result<bool> {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let timeout = Duration::from_millis(milliseconds);
    let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
    match poll(&mut fds, Some(&timeout)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// An anonymous file in memory that nobody can change any more.
fn sealed_file(contents: &[u8]) -> io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create(c"codehatch-tools", flags)?);
    file.write_all(contents)?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(file.into())
}
