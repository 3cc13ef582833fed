"""Top-level ``await``, and tool functions that can be awaited. Loaded when a block first needs it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .errors import BlockInterrupted

if TYPE_CHECKING:
    from .blocks import Blocks
    from .channel import Channel

# How long tasks get to clean up after an interrupt, in seconds.
_CLEAN_UP = 0.5


def run(coroutine: Any, blocks: Blocks) -> Any:
    """Run a block's coroutine on the turn's event loop.

    The loop lives as long as the turn: a task that a block leaves pending goes on whenever a later block
    awaits.
    """
    loop = blocks._loop
    if loop is None or loop.is_closed():
        loop = blocks._loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except BaseException as error:
        if not task.done():
            frame = coroutine.cr_frame
            if isinstance(error, BlockInterrupted) and frame is not None:
                error.place = (frame.f_code.co_filename, frame.f_lineno)
            task.cancel()
            _settle(loop, task)
        raise


def _settle(loop: Any, task: Any) -> None:
    try:
        loop.run_until_complete(asyncio.wait({task}, timeout=_CLEAN_UP))
        if task.done() and not task.cancelled():
            task.exception()
    except BaseException:
        loop.close()


async def call(channel: Channel, name: str, args: dict[str, Any]) -> Any:
    """Call a tool without blocking the event loop."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[None] = loop.create_future()

    def resolve() -> None:
        if not answered.done():
            answered.set_result(None)

    def on_answer() -> None:
        loop.call_soon_threadsafe(resolve)

    call_id: str | None = None
    call_id, waiter = channel.start_async_call(name, args, on_answer)
    _watch(loop, channel)
    try:
        await answered
    finally:
        _unwatch(loop, channel)
        if waiter.answer is None:
            channel.finish_async_call(call_id, waiter, name)
    return channel.finish_async_call(call_id, waiter, name)


def _watch(loop: Any, channel: Channel) -> None:
    count = getattr(loop, "_codehatch_calls", 0)
    if count == 0:
        loop.add_reader(channel.read_fd, channel.read_available)
    loop._codehatch_calls = count + 1


def _unwatch(loop: Any, channel: Channel) -> None:
    loop._codehatch_calls -= 1
    if loop._codehatch_calls == 0:
        loop.remove_reader(channel.read_fd)
