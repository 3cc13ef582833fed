"""The ``tools`` package: imported from its generated files, each function compiled when it is used.

A namespace may have thousands of functions; a block uses a few. The files are plain Python and would
import without this module, only slower.
"""

from typing import Any, Callable, Optional

from .private import PRISTINE

__builtins__ = PRISTINE

import __future__
import os
import sys
import types
from importlib.machinery import ModuleSpec

_FLAGS = __future__.annotations.compiler_flag
# Functions of a module `tools.aio.NAME` are awaitable twins of those in `tools.NAME`.
_AIO = "aio"


def install(directory: str) -> None:
    """Serve ``import tools`` from ``directory``, before any other finder has a say."""
    sys.meta_path.insert(0, Finder(directory))


class Finder:
    """Finds ``tools``, ``tools.NAME``, ``tools.aio`` and ``tools.aio.NAME``."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> "Optional[ModuleSpec]":
        parts = name.split(".")
        if parts[0] != "tools":
            return None
        twins = len(parts) > 1 and parts[1] == _AIO
        below = parts[2:] if twins else parts[1:]
        if not all(part.isidentifier() for part in below):
            return None
        file = self._file(below)
        if file is None:
            return None
        loader = Loader(file, twins)
        spec = ModuleSpec(name, loader, origin=file, is_package=file.endswith("__init__.py"))
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(os.path.dirname(file))
        spec.has_location = True
        return spec

    def _file(self, below: "list[str]") -> "Optional[str]":
        base = os.path.join(self._directory, *below)
        for file in (os.path.join(base, "__init__.py"), base + ".py"):
            if os.path.isfile(file):
                return file
        return None


class Loader:
    def __init__(self, file: str, twins: bool) -> None:
        self._file = file
        self._twins = twins

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return ToolModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        with open(self._file, encoding="utf-8") as file:
            source = file.read()
        module.__dict__["__file__"] = self._file
        parts = split(source)
        lazy = {name: part for name, part in parts if name is not None}
        object.__setattr__(module, "_codehatch_parts", (self._file, lazy, self._twins))
        for name, part in parts:
            if name is None:
                _execute(part, self._file, module)
        module.__dict__.setdefault("__all__", sorted(n for n in lazy if not n.startswith("_")))

    def get_source(self, name: str) -> str:
        with open(self._file, encoding="utf-8") as file:
            return file.read()

    def is_package(self, name: str) -> bool:
        return self._file.endswith("__init__.py")


class ToolModule(types.ModuleType):
    """A module whose definitions appear when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        file, lazy, twins = self.__dict__.get("_codehatch_parts", ("", {}, False))
        part = lazy.get(name)
        if part is None:
            return _missing(self, name, lazy)
        _execute(part, file, self)
        value = self.__dict__[name]
        if isinstance(value, types.FunctionType):
            if twins:
                value = _twin(value)
            else:
                # f.aio(...) is to f(...) what a coroutine function is to a function.
                value.__dict__["aio"] = _twin(value)
            self.__dict__[name] = value
        return value

    def __dir__(self) -> "list[str]":
        _, lazy, _ = self.__dict__.get("_codehatch_parts", ("", {}, False))
        return sorted({*self.__dict__, *lazy} - {"_codehatch_parts"})


def _missing(module: types.ModuleType, name: str, lazy: "dict[str, Any]") -> Any:
    message = f"module {module.__name__!r} has no attribute {name!r}"
    if not name.startswith("__"):
        import difflib

        near = difflib.get_close_matches(name, lazy, 3, 0.6)
        if near:
            message += f"; did you mean {' or '.join(near)}?"
    raise AttributeError(message)


def split(source: str) -> "list[tuple[Optional[str], tuple[int, str]]]":
    """Split a generated file into parts that can be compiled alone: (defined name, (line, text)).

    Parts without a name run at import: they are what stands outside of classes and functions.
    """
    parts: "list[tuple[Optional[str], tuple[int, str]]]" = []
    name: Optional[str] = None
    start = 0
    lines = source.splitlines(keepends=True)
    for at, line in enumerate(lines):
        # Generated files have nothing but the starts of definitions and statements in column 0.
        if not line.strip() or line[0] in " \t#)]}":
            continue
        defined = _defined(line)
        if defined is None and name is None:
            continue
        if at > start:
            parts.append((name, (start, "".join(lines[start:at]))))
        name, start = defined, at
    parts.append((name, (start, "".join(lines[start:]))))
    return parts


def _defined(line: str) -> "Optional[str]":
    for keyword in ("def ", "async def ", "class "):
        if line.startswith(keyword):
            name = line[len(keyword) :].lstrip()
            end = 0
            while end < len(name) and (name[end].isalnum() or name[end] == "_"):
                end += 1
            return name[:end]
    return None


def _execute(part: "tuple[int, str]", file: str, module: types.ModuleType) -> None:
    line, text = part
    # Blank lines in front keep the numbers of the file, for tracebacks and inspect.
    code = compile("\n" * line + text, file, "exec", _FLAGS, True)
    exec(code, module.__dict__)


def _twin(function: types.FunctionType) -> "Callable[..., Any]":
    """The same function, whose call of the host returns an awaitable."""
    names = dict(function.__globals__)
    names["_call"] = _call_async
    twin = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__doc__ = function.__doc__
    twin.__module__ = function.__module__
    twin.__qualname__ = function.__qualname__
    return twin


def _call_async(name: str, args: "dict[str, Any]", timeout: "Optional[float]" = None) -> Any:
    from adk_code_mode_sandbox import _rpc_client

    from . import awaiting

    return awaiting.call(_rpc_client.get(), name, args)
