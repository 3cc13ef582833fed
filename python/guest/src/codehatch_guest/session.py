"""The guest's main loop: takes blocks from the host, runs them, and reports how they ended."""

from __future__ import annotations

from typing import Any, Callable

from .private import PRISTINE

__builtins__ = PRISTINE

import binascii
import os
import sys

from . import blocks as blocks_module
from . import values
from .blocks import Blocks, Outcome
from .channel import Channel, ChannelClosed
from .errors import BlockInterrupted
from .results import ResultLimits
from .streams import Streams

PROTOCOL_VERSION = 4
EXTENSIONS = ["result", "image"]

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


class Session:
    """One turn, from the guest's side."""

    def __init__(
        self,
        channel: Channel,
        streams: Streams,
        after_block: Callable[[Outcome], None] | None = None,
        background: Callable[[], bool] = blocks_module.other_threads,
        spared: set[int] | None = None,
    ) -> None:
        self._channel = channel
        self._streams = streams
        self._after_block = after_block
        self._background = background
        self._spared = spared or set()
        self._owner = os.getpid()
        self._count = 0
        self._blocks = Blocks(channel, streams.write_error)

    def run(self) -> None:
        """Serve the host until it says so or is gone."""
        while True:
            try:
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
            except BlockInterrupted:
                # It came so late that the block had ended; the host was told so, or will time out.
                self._channel.end_block()

    def _warm_up(self) -> None:
        """Run what every block runs, and leave no trace: a forked process finds its memory on first use."""
        limits = ResultLimits(EXTENSIONS)
        self._streams.prepare(0)
        outcome = self._blocks.run(_WARM_UP, limits)
        self._streams.finish(0)
        _done_frame(outcome, self._background())
        self._blocks.forget()
        self._channel.send(_WARM)

    def _run_block(self, frame: dict[str, Any]) -> None:
        self._count += 1
        self._streams.prepare(self._count)
        limits = ResultLimits(frame.get("extensions"))
        code = frame.get("code")
        outcome = self._blocks.run(code if isinstance(code, str) else "", limits)
        if os.getpid() != self._owner:
            # Model code forked, and this is the child at the end of the block's code.
            self._streams.flush()
            os._exit(outcome.exit_code & 0xFF)
        background = self._background()
        if outcome.interrupted and background:
            blocks_module.stop_threads(_THREAD_PATIENCE, self._background, self._spared)
            background = self._background()
        self._streams.finish(self._count)
        for mime_type, data in outcome.images:
            self._channel.send(_image_frame(mime_type, data))
        self._channel.send(_done_frame(outcome, background))
        if self._after_block is not None:
            self._after_block(outcome)


def ready_frame(packages: dict[str, dict[str, str]] | None = None) -> bytes:
    """The frame that says which Python this is, what it speaks, and what can be imported."""
    frame = {
        "kind": "ready",
        "protocol_version": PROTOCOL_VERSION,
        "python_version": ".".join(str(part) for part in sys.version_info[:3]),
        "packages": packages or {},
        "extensions": EXTENSIONS,
    }
    return values.dumps(frame, "ready") + b"\n"


def _done_frame(outcome: Outcome, background: bool) -> bytes:
    head = b'{"kind":"done","exit_code":%d,"background_work":%s' % (
        outcome.exit_code,
        b"true" if background else b"false",
    )
    result = outcome.result
    if result is None:
        return head + b"}\n"
    kind = values.dumps(result["type"], "type")
    if "value" in result:
        return b'%s,"result":{"type":%s,"value":%s}}\n' % (head, kind, result["value"])
    return b'%s,"result":{"type":%s,"repr":%s}}\n' % (
        head,
        kind,
        values.dumps(result["repr"], "repr"),
    )


def _image_frame(mime_type: str, data: bytes) -> bytes:
    return b'{"kind":"image","mime_type":%s,"data":"%s"}\n' % (
        values.dumps(mime_type, "mime_type"),
        binascii.b2a_base64(data, newline=False),
    )
