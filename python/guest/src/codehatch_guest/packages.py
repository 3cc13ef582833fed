"""What can be imported in this sandbox, for the model to know."""

from __future__ import annotations

from importlib import metadata

# What is installed only so that the guest runs.
_HIDDEN = frozenset(
    {"adk-code-mode-sandbox", "codehatch-guest", "pip", "setuptools", "websockets", "wheel"}
)


def installed() -> dict[str, dict[str, str]]:
    """Import name → distribution → version. What has no readable metadata is left out."""
    found: dict[str, dict[str, str]] = {}
    for distribution in metadata.distributions():
        try:
            name = distribution.metadata["Name"]
            if not name or name.lower() in _HIDDEN:
                continue
            version = distribution.version or ""
            for top in _top_level(distribution):
                found.setdefault(top, {}).setdefault(name, version)
        except Exception:
            continue
    return {top: dict(sorted(found[top].items())) for top in sorted(found, key=str.casefold)}


def _top_level(distribution: metadata.Distribution) -> set[str]:
    names = [*(distribution.read_text("top_level.txt") or "").split()]
    if not names:
        for file in distribution.files or ():
            if file.suffix in (".py", ".so") and ".." not in file.parts:
                first = str(file.parts[0])
                names.append(first.split(".")[0] if len(file.parts) == 1 else first)
    return {name for name in names if name.isidentifier() and name != "__pycache__"}
