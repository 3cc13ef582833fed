"""Runs blocks: one persistent module, one block at a time."""

from __future__ import annotations

from typing import Any, Callable

from .private import PRISTINE, Pristine

__builtins__ = PRISTINE

import __future__

import _ast
import _signal  # ty: ignore[import-not-found] # the wrapper around it costs every block
import _thread
import mmap
import os
import sys
import time
import types

from . import results, tracebacks
from .channel import Channel, ChannelClosed
from .errors import BlockInterrupted

# Bound now, since model code may put something else into their modules.
_current_frames = sys._current_frames
_get_depth = sys.getrecursionlimit
_get_handler = _signal.getsignal
_get_ident = _thread.get_ident
_get_profile = sys.getprofile
_get_trace = sys.gettrace
_kill = os.kill
_memory_map = mmap.mmap
_monotonic = time.monotonic
_own_pid = os.getpid
_set_depth = sys.setrecursionlimit
_set_handler = _signal.signal
_set_profile = sys.setprofile
_set_timer = _signal.setitimer
_set_trace = sys.settrace
_sleep = time.sleep
_thread_count = _thread._count

_ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST
_TOP_LEVEL_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_COROUTINE = 0x80  # inspect.CO_COROUTINE
_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag

# Where the value of a last expression is kept for a moment.
_VALUE = "<value>"
# The frames of a failed block hold its locals. What Python has to say when they go, such as that a coroutine
# was never awaited, it says of this place.
_LET_GO = compile("failure.__traceback__ = None", "<end of block>", "exec")

# Characters of a block beyond which its last expression is not looked for: the syntax tree that this
# takes has many times the block's size.
_MAX_TREE = 1 << 20
# The interpreter's own depth limit may not get so low that the guest cannot work.
_MIN_DEPTH = 500
_MAX_EXIT_CODE = (1 << 63) - 1
# Bytes of address space, never touched, that are given up when a block has run out of memory, so that its
# failure can be reported and the next block can run; and for how many such blocks in a row.
_RESERVE = 2 << 20
_RESERVES = 4
_NUMBERS = range(1, _signal.NSIG)
# How often in a row something of the block's own may strike while it is put to rest.
_MAX_STRIKES = 100
# How often it is looked for threads, and how many seconds later again.
_LOOKS = 4
_BETWEEN_LOOKS = 0.0005


def _map(length: int) -> mmap.mmap:
    """Address space. Not of the heap, which would be filled with zeros, and so be memory."""
    return _memory_map(-1, length, flags=_ANONYMOUS)


class Outcome:
    """How a block ended."""

    __slots__ = ("exit_code", "images", "interrupted", "result")

    def __init__(self) -> None:
        self.exit_code = 0
        self.interrupted = False
        self.result: dict[str, Any] | None = None
        self.images: list[tuple[str, bytes]] = []


