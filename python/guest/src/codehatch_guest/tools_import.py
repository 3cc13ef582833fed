"""The ``tools`` package: imported from its generated files, each function compiled when it is used.

A namespace may have thousands of functions; a block uses a few. The files are plain Python and would
import without this module, only slower.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

from .private import PRISTINE, Pristine

__builtins__ = PRISTINE

import __future__

import _thread
import importlib
import os
import sys
import types
from importlib.machinery import ModuleSpec

from . import tracebacks

_import_module = importlib.import_module
_isfile = os.path.isfile
_join = os.path.join
_dirname = os.path.dirname
_FLAGS = __future__.annotations.compiler_flag
# Functions of a module `tools.aio.NAME` are awaitable twins of those in `tools.NAME`. Where a tool or a
# namespace has the name, the twins give way: no tool can have this one.
_AIO = ("aio", "aio_")
# Packages that outlive model code which clears `sys.modules`: new ones would know no host.
_KEPT = ("adk_code_mode_sandbox", "codehatch_guest")

# Bytes of a tree's source that are read, and compiled, before it is used: the stubs of some hundred tools.
_READ_AHEAD = 1 << 20
_COMPILED_AHEAD = 1 << 17

# A part of a file: the name that it defines, the line before its first, and its text.
_Part = tuple[Optional[str], int, str]

# Modules are set out under this lock: two threads may be the first to use one.
_loading = _thread.RLock()
# A child that is forked while another thread has the lock would wait for ever.
os.register_at_fork(
    before=_loading.acquire,
    after_in_parent=_loading.release,
    after_in_child=_loading.release,
)


def install(directory: str) -> None:
    """Serve ``import tools`` from ``directory``, before any other finder has a say."""
    sys.meta_path.insert(0, Finder(directory))
    tracebacks.hide(directory)


class Tree:
    """What a process that is forked often knows of a tools tree before its children use it."""

    def __init__(self) -> None:
        self.modules: dict[str, ToolModule] = {}
        # By file, and by file and line.
        self.parts: dict[str, list[_Part]] = {}
        self.codes: dict[tuple[str, int], types.CodeType] = {}


# The tree of this process.
_tree = Tree()


def find(directory: str, seen_as: str | None = None) -> Tree:
    """Find what is in the tree in ``directory``, which is or will be seen as ``seen_as``."""
    seen_as = seen_as or directory
    tree = Tree()
    try:
        names = [name[:-3] for name in os.listdir(directory) if name.endswith(".py")]
    except OSError:
        return tree
    if "__init__" not in names:
        return tree
    package = _new_module("tools", _join(seen_as, "__init__.py"), False)
    tree.modules["tools"] = package
    if "_stub" not in names:
        # Not our own host's. There, modules of the package have the names of the functions in them.
        return tree
    for name in names:
        if name != "__init__":
            module = _new_module(f"tools.{name}", _join(seen_as, name + ".py"), False)
            package.__dict__[name] = tree.modules[f"tools.{name}"] = module
    return tree


def read_ahead(directory: str, seen_as: str) -> Tree:
    """Find what is in a tree, and compile what is worth its memory. Runs nothing of it."""
    tree = find(directory, seen_as)
    to_read, to_compile = _READ_AHEAD, _COMPILED_AHEAD
    try:
        # The small files first, and with them what all others import.
        files = ["__init__.py"]
        files += [f"{name[6:]}.py" for name in tree.modules if name != "tools"]
        for size, name in sorted((os.stat(_join(directory, name)).st_size, name) for name in files):
            to_read -= size
            to_compile -= size
            if to_read < 0:
                break
            file = _join(seen_as, name)
            parts = tree.parts[file] = _parts(file, _read(_join(directory, name)))
            for part in parts if to_compile >= 0 else ():
                tree.codes[file, part[1]] = _compile(part, file)
    except (OSError, SyntaxError, ValueError):
        # What is wrong with it will be seen by whoever imports it.
        pass
    return tree


def publish(tree: Tree | None) -> None:
    """Put the package and its modules where imports look first.

    Their contents are set out when they are first used. An import that finds them there runs no code of the
    import system, which a block may have broken by rebinding builtins.
    """
    global _tree
    if tree is not None:
        _tree = tree
        sys.modules.update(tree.modules)


def _new_module(name: str, file: str, twins: bool) -> ToolModule:
    module = ToolModule(name)
    spec = _spec(name, file, twins)
    module.__dict__.update(
        __file__=file,
        __spec__=spec,
        __loader__=spec.loader,
        __package__=spec.parent,
        _codehatch_source=(file, twins),
    )
    if spec.submodule_search_locations is not None:
        module.__dict__["__path__"] = spec.submodule_search_locations
    return module


def _spec(name: str, file: str, twins: bool) -> ModuleSpec:
    is_package = file.endswith("__init__.py")
    spec = ModuleSpec(name, Loader(file, twins), origin=file, is_package=is_package)
    if spec.submodule_search_locations is not None:
        spec.submodule_search_locations.append(_dirname(file))
    spec.has_location = True
    return spec


class Finder:
    """Finds ``tools``, ``tools.NAME``, ``tools.aio`` and ``tools.aio.NAME``; and the guest's own modules."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._aio: str | None = None
        self._kept = {
            name: module for name, module in sys.modules.items() if name.partition(".")[0] in _KEPT
        }

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name in self._kept:
            return ModuleSpec(name, _KeptLoader(self._kept[name]), is_package=name in _KEPT)
        parts = name.split(".")
        if parts[0] != "tools":
            return None
        twins = len(parts) > 1 and parts[1] in _AIO and parts[1] == self._twins_name()
        below = parts[2:] if twins else parts[1:]
        if not all(part.isidentifier() for part in below):
            return None
        file = self._file(below)
        return _spec(name, file, twins) if file is not None else None

    def _file(self, below: list[str]) -> str | None:
        base = _join(self._directory, *below)
        for file in (_join(base, "__init__.py"), base + ".py"):
            if _isfile(file):
                return file
        return None

    def _twins_name(self) -> str:
        if self._aio is None:
            is_taken = self._file(["aio"]) is not None
            file = self._file([])
            if file is not None and not is_taken:
                is_taken = any(name == "aio" for name, _, _ in split(_read(file)))
            self._aio = _AIO[is_taken]
        return self._aio


