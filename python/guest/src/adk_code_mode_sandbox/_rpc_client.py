"""``call`` and the errors it raises, where generated stubs import them from."""

from __future__ import annotations

from typing import Any

from codehatch_guest.channel import Channel as RpcClient
from codehatch_guest.errors import HTTPStatusError, ToolError

_client: RpcClient | None = None


def install(client: RpcClient) -> None:
    """Set the channel that calls go through."""
    global _client
    _client = client


def get() -> RpcClient:
    """The channel that calls go through.

    :raises RuntimeError: outside of a sandbox.
    """
    if _client is None:
        raise RuntimeError("tools can be called inside a Codehatch sandbox only")
    return _client


def call(name: str, args: dict[str, Any], timeout: float | None = None) -> Any:
    """Call a tool of the host and return its result."""
    return get().call(name, args, timeout)


__all__ = ["HTTPStatusError", "RpcClient", "ToolError", "call", "get", "install"]
