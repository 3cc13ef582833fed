"""How the functions of this package reach the host. Generated: changes here are lost."""

from __future__ import annotations

import sys
from builtins import AttributeError as _AttributeError
from builtins import TypeError as _TypeError
from builtins import list as _list
from builtins import repr as _repr
from difflib import get_close_matches as _get_close_matches
from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from adk_code_mode_sandbox._rpc_client import ToolError, call

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing import Optional as NotRequired

if TYPE_CHECKING:
    from adk_code_mode_sandbox._rpc_client import HTTPStatusError
else:
    try:
        from adk_code_mode_sandbox._rpc_client import HTTPStatusError
    except ImportError:  # Guests before the fourth protocol raise ToolError instead.

        class HTTPStatusError(Exception):
            """An HTTP service behind a tool answered with an error status."""


__all__ = ("HTTPStatusError", "NotRequired", "REQUIRED", "ToolError", "UNSET", "attribute", "send")


class _Sentinel:
    """A default that is never sent."""

    def __init__(self, shown: str) -> None:
        self._shown = shown

    def __repr__(self) -> str:
        return self._shown


UNSET: Any = _Sentinel("...")
REQUIRED: Any = _Sentinel("<required>")


def send(
    path: str,
    args: dict[str, Any],
    more: dict[str, Any],
    nullable: tuple[str, ...] = (),
    is_open: bool = False,
    defaults: dict[str, Any] | None = None,
) -> Any:
    """Call the tool `path`; see `prepare` for what it gets."""
    return call(path, prepare(path, args, more, nullable, is_open, defaults))


def prepare(
    path: str,
    args: dict[str, Any],
    more: dict[str, Any],
    nullable: tuple[str, ...] = (),
    is_open: bool = False,
    defaults: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what is sent: `args` less those that were not given, and what is in `more`.

    `more` may have any of `args` by the name that is sent; other names only if the call `is_open`.
    None is refused but for `nullable` names. `defaults` are sent for those that were not given.
    """
    if more:
        more = _take(path, args, more, is_open)
    if defaults is not None:
        for name, value in defaults.items():
            if args[name] is UNSET:
                args[name] = value
    sent = {}
    for name, value in args.items():
        if value is UNSET:
            continue
        if value is None and name not in nullable:
            raise _TypeError(f"{path}() argument {name!r} cannot be None; leave it out instead")
        if value is REQUIRED:
            raise _TypeError(f"{path}() missing required argument {name!r}")
        sent[name] = value
    if more:
        sent.update(more)
    return sent


def _take(path: str, args: dict[str, Any], more: dict[str, Any], is_open: bool) -> dict[str, Any]:
    """Move arguments given by the names that are sent into `args`; return the others."""
    rest = {}
    for name, value in more.items():
        if name not in args:
            if not is_open:
                raise _TypeError(_unknown(path, args, name))
            rest[name] = value
        elif args[name] is UNSET or args[name] is REQUIRED:
            args[name] = value
        else:
            raise _TypeError(f"{path}() got multiple values for argument {name!r}")
    return rest


def _unknown(path: str, args: dict[str, Any], name: str) -> str:
    names = _list(args)
    close = _get_close_matches(name, names[:500], 1)
    text = f"{path}() got an unexpected keyword argument {_repr(name)[:100]}"
    if close:
        text += f". Did you mean {close[0]!r}?"
    if names:
        text += f" It takes: {', '.join(names[:40])}{', …' if names[40:] else ''}"
    return text


def attribute(package: str, name: str) -> Any:
    """Import the namespace `name` of `package` when it is first used."""
    if not name.startswith("_"):
        module = f"{package}.{name}"
        try:
            return _import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
    raise _AttributeError(f"module {package!r} has no attribute {name!r}")
