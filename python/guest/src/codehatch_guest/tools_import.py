"""The ``tools`` package: imported from its generated files, each function compiled when it is used.

A namespace may have thousands of functions; a block uses a few. The files are plain Python and would
import without this module, only slower.
"""

from __future__ import annotations

from typing import Any, Callable

from .private import PRISTINE, Pristine

__builtins__ = PRISTINE

import __future__

import os
import sys
import types
from importlib.machinery import ModuleSpec

_FLAGS = __future__.annotations.compiler_flag
# Functions of a module `tools.aio.NAME` are awaitable twins of those in `tools.NAME`.
_AIO = "aio"

# A part of a file: the name that it defines, the line before its first, and its text.
_Part = "tuple[Optional[str], int, str]"


def install(directory: str) -> None:
    """Serve ``import tools`` from ``directory``, before any other finder has a say."""
    sys.meta_path.insert(0, Finder(directory))


def publish(directory: str) -> None:
    """Put the package and its modules where imports look first.

    Their contents are read when they are first used. An import that finds them there runs no code of the
    import system, which a block may have broken by rebinding builtins.
    """
    try:
        names = [name[:-3] for name in os.listdir(directory) if name.endswith(".py")]
    except OSError:
        return
    if "__init__" not in names:
        return
    package = _new_module("tools", os.path.join(directory, "__init__.py"), False)
    for name in names:
        if name != "__init__":
            file = os.path.join(directory, name + ".py")
            package.__dict__[name] = _new_module(f"tools.{name}", file, False)


def _new_module(name: str, file: str, twins: bool) -> ToolModule:
    module = ToolModule(name)
    spec = ModuleSpec(name, Loader(file, twins), origin=file)
    spec.has_location = True
    module.__dict__.update(
        __file__=file, __spec__=spec, __loader__=spec.loader, _codehatch_source=(file, twins)
    )
    if file.endswith("__init__.py"):
        module.__dict__["__path__"] = spec.submodule_search_locations = [os.path.dirname(file)]
        module.__dict__["__package__"] = name
    else:
        module.__dict__["__package__"] = name.rpartition(".")[0]
    sys.modules[name] = module
    return module


class Finder:
    """Finds ``tools``, ``tools.NAME``, ``tools.aio`` and ``tools.aio.NAME``."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
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
        is_package = file.endswith("__init__.py")
        spec = ModuleSpec(name, Loader(file, twins), origin=file, is_package=is_package)
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(os.path.dirname(file))
        spec.has_location = True
        return spec

    def _file(self, below: list[str]) -> str | None:
        base = os.path.join(self._directory, *below)
        for file in (os.path.join(base, "__init__.py"), base + ".py"):
            if os.path.isfile(file):
                return file
        return None


class Loader:
    """Loads one generated file, by setting its parts out for later."""

    def __init__(self, file: str, twins: bool) -> None:
        self._file = file
        self._twins = twins

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return ToolModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["_codehatch_source"] = (self._file, self._twins)

    def get_source(self, name: str) -> str:
        with open(self._file, encoding="utf-8") as file:
            return file.read()

    def is_package(self, name: str) -> bool:
        return self._file.endswith("__init__.py")


class ToolModule(types.ModuleType):
    """A module whose definitions appear when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_codehatch"):
            raise AttributeError(name)
        with Pristine():
            if "_codehatch_source" in self.__dict__:
                _load(self)
                if name in self.__dict__:
                    return self.__dict__[name]
            lazy, file, twins = self.__dict__.get("_codehatch_parts", ({}, "", False))
            part = lazy.get(name)
            if part is None:
                raise AttributeError(_missing(self.__name__, name, lazy))
            _execute(part, file, self)
            value = self.__dict__[name]
            if isinstance(value, types.FunctionType):
                if twins:
                    value = self.__dict__[name] = _twin(value)
                else:
                    # f.aio(...) is to f(...) what a coroutine function is to a function.
                    value.__dict__["aio"] = _twin(value)
            return value

    def __dir__(self) -> list[str]:
        if "_codehatch_source" in self.__dict__:
            with Pristine():
                _load(self)
        lazy = self.__dict__.get("_codehatch_parts", ({},))[0]
        return sorted(name for name in {*self.__dict__, *lazy} if not name.startswith("_codehatch"))


def _load(module: ToolModule) -> None:
    """Run what stands outside of definitions, and note where those are."""
    file, twins = module.__dict__.pop("_codehatch_source")
    with open(file, encoding="utf-8") as opened:
        source = opened.read()
    private = os.path.basename(file).startswith("_") and not file.endswith("__init__.py")
    parts = [(None, 0, source)] if private else split(source)
    lazy = {part[0]: part for part in parts if part[0] is not None}
    module.__dict__["_codehatch_parts"] = (lazy, file, twins)
    for part in parts:
        if part[0] is None:
            _execute(part, file, module)
    public = sorted(name for name in lazy if not name.startswith("_"))
    module.__dict__.setdefault("__all__", public)


def _missing(module: str, name: str, lazy: dict[str, Any]) -> str:
    message = f"module {module!r} has no attribute {name!r}"
    if not name.startswith("__"):
        import difflib

        near = difflib.get_close_matches(name, lazy, 3, 0.6)
        if near:
            message += f"; did you mean {' or '.join(near)}?"
    return message


def split(source: str) -> list[tuple[str | None, int, str]]:
    """Split a generated file into parts that can be compiled alone.

    Parts without a name run when the module is loaded: they are what stands outside of classes and
    functions.
    """
    parts: list[tuple[str | None, int, str]] = []
    name: str | None = None
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
            parts.append((name, start, "".join(lines[start:at])))
        name, start = defined, at
    parts.append((name, start, "".join(lines[start:])))
    return parts


def _defined(line: str) -> str | None:
    for keyword in ("def ", "async def ", "class "):
        if line.startswith(keyword):
            name = line[len(keyword) :].lstrip()
            end = 0
            while end < len(name) and (name[end].isalnum() or name[end] == "_"):
                end += 1
            return name[:end]
    return None


def _execute(part: tuple[str | None, int, str], file: str, module: types.ModuleType) -> None:
    _, line, text = part
    # Blank lines in front keep the numbers of the file, for tracebacks and inspect.
    code = compile("\n" * line + text, file, "exec", _FLAGS, True)
    exec(code, module.__dict__)


def _twin(function: types.FunctionType) -> Callable[..., Any]:
    """The same function, whose call of the host returns an awaitable."""
    names = dict(function.__globals__)
    names["_send"] = _send_async
    names["_call"] = _call_async
    twin = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__doc__ = function.__doc__
    twin.__module__ = function.__module__
    twin.__qualname__ = function.__qualname__
    return twin


def _send_async(path: str, *arguments: Any, **options: Any) -> Any:
    """In place of the generated package's ``send``: the same arguments, an awaitable result."""
    from tools import _stub  # type: ignore[import-not-found]

    return _call_async(path, _stub.prepare(path, *arguments, **options))


def _call_async(name: str, args: dict[str, Any], timeout: float | None = None) -> Any:
    """In place of the client's ``call``."""
    from adk_code_mode_sandbox import _rpc_client

    with Pristine():
        from . import awaiting

    return awaiting.call(_rpc_client.get(), name, args)
