"""The guest's end of the control channel: frames out, frames in, and who waits for what.

There is no reader thread. The thread that waits for an answer reads the channel itself; when several
wait, one of them reads for all and hands the task on when it has its own answer.
"""

from __future__ import annotations

from typing import Any, Callable

from .private import PRISTINE

__builtins__ = PRISTINE

import _thread
import errno
import itertools
import json.decoder
import os
import select
import signal
from collections import deque

from . import values
from .errors import BlockInterrupted, HTTPStatusError, ToolError

# The C scanner itself: the decoder around it is Python code, which breaks with rebound builtins.
_scan: Callable[[str, int], tuple[Any, int]] = json.decoder.JSONDecoder().scan_once
_get_ident = _thread.get_ident
_allocate_lock = _thread.allocate_lock
_getpid = os.getpid
_read = os.read
_write = os.write
_poll = select.poll
_READABLE = select.POLLIN
_CLOSED = select.POLLNVAL

# Bytes asked for in one read: small at first, since the room is set aside before it is filled.
_MIN_CHUNK = 1 << 15
_MAX_CHUNK = 1 << 20


class ChannelClosed(Exception):
    """The host is gone."""


class _Waiter:
    """One thread, or one coroutine, that waits for the answer to a call."""

    __slots__ = ("answer", "blocked", "lock", "on_answer")

    def __init__(self, on_answer: Callable[[], None] | None = None) -> None:
        self.answer: dict[str, Any] | None = None
        self.blocked = False
        self.lock: Any = None
        self.on_answer = on_answer

    def wake(self) -> None:
        if self.on_answer is not None:
            self.on_answer()
        elif self.lock is not None:
            try:
                self.lock.release()
            except RuntimeError:
                pass  # Already awake.


