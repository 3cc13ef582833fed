"""Builtins that model code cannot rebind under the guest's feet.

``builtins.len = None`` in a block changes every module that looks names up in the builtins module. The
modules here set ``__builtins__`` to the copy below before they define anything; CPython then resolves
their builtins there.
"""

from __future__ import annotations

import builtins
from typing import Any

PRISTINE: dict[str, Any] = dict(vars(builtins))


class Pristine:
    """Context in which the builtins module is as it was at start, for the standard library's sake."""

    def __enter__(self) -> None:
        current = vars(builtins)
        self._changed: dict[str, Any] = {}
        self._added: list[str] = []
        if current == PRISTINE:
            return
        for name, value in list(current.items()):
            if name not in PRISTINE:
                continue
            if value is not PRISTINE[name]:
                self._changed[name] = value
        self._added = [name for name in PRISTINE if name not in current]
        current.update(PRISTINE)

    def __exit__(self, *_: object) -> None:
        current = vars(builtins)
        for name in self._added:
            current.pop(name, None)
        current.update(self._changed)
