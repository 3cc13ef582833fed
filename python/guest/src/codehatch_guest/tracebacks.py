"""What model code reads when its block fails: its own frames with their source, and none of ours."""

from __future__ import annotations

from typing import Any

from .private import PRISTINE, Pristine

__builtins__ = PRISTINE

import linecache
import os
import re
import sys
import traceback

from .errors import BlockInterrupted

_OURS = os.path.dirname(__file__) + os.sep
_ALIAS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "adk_code_mode_sandbox") + os.sep
# Where files are whose frames say nothing that the error itself does not.
_hidden = [_OURS, _ALIAS]

# Frames shown of a stack that is deeper: the outermost and the innermost ones.
_HEAD = 20
_TAIL = 30
# Frames that are looked at: a stack can have millions.
_MAX_FRAMES = 5_000
# Lines of what is left out are not looked for, where the standard library can do without.
_LOOK_UP_LATER: Any = {"lookup_lines": False}
if sys.version_info >= (3, 10):
    _LOOK_UP_LATER["compact"] = True
# Errors behind each other that are shown.
_MAX_CHAIN = 20
# Stands for the frames between; no file has such a name.
_MARK = "\0"
_MARK_BEGIN = f'  File "{_MARK}'
_MARK_END = f'", line 0, in {_MARK}\n'
# Most characters of one report.
_MAX_TEXT = 100_000
# Characters of a block whose lines are split only while a report needs them.
_LARGE = 1 << 20
# Characters of all blocks that are kept; the oldest go first.
_MAX_KEPT = 1 << 25

_NO_INPUT = (
    "There is no interactive input in this sandbox: pass the data in the code, "
    "or read it from a file or a tool.\n"
)


def hide(directory: str) -> None:
    """Leave the frames of files in ``directory`` out of reports."""
    path = os.path.join(directory, "")
    if path not in _hidden:
        _hidden.append(path)


class Sources:
    """The text of the turn's blocks, for tracebacks and ``inspect.getsource``."""

    def __init__(self) -> None:
        self._entries: dict[str, Any] = {}
        self._large: dict[str, str] = {}
        self._size = 0

    def add(self, filename: str, source: str) -> None:
        if len(source) > _LARGE:
            self._large[filename] = source
        else:
            self._entries[filename] = linecache.cache[filename] = _entry(filename, source)
        self._size += len(source)
        while self._size > _MAX_KEPT:
            self._forget()

    def _forget(self) -> None:
        kept = self._large or self._entries
        filename = next(iter(kept))
        dropped = kept.pop(filename)
        self._size -= len(dropped) if isinstance(dropped, str) else dropped[0]
        linecache.cache.pop(filename, None)

    def publish(self) -> None:
        """Put the sources back where the standard library looks, in case model code cleared them."""
        for filename, entry in self._entries.items():
            if filename not in linecache.cache:
                linecache.cache[filename] = entry
        for filename, source in self._large.items():
            linecache.cache[filename] = _entry(filename, source)

    def withdraw(self) -> None:
        """Take the large ones away again: their lines take many times their memory."""
        for filename in self._large:
            linecache.cache.pop(filename, None)

    def line(self, filename: str, number: int) -> str:
        """One line of a block's source, if it is at hand."""
        entry = self._entries.get(filename)
        return entry[2][number - 1] if entry is not None and number <= len(entry[2]) else ""

    def file_of_class(self, qualified: str) -> str | None:
        """The latest block with a class statement of that name, for a class without methods."""
        name = re.escape(qualified.rpartition(".")[2])
        statement = re.compile(rf"^\s*class\s+{name}\b")
        for filename, entry in reversed(list(self._entries.items())):
            if any(statement.match(line) for line in entry[2]):
                return filename
        return None

    def __contains__(self, filename: object) -> bool:
        return filename in self._entries or filename in self._large


def _entry(filename: str, source: str) -> Any:
    lines = [f"{line}\n" for line in source.replace("\r\n", "\n").split("\n")]
    # Without a time of change the entry is never checked against the disk.
    return (len(source), None, lines, filename)


def render(error: BaseException, sources: Sources) -> str:
    """The report of ``error`` for people and models, bounded.

    :raises BlockInterrupted: if the block is interrupted while it is made.
    """
    with Pristine():
        try:
            sources.publish()
            text = _render(error, sources)
        except BlockInterrupted:
            raise
        except BaseException:
            # A hostile __str__, the interpreter's limits, a module that was changed.
            text = _render_plainly(error, sources)
        finally:
            sources.withdraw()
    if len(text) > _MAX_TEXT:
        keep = _MAX_TEXT // 2
        text = (
            f"{text[:keep]}\n[... {len(text) - 2 * keep} characters left out ...]\n{text[-keep:]}"
        )
    return text


