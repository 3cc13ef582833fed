"""Before the first session: runs whole blocks in the zygote.

A session is a fork. Whatever it does for the first time costs every session anew, and most of that is
memory that it writes to, which the kernel has to copy page by page.
"""

from __future__ import annotations

import os
import signal
from typing import Any

# What blocks do most.
_PROGRAMS = (
    "x = 1",
    "print('a', 1, [2.5, None])",
    "import json, re\njson.loads(json.dumps({'a': [1, 'b', 2.5, None, True]}))",
    "class A:\n    def f(self, *a, **k):\n        return {i: f'{i!r:>3}' for i in range(3)}\nsorted(A().f())",
    "from adk_code_mode_sandbox._rpc_client import call\nassert call('a.b', {'v': 7}) == {'v': 7}",
    "[call('a.b', {'v': [i, 'text']})['v'] for i in range(3)]",
    "try:\n    [][1]\nexcept IndexError as error:\n    print(error)\nfor i in range(9):\n    pass",
    "def f():\n    return 1 / 0\nf()",
)
# More than the interpreter takes to specialize the code that it runs, which is a write to it.
_ROUNDS = 12


def rehearse(channel: Any, streams: Any, session: Any) -> None:
    """Run whole blocks, as a host would have them run, and leave no trace."""
    if not _perform(channel, streams, session, _PROGRAMS * _ROUNDS):
        raise RuntimeError(
            "the guest does not work with this interpreter: blocks did not end as they should"
        )
    # A signal that comes before the first block means nothing.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _perform(channel: Any, streams: Any, session: Any, programs: tuple[str, ...]) -> bool:
    """Run blocks over a channel to a host in a process of its own."""
    import socket

    here, there = socket.socketpair()
    host = os.fork()
    if host == 0:
        try:
            here.close()
            os._exit(_be_host(there, programs))
        finally:
            os._exit(1)
    there.close()
    # What they print is for nobody, and must not get into the log.
    kept = [os.dup(fd) for fd in (1, 2)]
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (1, 2):
        os.dup2(null, fd)
    streams.attach(lambda: None)
    channel.attach(here.fileno(), lambda: -1)
    session.run()
    for fd, saved in zip((1, 2), kept):
        os.dup2(saved, fd)
        os.close(saved)
    os.close(null)
    here.close()
    _, status = os.waitpid(host, 0)
    return status == 0


def _be_host(there: Any, programs: tuple[str, ...]) -> int:
    """The host of the rehearsal: 0 if every block has ended as it should."""
    import json

    frames = there.makefile("rwb")

    def send(**frame: Any) -> None:
        frames.write(json.dumps(frame).encode() + b"\n")
        frames.flush()

    for code in programs:
        send(kind="run", code=code, extensions=["result", "image"], block=1)
        while True:
            frame = json.loads(frames.readline())
            if frame["kind"] == "tool_call":
                send(kind="tool_result", id=frame["id"], ok=True, value=frame["args"])
            elif frame["kind"] == "done":
                break
        if frame["exit_code"] != int("1 / 0" in code):
            return 1
    send(kind="shutdown")
    return 0
