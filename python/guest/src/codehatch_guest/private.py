"""Builtins that model code cannot rebind under the guest's feet.

``builtins.len = None`` in a block changes every module that looks names up in the builtins module. The
modules here set ``__builtins__`` to the copy below before they define anything; CPython then resolves
their builtins there.
"""

from __future__ import annotations

import builtins
from typing import Any

PRISTINE: dict[str, Any] = dict(vars(builtins))
__builtins__ = PRISTINE


class Pristine:
    """Context in which the builtins module is as it was at start, for the standard library's sake."""

    def __enter__(self) -> None:
        current = vars(builtins)
        missing = PRISTINE.keys() - current.keys()
        self._changed: dict[str, Any] = {
            name: current[name]
            for name, value in PRISTINE.items()
            if name not in missing and current[name] is not value
        }
        self._missing = missing
        if missing or self._changed:
            current.update(PRISTINE)

    def __exit__(self, *_: object) -> None:
        current = vars(builtins)
        for name in self._missing:
            current.pop(name, None)
        current.update(self._changed)
