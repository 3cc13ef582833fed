"""What a block's last expression and its figures become.

The block's code has run by now. Nothing here may make it look as if it had failed.
"""

from __future__ import annotations

from typing import Any, Callable

from .private import PRISTINE

__builtins__ = PRISTINE

import sys

from . import values

# Most characters of a value's text form.
_MAX_REPR = 20_000
# Items at either end of a large container that are looked at for it.
_HEAD = 1_000
_TAIL = 400
_MAX_IMAGES = 16


class ResultLimits:
    """What the host wants of a block beyond its output. Its own limits hold whatever is sent."""

    __slots__ = ("images", "max_bytes", "wanted")

    def __init__(self, extensions: Any, max_bytes: int = 1 << 20) -> None:
        names = extensions if isinstance(extensions, list) else ()
        self.wanted = "result" in names
        self.images = "image" in names
        self.max_bytes = max_bytes


def describe(
    value: Any, limits: ResultLimits, images: list[tuple[str, bytes]]
) -> dict[str, Any] | None:
    """The value as JSON where it has an exact form, else as text; an image as an image."""
    name = _name_of(type(value))
    try:
        if limits.images and _take_image(value, images):
            return None
    except Exception:
        pass  # It has a text form as well.
    try:
        return {"type": name, "value": values.dumps(value, "the value", limits.max_bytes)}
    except Exception:
        pass
    try:
        text = _bounded(_text_of(value))
    except Exception as error:
        text = f"<{name} object, whose text form failed with {_name_of(type(error))}>"
    return {"type": name, "repr": text}


def _name_of(kind: type) -> str:
    # Not by the attribute, which a metaclass may define.
    return str.__str__(_qualified_name(kind))


_qualified_name: Callable[[type], str] = type.__dict__["__qualname__"].__get__


def _text_of(value: Any) -> str:
    """``repr(value)``, without making more of a large value than is shown."""
    kind = type(value)
    if kind not in (str, bytes, list, tuple, dict) or len(value) <= _MAX_REPR:
        return str.__str__(repr(value))
    if kind is dict:
        import itertools

        head = repr(dict(itertools.islice(value.items(), _HEAD)))
        return f"{_cut(head[:-1])}, ... {len(value) - _HEAD} more ...}}"
    keep = _MAX_REPR // 2 if kind in (str, bytes) else _HEAD
    end = _MAX_REPR // 2 if kind in (str, bytes) else _TAIL
    left_out = len(value) - keep - end
    what = {str: "characters", bytes: "bytes"}.get(kind, "items")
    head, tail = _cut(repr(value[:keep])), _cut(repr(value[-end:]), at_end=True)
    return f"{head[:-1]} [... {left_out} {what} left out ...] {tail[1:]}"


def _cut(text: str, at_end: bool = False) -> str:
    if len(text) <= _MAX_REPR:
        return text
    return text[-_MAX_REPR:] if at_end else text[:_MAX_REPR]


def _bounded(text: str) -> str:
    if len(text) <= _MAX_REPR + 1000:
        return text
    keep = _MAX_REPR // 2
    return f"{text[:keep]} [... {len(text) - 2 * keep} characters left out ...] {text[-keep:]}"


def _take_image(value: Any, images: list[tuple[str, bytes]]) -> bool:
    """A figure, or anything that offers a PNG or JPEG of itself, as in notebooks."""
    if len(images) >= _MAX_IMAGES or isinstance(value, type):
        return False
    figure = sys.modules.get("matplotlib.figure")
    if figure is not None and isinstance(value, figure.Figure):
        images.append(("image/png", _render_figure(value)))
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close(value)
        return True
    for method, mime_type in (("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg")):
        render = getattr(value, method, None)
        data = render() if callable(render) else None
        if isinstance(data, bytes):
            images.append((mime_type, data))
            return True
    return False


def take_figures(
    limits: ResultLimits, images: list[tuple[str, bytes]], note: Callable[[str], None]
) -> None:
    """Render the figures that the block left open, and close them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if not limits.images or pyplot is None:
        return
    try:
        for number in pyplot.get_fignums():
            if len(images) < _MAX_IMAGES:
                images.append(("image/png", _render_figure(pyplot.figure(number))))
    except Exception as error:
        note(f"[a figure could not be rendered: {_name_of(type(error))}: {error}]\n")
    finally:
        try:
            pyplot.close("all")
        except Exception:
            pass


def _render_figure(figure: Any) -> bytes:
    import io

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()
