//! Sockets, and waiting for them.

use super::{EINTR, EINVAL, O_CLOEXEC, Result, call, nr};

/// One descriptor to wait for.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct PollFd {
    pub(crate) fd: i32,
    pub(crate) events: i16,
    pub(crate) revents: i16,
}

pub(crate) const POLLIN: i16 = 1;

/// Waits without a time limit until one of `fds` has something.
pub(crate) fn poll(fds: &mut [PollFd]) -> Result<()> {
    poll_until(fds, None)
}

/// Looks which of `fds` have something now.
pub(crate) fn poll_now(fds: &mut [PollFd]) -> Result<()> {
    poll_until(fds, Some([0; 2]))
}

/// `timeout` is a struct timespec, or `None` to wait.
fn poll_until(fds: &mut [PollFd], timeout: Option<[u64; 2]>) -> Result<()> {
    let timeout = timeout
        .as_ref()
        .map_or(0, |timeout| (&raw const *timeout) as usize);
    // SAFETY: the slice is valid and writable for its length, the timeout is null or lives on; no mask.
    match unsafe {
        call(
            nr::PPOLL,
            [fds.as_mut_ptr() as usize, fds.len(), timeout, 0, 0, 0],
        )
    } {
        Ok(_) | Err(EINTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// A listening socket with an abstract name in this network namespace.
pub(crate) fn listen_abstract(name: &[u8]) -> Result<i32> {
    const AF_UNIX: u16 = 1;
    const SOCK_STREAM: usize = 1;
    let mut address = [0u8; 32];
    let [low, high] = AF_UNIX.to_ne_bytes();
    address[0] = low;
    address[1] = high;
    let Some(room) = address.get_mut(3..3 + name.len()) else {
        return Err(EINVAL);
    };
    room.copy_from_slice(name);
    // SAFETY: takes integers only.
    let fd = unsafe {
        call(
            nr::SOCKET,
            [AF_UNIX as usize, SOCK_STREAM | O_CLOEXEC, 0, 0, 0, 0],
        )
    }?;
    // SAFETY: points to a sockaddr_un of the given length.
    unsafe {
        call(
            nr::BIND,
            [fd, address.as_ptr() as usize, 3 + name.len(), 0, 0, 0],
        )
    }?;
    // SAFETY: takes integers only.
    unsafe { call(nr::LISTEN, [fd, 4, 0, 0, 0, 0]) }?;
    i32::try_from(fd).map_err(|_| EINVAL)
}

pub(crate) fn accept(fd: i32) -> Result<i32> {
    // SAFETY: takes integers only; the peer's address is not asked for.
    let fd = unsafe { call(nr::ACCEPT4, [fd as usize, 0, 0, O_CLOEXEC, 0, 0]) }?;
    i32::try_from(fd).map_err(|_| EINVAL)
}

#[repr(C)]
struct IoVec {
    base: *mut u8,
    length: usize,
}

#[repr(C)]
struct MessageHeader {
    name: usize,
    name_length: u32,
    parts: *mut IoVec,
    part_count: usize,
    control: *mut ControlMessage,
    control_length: usize,
    flags: i32,
}

/// Most descriptors in one message.
pub(crate) const MAX_FDS: usize = 6;

#[repr(C)]
struct ControlMessage {
    length: usize,
    level: i32,
    kind: i32,
    fds: [i32; MAX_FDS],
}

const CONTROL_HEADER: usize = 16;
const SOL_SOCKET: i32 = 1;
const SCM_RIGHTS: i32 = 1;

/// Sends `bytes` as one message with `fds`. A peer that is gone is an error, never a signal.
pub(crate) fn send(socket: i32, bytes: &[u8], fds: &[i32]) -> Result<()> {
    const MSG_NOSIGNAL: usize = 0x4000;
    let mut control = ControlMessage {
        length: CONTROL_HEADER + size_of_val(fds),
        level: SOL_SOCKET,
        kind: SCM_RIGHTS,
        fds: [-1; MAX_FDS],
    };
    for (slot, fd) in control.fds.iter_mut().zip(fds) {
        *slot = *fd;
    }
    let mut part = IoVec {
        base: bytes.as_ptr().cast_mut(),
        length: bytes.len(),
    };
    let header = MessageHeader {
        name: 0,
        name_length: 0,
        parts: &raw mut part,
        part_count: 1,
        control: &raw mut control,
        control_length: if fds.is_empty() {
            0
        } else {
            (control.length + 7) & !7
        },
        flags: 0,
    };
    // SAFETY: the header points to a buffer and a control message that outlive the call.
    unsafe {
        call(
            nr::SENDMSG,
            [
                socket as usize,
                (&raw const header) as usize,
                MSG_NOSIGNAL,
                0,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// Receives one message into `buffer`: its length and the descriptors that came along (-1 for none).
pub(crate) fn receive(socket: i32, buffer: &mut [u8]) -> Result<(usize, [i32; MAX_FDS])> {
    const MSG_CMSG_CLOEXEC: usize = 0x4000_0000;
    let mut control = ControlMessage {
        length: 0,
        level: 0,
        kind: 0,
        fds: [-1; MAX_FDS],
    };
    let mut part = IoVec {
        base: buffer.as_mut_ptr(),
        length: buffer.len(),
    };
    let mut header = MessageHeader {
        name: 0,
        name_length: 0,
        parts: &raw mut part,
        part_count: 1,
        control: &raw mut control,
        control_length: size_of::<ControlMessage>(),
        flags: 0,
    };
    let args = [
        socket as usize,
        (&raw mut header) as usize,
        MSG_CMSG_CLOEXEC,
        0,
        0,
        0,
    ];
    let length = loop {
        // SAFETY: the header points to a buffer and a control message that outlive the call.
        match unsafe { call(nr::RECVMSG, args) } {
            Err(EINTR) => {}
            other => break other?,
        }
    };
    let mut fds = [-1; MAX_FDS];
    if control.level == SOL_SOCKET && control.kind == SCM_RIGHTS {
        let count = control.length.saturating_sub(CONTROL_HEADER) / size_of::<i32>();
        for (slot, fd) in fds.iter_mut().zip(control.fds).take(count) {
            *slot = fd;
        }
    }
    Ok((length, fds))
}
