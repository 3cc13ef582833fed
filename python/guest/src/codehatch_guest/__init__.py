"""What runs inside a Codehatch sandbox: it executes blocks and carries their tool calls to the host.

Only the standard library is used. Nothing here is a security boundary: model code shares this interpreter.
What the modules here promise is that ordinary code, however careless, does not lose its turn.
"""

from __future__ import annotations

__version__ = "0.1.0"
