"""What can be imported in this sandbox, for the model to know."""

from __future__ import annotations

from importlib import metadata

# What is installed only so that the guest runs.
_HIDDEN = frozenset(
    {"adk-code-mode-sandbox", "codehatch-guest", "pip", "setuptools", "websockets", "wheel"}
)


def installed() -> dict[str, dict[str, str]]:
    """Import name → distribution → version."""
    found: dict[str, dict[str, str]] = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if not name or name.lower() in _HIDDEN:
            continue
        for top in _top_level(distribution):
            found.setdefault(top, {})[name] = distribution.version
    return {top: dict(sorted(found[top].items())) for top in sorted(found, key=str.casefold)}


def _top_level(distribution: metadata.Distribution) -> set[str]:
    listed = (distribution.read_text("top_level.txt") or "").split()
    if not listed:
        for file in distribution.files or ():
            if file.suffix in (".py", ".so") and ".." not in file.parts:
                listed.append(
                    file.parts[0].split(".")[0] if len(file.parts) == 1 else file.parts[0]
                )
    return {name for name in listed if name.isidentifier() and name != "__pycache__"}
