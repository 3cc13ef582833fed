//! The zygote's loop: one request of the host, one answer, in order.

use crate::{
    init,
    isolate::{self, Descriptors, Failure, IPC, NAMESPACES, NETWORK, PROCESSES, Writer},
    message::{
        EXIT_SETUP, FORK_FDS, OP_FORK, OP_TOOLS, Reply, Request, STATUS_FAILED, STATUS_STARTED,
        Status, Step, wanted,
    },
    module::{self, Process},
    network::Networks,
    sys::{self, Forked},
    tools,
};

/// How [`serve`] returned.
pub(crate) enum Served {
    /// The host is gone.
    HostGone,
    /// A tools tree was unpacked into this slot; [`serve`] is to be called again.
    Tools(u32),
    /// This is the interpreter of a new session.
    Session(Begun),
}

/// What the interpreter of a new session is told.
pub(crate) struct Begun {
    /// Its control socket.
    pub(crate) control: i32,
    /// Its number, which no other session of this zygote has.
    pub(crate) number: u32,
    /// The slot of its tools tree.
    pub(crate) slot: u32,
}

/// What a zygote remembers from one call of [`serve`] to the next.
pub(crate) struct Memory {
    networks: Networks,
    sessions: u32,
}

impl Memory {
    pub(crate) const fn new() -> Self {
        Self {
            networks: Networks::new(),
            sessions: 0,
        }
    }
}

/// Serves `socket` until the host closes it. Returns once more in every session.
pub(crate) fn serve(memory: &mut Memory, socket: i32, program: &[u8]) -> sys::Result<Served> {
    let abi = sys::landlock_abi()?;
    // Ended sessions are reaped by the kernel; the host watches them through pidfds.
    sys::set_signal_ignored(sys::SIGCHLD, true)?;
    loop {
        let mut request = Request::default();
        let bytes = sys::bytes_of_mut(&mut request);
        let expected = bytes.len();
        let (length, fds) = sys::receive(socket, bytes)?;
        if length == 0 {
            return Ok(Served::HostGone);
        }
        let session = if length != expected {
            answer(socket, &Err(Failure(Step::Clone, sys::EINVAL)));
            None
        } else if request.op == OP_FORK {
            memory.sessions = memory.sessions.wrapping_add(1);
            let zygote = Zygote {
                socket,
                abi,
                program,
                number: memory.sessions,
            };
            fork_session(&zygote, &mut memory.networks, &request, &fds)
        } else if request.op == OP_TOOLS {
            let result = tools::unpack(request.slot, fds[0]).map(|()| (0, -1));
            answer(socket, &result.map_err(|errno| Failure(Step::Tools, errno)));
            None
        } else {
            answer(socket, &Err(Failure(Step::Clone, sys::EINVAL)));
            None
        };
        if let Some(control) = session {
            return Ok(Served::Session(Begun {
                control,
                number: memory.sessions,
                slot: request.slot,
            }));
        }
        for fd in fds.into_iter().filter(|&fd| fd >= 0) {
            sys::close(fd);
        }
        if request.op == OP_TOOLS {
            return Ok(Served::Tools(request.slot));
        }
    }
}

fn answer(socket: i32, result: &core::result::Result<(i32, i32), Failure>) {
    let (reply, pidfd) = match *result {
        Ok((result, pidfd)) => (Reply { result, step: 0 }, pidfd),
        Err(Failure(step, errno)) => (
            Reply {
                result: -errno,
                step: step as u32,
            },
            -1,
        ),
    };
    let fds = [pidfd];
    let fds = if pidfd >= 0 { &fds[..] } else { &[] };
    // If the host is gone, the next receive says so.
    let _ = sys::send(socket, sys::bytes_of(&reply), fds);
}

/// What all forks have in common.
struct Zygote<'a> {
    socket: i32,
    abi: usize,
    program: &'a [u8],
    /// Of the session that is forked now.
    number: u32,
}

