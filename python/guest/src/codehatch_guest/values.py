"""Python values to JSON text, without changing any value in silence.

==============================  =============================================================
value                           on the wire
==============================  =============================================================
None, bool, int, float, str     themselves; NaN and the infinities as Python's JSON writes them
list, tuple, dict               array, array, object (keys must be strings)
datetime, date, time            ISO 8601 text
Decimal, UUID, PurePath         their text
bytes, bytearray, memoryview    ``{"kind": "bytes", "data": <base64>, "encoding": "base64"}``
Enum                            its value
dataclass instance, namedtuple  object of its fields
numpy scalar                    its Python value
anything else                   TypeError that names where it stands
==============================  =============================================================
"""

from __future__ import annotations

import sys
from typing import Any, Callable

from .private import PRISTINE

__builtins__ = PRISTINE

import binascii
import json.encoder

_SCALARS = frozenset({str, int, float, bool, type(None)})
_string: Callable[[str], str] = json.encoder.encode_basestring
_ascii_string: Callable[[str], str] = json.encoder.encode_basestring_ascii
_make_encoder = json.encoder.c_make_encoder
_PurePythonEncoder = json.encoder.JSONEncoder


# Deepest nesting that is sent. The host refuses deeper ones, and the interpreter's stack is finite.
MAX_DEPTH = 400


class _TooDeep(Exception):
    pass


def _refuse(value: Any) -> Any:
    """Never called: what reaches the encoder is plain."""
    raise TypeError(_kind(value))


def dumps(value: Any, where: str) -> bytes:
    """Encode ``value``; ``where`` names it in errors.

    :raises TypeError: if part of it has no documented form.
    :raises ValueError: if it contains itself.
    """
    try:
        if not _is_plain(value):
            value = _convert(value, where, ())
        text = _encode(value, _string)
    except (_TooDeep, RecursionError):
        message = f"{where} is nested deeper than {MAX_DEPTH} levels, or contains itself"
        raise ValueError(message) from None
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair has no UTF-8; as an escape it survives.
        return _encode(value, _ascii_string).encode()


def _encode(value: Any, string: Callable[[str], str]) -> str:
    if _make_encoder is None:
        return _PurePythonEncoder(
            ensure_ascii=string is _ascii_string, separators=(",", ":"), check_circular=False
        ).encode(value)
    chunks = _make_encoder(None, _refuse, string, None, ":", ",", False, False, True)(value, 0)
    return "".join(chunks)


def _is_plain(value: Any) -> bool:
    """Whether JSON has a form for every part as it is."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    todo = [(value, 0)]
    while todo:
        value, depth = todo.pop()
        if depth > MAX_DEPTH:
            raise _TooDeep
        kind = type(value)
        if kind is dict:
            for key, item in value.items():
                if type(key) is not str:
                    return False
                if type(item) not in _SCALARS:
                    todo.append((item, depth + 1))
        elif kind is list or kind is tuple:
            for item in value:
                if type(item) not in _SCALARS:
                    todo.append((item, depth + 1))
        else:
            return False
    return True


def _convert(value: Any, where: str, parents: tuple[int, ...]) -> Any:
    if type(value) in _SCALARS:
        return value
    if len(parents) > MAX_DEPTH:
        raise _TooDeep
    if id(value) in parents:
        raise ValueError(f"{where} contains itself")
    inside = (*parents, id(value))
    if isinstance(value, dict):
        return _convert_dict(value, where, inside)
    fields = getattr(value, "_fields", None)
    if isinstance(value, tuple) and isinstance(fields, tuple):
        return {
            str(name): _convert(item, f"{where}.{name}", inside)
            for name, item in zip(fields, value)
        }
    if isinstance(value, (list, tuple)):
        return [_convert(item, f"{where}[{at}]", inside) for at, item in enumerate(value)]
    return _convert_other(value, where, inside)


def _convert_dict(value: dict[Any, Any], where: str, inside: tuple[int, ...]) -> Any:
    converted = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise TypeError(
                f"{where} has the key {key!r} of type {type(key).__name__}; JSON keys are strings, "
                f"so convert it first, for example with str()"
            )
        converted[str(key)] = _convert(item, f"{where}.{key}", inside)
    return converted


def _convert_other(value: Any, where: str, inside: tuple[int, ...]) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        text = binascii.b2a_base64(bytes(value), newline=False).decode("ascii")
        return {"kind": "bytes", "data": text, "encoding": "base64"}
    enum = sys.modules.get("enum")
    if enum is not None and isinstance(value, enum.Enum):
        return _convert(value.value, where, inside)
    # Subclasses of the scalars, such as IntFlag members above or numpy.float64.
    for kind in (str, bool, int, float):
        if isinstance(value, kind):
            return kind(value)
    fields = getattr(type(value), "__dataclass_fields__", None)
    if isinstance(fields, dict):
        return {name: _convert(getattr(value, name), f"{where}.{name}", inside) for name in fields}
    for module, names, form in _TEXT_FORMS:
        found = sys.modules.get(module)
        if found is not None and isinstance(value, tuple(getattr(found, name) for name in names)):
            return form(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return _convert(value.item(), where, inside)
    raise TypeError(f"{where} is {_kind(value)}, which has no JSON form{_hint(value)}")


_TEXT_FORMS: tuple[tuple[str, tuple[str, ...], Callable[[Any], str]], ...] = (
    ("datetime", ("date", "time"), lambda value: value.isoformat()),
    ("decimal", ("Decimal",), str),
    ("uuid", ("UUID",), str),
    ("pathlib", ("PurePath",), str),
)


def _kind(value: Any) -> str:
    kind = type(value)
    name = kind.__qualname__
    module = kind.__module__
    return f"a {name}" if module in ("builtins", "__main__") else f"a {module}.{name}"


def _hint(value: Any) -> str:
    if isinstance(value, (set, frozenset)):
        return "; use sorted(...) or list(...)"
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return "; use .to_dict('records')"
    if hasattr(value, "tolist"):
        return "; use .tolist()"
    if hasattr(value, "__next__"):
        return "; use list(...)"
    return ""
