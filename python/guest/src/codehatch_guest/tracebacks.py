"""What model code reads when its block fails: its own frames with their source, and none of ours."""

from __future__ import annotations

from typing import Any

from .private import PRISTINE, Pristine

__builtins__ = PRISTINE

import linecache
import os
import sys
import traceback

from .errors import BlockInterrupted

_OURS = os.path.dirname(__file__) + os.sep
_ALIAS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "adk_code_mode_sandbox") + os.sep
# Generated functions say nothing that the error itself does not.
_HIDDEN = (_OURS, _ALIAS, "/tools/")

# Frames shown of a stack that is deeper: the outermost and the innermost ones.
_HEAD = 20
_TAIL = 30
# Stands for the frames between; no file has such a name.
_MARK = "\0"
_MARK_BEGIN = f'  File "{_MARK}'
_MARK_END = f'", line 0, in {_MARK}\n'
# Most characters of one report.
_MAX_TEXT = 100_000

_NO_INPUT = (
    "There is no interactive input in this sandbox: pass the data in the code, "
    "or read it from a file or a tool.\n"
)


class Sources:
    """The text of every block of the turn, for tracebacks and ``inspect.getsource``."""

    def __init__(self) -> None:
        self._blocks: dict[str, str] = {}

    def add(self, filename: str, source: str) -> None:
        self._blocks[filename] = source
        self._publish(filename)

    def publish(self) -> None:
        """Put the sources back where the standard library looks, in case model code cleared them."""
        for filename in self._blocks:
            if filename not in linecache.cache:
                self._publish(filename)

    def _publish(self, filename: str) -> None:
        source = self._blocks[filename]
        lines = [f"{line}\n" for line in source.replace("\r\n", "\n").split("\n")]
        # Without a time of change the entry is never checked against the disk.
        linecache.cache[filename] = (len(source), None, lines, filename)

    def __contains__(self, filename: object) -> bool:
        return filename in self._blocks


def render(error: BaseException, sources: Sources) -> str:
    """The report of ``error`` for people and models, bounded."""
    with Pristine():
        try:
            sources.publish()
            text = _render(error, sources)
        except BaseException as problem:  # A hostile __str__, or the interpreter's own limits.
            return f"{type(error).__name__} (its report failed: {type(problem).__name__})\n"
    if len(text) > _MAX_TEXT:
        keep = _MAX_TEXT // 2
        text = (
            f"{text[:keep]}\n[... {len(text) - 2 * keep} characters left out ...]\n{text[-keep:]}"
        )
    return text


def _render(error: BaseException, sources: Sources) -> str:
    # A limit keeps the walk over a runaway recursion short: beyond it only the ends are looked up.
    report = traceback.TracebackException(
        type(error), error, _own_part(error, sources), lookup_lines=False, compact=True
    )
    if isinstance(error, BlockInterrupted) and error.place is not None:
        # It came out of the event loop, whose frames say nothing of where the block waits.
        report.stack[:] = [traceback.FrameSummary(*error.place, "<module>")]
    _clean(report, set())
    text = "".join(report.format()).replace(_MARK_BEGIN, "  [").replace(_MARK_END, "]\n")
    if isinstance(error, EOFError) and "reading a line" in str(error):
        text += _NO_INPUT
    return text


def _own_part(error: BaseException, sources: Sources) -> Any:
    """The traceback from the first frame of a block on: what comes before is ours or asyncio's."""
    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename not in sources:
        tb = tb.tb_next
    if tb is None and not isinstance(error, SyntaxError):
        return error.__traceback__
    return tb


def _clean(report: Any, seen: set[int]) -> None:
    """Drop the guest's frames and the middle of deep stacks, in the whole chain."""
    if report is None or id(report) in seen:
        return
    seen.add(id(report))
    frames = [frame for frame in report.stack if not frame.filename.startswith(_HIDDEN)]
    frames = _shorten(frames)
    report.stack[:] = frames
    _clean(report.__cause__, seen)
    _clean(report.__context__, seen)
    for part in getattr(report, "exceptions", None) or ():
        _clean(part, seen)


def _shorten(frames: list[Any]) -> list[Any]:
    runs = 0
    previous: tuple[Any, ...] | None = None
    for frame in frames:
        place = (frame.filename, frame.lineno, frame.name)
        runs += place != previous
        previous = place
    # The standard library folds repeats of one frame by itself.
    if runs <= _HEAD + _TAIL:
        return frames
    left_out = len(frames) - _HEAD - _TAIL
    marker = traceback.FrameSummary(f"{_MARK}{left_out} frames left out", 0, _MARK, line="")
    return [*frames[:_HEAD], marker, *frames[-_TAIL:]]


def install_class_sources(sources: Sources) -> None:
    """Let ``inspect.getsource`` find classes that a block defined.

    The standard library looks for a class in its module's file, but every block of ``__main__`` has
    one of its own; the methods know which.
    """
    inspect = sys.modules.get("inspect")
    if inspect is None or getattr(inspect.getfile, "codehatch", False):
        return
    original = inspect.getfile

    def getfile(obj: Any) -> str:
        if isinstance(obj, type) and obj.__module__ == "__main__":
            for member in vars(obj).values():
                function = getattr(member, "__func__", None) or getattr(member, "fget", member)
                code = getattr(function, "__code__", None)
                if code is not None and code.co_filename in sources:
                    return code.co_filename
            found = _file_of_class(obj.__qualname__, sources)
            if found is not None:
                return found
        return original(obj)

    getfile.codehatch = True  # type: ignore[attr-defined]
    inspect.getfile = getfile  # type: ignore[assignment]


def _file_of_class(qualified: str, sources: Sources) -> str | None:
    """The latest block with a class statement of that name, for a class without methods."""
    import re

    name = re.escape(qualified.rpartition(".")[2])
    statement = re.compile(rf"^\s*class\s+{name}\b", re.MULTILINE)
    for filename, source in reversed(list(sources._blocks.items())):
        if statement.search(source):
            return filename
    return None