/// Forks a session; `Some(control)` in its interpreter.
fn fork_session(
    zygote: &Zygote<'_>,
    networks: &mut Networks,
    request: &Request,
    fds: &[i32; sys::MAX_FDS],
) -> Option<i32> {
    let socket = zygote.socket;
    let [control, stdout, stderr, status, cgroup, _] = *fds;
    let cgroup = (request.has_cgroup == 1).then_some(cgroup);
    if fds[..FORK_FDS].contains(&-1) || cgroup == Some(-1) {
        answer(socket, &Err(Failure(Step::Clone, sys::EINVAL)));
        return None;
    }
    let network = if wanted!(request, Network) {
        networks.enter_free()
    } else {
        None
    };
    let mut namespaces = NAMESPACES;
    if network.is_none() && wanted!(request, Network) {
        namespaces |= NETWORK;
    }
    if !wanted!(request, Ipc) {
        namespaces &= !IPC;
    }
    if !wanted!(request, Processes) {
        namespaces &= !PROCESSES;
    }
    module::before_fork();
    match sys::fork_into(namespaces, cgroup) {
        Ok(Forked::Child) => {
            sys::close(socket);
            networks.close();
            let fds = Descriptors {
                control,
                stdout,
                stderr,
                status,
            };
            Some(become_session(zygote, request, fds))
        }
        Ok(Forked::Parent(pid, pidfd)) => {
            module::after_fork_parent();
            answer(socket, &Ok((pid, pidfd)));
            match network {
                Some(slot) => networks.occupy(slot, pidfd),
                None => sys::close(pidfd),
            }
            None
        }
        Err(errno) => {
            module::after_fork_parent();
            answer(socket, &Err(Failure(Step::Clone, errno)));
            None
        }
    }
}

/// Isolates this process and forks the interpreter off it; returns in the interpreter only.
fn become_session(zygote: &Zygote<'_>, request: &Request, fds: Descriptors) -> i32 {
    let _ = sys::set_signal_ignored(sys::SIGCHLD, false);
    let mut name = [0; 32];
    let name = listener_name(&mut name, zygote.number);
    let isolated = match isolate::isolate(request, fds, zygote.abi, zygote.program, name) {
        Ok(isolated) => isolated,
        Err(failure) => fail(fds.status, failure),
    };
    let started = Status {
        kind: STATUS_STARTED,
        ..Status::default()
    };
    if sys::send(fds.status, sys::bytes_of(&started), &[isolated.workspace]).is_err() {
        sys::exit(0);
    }
    sys::close(isolated.workspace);
    match module::fork() {
        Process::Child => {
            let control = i32::try_from(request.open_files).unwrap_or_default();
            if wanted!(request, Descriptors) {
                // Only the standard streams and the control socket reach model code.
                let first = sys::close_range(3, request.open_files.saturating_sub(1));
                let second = sys::close_range(request.open_files.saturating_add(1), u32::MAX);
                if first.is_err() || second.is_err() {
                    sys::exit(EXIT_SETUP);
                }
            }
            if isolate::limit_files(request).is_err() || sys::unblock_signals().is_err() {
                sys::exit(EXIT_SETUP);
            }
            module::after_fork_child();
            control
        }
        Process::Parent(interpreter) => init::run(interpreter, fds, &isolated),
        Process::Failed(errno) => fail(fds.status, Failure(Step::Fork, errno)),
    }
}

/// `codehatch-N`. Not the same for any two sessions: what one left in their network cannot be in the way.
fn listener_name(text: &mut [u8], number: u32) -> &[u8] {
    let mut writer = Writer { text, at: 0 };
    let put = writer.put(b"codehatch-");
    if put
        .and_then(|()| writer.put_number(number.into()))
        .is_none()
    {
        return b"";
    }
    let Writer { text, at } = writer;
    text.get(..at).unwrap_or_default()
}

fn fail(status: i32, Failure(step, errno): Failure) -> ! {
    let message = Status {
        kind: STATUS_FAILED,
        step: step as u32,
        value: errno,
    };
    let _ = sys::send(status, sys::bytes_of(&message), &[]);
    sys::exit(EXIT_SETUP)
}
