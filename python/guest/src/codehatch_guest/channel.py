"""The guest's end of the control channel: frames out, frames in, and who waits for what.

There is no reader thread. The thread that waits for an answer reads the channel itself; when several
wait, one of them reads for all and hands the task on when it has its own answer.

Three things could tear the code here apart between any two of its steps, and may not: the host's
interrupt, which is a signal to the main thread and is never raised in this file but where it says so; the
exception that stops another thread, which is raised only in threads that are not in this file
(``gate``); and the end of the interpreter's stack, which is looked for before anything is sent.
"""

from __future__ import annotations

from typing import Any, Callable, NoReturn

from .private import PRISTINE

__builtins__ = PRISTINE

import _thread
import errno
import itertools
import json.decoder
import os
import re
import select
import signal
import sys
from collections import deque

from . import values
from .errors import BlockInterrupted, HTTPStatusError, ToolError

# The C scanner itself: the decoder around it is Python code, which breaks with rebound builtins.
_scan: Callable[[str, int], tuple[Any, int]] = vars(json.decoder.JSONDecoder())["scan_once"]
# Bound now, since model code may put something else into their modules.
_allocate_lock = _thread.allocate_lock
_exit = os._exit
_get_ident = _thread.get_ident
_getpid = os.getpid
_kill = os.kill
_poll = select.poll
_read = os.read
_write = os.write
_get_depth = sys.getrecursionlimit
_set_depth = sys.setrecursionlimit
_SIGINT = int(signal.SIGINT)
_READABLE = select.POLLIN
_WRITABLE = select.POLLOUT
_THIS_FILE = (lambda: 0).__code__.co_filename

# Bytes asked for in one read: small at first, since the room is set aside before it is filled.
_MIN_CHUNK = 1 << 12
_MAX_CHUNK = 1 << 20
# Levels of the stack that a call may need beyond its caller's.
_HEADROOM = 20
# Levels more that one answer may be nested, where the interpreter counts them.
_MORE_DEPTH = 3000
# Where the id of an answer stands that cannot be read as a whole.
_ID = re.compile(rb'"id"\s*:\s*"([^"\\]{1,64})"').search
_ID_WITHIN = 300


class ChannelClosed(Exception):
    """The host is gone."""


class _Waiter:
    """One thread, or one coroutine, that waits for the answer to a call."""

    __slots__ = ("answer", "lock", "on_answer", "stops")

    def __init__(self, stops: bool = False, on_answer: Callable[[], None] | None = None) -> None:
        self.answer: dict[str, Any] | None = None
        self.lock: Any = None
        self.on_answer = on_answer
        # Whether the wait ends when the block is to stop.
        self.stops = stops

    def wake(self) -> None:
        try:
            if self.on_answer is not None:
                self.on_answer()
            elif self.lock is not None:
                self.lock.release()
        except Exception:
            pass  # Already awake; or its event loop is closed, and nobody waits any more.


