"""What a block's last expression and its figures become."""

from __future__ import annotations

from typing import Any

from .private import PRISTINE

__builtins__ = PRISTINE

import sys

from . import values

# Most characters of a value's text form.
_MAX_REPR = 20_000
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
    if limits.images and _take_image(value, images):
        return None
    name = type(value).__qualname__
    try:
        text = values.dumps(value, "the value")
        if len(text) <= limits.max_bytes:
            return {"type": name, "value": text}
    except (TypeError, ValueError):
        pass
    return {"type": name, "repr": _bounded(repr(value))}


def _bounded(text: str) -> str:
    if len(text) <= _MAX_REPR:
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


def take_figures(limits: ResultLimits, images: list[tuple[str, bytes]]) -> None:
    """Render the figures that the block left open, and close them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if not limits.images or pyplot is None:
        return
    for number in pyplot.get_fignums():
        if len(images) < _MAX_IMAGES:
            images.append(("image/png", _render_figure(pyplot.figure(number))))
    pyplot.close("all")


def _render_figure(figure: Any) -> bytes:
    import io

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()
