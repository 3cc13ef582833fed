"""Life in a container or any other sandbox: the channel is found in the environment.

The variables, and the order in which they are looked at, are those of ``adk-code-mode``, so that its hosts
can start this guest in place of their own:

``ADK_CODE_MODE_CONTROL_TCP`` (``host:port``; ``ADK_CODE_MODE_CONTROL_TOKEN`` is the first line sent),
``ADK_CODE_MODE_CONTROL_SOCKET`` (path of a Unix socket),
``ADK_CODE_MODE_CONTROL_FD`` (one descriptor, or ``read,write``; default 3).
``ADK_CODE_MODE_TOOLS_DIR`` (default ``/tools``) and ``ADK_CODE_MODE_WORKDIR`` (default ``/workspace``).
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time

from . import packages, session, tools_import, values
from .blocks import Outcome
from .capture import Capture
from .channel import Channel, ChannelClosed

_PREFIX = "ADK_CODE_MODE_"

# Variables that model code may see; of the rest it could learn secrets of whoever built the sandbox.
_KEPT = frozenset(
    [
        "HOME",
        "LANG",
        "LANGUAGE",
        "LD_LIBRARY_PATH",
        "LOGNAME",
        "MPLBACKEND",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "TEMP",
        "TERM",
        "TMP",
        "TMPDIR",
        "TZ",
        "USER",
        "VIRTUAL_ENV",
    ]
)

# How often a running block's channel is looked at for an interrupt, in seconds.
_LOOK_EVERY = 0.1


def main() -> int:
    """Serve the host that the environment names, until it says so or is gone."""
    read_fd, write_fd = _connect()
    tools_dir = os.path.abspath(os.environ.get(_PREFIX + "TOOLS_DIR", "/tools"))
    workdir = os.environ.get(_PREFIX + "WORKDIR", "/workspace")
    _clean_environment()
    os.makedirs(workdir, exist_ok=True)
    os.chdir(workdir)
    serve(read_fd, write_fd, tools_dir, workdir)
    return 0


def serve(read_fd: int, write_fd: int, tools_dir: str, workdir: str) -> None:
    """Run blocks for the host at the other end of the descriptors."""
    import adk_code_mode_sandbox._rpc_client as stubs

    channel = Channel(read_fd, write_fd)
    stubs.install(channel)
    tools_import.install(tools_dir)
    tools_import.publish(tools_dir)
    _put_last(workdir)
    capture = Capture()

    def send_output(outcome: Outcome) -> None:
        out, err = capture.take()
        frame = {"kind": "output", "stdout": out, "stderr": err, "exit_code": outcome.exit_code}
        channel.send(values.dumps(frame, "output") + b"\n")

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel.send(session.ready_frame(packages.installed()))
    watcher = threading.Thread(target=_watch, args=(channel,), daemon=True)
    watcher.start()
    capture.ignored_threads.add(watcher)
    spared = {watcher.ident} if watcher.ident is not None else set()
    session.Session(channel, capture, send_output, capture.is_busy, spared).run()


def _watch(channel: Channel) -> None:
    """Look for an interrupt while the block is busy with something else than the channel.

    Where a signal comes with the interrupt, as in the local sandbox, nobody need look.
    """
    while True:
        time.sleep(_LOOK_EVERY)
        if channel.running:
            try:
                channel.read_available()
            except (ChannelClosed, OSError):
                # The host is gone in the middle of a block: nobody wants its effects any more.
                os._exit(1)


def _connect() -> tuple[int, int]:
    environ = os.environ
    endpoint = environ.get(_PREFIX + "CONTROL_TCP")
    if endpoint:
        host, _, port = endpoint.rpartition(":")
        connection = socket.create_connection((host, int(port)))
        # Without it small frames wait for the peer's acknowledgement of the one before: 40 ms a block.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        token = environ.get(_PREFIX + "CONTROL_TOKEN", "")
        connection.sendall(token.encode("ascii") + b"\n")
        fd = connection.detach()
        return fd, fd
    path = environ.get(_PREFIX + "CONTROL_SOCKET")
    if path:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(path)
        fd = connection.detach()
        return fd, fd
    first, _, second = environ.get(_PREFIX + "CONTROL_FD", "3").partition(",")
    read_fd = int(first)
    write_fd = int(second) if second else read_fd
    for fd in (read_fd, write_fd):
        os.set_inheritable(fd, False)
        os.set_blocking(fd, True)
    return read_fd, write_fd


def _clean_environment() -> None:
    for name in list(os.environ):
        if name not in _KEPT and not name.startswith("LC_"):
            del os.environ[name]


def _put_last(workdir: str) -> None:
    """Make modules of the workspace importable, behind all others."""
    here = os.path.abspath(workdir)
    entries: list[str] = [path for path in sys.path if path not in ("", here)]
    sys.path[:] = [*entries, here]
