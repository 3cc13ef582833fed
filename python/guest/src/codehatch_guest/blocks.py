"""Runs blocks: one persistent module, one block at a time."""

from __future__ import annotations

from typing import Any, Callable

from .private import PRISTINE, Pristine

__builtins__ = PRISTINE

import __future__

import _ast
import _thread
import signal
import sys
import types

from . import results, tracebacks
from .channel import Channel, ChannelClosed
from .errors import BlockInterrupted

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST
_TOP_LEVEL_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_COROUTINE = 0x80  # inspect.CO_COROUTINE
_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag


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
        self._loop: Any = None
        # A real module, so that classes pickle and type hints resolve. Its builtins are the shared ones,
        # not the guest's copy: what a block rebinds there is meant for it.
        self.module = types.ModuleType("__main__")
        self.module.__dict__["__builtins__"] = sys.modules["builtins"]
        sys.modules["__main__"] = self.module

    def run(self, source: str, limits: results.ResultLimits) -> Outcome:
        """Run one block to its end. Never raises but for the loss of the host."""
        self._count += 1
        filename = f"<block {self._count}>"
        self._sources.add(filename, source)
        sys.modules["__main__"] = self.module
        tracebacks.install_class_sources(self._sources)
        outcome = Outcome()
        self._take_signal()
        try:
            try:
                # From here to the end of the inner try an interrupt may be raised at any point.
                self._channel.start_block()
                value = self._execute(source, filename)
                if limits.wanted and value is not None:
                    outcome.result = results.describe(value, limits, outcome.images)
                results.take_figures(limits, outcome.images)
            finally:
                self._channel.end_block()
        except SystemExit as exit_:
            outcome.exit_code = self._exit_code(exit_)
        except ChannelClosed:
            raise
        except BlockInterrupted as interrupt:
            outcome.interrupted = True
            outcome.exit_code = 1
            self._report(interrupt)
        except BaseException as error:
            outcome.exit_code = 1
            self._report(error)
        return outcome

    def forget(self) -> None:
        """Begin anew, as if nothing had run."""
        self._count = 0
        self._flags = 0
        names = self.module.__dict__
        for name in [name for name in names if not name.startswith("__")]:
            del names[name]

    def _take_signal(self) -> None:
        """Model code may have taken the signal; without it the host can only kill."""
        try:
            if signal.getsignal(signal.SIGINT) != self._channel.on_signal:
                signal.signal(signal.SIGINT, self._channel.on_signal)
        except (ValueError, TypeError):
            pass

    def _execute(self, source: str, filename: str) -> Any:
        """Run the statements; the value of a last expression, or ``None``."""
        flags = _TOP_LEVEL_AWAIT | self._flags
        tree = compile(source, filename, "exec", flags | _ONLY_AST, True)
        last = None
        if tree.body and isinstance(tree.body[-1], _ast.Expr):
            last = _ast.Expression(tree.body.pop().value)
        if tree.body:
            code = compile(tree, filename, "exec", flags, True)
            self._flags |= code.co_flags & _FUTURES
            flags |= self._flags
            self._evaluate(code)
        if last is None:
            return None
        return self._evaluate(compile(last, filename, "eval", flags, True))

    def _evaluate(self, code: types.CodeType) -> Any:
        value = eval(code, self.module.__dict__)
        if code.co_flags & _COROUTINE:
            with Pristine():
                from . import awaiting

            return awaiting.run(value, self)
        return value

    def _exit_code(self, exit_: SystemExit) -> int:
        code = exit_.code
        if code is None:
            return 0
        if isinstance(code, int):
            return int(code)
        try:
            self._write_error(f"{code}\n")
        except Exception:
            pass
        return 1

    def _report(self, error: BaseException) -> None:
        try:
            self._write_error(tracebacks.render(error, self._sources))
        except Exception:
            pass
        finally:
            # The frames of the block hold its locals.
            error.__traceback__ = None


def other_threads() -> bool:
    """Whether threads run beside this one."""
    return _thread._count() > 0


def stop_threads(patience: float, is_busy: Callable[[], bool], spared: set[int]) -> None:
    """After an interrupt: raise in every other thread too, until they end or patience does.

    ``spared`` are the guest's own threads.
    """
    import ctypes
    import time

    deadline = time.monotonic() + patience
    own = _thread.get_ident()
    while is_busy() and time.monotonic() < deadline:
        for ident in list(sys._current_frames()):
            if ident != own and ident not in spared:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(ident), ctypes.py_object(BlockInterrupted)
                )
        time.sleep(0.02)
