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
    """Load, rehearse, and fork sessions until the host is gone. Returns in no process."""
    import gc
    import os

    preload = sys.argv[1:]
    sys.argv = [""]
    filter_path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "filter.bin")
    with open(filter_path, "rb") as file:
        program = file.read()

    import _socket

    import _codehatch_session  # ty: ignore[import-not-found] # made at build

    import adk_code_mode_sandbox._rpc_client as stubs

    from . import rehearsal, tools_import
    from .channel import Channel
    from .session import Session, ready_frame
    from .streams import Streams

    for name in (*_PRELOAD, *preload):
        __import__(name)
    tools_import.install("/tools")
    # Behind everything else: files of the workspace never take the place of a standard module.
    sys.path.append("/workspace")
    # All that a session has is made here, once.
    channel = Channel(-1, -1)
    streams = Streams()
    session = Session(channel, streams)
    stubs.install(channel)
    rehearsal.rehearse(channel, streams, session)
    ready = ready_frame()
    _refuse_shared_memory()
    os.write(_CONTROL, b"ready")
    trees: dict[int, tools_import.Tree] = {}
    while True:
        gc.collect()
        gc.freeze()
        served = _codehatch_session.serve(_CONTROL, program)
        if served is None:
            os._exit(0)
        control, number, slot = served
        if control >= 0:
            break
        # The host has filled a slot with a tools tree.
        trees.pop(slot, None)
        trees[slot] = tools_import.read_ahead(f"/run/tools/{slot}", "/tools")
    # In a session: everything is isolated, and model code may come.
    try:
        _attach(control, number, _socket, channel, streams)
        session.attach()
        tools_import.publish(trees.get(slot))
        channel.send(ready)
        session.run()
    finally:
        os._exit(0)


def _attach(control: int, number: int, _socket: Any, channel: Any, streams: Any) -> None:
    """Point the channel and the streams at the session's descriptors."""
    import os

    # The abstract socket of the session's init, which hands descriptors out again.
    init = f"\0codehatch-{number}"

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

    channel.attach(control, restore_control)
    streams.attach(restore_streams)


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
