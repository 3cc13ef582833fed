"""The same tools with the official Python SDK, 1.x (`FastMCP`) or 2.x (`MCPServer`).

Usage: sdk_server.py [PORT]. Without a port over stdio; with one over HTTP.
"""

from __future__ import annotations

import sys
from typing import Any

try:
    from mcp.server import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server  # type: ignore[assignment]

from pydantic import BaseModel


class Point(BaseModel):
    """A place in the plane."""

    x: float
    y: float


PORT = int(sys.argv[1]) if len(sys.argv) > 1 else None
OF_1 = Server.__name__ == "FastMCP"
server: Any = Server("sdk", port=PORT) if OF_1 and PORT else Server("sdk")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two integers of any size."""
    return a + b


@server.tool()
def mirror(point: Point) -> Point:
    """Mirrors a point in the origin."""
    return Point(x=-point.x, y=-point.y)


@server.tool()
def fail(why: str) -> str:
    """Fails."""
    raise ValueError(why)


@server.tool(structured_output=False)
def words(text: str) -> str:
    """Gives its text back."""
    return text


if PORT is None:
    server.run(transport="stdio")
elif OF_1:
    server.run(transport="streamable-http")
else:
    server.run(transport="streamable-http", port=PORT)
