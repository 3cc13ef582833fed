"""Standard streams: what a block prints goes to the real descriptors at once, line by line."""

from __future__ import annotations

from typing import Any

from .private import PRISTINE

__builtins__ = PRISTINE

import _thread
import io
import os
import sys


class Streams:
    """Gives every block working ``sys.stdin``, ``sys.stdout`` and ``sys.stderr``.

    ``restore`` brings descriptors 1 and 2 back when model code has closed or redirected them; the host
    reads their other ends, so that output of C code and of child processes is captured as well.
    """

    def __init__(self, restore: Any = None) -> None:
        self._restore = restore
        self._identity = [_identity(1), _identity(2)]
        self._texts: list[io.TextIOWrapper | None] = [None, None]
        # Threads that were started by earlier blocks: their output is marked.
        self._earlier: dict[int, int] = {}
        os.register_at_fork(before=self.flush)
        sys.breakpointhook = _no_breakpoint

    def prepare(self, block: int) -> None:
        """Before a block: streams that work, whatever the block before did to them."""
        self._bring_back()
        sys.stdin = sys.__stdin__ = open(os.devnull, encoding="utf-8")
        for at, name in enumerate(("stdout", "stderr")):
            text = self._texts[at]
            if text is None or text.closed:
                text = self._texts[at] = _open(at + 1)
            setattr(sys, f"__{name}__", text)
            marked = _Marked(text, self._earlier) if self._earlier else text
            setattr(sys, name, marked)

    def finish(self, block: int) -> None:
        """After a block: everything out, and its threads remembered."""
        self._bring_back()
        self.flush()
        if _thread._count() == 0:
            self._earlier.clear()
            return
        alive = set(sys._current_frames()) - {_thread.get_ident()}
        self._earlier = {ident: self._earlier.get(ident, block) for ident in alive}

    def _bring_back(self) -> None:
        """Descriptors 1 and 2 again as the host knows them."""
        if self._restore is not None and self._identity != [_identity(1), _identity(2)]:
            self._restore()
            self._identity = [_identity(1), _identity(2)]

    def flush(self) -> None:
        for stream in (sys.stdout, sys.stderr, *self._texts):
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
            data = data[os.write(2, data) :]


def _no_breakpoint(*_: object, **__: object) -> None:
    print("breakpoint() was passed over: nobody is at the keyboard.", file=sys.stderr)


def _open(fd: int) -> io.TextIOWrapper:
    # Lone surrogates come out escaped, instead of losing the line. The descriptor is never closed.
    raw = io.FileIO(fd, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), "utf-8", "backslashreplace", "\n", line_buffering=True
    )


def _identity(fd: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class _Marked(io.TextIOBase):
    """A stream that marks the lines of threads which an earlier block started."""

    def __init__(self, text: io.TextIOWrapper, earlier: dict[int, int]) -> None:
        self._text = text
        self._earlier = earlier
        self._at_start: dict[int, bool] = {}

    def write(self, text: str) -> int:
        ident = _thread.get_ident()
        block = self._earlier.get(ident)
        if block is None or not text:
            return self._text.write(text)
        mark = f"[block {block}] "
        lines = text.splitlines(keepends=True)
        if not self._at_start.get(ident, True):
            first = lines.pop(0)
            self._text.write(first)
        self._text.write("".join(mark + line for line in lines))
        self._at_start[ident] = text.endswith("\n")
        return len(text)

    def flush(self) -> None:
        self._text.flush()

    def fileno(self) -> int:
        return self._text.fileno()

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    @property
    def buffer(self) -> Any:
        return self._text.buffer

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._text.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self._text.errors
