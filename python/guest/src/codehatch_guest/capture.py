"""Output of blocks where no host reads the descriptors: captured here and sent at the block's end.

Descriptors 1 and 2 lead into unlinked files while a block runs, so that what C code and child processes
write is captured as well.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from typing import Any

from .streams import Streams

# Most characters of one stream that are sent; a host shows far less.
_MAX_TEXT = 16 * 1024 * 1024


class Capture(Streams):
    """Streams whose contents are taken at the end of each block."""

    def __init__(self) -> None:
        self._real = (os.dup(1), os.dup(2))
        self._files: list[Any] = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]
        self._point(*(file.fileno() for file in self._files))
        super().__init__(restore=self._restore_files)
        self.ignored_threads: set[threading.Thread] = {threading.main_thread()}

    def _restore_files(self) -> None:
        self._point(*(file.fileno() for file in self._files))

    def _point(self, out: int, err: int) -> None:
        os.dup2(out, 1)
        os.dup2(err, 2)

    def take(self) -> tuple[str, str]:
        """What was written since the last call."""
        self.flush()
        return self._take(self._files[0]), self._take(self._files[1])

    def _take(self, file: Any) -> str:
        fd = file.fileno()
        size = os.fstat(fd).st_size
        data = os.pread(fd, min(size, _MAX_TEXT), 0)
        os.lseek(fd, 0, os.SEEK_SET)
        os.ftruncate(fd, 0)
        if size > _MAX_TEXT:
            data += b"\n[... %d bytes left out ...]\n" % (size - _MAX_TEXT)
        return data.decode("utf-8", "replace")

    def is_busy(self) -> bool:
        """Whether threads or child processes of a block are still at work."""
        threads = [t for t in threading.enumerate() if t not in self.ignored_threads]
        return bool(threads) or _has_children()


def _has_children() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    children: str | None = None
    try:
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/children") as listing:
                children = (children or "") + listing.read()
    except OSError:
        pass
    return bool(children and children.strip())