class Blocks:
    """The turn's ``__main__`` module and the blocks that ran in it."""

    def __init__(self, channel: Channel, write_error: Callable[[str], None]) -> None:
        self._channel = channel
        self._write_error = write_error
        self._sources = tracebacks.Sources()
        self._count = 0
        self._flags = 0
        # Signal handlers that blocks have set, and the signals that came for them between blocks.
        self._handlers: dict[int, Any] = {}
        self._held: set[int] = set()
        # The handlers as they were after the last block that changed them: most blocks set none.
        self._known_handlers: list[Any] = []
        # Made by `awaiting`, which is there since the first block that awaited.
        self.loop: Any = None
        self.loop_descriptors: list[tuple[int, int]] = []
        self.awaiting: Any = None
        self._reserves: list[mmap.mmap] = []
        # A real module, so that classes pickle and type hints resolve. Its builtins are the shared ones,
        # not the guest's copy: what a block rebinds there is meant for it.
        self.module = types.ModuleType("__main__")
        self._restore_module()

    def _restore_module(self) -> None:
        names = self.module.__dict__
        names.setdefault("__name__", "__main__")
        names.setdefault("__builtins__", sys.modules.get("builtins"))
        sys.modules["__main__"] = self.module

    def run(self, source: str, limits: results.ResultLimits, outcome: Outcome) -> None:
        """Run one block to its end. Never raises but for the loss of the host."""
        self._count += 1
        filename = f"<block {self._count}>"
        outcome.exit_code = 0
        try:
            self._keep_reserves()
            self._sources.add(filename, source)
            self._restore_module()
            tracebacks.install_class_sources(self._sources)
            self._take_signal()
            self._channel.guard(self._run, source, filename, limits, outcome)
        except ChannelClosed:
            raise
        except BaseException as error:
            # In the middle of a report, or as the last thing that a signal handler of the block did.
            outcome.exit_code = 1
            outcome.interrupted = isinstance(error, BlockInterrupted)
            try:
                text = _text_of(error)
                self._write_error(f"{type(error).__name__}{': ' if text else ''}{text}\n")
            except Exception:
                pass
        self._calm()

    def _run(
        self, source: str, filename: str, limits: results.ResultLimits, outcome: Outcome
    ) -> None:
        # From here to its end an interrupt may be raised at any point.
        self._channel.running = True
        failure: BaseException | None = None
        try:
            if self._channel.attention:
                self._channel.attend()
            self._give_handlers()
            _reap_dropped()
            value = self._execute(source, filename)
            if limits.wanted and value is not None:
                outcome.result = results.describe(value, limits, outcome.images)
            results.take_figures(limits, outcome.images, self._write_error)
        except ChannelClosed:
            raise
        except SystemExit as exit_:
            outcome.exit_code = self._exit_code(exit_)
        except BaseException as error:
            failure = error
        if failure is not None:
            if isinstance(failure, MemoryError) and self._reserves:
                self._reserves.pop().close()
            outcome.exit_code = 1
            outcome.interrupted = isinstance(failure, BlockInterrupted)
            try:
                self._write_error(tracebacks.render(failure, self._sources))
            finally:
                exec(_LET_GO, {"failure": failure})
        _flush(getattr(sys, "stdout", None))
        _flush(getattr(sys, "stderr", None))

    def _keep_reserves(self) -> None:
        try:
            while len(self._reserves) < _RESERVES:
                # Only where as much is left for the block.
                _map(2 * _RESERVE).close()
                self._reserves.append(_map(_RESERVE))
        except (MemoryError, OSError):
            pass

    def forget(self) -> None:
        """Begin anew, as if nothing had run."""
        self._count = 0
        self._flags = 0
        names = self.module.__dict__
        for name in [name for name in names if not name.startswith("__")]:
            del names[name]

    def _take_signal(self) -> None:
        """Model code may have taken the signal; without it the host can only kill."""
        if _get_handler(_signal.SIGINT) != self._channel.on_signal:
            _set_handler(_signal.SIGINT, self._channel.on_signal)

    def _calm(self) -> None:
        """Put an end to what a block has set off and could strike the guest's own code."""
        for _ in range(_MAX_STRIKES):
            try:
                # Also where nothing is set, setting them makes the interpreter prepare all code anew.
                if _get_trace() is not None:
                    _set_trace(None)
                if _get_profile() is not None:
                    _set_profile(None)
                self._take_signal()
                self._hold_handlers()
                _set_timer(_signal.ITIMER_REAL, 0)
                if _get_depth() < _MIN_DEPTH:
                    _set_depth(_MIN_DEPTH)
                return
            except BaseException:
                pass  # It has struck.

    def _hold_handlers(self) -> None:
        """Between blocks, keep signals from the handlers that blocks have set, which may raise."""
        handlers = list(map(_get_handler, _NUMBERS))
        if handlers == self._known_handlers:
            return
        for number, handler in zip(_NUMBERS, handlers):
            if callable(handler) and number != _signal.SIGINT and handler != self._on_held:
                self._handlers[number] = handler
                _set_handler(number, self._on_held)
        self._known_handlers = list(map(_get_handler, _NUMBERS))

    def _on_held(self, number: int, _frame: Any) -> None:
        self._held.add(number)

    def _give_handlers(self) -> None:
        """Signals may go to the handlers of blocks again. Those that came in between do so now."""
        while self._handlers:
            number, handler = self._handlers.popitem()
            _set_handler(number, handler)
        while self._held:
            _kill(_own_pid(), self._held.pop())

    def _execute(self, source: str, filename: str) -> Any:
        """Run the statements; the value of a last expression, or ``None``."""
        flags = _TOP_LEVEL_AWAIT | self._flags
        tree: Any = source
        if len(source) <= _MAX_TREE:
            tree = compile(source, filename, "exec", flags | _ONLY_AST, True)
            _keep_last_value(tree)
        code = compile(tree, filename, "exec", flags, True)
        self._flags |= code.co_flags & _FUTURES
        try:
            self._evaluate(code)
        finally:
            value = self.module.__dict__.pop(_VALUE, None)
        return value

    def _evaluate(self, code: types.CodeType) -> None:
        coroutine = eval(code, self.module.__dict__)
        if code.co_flags & _COROUTINE:
            if self.awaiting is None:
                with Pristine():
                    from . import awaiting

                self.awaiting = awaiting
            self.awaiting.run(coroutine, self)

    def _exit_code(self, exit_: SystemExit) -> int:
        code = exit_.code
        if code is None:
            return 0
        if isinstance(code, int):
            return max(-_MAX_EXIT_CODE, min(int.__int__(code), _MAX_EXIT_CODE))
        self._write_error(f"{_text_of(code)}\n")
        return 1

    def has_tasks(self) -> bool:
        """Whether asyncio tasks of earlier blocks wait for the next ``await``."""
        return self.loop is not None and self.awaiting.has_tasks(self.loop)