class Channel:
    """Frames over a pair of descriptors, which may be one.

    ``recover`` opens the channel again, as one descriptor, after model code has closed it.
    """

    def __init__(
        self, read_fd: int, write_fd: int, recover: Callable[[], int] | None = None
    ) -> None:
        self.read_fd = read_fd
        self._write_fd = write_fd
        self._recover = recover
        self._owner = _getpid()
        self._main = _get_ident()
        self._ids = itertools.count(1)
        self._closed = False
        # Received: the parts of a line that has not ended, and blocks that were not taken yet.
        self._parts: list[bytes] = []
        self._frames: deque[dict[str, Any]] = deque()
        self._chunk = _MIN_CHUNK
        # A frame was left half sent.
        self._torn = False
        self._reading = _allocate_lock()
        self._writing = _allocate_lock()
        self._waiters: dict[str, _Waiter] = {}
        # The main thread, between blocks; and while another thread reads for it.
        self._idle: _Waiter | None = None
        self._follower: _Waiter | None = None
        # Whoever raises an exception in other threads holds the gate, and spares those inside.
        self.gate = _allocate_lock()
        self.inside: set[int] = set()
        # A block was taken and is not over; its code runs; the host wants it to stop.
        self._current = False
        self.running = False
        self._asked = False
        self.interrupt_message = ""
        # The main thread should look whether it has to stop.
        self.attention = False

    def attach(self, fd: int, recover: Callable[[], int]) -> None:
        """Go on over another descriptor, in a fork of its process, as if nothing had been said."""
        self.read_fd = self._write_fd = fd
        self._recover = recover
        self._owner = _getpid()
        self._ids = itertools.count(1)
        self._closed = False

    # Interrupts. The host's frame says that the block is to stop; a signal only says that there is one.

    def on_signal(self, _number: int = 0, frame: Any = None) -> None:
        """Stop the block, if the host has asked for it. Runs in the main thread, between any two steps."""
        if not self._current or self._owner != _getpid():
            return
        # The block may be at the end of its stack.
        depth = _get_depth()
        _set_depth(depth + _HEADROOM)
        try:
            if not self._asked:
                self.read_available()
            if frame is None or frame.f_code.co_filename != _THIS_FILE:
                self.attend()
            else:
                # Looked at before the code here returns.
                self.attention = True
                if self._follower is not None:
                    self._follower.wake()
        finally:
            try:
                _set_depth(depth)
            except RecursionError:
                pass  # Too deep in it to set it now; a little more does no harm.

    def attend(self) -> None:
        """Raise in the main thread if the running block is to stop."""
        self.attention = False
        if not self._asked:
            self.read_available()
        if self._asked:
            if self.running:
                self._asked = self.attention = False
                raise BlockInterrupted(self.interrupt_message or "stopped by the host")
            self.attention = True

    def remind(self) -> None:
        """Signal again to a main thread that could not stop. For another thread."""
        if self._asked and self.running:
            _kill(self._owner, _SIGINT)

    def guard(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call ``function``, in which a block runs from when it sets ``running`` until it returns."""
        try:
            return function(*args)
        finally:
            self._current = self.running = self._asked = self.attention = False

    def _on_interrupt(self, frame: dict[str, Any]) -> None:
        # Between blocks it means the one before, which was faster; but not if the next one has arrived.
        if not self._current and not self._frames:
            return
        self.interrupt_message = str(frame.get("message") or "")
        self._asked = self.attention = True
        if self._current and _get_ident() != self._main:
            _kill(self._owner, _SIGINT)

    # Sending.

    def send(self, frame: bytes) -> None:
        """Send one frame, whole, whichever thread it comes from."""
        if self._closed:
            raise ChannelClosed("the host is gone")
        with self._writing:
            rest: Any = b"\n" + frame if self._torn else frame
            self._torn = True
            while True:
                try:
                    sent = _write(self._write_fd, rest)
                except OSError as error:
                    self._mend(error, self._write_fd, _WRITABLE)
                    continue
                if sent == len(rest):
                    break
                rest = memoryview(rest)[sent:]
            # Not so after an exception: a signal handler of the model's own may raise one. The end of the
            # line then tells the host where the next frame begins.
            self._torn = False

    def _mend(self, error: OSError, fd: int, event: int) -> None:
        """After an error of the descriptor: try again, or give up."""
        trace = error.__traceback__
        if trace is not None and trace.tb_next is not None:
            # Not of the system call, but of a signal handler of the model's own: a timeout, most often.
            raise error
        if error.errno in (errno.EAGAIN, errno.EWOULDBLOCK):
            # Model code has made it non-blocking.
            waiting = _poll()
            waiting.register(fd, event)
            waiting.poll()
            return
        if error.errno == errno.EBADF and self._recover is not None:
            try:
                self.read_fd = self._write_fd = self._recover()
            except OSError:
                self._lose()
            return
        self._lose()

    def _lose(self) -> NoReturn:
        self._closed = True
        if self._current:
            # The host is gone in the middle of a block: nobody wants its effects any more.
            _exit(1)
        lost = {"ok": False, "error": {"type": "ConnectionError", "message": "the host is gone"}}
        for waiter in (*self._waiters.values(), self._idle):
            if waiter is not None:
                waiter.answer = lost
                waiter.wake()
        raise ChannelClosed("the host is gone")

    # Receiving.

    def next_frame(self) -> dict[str, Any]:
        """The next block, or the end. For the main thread, between blocks."""
        waiter = self._idle = _Waiter()
        try:
            while not self._frames:
                if self._closed:
                    raise ChannelClosed("the host is gone")
                self._wait(waiter)
                waiter.answer = None
            self._current = True
            return self._frames.popleft()
        finally:
            self._idle = None
            if waiter.lock is not None:
                # This thread may just have been asked to read for the others.
                self._hand_on()

    def call(self, name: str, args: dict[str, Any], timeout: float | None = None) -> Any:
        """Call a tool on the host and wait for its result.

        :raises ToolError: if the tool fails.
        :raises TypeError: if an argument has no JSON form.
        """
        _look_down(_HEADROOM)
        call_id, frame = self._prepare(name, args, timeout)
        if _get_ident() == self._main:
            answer = self._ask(call_id, frame, self.running)
        else:
            answer = self.beside(self._ask, call_id, frame, False)
        return _result(answer, name)

    def _ask(self, call_id: str, frame: bytes, stops: bool) -> dict[str, Any]:
        waiter = self._waiters[call_id] = _Waiter(stops)
        try:
            self.send(frame)
            while True:
                self._wait(waiter)
                if stops and self.attention:
                    self.attend()
                if waiter.answer is not None:
                    return waiter.answer
        finally:
            self._waiters.pop(call_id, None)
            if waiter.lock is not None:
                self._hand_on()

    def start_async_call(
        self, name: str, args: dict[str, Any], on_answer: Callable[[], None]
    ) -> tuple[str, _Waiter]:
        """Call a tool without waiting; ``on_answer`` is called from whichever thread reads the answer."""
        _look_down(_HEADROOM)
        call_id, frame = self._prepare(name, args, None)
        waiter = self._waiters[call_id] = _Waiter(on_answer=on_answer)
        try:
            if _get_ident() == self._main:
                self.send(frame)
                if self.attention:
                    self.attend()
            else:
                self.beside(self.send, frame)
        except BaseException:
            self._waiters.pop(call_id, None)
            raise
        return call_id, waiter

    def forget(self, call_id: str) -> None:
        """Nobody waits for the call's answer any more."""
        self._waiters.pop(call_id, None)

    def result_of(self, waiter: _Waiter, name: str) -> Any:
        """The result of a call whose answer has come."""
        return _result(waiter.answer or {}, name)

    def beside(self, function: Callable[..., Any], *args: Any) -> Any:
        """Take a step in another thread than the main one, which may be stopped before it or after it."""
        ident = _get_ident()
        try:
            with self.gate:
                self.inside.add(ident)
            return function(*args)
        finally:
            self.inside.discard(ident)

    def is_main(self) -> bool:
        """Whether this is the thread that runs blocks."""
        return _get_ident() == self._main

    def read_available(self) -> None:
        """Read what has arrived, unless another thread does; never waits."""
        if not self._reading.acquire(False):
            return
        try:
            while self._is_readable():
                self._read_chunk()
        finally:
            self._reading.release()
            self._hand_on()

    def _is_readable(self) -> bool:
        waiting = _poll()
        waiting.register(self.read_fd, _READABLE)
        return bool(waiting.poll(0))

    def _prepare(self, name: str, args: dict[str, Any], timeout: float | None) -> tuple[str, bytes]:
        if _getpid() != self._owner:
            raise RuntimeError(
                f"tool {name!r} was called from a forked process; call tools from the process that "
                "runs the block, for example through threads"
            )
        call_id = str(next(self._ids))
        return call_id, call_frame(call_id, name, args, timeout)

    def _wait(self, waiter: _Waiter) -> None:
        """Wait for the answer, reading for all if nobody does. In the main thread it may return early."""
        reading = self._reading
        while waiter.answer is None:
            if reading.acquire(False):
                try:
                    while waiter.answer is None and not (waiter.stops and self.attention):
                        self._read_chunk()
                finally:
                    reading.release()
                    if len(self._waiters) > 1 or self._idle is not None:
                        self._hand_on()
            else:
                self._follow(waiter)
            if waiter.stops and self.attention:
                return

    def _follow(self, waiter: _Waiter) -> None:
        """Wait while another thread reads."""
        if waiter.lock is None:
            waiter.lock = _allocate_lock()
            waiter.lock.acquire()
            # The reader may have looked for a lock before there was one.
            if waiter.answer is not None or not self._reading.locked():
                return
        if _get_ident() != self._main:
            waiter.lock.acquire()
            return
        with self.gate:
            # An exception of the model's own signal handler can leave the lock behind.
            if not self.inside and self._reading.locked():
                self._reading.release()
                return
        self._follower = waiter
        try:
            if not (waiter.stops and self.attention):
                waiter.lock.acquire()
        finally:
            self._follower = None

    def _hand_on(self) -> None:
        """Wake one thread that still waits, to read for the others."""
        for waiter in (*self._waiters.values(), self._idle):
            if waiter is not None and waiter.answer is None and waiter.lock is not None:
                waiter.wake()
                return

    def _read_chunk(self) -> None:
        """Read once, and take the lines that are complete. Needs the lock for reading."""
        try:
            chunk = _read(self.read_fd, self._chunk)
        except OSError as error:
            self._mend(error, self.read_fd, _READABLE)
            return
        if not chunk:
            self._lose()
        if len(chunk) == self._chunk:
            self._chunk = min(self._chunk * 2, _MAX_CHUNK)
        elif self._chunk > _MIN_CHUNK:
            self._chunk //= 2
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and self._parts:
            self._parts.append(lines[0])
            parts, self._parts = self._parts, []
            try:
                lines[0] = b"".join(parts)
            except MemoryError as error:
                lines[0] = b""
                self._refuse(parts[0], error)
        if rest:
            self._parts.append(rest)
        for line in lines:
            self._accept(line)

    def _accept(self, line: bytes) -> None:
        """Take one line from the host. What is not understood is skipped: a newer host may say more."""
        try:
            frame = _decode(line)
        except (ValueError, RecursionError, StopIteration, MemoryError) as error:
            self._refuse(line, error)
            return
        if type(frame) is not dict:
            return
        kind = frame.get("kind")
        if kind == "tool_result":
            call_id = frame.get("id")
            waiter = self._waiters.get(call_id) if type(call_id) is str else None
            if waiter is not None and waiter.answer is None:
                waiter.answer = frame
                if waiter.lock is not None or waiter.on_answer is not None:
                    waiter.wake()
        elif kind == "interrupt":
            self._on_interrupt(frame)
        elif kind in ("run", "shutdown", "warm"):
            self._frames.append(frame)
            if self._idle is not None:
                self._idle.answer = frame
                self._idle.wake()

    def _refuse(self, line: bytes, error: BaseException) -> None:
        """If an answer cannot be read, its caller must not wait for ever."""
        found = _ID(line, 0, _ID_WITHIN)
        waiter = self._waiters.get(found.group(1).decode("latin-1")) if found else None
        if waiter is None or waiter.answer is not None:
            return
        if isinstance(error, MemoryError):
            kind, why = "MemoryError", "there is no memory for it"
        else:
            kind, why = "ValueError", str(error) or "it is no JSON"
        message = f"the answer cannot be read: {why}"
        waiter.answer = {"ok": False, "error": {"type": kind, "message": message}}
        waiter.wake()


def _look_down(levels: int) -> None:
    """Find out whether the stack has room.

    :raises RecursionError: if it has not.
    """
    if levels:
        _look_down(levels - 1)


def call_frame(call_id: str, name: str, args: dict[str, Any], timeout: float | None) -> bytes:
    """The frame that calls a tool.

    :raises TypeError: if an argument has no JSON form.
    """
    tool = str(name)
    body = values.dumps(args, f"{tool.rpartition('.')[2]}() argument ")
    limit = b"null" if timeout is None else values.dumps(timeout, "timeout")
    return b'{"id":"%s","name":%s,"args":%s,"timeout":%s,"kind":"tool_call"}\n' % (
        call_id.encode(),
        values.dumps(tool, "name"),
        body,
        limit,
    )


def _decode(line: bytes) -> Any:
    text = line.decode()
    if not text.startswith("{"):
        text = text.lstrip()
        if not text:
            return None
    try:
        return _scan(text, 0)[0]
    except RecursionError:
        # Some interpreters count the nesting of JSON as depth of their stack.
        limit = _get_depth()
        _set_depth(limit + _MORE_DEPTH)
        try:
            return _scan(text, 0)[0]
        finally:
            _set_depth(limit)


def _result(answer: dict[str, Any], tool: str) -> Any:
    """The value of an answer, or its error as an exception."""
    if answer.get("ok", True):
        return answer.get("value")
    error = answer.get("error")
    if not isinstance(error, dict):
        message = str(error) if error else "the tool call failed without saying why"
        raise ToolError("Error", message, tool=tool)
    kind = str(error.get("type") or "Error")
    message = str(error.get("message") or "")
    status = error.get("status_code")
    if kind == "HTTPStatusError" and isinstance(status, int):
        raise HTTPStatusError(message, int(status), error.get("body"), tool=tool)
    trace = error.get("trace")
    raise ToolError(kind, message, trace if isinstance(trace, str) else None, tool=tool)