class _KeptLoader:
    """Loads a module that is there already."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return self._module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


class Loader:
    """Loads one generated file, by setting its parts out for later."""

    def __init__(self, file: str, twins: bool) -> None:
        self._file = file
        self._twins = twins

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return ToolModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        names = module.__dict__
        names["_codehatch_source"] = (self._file, self._twins)
        # When it is loaded again.
        names.pop("_codehatch_parts", None)
        names.pop("_codehatch_twins", None)

    def get_source(self, name: str) -> str:
        return _read(self._file)

    def is_package(self, name: str) -> bool:
        return self._file.endswith("__init__.py")


class ToolModule(types.ModuleType):
    """A module whose definitions appear when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        names = self.__dict__
        if name.startswith("_codehatch") or "_codehatch_source" not in names:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        with _loading, Pristine():
            _load(self)
            if name in names:
                return names[name]
            part = names["_codehatch_parts"].get(name)
            if part is not None:
                return _define(self, part)
        if "__path__" in names and not name.startswith("_"):
            # A namespace that was not imported.
            full = f"{self.__name__}.{name}"
            try:
                return _import_module(full)
            except ModuleNotFoundError as error:
                if error.name != full:
                    raise
        raise AttributeError(_missing(self.__name__, name, {*names, *names["_codehatch_parts"]}))

    def __dir__(self) -> list[str]:
        names = self.__dict__
        with _loading, Pristine():
            _load(self)
        everything = {*names, *names["_codehatch_parts"]}
        return sorted(name for name in everything if not name.startswith("_codehatch"))