class Channel:
    """Frames over a pair of descriptors, which may be one."""

    def __init__(
        self, read_fd: int, write_fd: int, recover: Callable[[], int] | None = None
    ) -> None:
        self.read_fd = read_fd
        self._write_fd = write_fd
        self._recover = recover
        self._owner = _getpid()
        self._main = _get_ident()
        self._buffer: list[bytes] = []
        self._frames: deque[dict[str, Any]] = deque()
        self._waiters: dict[str, _Waiter] = {}
        self._reading = _allocate_lock()
        self._writing = _allocate_lock()
        self._ids = itertools.count(1)
        self._chunk = _MIN_CHUNK
        self._closed = False
        self._poll = _poll()
        self._poll.register(read_fd, _READABLE)
        # While the main thread is in code that must not be torn apart, an interrupt waits.
        self._busy = 0
        self._interrupted = False
        self.running = False
        self.interrupt_message = ""

    # Interrupts. The signal handler runs in the main thread, between any two of its bytecodes.

    def on_signal(self, *_: object) -> None:
        """Raise in the running block, as soon as no frame is half sent or half read."""
        if self._owner != _getpid() or not self.running:
            return
        if self._busy:
            self._interrupted = True
            return
        try:
            # The host has said why, just before it sent the signal.
            self.read_available()
        except ChannelClosed:
            pass
        self._raise_interrupt()

    def _raise_interrupt(self) -> None:
        self._interrupted = False
        raise BlockInterrupted(self.interrupt_message or "stopped by the host")

    def _enter(self) -> bool:
        main = _get_ident() == self._main
        if main:
            self._busy += 1
        return main

    def _leave(self, main: bool) -> None:
        if main:
            self._busy -= 1
            if self._interrupted and not self._busy and self.running:
                self._raise_interrupt()

    def start_block(self) -> None:
        self.interrupt_message = ""
        self._interrupted = False
        self.running = True

    def end_block(self) -> None:
        self.running = False
        self._interrupted = False

    # Sending.

    def send(self, frame: bytes) -> None:
        """Send one frame, whole, whichever thread it comes from."""
        main = self._enter()
        try:
            with self._writing:
                view = memoryview(frame)
                while view:
                    try:
                        view = view[_write(self._write_fd, view) :]
                    except OSError as error:
                        self._restore(error)
        finally:
            self._leave(main)

    def _restore(self, error: OSError) -> None:
        """After model code has closed the channel's descriptor: get it back, or give up."""
        if error.errno == errno.EBADF and self._recover is not None:
            self.read_fd = self._write_fd = self._recover()
            self._poll = _poll()
            self._poll.register(self.read_fd, _READABLE)
            return
        self._closed = True
        raise ChannelClosed("the host is gone") from None

    # Receiving.

    def next_frame(self) -> dict[str, Any]:
        """The next frame that is no answer to a call. For the main thread, between blocks."""
        waiter = _Waiter()
        self._waiters["main"] = waiter
        try:
            while not self._frames:
                self._wait_once(waiter, lambda: bool(self._frames))
            return self._frames.popleft()
        finally:
            self._waiters.pop("main", None)

    def call(self, name: str, args: dict[str, Any], timeout: float | None = None) -> Any:
        """Call a tool on the host and wait for its result."""
        waiter = _Waiter()
        call_id = self._start_call(name, args, timeout, waiter)
        try:
            while waiter.answer is None:
                self._wait_once(waiter, lambda: waiter.answer is not None)
        finally:
            self._waiters.pop(call_id, None)
            if waiter.blocked:
                # This thread may just have been asked to read for the others.
                self._hand_on()
        return _result(waiter.answer, name)

    def start_async_call(
        self, name: str, args: dict[str, Any], on_answer: Callable[[], None]
    ) -> tuple[str, _Waiter]:
        """Call a tool without waiting; ``on_answer`` is called from whichever thread reads the answer."""
        waiter = _Waiter(on_answer)
        return self._start_call(name, args, None, waiter), waiter

    def finish_async_call(self, call_id: str, waiter: _Waiter, name: str) -> Any:
        self._waiters.pop(call_id, None)
        if waiter.answer is None:
            return None
        return _result(waiter.answer, name)

    def read_available(self) -> None:
        """Read what has arrived, unless another thread does; never waits."""
        if self._reading.acquire(False):
            try:
                if self._poll.poll(0):
                    self._read_chunk()
            finally:
                self._reading.release()

    def _start_call(
        self, name: str, args: dict[str, Any], timeout: float | None, waiter: _Waiter
    ) -> str:
        if _getpid() != self._owner:
            raise RuntimeError(
                f"tool {name!r} was called from a forked process; call tools from the process that "
                "runs the block, for example through threads"
            )
        if self._closed:
            raise ChannelClosed("the host is gone")
        body = values.dumps(args, name.rpartition(".")[2])
        call_id = str(next(self._ids))
        self._waiters[call_id] = waiter
        head = b'{"kind":"tool_call","id":"%s","name":%s,"args":' % (
            call_id.encode(),
            values.dumps(str(name), "name"),
        )
        limit = b"null" if timeout is None else values.dumps(timeout, "timeout")
        try:
            self.send(b"".join((head, body, b',"timeout":', limit, b"}\n")))
        except BaseException:
            self._waiters.pop(call_id, None)
            raise
        return call_id

    def _wait_once(self, waiter: _Waiter, done: Callable[[], bool]) -> None:
        waiter.blocked = True
        if self._reading.acquire(False):
            try:
                while not done():
                    # Waiting may be interrupted; reading may not, or bytes would be lost.
                    self._wait_readable()
                    self._read_chunk()
            finally:
                waiter.blocked = False
                self._reading.release()
                self._hand_on()
        else:
            if waiter.lock is None:
                waiter.lock = _allocate_lock()
                waiter.lock.acquire()
                # The reader may have looked for a lock before there was one.
                if done() or not self._reading.locked():
                    return
            waiter.lock.acquire()

    def _hand_on(self) -> None:
        """Wake one thread that still waits, to read for the others."""
        for waiter in list(self._waiters.values()):
            if waiter.answer is None and waiter.blocked and waiter.lock is not None:
                waiter.wake()
                return

    def _wait_readable(self) -> None:
        while True:
            for _, events in self._poll.poll():
                if not events & _CLOSED:
                    return
                self._restore(OSError(errno.EBADF, "closed"))

    def _read_chunk(self) -> None:
        main = self._enter()
        try:
            try:
                chunk = _read(self.read_fd, self._chunk)
            except OSError as error:
                self._restore(error)
                return
            if not chunk:
                self._closed = True
                self._fail_all()
                raise ChannelClosed("the host is gone")
            full = len(chunk) == self._chunk
            self._chunk = min(self._chunk * 2, _MAX_CHUNK) if full else _MIN_CHUNK
            *lines, rest = chunk.split(b"\n")
            if lines:
                self._buffer.append(lines[0])
                lines[0] = b"".join(self._buffer)
                self._buffer.clear()
            if rest:
                self._buffer.append(rest)
            for line in lines:
                self._accept(line)
        finally:
            self._leave(main)

    def _accept(self, line: bytes) -> None:
        """Take one line from the host. What is not understood is skipped: a newer host may say more."""
        if not line.strip():
            return
        try:
            frame, _ = _scan(line.decode().lstrip(), 0)
        except (ValueError, RecursionError, StopIteration):
            return
        if not isinstance(frame, dict):
            return
        kind = frame.get("kind")
        if kind == "tool_result":
            waiter = self._waiters.get(frame.get("id"))
            if waiter is not None and waiter.answer is None:
                waiter.answer = frame
                waiter.wake()
        elif kind == "interrupt":
            self.interrupt_message = str(frame.get("message") or "")
            self._on_interrupt_frame()
        elif kind in ("run", "shutdown", "warm"):
            self._frames.append(frame)
            main = self._waiters.get("main")
            if main is not None:
                main.wake()

    def _on_interrupt_frame(self) -> None:
        """Stop the block now, without waiting for the signal that most hosts send as well."""
        if not self.running:
            return
        if _get_ident() == self._main:
            self._interrupted = True  # Raised when this frame has been dealt with.
        else:
            os.kill(self._owner, signal.SIGINT)

    def _fail_all(self) -> None:
        lost = {"ok": False, "error": {"type": "ConnectionError", "message": "the host is gone"}}
        for waiter in list(self._waiters.values()):
            waiter.answer = lost
            waiter.wake()


def _result(answer: dict[str, Any], tool: str) -> Any:
    """The value of an answer, or its error as an exception."""
    if answer.get("ok"):
        return answer.get("value")
    error = answer.get("error")
    if not isinstance(error, dict):
        raise ToolError("Error", "the tool call failed without saying why", tool=tool)
    kind = str(error.get("type") or "Error")
    message = str(error.get("message") or "")
    status = error.get("status_code")
    if kind == "HTTPStatusError" and isinstance(status, int):
        raise HTTPStatusError(message, status, error.get("body"), tool=tool)
    trace = error.get("trace")
    raise ToolError(kind, message, trace if isinstance(trace, str) else None, tool=tool)
