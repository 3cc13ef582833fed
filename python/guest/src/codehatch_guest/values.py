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
numpy scalar                    its Python value; a datetime64 its ISO 8601 text
anything else                   TypeError that names where it stands
==============================  =============================================================

Subclasses are what they are made of: a ``str`` with a ``__str__`` of its own is still its characters.
"""

from __future__ import annotations

from typing import Any, Callable

from .private import PRISTINE

__builtins__ = PRISTINE

import binascii
import json.encoder

_base64 = binascii.b2a_base64
_SCALARS = frozenset({str, int, float, bool, type(None)})
_string: Callable[[str], str] = json.encoder.encode_basestring
_ascii_string: Callable[[str], str] = json.encoder.encode_basestring_ascii
_make_encoder: Any = getattr(json.encoder, "c_make_encoder", None)
_PurePythonEncoder = json.encoder.JSONEncoder

# Deepest nesting that is sent. The host refuses deeper ones, and the interpreter's stack is finite.
MAX_DEPTH = 400
# Most characters of a key that are shown in an error.
_MAX_KEY = 60


class _TooDeep(Exception):
    pass


class TooLarge(Exception):
    """The text would have more bytes than wanted."""


def dumps(value: Any, where: str, max_bytes: int | None = None) -> bytes:
    """Encode ``value``; ``where`` names it in errors, or stands before the names of its members.

    :raises TypeError: if part of it has no documented form.
    :raises ValueError: if it contains itself.
    :raises TooLarge: if it has more than ``max_bytes``, most often before the memory for them is taken.
    """
    try:
        if not _is_plain(value, max_bytes):
            value = _convert(value, where, ())
        text = _encode(value, _string)
    except (_TooDeep, RecursionError):
        what = where.rstrip() if where.endswith(" ") else where
        message = f"{what} is nested deeper than {MAX_DEPTH} levels, or contains itself"
        raise ValueError(message) from None
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair has no UTF-8; as an escape it survives.
        encoded = _encode(value, _ascii_string).encode()
    if max_bytes is not None and len(encoded) > max_bytes:
        raise TooLarge
    return encoded


def _refuse(value: Any) -> Any:
    """Called for what another thread puts into a value while it is encoded."""
    raise TypeError(f"{_kind(value)} has no JSON form")


def _new_encoder(string: Callable[[str], str]) -> Callable[[Any], Any]:
    if _make_encoder is None:
        return _PurePythonEncoder(
            default=_refuse,
            ensure_ascii=string is _ascii_string,
            separators=(",", ":"),
            check_circular=False,
        ).encode
    encoder = _make_encoder(None, _refuse, string, None, ":", ",", False, False, True)
    return lambda value: encoder(value, 0)


_encoders: dict[Any, Callable[[Any], Any]] = {
    string: _new_encoder(string) for string in (_string, _ascii_string)
}


def _encode(value: Any, string: Callable[[str], str]) -> str:
    return "".join(_encoders[string](value))


def _is_plain(value: Any, max_bytes: int | None) -> bool:
    """Whether JSON has a form for every part as it is."""
    kind = type(value)
    if kind in _SCALARS:
        if max_bytes is not None and kind is str and len(value) > max_bytes:
            raise TooLarge
        return True
    todo = [(value, 0)]
    size = 0
    while todo:
        value, depth = todo.pop()
        if depth > MAX_DEPTH:
            # It may contain itself, and then it can be said where.
            return False
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
        if max_bytes is not None:
            # An item takes two bytes at least.
            items = value.values() if kind is dict else value
            size += 2 * len(value) + sum(len(item) for item in items if type(item) is str)
            if size > max_bytes:
                raise TooLarge
    return True


def _convert(value: Any, where: str, parents: tuple[int, ...]) -> Any:
    if type(value) in _SCALARS:
        return value
    if len(parents) > MAX_DEPTH:
        raise _TooDeep
    if id(value) in parents:
        raise ValueError(f"{where.rstrip()} contains itself")
    inside = (*parents, id(value))
    if isinstance(value, dict):
        return _convert_dict(value, where, inside)
    if isinstance(value, (list, tuple)):
        fields = getattr(value, "_fields", None)
        if isinstance(value, tuple) and isinstance(fields, tuple):
            named = zip(fields, value)
            return {str(name): _convert(item, _member(where, name), inside) for name, item in named}
        return [_convert(item, f"{where}[{at}]", inside) for at, item in enumerate(value)]
    return _convert_other(value, where, inside)


def _member(where: str, name: str) -> str:
    if len(name) > _MAX_KEY:
        name = name[:_MAX_KEY] + "…"
    return f"{where}{name}" if where.endswith(" ") else f"{where}.{name}"


def _convert_dict(value: dict[Any, Any], where: str, inside: tuple[int, ...]) -> Any:
    converted = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise TypeError(
                f"{where.rstrip()} has the key {repr(key)[:_MAX_KEY]} of type {type(key).__name__}; "
                f"JSON keys are strings, so convert it first, for example with str()"
            )
        name = str.__str__(key)
        converted[name] = _convert(item, _member(where, name), inside)
    return converted


def _convert_other(value: Any, where: str, inside: tuple[int, ...]) -> Any:
    # By name, so that it needs no module that model code may have removed from sys.modules.
    bases = {
        f"{base.__module__.partition('.')[0]}.{base.__qualname__}" for base in type(value).__mro__
    }
    if "enum.Enum" in bases:
        return _convert(value.value, where, inside)
    if isinstance(value, (bytes, bytearray, memoryview)):
        text = _base64(bytes(value), newline=False).decode("ascii")
        return {"kind": "bytes", "data": text, "encoding": "base64"}
    # Subclasses of the scalars, such as numpy.float64.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    fields = getattr(type(value), "__dataclass_fields__", None)
    if isinstance(fields, dict):
        names = [name for name, field in fields.items() if _is_field(field)]
        return {
            name: _convert(getattr(value, name), _member(where, name), inside) for name in names
        }
    if "datetime.date" in bases or "datetime.time" in bases:
        return value.isoformat()
    if not bases.isdisjoint(
        ("decimal.Decimal", "uuid.UUID", "pathlib.PurePath", "numpy.datetime64")
    ):
        return str(value)
    if "numpy.generic" in bases:
        item = value.item()
        if type(item) in _SCALARS:
            return item
    raise TypeError(f"{where.rstrip()} is {_kind(value)}, which has no JSON form{_hint(value)}")


def _is_field(field: Any) -> bool:
    """Not so a ``ClassVar`` or an ``InitVar``, which dataclasses note in the same place."""
    return getattr(getattr(field, "_field_type", None), "name", "") == "_FIELD"


def _kind(value: Any) -> str:
    kind = type(value)
    name = kind.__qualname__
    module = kind.__module__
    return f"a {name}" if module in ("builtins", "__main__") else f"a {module}.{name}"


def _hint(value: Any) -> str:
    if isinstance(value, (set, frozenset)):
        return "; use sorted(...) or list(...)"
    for names, hint in _HINTS:
        if all(hasattr(value, name) for name in names):
            return f"; use {hint}"
    return ""


_HINTS = (
    (("model_dump", "model_fields"), ".model_dump(mode='json')"),
    (("to_dict", "columns"), ".to_dict('records')"),
    (("tolist",), ".tolist()"),
    (("__next__",), "list(...)"),
)
