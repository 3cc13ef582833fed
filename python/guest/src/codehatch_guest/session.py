"""The guest's main loop: takes blocks from the host, runs them, and reports how they ended."""

from __future__ import annotations

from typing import Any, Callable

from .private import PRISTINE

__builtins__ = PRISTINE

import binascii
import os
import sys
from collections import deque

from . import blocks as blocks_module
from . import values
from .blocks import Blocks, Outcome
from .channel import Channel, ChannelClosed
from .results import ResultLimits
from .streams import Streams

_base64 = binascii.b2a_base64
_exit = os._exit
_getpid = os.getpid

PROTOCOL_VERSION = 4
EXTENSIONS = ("result", "image")

# Asks for a warm-up and is the answer to it: between the local runtime and this module only.
_WARM = b'{"kind":"warm"}\n'
_WARM_UP = """
class A:
    def f(self):
        return [i for i in range(3)]
try:
    A().g()
except AttributeError as error:
    text = f"{error!r:>10}"
import json
{"a": [1, 2.5, None, "b"], "n": len(A().f())}
"""

# After an interrupt: how long threads get to end, in seconds.
_THREAD_PATIENCE = 1.0
# How often a step may fail for reasons of the block's own, such as a signal handler that raises.
_MAX_FAILURES = 5


class Session:
    """One turn, from the guest's side.

    ``after_block`` gives frames that follow ``done`` at once. ``has_children`` says whether child processes
    are at work, where that matters.
    """

    def __init__(
        self,
        channel: Channel,
        streams: Streams,
        after_block: Callable[[Outcome], bytes] | None = None,
        has_children: Callable[[], bool] = lambda: False,
    ) -> None:
        self._channel = channel
        self._streams = streams
        self._after_block = after_block
        self._has_children = has_children
        self._owner = _getpid()
        self._count = 0
        self._is_busy = False
        self._blocks = Blocks(channel, streams.write_error)
        # What is left to do for the block that has run.
        self._steps: deque[Callable[[], None]] = deque()
        # How the block's end is told; kept until it is, since it cannot be made twice.
        self._last = b""
        # Integers of any size are values like others.
        lift_limit = getattr(sys, "set_int_max_str_digits", None)
        if lift_limit is not None:
            lift_limit(0)

    def attach(self) -> None:
        """Begin anew, in a fork of the process that made this."""
        self._owner = _getpid()
        self._count = 0
        self._steps.clear()
        self._blocks.forget()

    def run(self) -> None:
        """Serve the host until it says so or is gone."""
        failures = 0
        while failures < _MAX_FAILURES:
            try:
                while self._steps:
                    self._steps[0]()
                    self._steps.popleft()
                failures = 0
                frame = self._channel.next_frame()
                kind = frame.get("kind")
                if kind == "shutdown":
                    return
                if kind == "warm":
                    self._warm_up()
                else:
                    self._run_block(frame)
            except ChannelClosed:
                return
            except BaseException:
                # Something that a block has set up, such as a signal handler that raises, strikes here. The
                # host must still hear of the block's end.
                self._leave_child(1)
                failures += 1

    def _warm_up(self) -> None:
        """Run what every block runs, and leave no trace: a forked process finds its memory on first use."""
        limits = ResultLimits(EXTENSIONS)
        outcome = Outcome()
        self._streams.prepare(0, False)
        self._blocks.run(_WARM_UP, limits, outcome)
        self._streams.finish(0, set())
        done_frame(outcome.exit_code, False, outcome.result)
        self._blocks.forget()
        self._channel.send(_WARM)

    def _run_block(self, frame: dict[str, Any]) -> None:
        self._count += 1
        outcome = Outcome()
        # Should it not come to run, the host hears that it failed.
        outcome.exit_code = 1
        number = frame.get("block")
        self._steps.extend(
            (
                lambda: self._stop_work(outcome),
                lambda: self._send_images(outcome),
                lambda: self._send_done(outcome, number if type(number) is int else None),
            )
        )
        try:
            self._streams.prepare(self._count, self._blocks.has_tasks())
        except Exception as error:
            self._streams.write_error(f"[the block was not run: {error}]\n")
            return
        code = frame.get("code")
        limits = ResultLimits(frame.get("extensions"))
        self._blocks.run(code if isinstance(code, str) else "", limits, outcome)
        self._leave_child(outcome.exit_code)

    def _leave_child(self, exit_code: int) -> None:
        """If model code forked, and this is the child at the end of the block's code: end it."""
        if _getpid() != self._owner:
            self._streams.flush()
            _exit(exit_code & 0xFF)

    def _stop_work(self, outcome: Outcome) -> None:
        spared = self._streams.spared
        if outcome.interrupted:
            blocks_module.stop_threads(_THREAD_PATIENCE, spared, self._channel)
        threads = blocks_module.working_threads(spared)
        self._is_busy = bool(threads) or self._has_children()
        self._streams.finish(self._count, threads)

    def _send_images(self, outcome: Outcome) -> None:
        while outcome.images:
            self._channel.send(image_frame(*outcome.images[0]))
            del outcome.images[0]

    def _send_done(self, outcome: Outcome, number: int | None) -> None:
        if not self._last:
            self._last = done_frame(outcome.exit_code, self._is_busy, outcome.result, number)
            if self._after_block is not None:
                self._last += self._after_block(outcome)
        self._channel.send(self._last)
        self._last = b""


def ready_frame(
    packages: dict[str, dict[str, str]] | None = None,
    python_version: str | None = None,
    extensions: tuple[str, ...] = EXTENSIONS,
) -> bytes:
    """The frame that says which Python this is, what it speaks, and what can be imported."""
    if python_version is None:
        python_version = ".".join(str(part) for part in sys.version_info[:3])
    frame: dict[str, Any] = {
        "kind": "ready",
        "protocol_version": PROTOCOL_VERSION,
        "python_version": python_version,
        "packages": packages or {},
    }
    if extensions:
        frame["extensions"] = extensions
    return values.dumps(frame, "ready") + b"\n"


def done_frame(
    exit_code: int,
    background_work: bool,
    result: dict[str, Any] | None,
    block: int | None = None,
) -> bytes:
    """The frame that ends a block. ``result`` has a type and either JSON text or a text form.

    ``block`` is the host's number for it: a frame that the block's code has forged ends nothing else.
    """
    head = b'{"exit_code":%d,"background_work":%s,"kind":"done"' % (
        exit_code,
        b"true" if background_work else b"false",
    )
    if block is not None:
        head += b',"block":%d' % block
    if result is None:
        return head + b"}\n"
    kind = values.dumps(result["type"], "type")
    if "value" in result:
        return b'%s,"result":{"type":%s,"value":%s}}\n' % (head, kind, result["value"])
    text = values.dumps(result["repr"], "repr")
    return b'%s,"result":{"type":%s,"repr":%s}}\n' % (head, kind, text)


def image_frame(mime_type: str, data: bytes) -> bytes:
    """The frame of one image of a block."""
    return b'{"mime_type":%s,"data":"%s","kind":"image"}\n' % (
        values.dumps(mime_type, "mime_type"),
        _base64(data, newline=False),
    )


def output_frame(stdout: str, stderr: str, exit_code: int) -> bytes:
    """The frame with what a block has written, where no host reads the descriptors."""
    frame = {"stdout": stdout, "stderr": stderr, "exit_code": exit_code, "kind": "output"}
    return values.dumps(frame, "output") + b"\n"
