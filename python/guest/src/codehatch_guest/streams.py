"""Standard streams: what a block prints goes to the real descriptors at once, line by line."""

from __future__ import annotations

from typing import Any, Callable

from .private import PRISTINE

__builtins__ = PRISTINE

import _thread
import contextvars
import io
import os
import sys

# Bound now, since model code may put something else into their modules.
_close = os.close
_dup2 = os.dup2
_fstat = os.fstat
_get_ident = _thread.get_ident
_open_fd = os.open
_set_blocking = os.set_blocking
_set_inheritable = os.set_inheritable
_write = os.write
_FileIO = io.FileIO
_TextIOWrapper = io.TextIOWrapper
_NULL = os.devnull
_READ_WRITE = os.O_RDWR

# The block that a task belongs to: tasks take the context of where they were made with them.
_block_of_context: contextvars.ContextVar[int] = contextvars.ContextVar("block", default=0)


class Streams:
    """Gives every block working ``sys.stdin``, ``sys.stdout`` and ``sys.stderr``.

    ``restore`` brings descriptors 1 and 2 back when model code has closed or redirected them; the host
    reads their other ends, so that output of C code and of child processes is captured as well.
    """

    def __init__(self, restore: Callable[[], None] | None = None) -> None:
        self._restore = restore
        self._identity = [_identity(fd) for fd in (0, 1, 2)]
        self._texts: list[Any] = [None, None]
        self._stdin: Any = None
        # Threads that were started by earlier blocks, with their `Thread` objects: their output is marked.
        self._earlier: dict[int, tuple[int, Any]] = {}
        # The guest's own threads.
        self.spared: set[int] = set()
        os.register_at_fork(before=self.flush)
        sys.breakpointhook = _no_breakpoint  # ty: ignore[invalid-assignment] # made to be replaced

    def attach(self, restore: Callable[[], None]) -> None:
        """In a fork of its process: take the descriptors as they are now for the right ones."""
        self._restore = restore
        self._identity = [_identity(fd) for fd in (0, 1, 2)]

    def prepare(self, block: int, has_tasks: bool = False) -> None:
        """Before a block: streams that work, whatever the block before did to them."""
        self._bring_back()
        _block_of_context.set(block)
        # A wrapper of the block's own around one of ours closes it as it goes.
        sys.stdout = sys.stderr = sys.stdin = None
        if not _works(self._stdin):
            # The descriptor reads from nowhere; it is another one's to close.
            self._stdin = open(0, encoding="utf-8", closefd=False)
        sys.stdin = sys.__stdin__ = self._stdin
        for at, name in enumerate(("stdout", "stderr")):
            text = self._texts[at]
            if not _works(text):
                text = self._texts[at] = _open(at + 1)
            setattr(sys, f"__{name}__", text)
            mark = has_tasks or self._earlier
            setattr(sys, name, _Marked(text, self._earlier, block) if mark else text)

    def finish(self, block: int, threads: set[int]) -> None:
        """After a block: everything out, and its threads at work remembered."""
        self._bring_back()
        self.flush()
        earlier = {}
        for ident in threads:
            thread = _thread_of(ident)
            before, known = self._earlier.get(ident, (block, thread))
            earlier[ident] = (before if known is thread else block, thread)
        self._earlier = earlier

    def _bring_back(self) -> None:
        """Descriptors 0, 1 and 2 again as they were."""
        now = [_identity(fd) for fd in (0, 1, 2)]
        if now != self._identity:
            if now[0] != self._identity[0]:
                point_to_null(0)
            if now[1:] != self._identity[1:] and self._restore is not None:
                self._restore()
            self._identity = [_identity(fd) for fd in (0, 1, 2)]
        for fd in (1, 2):
            try:
                # As asyncio does not leave them.
                _set_blocking(fd, True)
            except OSError:
                pass

    def flush(self) -> None:
        """Get out what our own streams hold back."""
        for stream in self._texts:
            try:
                if stream is not None:
                    stream.flush()
            except Exception:
                pass

    def write_error(self, text: str) -> None:
        """Write to stderr by way of the descriptor, so that it also works when the stream does not."""
        self._bring_back()
        self.flush()
        data = memoryview(text.encode("utf-8", "backslashreplace"))
        while data:
            data = data[_write(2, data) :]


def _no_breakpoint(*_: Any, **__: Any) -> Any:
    print("breakpoint() was passed over: nobody is at the keyboard.", file=sys.stderr)


def _works(text: Any) -> bool:
    try:
        return text is not None and not text.closed
    except ValueError:  # It was detached.
        return False


class _Kept(io.BufferedWriter):
    """A buffer that stays open: a block that closes its stdout, or a wrapper around it, means only that."""

    def close(self) -> None:
        self.flush()


def _open(fd: int) -> io.TextIOWrapper:
    # Lone surrogates come out escaped, instead of losing the line.
    raw = _FileIO(fd, "w", closefd=False)
    return _TextIOWrapper(_Kept(raw), "utf-8", "backslashreplace", "\n", line_buffering=True)


def _identity(fd: int) -> tuple[int, int] | None:
    try:
        status = _fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def point_to_null(target: int) -> None:
    """Make ``target`` a descriptor that reads nothing and forgets what is written to it."""
    fd = _open_fd(_NULL, _READ_WRITE)
    if fd == target:
        _set_inheritable(fd, True)
    else:
        _dup2(fd, target)
        _close(fd)


def _thread_of(ident: int) -> Any:
    """The object of a thread; idents are used again as soon as a thread has ended."""
    threading = sys.modules.get("threading")
    return getattr(threading, "_active", {}).get(ident)


class _Marked(io.TextIOBase):
    """A stream that marks the lines of threads and tasks which an earlier block started."""

    def __init__(self, text: Any, earlier: dict[int, tuple[int, Any]], block: int) -> None:
        self._text = text
        self._earlier = earlier
        self._block = block
        # Writers in the middle of a line.
        self._within: set[tuple[int, int]] = set()

    def write(self, text: str) -> int:
        block = self._earlier_block()
        if not block or not text:
            return self._text.write(text)
        mark = f"[block {block}] "
        writer = (_get_ident(), block)
        lines = text.split("\n")
        marked = [line and mark + line for line in lines]
        if writer in self._within:
            marked[0] = lines[0]
        self._text.write("\n".join(marked))
        if lines[-1]:
            self._within.add(writer)
        else:
            self._within.discard(writer)
        return len(text)

    def _earlier_block(self) -> int:
        block = _block_of_context.get()
        if block:
            return block if block != self._block else 0
        ident = _get_ident()
        block, thread = self._earlier.get(ident, (0, None))
        return block if block and _thread_of(ident) is thread else 0

    def flush(self) -> None:
        self._text.flush()

    def close(self) -> None:
        self._text.flush()

    def fileno(self) -> int:
        return self._text.fileno()

    def writable(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._text, name)

    # What the base class has an answer for, which is not that of the stream.

    @property
    def encoding(self) -> str:  # ty: ignore[incompatible-property-override] # fixed by the text stream
        return self._text.encoding

    @property
    def errors(self) -> str | None:  # ty: ignore[incompatible-property-override] # as above
        return self._text.errors
