"""Output of blocks where no host reads the descriptors: captured here and sent at the block's end.

Descriptors 1 and 2 lead into unlinked files while a block runs, so that what C code and child processes
write is captured as well.
"""

from __future__ import annotations

from .private import PRISTINE

__builtins__ = PRISTINE

import fcntl
import os
import select
import sys
import tempfile
import time

from .streams import Streams

# Bound now, since model code may put something else into their modules.
_close = os.close
_dup2 = os.dup2
_fcntl = fcntl.fcntl
_fstat = os.fstat
_getpid = os.getpid
_listdir = os.listdir
_monotonic = time.monotonic
_pread = os.pread
_select = select.select
_set_blocking = os.set_blocking
_truncate = os.ftruncate
_write = os.write

# Bytes of one stream that are sent of its beginning and of its end; a host shows far less.
_HEAD = 12 * 1024 * 1024
_TAIL = 4 * 1024 * 1024
# Our own descriptors get numbers from here on: out of reach of code that closes "all" descriptors.
_HIGH = 1_000
# Seconds that the process's real output may take a copy of a block's.
_COPY_PATIENCE = 1.0

_LATE = "[written after the last block, by what it left running]\n"


class Capture(Streams):
    """Streams whose contents are taken at the end of each block.

    With ``copy`` they are written to the process's real stdout and stderr as well, as far as these take it.
    """

    def __init__(self, copy: bool = False) -> None:
        self._real = [move_up(os.dup(fd)) for fd in (1, 2)] if copy else []
        self._fds = [_new_file(), _new_file()]
        # How many bytes of the files were taken, and what came between blocks.
        self._taken = [0, 0]
        self._late = ["", ""]
        self._point()
        super().__init__(restore=self._point)

    def _point(self) -> None:
        for at, target in enumerate((1, 2)):
            try:
                _dup2(self._fds[at], target)
            except OSError:
                # Model code has closed it. What was in it and not taken yet is lost.
                self._fds[at] = _new_file()
                self._taken[at] = 0
                _dup2(self._fds[at], target)
                _write(target, b"[output was lost: the code closed the descriptor it goes to]\n")

    def prepare(self, block: int, has_tasks: bool = False) -> None:
        super().prepare(block, has_tasks)
        self.flush()
        self._late = [late + self._take(at) for at, late in enumerate(self._late)]

    def take(self) -> tuple[str, str]:
        """What was written since the last call, with a mark on what was written between blocks."""
        self.flush()
        texts = []
        for at, late in enumerate(self._late):
            text = self._take(at)
            if late:
                end = "" if late.endswith("\n") else "\n"
                text = f"{_LATE}{late}{end}[end of it]\n{text}"
            texts.append(text)
        self._late = ["", ""]
        self._copy(texts)
        return texts[0], texts[1]

    def _take(self, at: int) -> str:
        fd = self._fds[at]
        size = _fstat(fd).st_size
        # Code that opens /dev/stdout for writing empties the file.
        begin = self._taken[at] if self._taken[at] <= size else 0
        self._taken[at] = size
        if size - begin <= _HEAD + _TAIL:
            data = _read(fd, begin, size)
        else:
            left_out = size - begin - _HEAD - _TAIL
            data = b"%s\n[... %d bytes left out ...]\n%s" % (
                _read(fd, begin, begin + _HEAD),
                left_out,
                _read(fd, size - _TAIL, size),
            )
        if size and not self._earlier and not has_children():
            # Nobody writes: nothing can come between.
            _truncate(fd, 0)
            self._taken[at] = 0
        return data.decode("utf-8", "replace")

    def _copy(self, texts: list[str]) -> None:
        deadline = _monotonic() + _COPY_PATIENCE
        for fd, text in zip(self._real, texts):
            view = memoryview(text.encode("utf-8", "replace"))
            try:
                _set_blocking(fd, False)
                while view:
                    try:
                        view = view[_write(fd, view) :]
                    except BlockingIOError:
                        _, ready, _ = _select([], [fd], [], deadline - _monotonic())
                        if not ready:
                            break
            except (OSError, ValueError):
                pass  # Nobody takes it.


def _new_file() -> int:
    try:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    except OSError:
        # There may be no directory to write to.
        fd = os.memfd_create("output")
    _fcntl(fd, fcntl.F_SETFL, _fcntl(fd, fcntl.F_GETFL) | os.O_APPEND)
    return move_up(fd)


def move_up(fd: int) -> int:
    """Give ``fd`` a number that code which closes or opens files is unlikely to hit."""
    try:
        moved = _fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except OSError:
        return fd  # The limit on descriptors is lower.
    _close(fd)
    return moved


def _read(fd: int, begin: int, end: int) -> bytes:
    parts = []
    while begin < end:
        part = _pread(fd, end - begin, begin)
        if not part:
            break
        parts.append(part)
        begin += len(part)
    return b"".join(parts)


def has_children() -> bool:
    """Whether child processes are at work."""
    if not sys.platform.startswith("linux"):
        return False
    pids: list[str] = []
    try:
        for task in _listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/children") as listing:
                pids += listing.read().split()
    except OSError:
        pass
    return any(_is_alive(pid) for pid in pids)


def _is_alive(pid: str) -> bool:
    """Not so of a process that has ended and was not waited for."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (OSError, IndexError):
        return False
