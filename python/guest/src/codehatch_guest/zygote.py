"""Life in the local sandbox: the zygote loads everything once, and every session is a fork of it."""

from __future__ import annotations

import sys
from typing import Any

# The control socket towards the host; the number is fixed by the launcher.
_CONTROL = 3
# What programs use most and is cheap to hold: a session finds it loaded.
_PRELOAD = (
    "base64",
    "collections",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "functools",
    "hashlib",
    "heapq",
    "inspect",
    "itertools",
    "json",
    "math",
    "pathlib",
    "random",
    "re",
    "statistics",
    "string",
    "textwrap",
    "threading",
    "typing",
    "urllib.parse",
)


def main() -> None:
    """Load, warm up, and fork sessions until the host is gone. Returns in no process."""
    import gc
    import os

    preload = sys.argv[1:]
    sys.argv = [""]
    filter_path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "filter.bin")
    with open(filter_path, "rb") as file:
        program = file.read()

    import _socket

    import _codehatch_session  # ty: ignore[import-not-found] # the launcher builds it in

    import adk_code_mode_sandbox._rpc_client as stubs

    from . import session, tools_import
    from .blocks import Blocks, Outcome
    from .channel import Channel
    from .results import ResultLimits
    from .streams import Streams

    for name in (*_PRELOAD, *preload):
        __import__(name)
    tools_import.install("/tools")
    # Behind everything else: files of the workspace never take the place of a standard module.
    sys.path.append("/workspace")
    _warm_up(Blocks, Outcome, Channel, ResultLimits)
    _refuse_shared_memory()
    gc.collect()
    gc.freeze()
    os.write(_CONTROL, b"ready")
    session_of = _codehatch_session.serve(_CONTROL, program)
    if session_of is None:
        os._exit(0)
    control, number = session_of
    # The abstract socket of the session's init, which hands descriptors out again.
    init = f"\0codehatch-{number}"
    try:
        _run_session(control, init, _socket, session, Channel, Streams, stubs)
    finally:
        os._exit(0)


def _run_session(
    control: int, init: str, _socket: Any, session: Any, Channel: Any, Streams: Any, stubs: Any
) -> None:
    """In a session: everything is isolated, and model code may come."""
    import os

    from . import tools_import

    def restore_control() -> int:
        fd, out, err = _descriptors_from_init(init, _socket)
        os.close(out)
        os.close(err)
        return _move_up(fd)

    def restore_streams() -> None:
        fd, out, err = _descriptors_from_init(init, _socket)
        os.close(fd)
        for target, source in ((1, out), (2, err)):
            if source != target:
                os.dup2(source, target)
                os.close(source)

    channel = Channel(control, control, restore_control)
    stubs.install(channel)
    streams = Streams(restore_streams)
    tools_import.publish("/tools")
    channel.send(session.ready_frame())
    session.Session(channel, streams).run()


def _descriptors_from_init(init: str, _socket: Any) -> list[int]:
    """Control socket, stdout and stderr again, after model code has closed them."""
    import struct

    with_init = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        with_init.connect(init)
        _, ancillary, _, _ = with_init.recvmsg(1, _socket.CMSG_SPACE(12))
    finally:
        with_init.close()
    for level, kind, data in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            return list(struct.unpack("3i", data[:12]))
    raise OSError("the session's init gave no descriptors")


def _move_up(fd: int) -> int:
    """Give ``fd`` a number near the limit, which code that opens files is unlikely to get next."""
    import fcntl
    import os
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, limit - 16)
    os.close(fd)
    return moved


def _warm_up(Blocks: Any, Outcome: Any, Channel: Any, ResultLimits: Any) -> None:
    """Run what every session runs, so that its memory is in place before the fork."""
    import signal

    reports: list[str] = []
    blocks = Blocks(Channel(_CONTROL, _CONTROL), reports.append)
    limits = ResultLimits(["result"])
    for code in ("def f(x):\n    return [x for x in range(x)]\nf(3)", "await_ = 1\n1 / 0", "("):
        blocks.run(code, limits, Outcome())
    if len(reports) != 2:
        raise RuntimeError(f"the guest does not work with this interpreter: {reports}")
    # A signal that comes before the first block means nothing.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _refuse_shared_memory() -> None:
    """Sessions must not share memory that they can write: libffi's closures would be such."""
    with open("/proc/self/maps") as maps:
        shared = [
            line for line in maps if line.split()[1].startswith("rw") and "s" in line.split()[1]
        ]
    if shared:
        raise RuntimeError(
            f"a preloaded module has mapped shared writable memory: {shared[0].strip()}"
        )