def _reap_dropped() -> None:
    """Reap children that have ended and that nobody holds an object of, as the next one would do."""
    reap = getattr(sys.modules.get("subprocess"), "_cleanup", None)
    if reap is not None:
        try:
            with Pristine():
                reap()
        except Exception:
            pass  # Model code has put something else there.


def _keep_last_value(tree: Any) -> None:
    """Make of a last expression an assignment, to a name that no code can have."""
    last = tree.body[-1] if tree.body else None
    if isinstance(last, _ast.Expr):
        name = _ast.Name(id=_VALUE, ctx=_ast.Store())
        assignment = _ast.Assign(targets=[name], value=last.value)
        for node in (name, assignment):
            for place in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
                setattr(node, place, getattr(last, place))
        tree.body[-1] = assignment


def _flush(stream: Any) -> None:
    """Get out what a stream of the block's own holds back."""
    try:
        if stream is not None:
            stream.flush()
    except Exception:
        pass


def _text_of(value: Any) -> str:
    try:
        return str.__str__(str(value))
    except Exception as error:
        return (
            f"<{type(value).__name__} object, whose text form failed with {type(error).__name__}>"
        )


def working_threads(spared: set[int]) -> set[int]:
    """The threads beside this one that are at work, by their ids; ``spared`` are the guest's own."""
    threads: set[int] = set()
    # A thread whose work has just been done may need a moment to say so.
    for _ in range(_LOOKS):
        threads, comes_or_goes = _look_for_threads(spared)
        if not threads and not comes_or_goes:
            break
        _sleep(_BETWEEN_LOOKS)
    return threads


def _look_for_threads(spared: set[int]) -> tuple[set[int], bool]:
    """The threads at work, and whether there is one that is about to begin or to end."""
    count = _thread_count()
    begin = _beginning()
    if not count and not begin:
        return set(), False
    frames = _current_frames()
    frames.pop(_get_ident(), None)
    threads = {
        ident for ident, frame in frames.items() if ident not in spared and not _is_idle(frame)
    }
    return threads, bool(begin) or count > len(frames)


def _beginning() -> list[Any]:
    """Threads that were made and have not come to their work: some of them the interpreter does not count."""
    return list(getattr(sys.modules.get("threading"), "_limbo", ()))


_EXECUTOR = os.path.join("concurrent", "futures", "thread.py")


def _is_idle(frame: Any) -> bool:
    """Whether a thread of an executor waits for work: asyncio and others keep such threads for good."""
    code = frame.f_code
    return code.co_name == "_worker" and code.co_filename.endswith(_EXECUTOR)


def _is_ending(frame: Any) -> bool:
    """Whether a thread has failed and is reporting it."""
    while frame is not None:
        if frame.f_code.co_name == "invoke_excepthook":
            return True
        frame = frame.f_back
    return False


def stop_threads(patience: float, spared: set[int], channel: Channel) -> None:
    """After an interrupt: raise in the other threads too, until they end or patience does.

    ``patience`` is in seconds.
    """
    if _look_for_threads(spared) == (set(), False):
        return
    import ctypes

    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    deadline = _monotonic() + patience
    threading: Any = sys.modules.get("threading")
    report = getattr(threading, "excepthook", None)
    if report is not None:
        threading.excepthook = lambda args: (
            None if args.exc_type is BlockInterrupted else report(args)
        )
    try:
        while True:
            # With the gate held no thread gets into the channel's code, where it must not be torn apart;
            # those inside wait for the host, which answers every call of a block that it stops.
            with channel.gate:
                frames = _current_frames()
                threads, comes_or_goes = _look_for_threads(spared)
                begin = {thread.ident for thread in _beginning()}
                for ident in threads - channel.inside - begin:
                    if not _is_ending(frames.get(ident)):
                        raise_in(ctypes.c_ulong(ident), ctypes.py_object(BlockInterrupted))
                frames.clear()
            if not (threads or comes_or_goes) or _monotonic() > deadline:
                return
            _sleep(0.01)
    finally:
        if report is not None:
            threading.excepthook = report
