"""Top-level ``await``, and tool functions that can be awaited. Loaded when a block first needs it."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from .errors import BlockInterrupted

if TYPE_CHECKING:
    from .blocks import Blocks
    from .channel import Channel

# How long tasks get to clean up after an interrupt, in seconds.
_CLEAN_UP = 0.5
# Where an event loop keeps which channel it reads, and for which calls.
_READING = "_codehatch_reading"

# Loops whose descriptors model code has closed. Closing them, as their end would, could hit files that
# have the numbers now.
_broken: list[Any] = []


def run(coroutine: Any, blocks: Blocks) -> Any:
    """Run a block's coroutine on the turn's event loop.

    The loop lives as long as the turn: a task that a block leaves pending goes on whenever a later block
    awaits.
    """
    loop = _loop_of(blocks)
    asyncio.set_event_loop(loop)
    earlier = asyncio.all_tasks(loop)
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except BaseException as error:
        if not task.done():
            frame = coroutine.cr_frame
            if isinstance(error, BlockInterrupted) and frame is not None:
                error.place = (frame.f_code.co_filename, frame.f_lineno)
        elif not task.cancelled():
            task.exception()  # Which is this error: nothing more is to be said of it.
        if isinstance(error, BlockInterrupted) or not task.done():
            _cancel(loop, asyncio.all_tasks(loop) - earlier)
        raise


def has_tasks(loop: Any) -> bool:
    """Whether tasks wait for the loop to run again."""
    return not loop.is_closed() and bool(asyncio.all_tasks(loop))


def _loop_of(blocks: Blocks) -> Any:
    loop = blocks.loop
    if loop is not None and not loop.is_closed():
        if _descriptors(loop) == blocks.loop_descriptors:
            return loop
        _broken.append(loop)
    blocks.loop = loop = asyncio.new_event_loop()
    blocks.loop_descriptors = _descriptors(loop)
    return loop


def _descriptors(loop: Any) -> list[tuple[int, int]]:
    """What a loop needs and model code may close, with all others, as daemons do."""
    try:
        status = [os.fstat(loop._selector.fileno()), os.fstat(loop._csock.fileno())]
    except (AttributeError, OSError, ValueError):
        return []
    return [(one.st_dev, one.st_ino) for one in status]


def _cancel(loop: Any, tasks: set[Any]) -> None:
    """Let the tasks of a block that is over clean up, for a moment."""
    try:
        for task in tasks:
            task.cancel()
        if tasks:
            waiting = loop.create_task(asyncio.wait(tasks, timeout=_CLEAN_UP))
            while not waiting.done():
                try:
                    loop.run_until_complete(waiting)
                except BlockInterrupted:
                    pass  # Which struck in one of them, and has now come to those that wait for it.
    except BaseException:
        loop.close()
    finally:
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()


def call(channel: Channel, name: str, args: dict[str, Any]) -> Any:
    """Call a tool without blocking the event loop."""
    coroutine = _call(channel, name, args)
    # By this name Python complains if it is not awaited.
    coroutine.__qualname__ = f"{name}.aio"
    return coroutine


async def _call(channel: Channel, name: str, args: dict[str, Any]) -> Any:
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[None] = loop.create_future()

    def resolve() -> None:
        if not answered.done():
            answered.set_result(None)

    def on_answer() -> None:
        loop.call_soon_threadsafe(resolve)

    call_id, waiter = channel.start_async_call(name, args, on_answer)
    try:
        _watch(loop, channel, call_id)
        await answered
    finally:
        _unwatch(loop, call_id)
        channel.forget(call_id)
    return channel.result_of(waiter, name)


def _watch(loop: Any, channel: Channel, call_id: str) -> None:
    reading = loop.__dict__.setdefault(_READING, (set(), []))
    calls, fds = reading
    calls.add(call_id)
    if fds != [channel.read_fd]:
        _stop_reading(loop, fds)
        fds.append(channel.read_fd)
        loop.add_reader(channel.read_fd, _read, channel)


def _unwatch(loop: Any, call_id: str) -> None:
    calls, fds = loop.__dict__.get(_READING, (set(), []))
    calls.discard(call_id)
    if not calls:
        _stop_reading(loop, fds)


def _stop_reading(loop: Any, fds: list[int]) -> None:
    for fd in fds:
        try:
            loop.remove_reader(fd)
        except OSError:
            pass  # Model code has closed it.
    fds.clear()


def _read(channel: Channel) -> None:
    """The channel has something to read, and an event loop waits for it."""
    if channel.is_main():
        channel.read_available()
        if channel.attention and channel.running:
            channel.attend()
    else:
        channel.beside(channel.read_available)
