"""Answers, one JSON line each, what the reference's own codec makes of a line.

Run by a Python that has a release of ``adk-code-mode-sandbox`` installed. Bytes cross as hexadecimal. Where the
codec under test is stricter than the reference on purpose, or changes a value on purpose, the rule is in
``STRICTER`` and ``normalised`` and nowhere else.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from adk_code_mode_sandbox import protocol

MAX_CALL_ID_BYTES = 256
MAX_EXTENSIONS = 64
MAX_NESTING = 1_000
NEWEST_VERSION = 4
INT64 = (-(2**63), 2**63 - 1)

#: Kinds that this release does not know: of extensions, or of later releases.
UNKNOWN_KINDS = {"image", "chunk", "output", "interrupt"} - set(protocol._KIND_TO_CLS)

LONE_SURROGATE = re.compile("[\ud800-\udfff]")

# Deep enough to read what is over the limit of the codec under test.
sys.setrecursionlimit(20_000)


# --- What is refused on purpose -------------------------------------------------------------------


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_integer(value: Any) -> bool:
    return isinstance(value, int)


def is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def is_timeout(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def is_packages(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(providers, dict)
        and all(version is None or isinstance(version, str) for version in providers.values())
        for providers in value.values()
    )


def is_extensions(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MAX_EXTENSIONS and all(map(is_text, value))


def is_error(value: Any) -> bool:
    return value is None or (
        is_text(value.get("type", ""))
        and is_text(value.get("message", ""))
        and (value.get("trace") is None or is_text(value["trace"]))
        and (value.get("status_code") is None or is_integer(value["status_code"]))
    )


def is_result(value: Any) -> bool:
    return value is None or (
        isinstance(value, dict)
        and is_text(value.get("type"))
        and ("value" in value or is_text(value.get("repr")))
    )


def is_scalar(value: Any) -> bool:
    return not isinstance(value, (list, dict))


#: Fields by kind, and what the codec under test accepts in each. The reference accepts anything.
STRICTER: dict[str, dict[str, Callable[[Any], bool]]] = {
    "ready": {
        "protocol_version": is_integer,
        "python_version": is_text,
        "packages": is_packages,
        "extensions": is_extensions,
    },
    "run": {"code": is_text, "extensions": is_extensions},
    "tool_call": {
        "id": is_scalar,
        "name": is_text,
        "args": lambda value: isinstance(value, dict),
        "timeout": is_timeout,
    },
    "tool_result": {"id": is_scalar, "ok": is_boolean, "error": is_error},
    "log": {"level": is_text, "msg": is_text},
    "done": {"exit_code": is_integer, "background_work": is_boolean, "result": is_result},
    "output": {"stdout": is_text, "stderr": is_text, "exit_code": is_integer},
    "interrupt": {"message": is_text},
    "shutdown": {},
}


def refused_on_purpose(text: str) -> list[str]:
    """The fields of a frame that the reference accepts and the codec under test must not."""
    frame = json.loads(text)
    kind = frame["kind"]
    fields = [
        name
        for name, accepts in STRICTER[kind].items()
        if name in frame and not accepts(frame[name])
    ]
    has_id = kind in ("tool_call", "tool_result") and "id" in frame
    if has_id and len(raw_member(text, "id").encode()) > MAX_CALL_ID_BYTES:
        fields.append("id")
    if any(depth(value) > MAX_NESTING for value in all_members(text)):
        fields.append("depth")
    return fields


def raw_members(text: str) -> Iterator[tuple[str, str]]:
    """Names and texts of the members of an object that is known to be well-formed."""
    decoder, space = json.JSONDecoder(), " \t\n\r"
    at = text.index("{") + 1
    while True:
        while text[at] in space + ",":
            at += 1
        if text[at] == "}":
            return
        name, at = json.decoder.scanstring(text, at + 1, True)
        while text[at] in space + ":":
            at += 1
        _, end = decoder.raw_decode(text, at)
        yield name, text[at:end]
        at = end


def raw_member(text: str, name: str) -> str:
    return dict(raw_members(text))[name]


def all_members(text: str) -> Iterator[Any]:
    """Every value, those of names that come again included."""
    return (json.loads(raw) for _, raw in raw_members(text))


def depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level := [each for each in level if isinstance(each, (list, dict))]:
        deepest += 1
        level = [
            inner for each in level for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return deepest


# --- What is changed on purpose -------------------------------------------------------------------


def lossy(text: str) -> str:
    return LONE_SURROGATE.sub("\ufffd", text)


def clamped(number: int) -> int:
    return min(max(int(number), INT64[0]), INT64[1])


def timeout(seconds: float | None) -> float | None:
    if seconds is None:
        return None
    try:
        seconds = float(seconds)
    except OverflowError:
        seconds = math.inf if seconds > 0 else -math.inf
    if math.isnan(seconds) or seconds == math.inf:
        return None
    return seconds if seconds > 0 else 0.0


def normalised(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields as the codec under test keeps them."""
    fields = dict(fields)
    for name in ("name", "code", "level", "msg", "stdout", "stderr", "message", "python_version"):
        if name in fields:
            fields[name] = lossy(fields[name])
    for name in ("exit_code", "protocol_version"):
        if name in fields:
            fields[name] = clamped(fields[name])
    if "timeout" in fields:
        fields["timeout"] = timeout(fields["timeout"])
    if "packages" in fields:
        packages: dict[str, dict[str, str]] = {}
        for name, providers in fields["packages"].items():
            kept = packages.setdefault(lossy(name), {})
            kept.clear()
            for distribution, version in providers.items():
                kept[lossy(distribution)] = lossy(version or "")
        fields["packages"] = packages
    if fields.get("error") is not None:
        error = dict(fields["error"])
        for name in ("type", "message", "trace"):
            if error[name] is not None:
                error[name] = lossy(error[name])
        if error.get("status_code") is not None:
            error["status_code"] = clamped(error["status_code"])
        fields["error"] = error
    return fields


