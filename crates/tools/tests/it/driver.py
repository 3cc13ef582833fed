"""Imports generated packages and calls their functions; one JSON request a line, one answer a line."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import inspect
import io
import json
import os
import sys
import tempfile
import types
import warnings
from typing import Any

SENT: list[Any] = []


def fake_guest(old: bool) -> None:
    """Provide the module that every guest has; old ones know no HTTPStatusError."""
    package = types.ModuleType("adk_code_mode_sandbox")
    client = types.ModuleType("adk_code_mode_sandbox._rpc_client")

    class ToolError(RuntimeError):
        pass

    class HTTPStatusError(Exception):
        pass

    def call(name: str, args: dict[str, Any], timeout: float | None = None) -> Any:
        SENT.append((name, args))
        return {"called": name}

    client.ToolError = ToolError  # type: ignore[attr-defined]
    client.call = call  # type: ignore[attr-defined]
    if not old:
        client.HTTPStatusError = HTTPStatusError  # type: ignore[attr-defined]
    sys.modules["adk_code_mode_sandbox"] = package
    sys.modules["adk_code_mode_sandbox._rpc_client"] = client


def load(files: list[list[str]], root: str) -> Any:
    for name in [name for name in sys.modules if name == "tools" or name.startswith("tools.")]:
        del sys.modules[name]
    package = os.path.join(root, "tools")
    os.makedirs(package)
    for path, source in files:
        with open(os.path.join(package, path), "w", encoding="utf-8", newline="\n") as file:
            file.write(source)
        compile(source, path, "exec")
    sys.path.insert(0, root)
    importlib.invalidate_caches()
    tools = importlib.import_module("tools")
    for path, _ in files:
        module = path[: -len(".py")]
        if module != "__init__":
            importlib.import_module(f"tools.{module}")
    return tools


def find(path: str) -> Any:
    module, _, attribute = f"tools.{path}".rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def blocks(source: str) -> tuple[str, dict[str, str]]:
    """Split a module as a guest may: a preamble, and blocks by the names they define."""
    preamble: list[str] = []
    found: dict[str, list[str]] = {}
    current = preamble
    for line in source.split("\n"):
        if line[:1] not in ("", " "):
            words = line.replace("(", " ").replace(":", " ").split()
            if words[0] in ("def", "class"):
                current = found.setdefault(words[1], [])
            elif words[1:2] == ["="]:
                current = found.setdefault(words[0], [])
            elif current is not preamble:
                raise ValueError(f"neither preamble nor block: {line!r}")
        current.append(line)
    return "\n".join(preamble), {name: "\n".join(lines) for name, lines in found.items()}


def call_sliced(files: list[list[str]], path: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function of which nothing but its own block was compiled."""
    namespace, _, attribute = path.rpartition(".")
    source = dict(map(tuple, files))[f"{namespace or '__init__'}.py"]
    preamble, found = blocks(source)
    scope = {"__name__": f"tools.{namespace}" if namespace else "tools", "__package__": "tools"}
    exec(compile(preamble, path, "exec"), scope)
    import __future__

    flags = __future__.annotations.compiler_flag
    exec(compile(found[attribute], path, "exec", flags), scope)
    return scope[attribute](*args, **kwargs)


def run(step: dict[str, Any], tools: Any, files: list[list[str]]) -> Any:
    SENT.clear()
    try:
        if "doc" in step:
            return {"value": inspect.getdoc(find(step["doc"]))}
        if "eval" in step:
            return {"value": eval(step["eval"], {"tools": tools, "find": find, "blocks": blocks})}
        if "exec" in step:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(step["exec"], {"tools": tools, "SENT": SENT})
            return {"sent": SENT[:]}
        args, kwargs = step.get("args", []), step.get("kwargs", {})
        if step.get("sliced"):
            call_sliced(files, step["call"], args, kwargs)
        else:
            find(step["call"])(*args, **kwargs)
        return {"sent": SENT[:]}
    except Exception as error:  # noqa: BLE001
        return {"error": f"{type(error).__name__}: {error}"}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    fake_guest(request.get("old", False))
    builtins.canary = 0  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as root:
        try:
            tools = load(request["files"], root)
            results = [run(step, tools, request["files"]) for step in request["steps"]]
        except BaseException as error:  # noqa: BLE001
            return {"broken": f"{type(error).__name__}: {error}"}
        finally:
            if root in sys.path:
                sys.path.remove(root)
    return {"results": results, "canary": builtins.canary}  # type: ignore[attr-defined]


def main() -> None:
    sys.dont_write_bytecode = True
    warnings.simplefilter("error")
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


main()
