//! Process 1 of a session: reaps, obeys the host, and takes the session with it when it ends.

use crate::{
    isolate::{Descriptors, Isolated},
    message::{COMMAND_INTERRUPT, COMMAND_SWEEP, EXIT_PANIC, STATUS_EXITED, Status},
    sys::{self, POLLIN, PollFd},
};

/// Runs until the interpreter ends or the host closes the status socket. Its end kills every process of
/// the session: the kernel does so when process 1 of a namespace exits.
pub(crate) fn run(interpreter: i32, fds: Descriptors, isolated: &Isolated) -> ! {
    let _ = sys::set_process_name(c"codehatch-init");
    let mut waits = [fds.status, isolated.children, isolated.listener].map(|fd| PollFd {
        fd,
        events: POLLIN,
        revents: 0,
    });
    loop {
        if sys::poll(&mut waits).is_err() {
            sys::exit(EXIT_PANIC);
        }
        let [commands, children, listener] = waits.map(|wait| wait.revents != 0);
        // Before commands: an interrupt must not go to a process id that is free again.
        if children {
            reap(interpreter, fds.status, isolated.children);
        }
        if commands {
            obey(interpreter, fds.status);
        }
        if listener {
            give_back(isolated.listener, fds);
        }
    }
}

/// Reaps every ended child; ends the session with the interpreter.
fn reap(interpreter: i32, status: i32, children: i32) {
    let mut ignored = [0; 128];
    let _ = sys::read_full(children, &mut ignored);
    while let Ok(Some((pid, value))) = sys::reap() {
        if pid == interpreter {
            let message = Status {
                kind: STATUS_EXITED,
                step: 0,
                value,
            };
            let _ = sys::send(status, sys::bytes_of(&message), &[]);
            sys::exit(0);
        }
    }
}

fn obey(interpreter: i32, status: i32) {
    let mut command = [0];
    match sys::receive(status, &mut command) {
        // The host has closed its end, or is gone.
        Ok((0, _)) | Err(_) => sys::exit(0),
        Ok(_) => match command[0] {
            COMMAND_INTERRUPT => {
                let _ = sys::kill(interpreter, sys::SIGINT);
            }
            COMMAND_SWEEP => sweep(interpreter),
            _ => {}
        },
    }
}

/// Kills every process but this one and the interpreter, until none is left that forks faster.
fn sweep(interpreter: i32) {
    const ROUNDS: usize = 64;
    for _ in 0..ROUNDS {
        if kill_others(interpreter) == 0 {
            return;
        }
        while let Ok(Some((pid, _))) = sys::reap() {
            if pid == interpreter {
                // Reported as any other end: by the next SIGCHLD there is nobody left to name.
                sys::exit(0);
            }
        }
    }
}

fn kill_others(interpreter: i32) -> usize {
    let Ok(proc) = sys::open(c"/proc", sys::O_RDONLY | sys::O_DIRECTORY, 0) else {
        return 0;
    };
    let mut killed = 0;
    let mut buffer = [0u8; 4096];
    while let Ok(length @ 1..) = sys::read_dir(proc, &mut buffer) {
        let mut entries = buffer.get(..length).unwrap_or_default();
        while let Some((pid, rest)) = next_entry(entries) {
            entries = rest;
            if let Some(pid) = pid.filter(|&pid| pid > 1 && pid != interpreter)
                && sys::kill(pid, sys::SIGKILL).is_ok()
            {
                killed += 1;
            }
        }
    }
    sys::close(proc);
    killed
}

/// Splits one `struct linux_dirent64` off: the process id that it names, if any, and the rest.
fn next_entry(entries: &[u8]) -> Option<(Option<i32>, &[u8])> {
    const NAME: usize = 19;
    let length = usize::from(u16::from_ne_bytes([*entries.get(16)?, *entries.get(17)?]));
    let name = entries.get(NAME..length)?;
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    let pid = core::str::from_utf8(name)
        .ok()
        .and_then(|name| name.parse().ok());
    Some((pid, entries.get(length..)?))
}

/// Hands the interpreter's descriptors out again, to a process of the session that has closed its own.
fn give_back(listener: i32, fds: Descriptors) {
    if let Ok(peer) = sys::accept(listener) {
        let _ = sys::send(peer, b"!", &[fds.control, fds.stdout, fds.stderr]);
        sys::close(peer);
    }
}