# --- Questions ------------------------------------------------------------------------------------


def on_decode(line: bytes, again: bytes | None) -> dict[str, Any]:
    """Judges a line; ``again`` is what the codec under test wrote for the frame that it made of it."""
    try:
        frame = protocol.decode(line)
    except (protocol.ProtocolError, ValueError) as error:
        message = str(error)
        if "Exceeds the limit" in message and "integer string conversion" in message:
            return {"verdict": "open", "why": "Python reads no integers of so many digits"}
        if any(message == f"unknown frame kind: {kind!r}" for kind in UNKNOWN_KINDS):
            return {"verdict": "open", "why": "this release does not know the kind"}
        return {"verdict": "refused", "why": message}
    except RecursionError:
        return {"verdict": "refused", "why": "nested too deep"}
    text = line.decode("utf-8").rstrip("\r\n")
    fields = refused_on_purpose(text)
    if fields:
        return {"verdict": "refused on purpose", "fields": fields}
    theirs = normalised(asdict(frame))
    if "protocol_version" in theirs and "protocol_version" not in json.loads(text):
        # Each release takes its own for the default.
        theirs["protocol_version"] = NEWEST_VERSION
    ours = None if again is None else asdict(protocol.decode(again))
    # `repr` tells 1 from 1.0 and True, and finds one NaN like another.
    same = repr(theirs) == repr(ours)
    return {"verdict": "accepted", "same": same, "theirs": repr(theirs), "ours": repr(ours)}


def on_encode(line: bytes) -> dict[str, Any]:
    """What the reference writes for the frame that it reads from a line."""
    return {"line": protocol.encode(protocol.decode(line)).hex()}


def on_json(text: str) -> dict[str, Any]:
    """Whether Python reads a text as JSON, and what is special in it."""
    constants: list[str] = []
    try:
        value = json.loads(text, parse_constant=constants.append)
    except RecursionError:
        return {"ok": False, "why": "nested too deep"}
    except ValueError as error:
        if "integer string conversion" in str(error):
            return {"ok": None, "why": str(error)}
        return {"ok": False, "why": str(error)}
    if depth(value) > MAX_NESTING:
        return {"ok": False, "why": "nested too deep"}
    return {"ok": True}


def canonical(value: Any) -> str:
    """Tells values apart, but not by the order of members."""
    if isinstance(value, dict):
        members = sorted((repr(name), canonical(inner)) for name, inner in value.items())
        return "{" + ",".join(f"{name}:{inner}" for name, inner in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return repr(value)


def on_same(one: str, other: str) -> dict[str, Any]:
    """Whether two texts are the same value."""
    return {"ok": canonical(json.loads(one)) == canonical(json.loads(other))}


def main() -> None:
    for line in sys.stdin:
        question = json.loads(line)
        arguments = [
            None if each is None else bytes.fromhex(each) for each in question["arguments"]
        ]
        name = question["name"]
        if name == "decode":
            answer = on_decode(*arguments)
        elif name == "encode":
            answer = on_encode(*arguments)
        elif name == "json":
            answer = on_json(*(each.decode("utf-8") for each in arguments))
        else:
            answer = on_same(*(each.decode("utf-8") for each in arguments))
        # Lone surrogates in a repr must not stop the answer.
        sys.stdout.write(json.dumps(answer, ensure_ascii=True) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
