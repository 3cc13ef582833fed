"""Exceptions that model code sees."""

from __future__ import annotations

from typing import Any

from .private import PRISTINE

__builtins__ = PRISTINE


class ToolError(RuntimeError):
    """A tool call failed.

    ``error_type`` is the name of the error's type on the host, ``tool`` the tool's dotted path.
    """

    def __init__(
        self, error_type: str, message: str, trace: str | None = None, tool: str = ""
    ) -> None:
        super().__init__(f"{error_type}: {message}" if error_type else message)
        self.error_type = error_type
        self.trace = trace
        self.tool = tool


class HTTPStatusError(ToolError):
    """The service behind a tool answered with an HTTP error status.

    ``status_code`` is the status, ``body`` the response body: its JSON value, or its text.
    """

    def __init__(self, message: str, status_code: int, body: Any = None, tool: str = "") -> None:
        RuntimeError.__init__(self, message)
        self.error_type = "HTTPStatusError"
        self.trace = None
        self.tool = tool
        self.status_code = status_code
        self.body = body


class BlockInterrupted(KeyboardInterrupt):
    """The host stops the block, for example at its time limit.

    A ``KeyboardInterrupt``, which is what it is called everywhere else: a block's own ``except Exception``
    does not swallow it, ``subprocess.run`` kills its child, and asyncio lets it through at once instead of
    keeping it with the task that happened to run.
    """

    # Where a block was suspended, if it was: file name and line.
    place: tuple[str, int] | None = None

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else "stopped by the host"


# The names by which programs import them.
ToolError.__module__ = HTTPStatusError.__module__ = "tools"
BlockInterrupted.__module__ = "builtins"