def _render(error: BaseException, sources: Sources) -> str:
    left_out = _trim_chain(error)
    own_part = _own_part(error, sources)
    report = traceback.TracebackException(type(error), error, own_part, **_LOOK_UP_LATER)
    if isinstance(error, BlockInterrupted) and error.place is not None:
        # It came out of the event loop, whose frames say nothing of where the block waits.
        report.stack[:] = [traceback.FrameSummary(*error.place, "<module>")]
    _clean(report, left_out, set())
    text = "".join(report.format()).replace(_MARK_BEGIN, "  [").replace(_MARK_END, "]\n")
    if isinstance(error, EOFError) and (not error.args or "reading a line" in str(error)):
        text += _NO_INPUT
    return text


def _render_plainly(error: BaseException, sources: Sources) -> str:
    """The least that helps, with nothing but what is here."""
    lines = ["Traceback (most recent call last):\n"]
    tb = error.__traceback__
    while tb is not None and len(lines) < 2 * _TAIL:
        filename = tb.tb_frame.f_code.co_filename
        if filename in sources:
            name = tb.tb_frame.f_code.co_name
            lines.append(f'  File "{filename}", line {tb.tb_lineno}, in {name}\n')
            source = sources.line(filename, tb.tb_lineno).strip()
            if source:
                lines.append(f"    {source}\n")
        tb = tb.tb_next
    name = type(error).__name__
    try:
        lines.append(f"{name}: {error}\n")
    except BlockInterrupted:
        raise
    except BaseException as problem:
        lines.append(f"{name} (its text failed with {type(problem).__name__})\n")
    return "".join(lines)


def _trim_chain(error: BaseException) -> int:
    """Cut the middle out of endless stacks of the error and those behind it. How many frames that was."""
    left_out = 0
    seen: set[int] = set()
    todo: list[tuple[Any, int]] = [(error, 0)]
    while todo:
        part, depth = todo.pop()
        if not isinstance(part, BaseException) or id(part) in seen:
            continue
        seen.add(id(part))
        left_out += _trim(part.__traceback__)
        if depth == _MAX_CHAIN:
            part.__cause__ = part.__context__ = None
            continue
        for other in (part.__cause__, part.__context__, *getattr(part, "exceptions", ())):
            todo.append((other, depth + 1))
    return left_out


def _trim(tb: Any) -> int:
    links: list[Any] = []
    while tb is not None:
        links.append(tb)
        tb = tb.tb_next
    if len(links) <= _MAX_FRAMES:
        return 0
    links[2 * _HEAD].tb_next = links[-2 * _TAIL]
    return len(links) - 2 * _HEAD - 2 * _TAIL


def _own_part(error: BaseException, sources: Sources) -> Any:
    """The traceback from the first frame of a block on: what comes before is ours or asyncio's."""
    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename not in sources:
        tb = tb.tb_next
    if tb is None and not isinstance(error, SyntaxError):
        return error.__traceback__
    return tb


def _clean(report: Any, left_out: int, seen: set[int]) -> None:
    """Drop the guest's frames and the middle of deep stacks, in the whole chain."""
    if report is None or id(report) in seen:
        return
    seen.add(id(report))
    hidden = tuple(_hidden)
    frames = [frame for frame in report.stack if not frame.filename.startswith(hidden)]
    report.stack[:] = _shorten(frames, left_out)
    _clean(report.__cause__, left_out, seen)
    _clean(report.__context__, left_out, seen)
    for part in getattr(report, "exceptions", None) or ():
        _clean(part, left_out, seen)


def _shorten(frames: list[Any], left_out: int) -> list[Any]:
    runs = 0
    previous: tuple[Any, ...] | None = None
    for frame in frames:
        place = (frame.filename, frame.lineno, frame.name)
        runs += place != previous
        previous = place
    # The standard library folds repeats of one frame by itself.
    if (runs <= _HEAD + _TAIL and not left_out) or len(frames) <= _HEAD + _TAIL:
        return frames
    left_out += len(frames) - _HEAD - _TAIL
    marker = traceback.FrameSummary(f"{_MARK}{left_out} frames left out", 0, _MARK, line="")
    return [*frames[:_HEAD], marker, *frames[-_TAIL:]]


def install_class_sources(sources: Sources) -> None:
    """Let ``inspect.getsource`` find classes that a block defined.

    The standard library looks for a class in its module's file, but every block of ``__main__`` has
    one of its own; the methods know which.
    """
    inspect: Any = sys.modules.get("inspect")
    original = getattr(inspect, "getfile", None)
    if original is None or hasattr(original, "codehatch"):
        return

    def getfile(obj: Any) -> str:
        if isinstance(obj, type) and obj.__module__ == "__main__":
            for member in vars(obj).values():
                function = getattr(member, "__func__", None) or getattr(member, "fget", member)
                code = getattr(function, "__code__", None)
                if code is not None and code.co_filename in sources:
                    return code.co_filename
            found = sources.file_of_class(obj.__qualname__)
            if found is not None:
                return found
        return original(obj)

    getfile.__dict__["codehatch"] = True
    inspect.getfile = getfile
