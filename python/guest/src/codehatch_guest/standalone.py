"""Life in a container or any other sandbox: the channel is found in the environment.

The variables, and the order in which they are looked at, are those of ``adk-code-mode``, so that its hosts
can start this guest in place of their own:

``ADK_CODE_MODE_CONTROL_TCP`` (``host:port``; ``ADK_CODE_MODE_CONTROL_TOKEN`` is the first line sent),
``ADK_CODE_MODE_CONTROL_SOCKET`` (path of a Unix socket),
``ADK_CODE_MODE_CONTROL_FD`` (one descriptor, or ``read,write``; default 3).
``ADK_CODE_MODE_TOOLS_DIR`` (default ``/tools``) and ``ADK_CODE_MODE_WORKDIR`` (default ``/workspace``).
"""

from __future__ import annotations

import _thread
import inspect  # noqa: F401 # found loaded by the first block that looks at its own source
import os
import signal
import socket
import sys
import time
import warnings
from typing import Callable

from . import packages, session, tools_import
from .blocks import Outcome
from .capture import Capture, has_children, move_up
from .channel import Channel, ChannelClosed
from .streams import point_to_null

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
    workdir = os.path.abspath(os.environ.get(_PREFIX + "WORKDIR", "/workspace"))
    clean_environment()
    os.makedirs(workdir, exist_ok=True)
    os.chdir(workdir)
    serve(read_fd, write_fd, tools_dir, workdir)
    # Not by way of the interpreter's end, which waits for threads and may never come.
    os._exit(0)


def serve(read_fd: int, write_fd: int, tools_dir: str, workdir: str) -> None:
    """Run blocks for the host at the other end of the descriptors."""
    import adk_code_mode_sandbox._rpc_client as stubs

    channel = Channel(read_fd, write_fd)
    stubs.install(channel)
    tools_import.install(tools_dir)
    tools_import.publish(tools_import.find(tools_dir))
    _put_last(workdir)
    is_old = _has_old_host(tools_dir)
    capture = Capture(copy=is_old)

    def output_of(outcome: Outcome) -> bytes:
        out, err = capture.take()
        return session.output_frame(out, err, outcome.exit_code)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not is_old:
        channel.send(session.ready_frame(packages.installed()))
    # Python warns of forks where there are threads; ours holds no lock that a child could need.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    watcher = _thread.start_new_thread(_watch, (channel, time.sleep))
    capture.spared.add(watcher)
    session.Session(channel, capture, output_of, has_children).run()


def _watch(channel: Channel, sleep: Callable[[float], None]) -> None:
    """Look for an interrupt while the block is busy with something else than the channel.

    Where a signal comes with the interrupt, as in the local sandbox, nobody need look.
    """
    while True:
        sleep(_LOOK_EVERY)
        if channel.running:
            try:
                channel.beside(channel.read_available)
                channel.remind()
            except ChannelClosed:
                return


def _has_old_host(tools_dir: str) -> bool:
    """Whether the host is an ``adk-code-mode`` before 2.0, going by the tools that it has generated.

    Such a host refuses a ``ready`` of any version but its own, but needs none. The first ones take the
    output of blocks from the process's own.
    """
    try:
        with open(os.path.join(tools_dir, "__init__.py"), encoding="utf-8") as file:
            return "HTTPStatusError" not in file.read()
    except OSError:
        return False


def _connect() -> tuple[int, int]:
    environ = os.environ
    endpoint = environ.get(_PREFIX + "CONTROL_TCP")
    path = environ.get(_PREFIX + "CONTROL_SOCKET")
    if endpoint:
        host, _, port = endpoint.rpartition(":")
        connection = socket.create_connection((host.strip("[]"), int(port)))
        connection.settimeout(None)
        # Without it small frames wait for the peer's acknowledgement of the one before: 40 ms a block.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        token = environ.get(_PREFIX + "CONTROL_TOKEN", "")
        connection.sendall(token.encode("ascii") + b"\n")
        read_fd = write_fd = connection.detach()
    elif path:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(path)
        read_fd = write_fd = connection.detach()
    else:
        first, _, second = environ.get(_PREFIX + "CONTROL_FD", "3").partition(",")
        read_fd = int(first)
        write_fd = int(second) if second else read_fd
    is_one = read_fd == write_fd
    read_fd = move_up(read_fd)
    write_fd = read_fd if is_one else move_up(write_fd)
    for fd in (read_fd, write_fd):
        os.set_inheritable(fd, False)
        os.set_blocking(fd, True)
    # Programs that a block starts read the end of their input at once, and never the channel.
    point_to_null(0)
    for fd in (1, 2):
        try:
            os.fstat(fd)
        except OSError:
            point_to_null(fd)
    return read_fd, write_fd


def clean_environment() -> None:
    """Remove what model code should not see, also from where the kernel shows it."""
    for name in list(os.environ):
        if name not in _KEPT and not name.startswith("LC_"):
            del os.environ[name]
    # C code finds the rest where these copies are, and no longer in the block that is emptied.
    for name, value in list(os.environ.items()):
        os.environ[name] = value
    try:
        with open("/proc/self/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        begin, end = int(fields[47]), int(fields[48])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(begin)
            memory.write(bytes(end - begin))
    except (OSError, ValueError, IndexError):
        pass  # No Linux, or one that does not let a process see itself.


def _put_last(workdir: str) -> None:
    """Make modules of the workspace importable, behind all others."""
    sys.path[:] = [*(path for path in sys.path if path not in ("", workdir)), workdir]