def _read(file: str) -> str:
    with open(file, encoding="utf-8") as opened:
        return opened.read()


def _load(module: ToolModule) -> None:
    """Run what stands outside of definitions, and note where those are; but once."""
    names = module.__dict__
    if "_codehatch_parts" in names:
        return
    file, _ = names["_codehatch_source"]
    parts = _tree.parts.get(file)
    if parts is None:
        parts = _parts(file, _read(file))
    # Before anything runs, since it may come back here in a circle.
    lazy = names["_codehatch_parts"] = {part[0]: part for part in parts if part[0] is not None}
    try:
        for part in parts:
            if part[0] is None:
                _execute(part, file, module)
        names.setdefault("__all__", sorted(name for name in lazy if not name.startswith("_")))
    except BaseException:
        # Whatever interrupted it, the next use begins again.
        names.pop("_codehatch_parts", None)
        raise


def _parts(file: str, source: str) -> list[_Part]:
    private = os.path.basename(file).startswith("_") and not file.endswith("__init__.py")
    return [(None, 0, source)] if private else split(source)


def _define(module: ToolModule, part: _Part) -> Any:
    """Run the definition of one function or class."""
    names = module.__dict__
    file, twins = names["_codehatch_source"]
    name = str(part[0])
    scope: dict[str, Any] = {}
    _execute(part, file, module, scope)
    value = scope[name]
    if isinstance(value, types.FunctionType):
        twin = _twin(value, module)
        if twins:
            value = twin
        else:
            # f.aio(...) is to f(...) what a coroutine function is to a function.
            value.__dict__["aio"] = twin
    names[name] = value
    return value


def _missing(module: str, name: str, names: set[str]) -> str:
    message = f"module {module!r} has no attribute {name!r}"
    if not name.startswith("__"):
        with Pristine():
            import difflib

            public = sorted(known for known in names if not known.startswith("_"))
            near = difflib.get_close_matches(name, public, 3, 0.6)
        if near:
            message += f"; did you mean {' or '.join(near)}?"
    return message


def split(source: str) -> list[_Part]:
    """Split a generated file into parts that can be compiled alone.

    Parts without a name run when the module is loaded: they are what stands outside of classes and
    functions.
    """
    parts: list[_Part] = []
    name: str | None = None
    start = 0
    # Not `splitlines`, for which a line separator in a docstring ends a line.
    lines = [line + "\n" for line in source.split("\n")]
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


def _execute(
    part: _Part, file: str, module: types.ModuleType, scope: dict[str, Any] | None = None
) -> None:
    code = _tree.codes.get((file, part[1]))
    if code is None:
        code = _compile(part, file)
    exec(code, module.__dict__, scope)


def _compile(part: _Part, file: str) -> types.CodeType:
    _, line, text = part
    # Blank lines in front keep the numbers of the file, for tracebacks and inspect.
    return compile("\n" * line + text, file, "exec", _FLAGS, True)


def _twin(function: types.FunctionType, module: ToolModule) -> Callable[..., Any]:
    """The same function, whose call of the host returns an awaitable."""
    names = module.__dict__.get("_codehatch_twins")
    if names is None:
        names = {**module.__dict__, "_send": _send_async, "_call": _call_async}
        module.__dict__["_codehatch_twins"] = names
    twin = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__doc__ = function.__doc__
    twin.__module__ = function.__module__
    twin.__qualname__ = function.__qualname__
    twin.__annotations__ = function.__annotations__
    return twin


def _send_async(path: str, *arguments: Any, **options: Any) -> Any:
    """In place of the generated package's ``send``: the same arguments, an awaitable result."""
    stub = _import_module("tools._stub")
    return _call_async(path, stub.prepare(path, *arguments, **options))


def _call_async(name: str, args: dict[str, Any], timeout: float | None = None) -> Any:
    """In place of the client's ``call``."""
    from adk_code_mode_sandbox import _rpc_client

    with Pristine():
        from . import awaiting

    return awaiting.call(_rpc_client.get(), name, args)
