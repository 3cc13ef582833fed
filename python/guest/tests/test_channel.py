"""The channel alone, in this process: who reads for whom, and what may strike in between."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import unittest
from typing import Any, Callable

from harness import PATIENCE, SOURCES, wait_until

from codehatch_guest import channel as channel_module
from codehatch_guest.channel import Channel, ChannelClosed
from codehatch_guest.errors import BlockInterrupted, ToolError


class ChannelCase(unittest.TestCase):
    def setUp(self) -> None:
        self.host, self.inner = socket.socketpair()
        self.addCleanup(self.host.close)
        self.addCleanup(self.inner.close)
        self.host.settimeout(PATIENCE)
        self.lines = self.host.makefile("rb")
        self.addCleanup(self.lines.close)
        self.channel = Channel(self.inner.fileno(), self.inner.fileno())
        self.threads: list[threading.Thread] = []
        self.addCleanup(self.end)

    def end(self) -> None:
        """Let no thread go on reading a number that is soon another test's descriptor."""
        with contextlib.suppress(OSError):  # The test has closed it.
            self.host.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(PATIENCE)

    def send(self, *frames: dict[str, Any]) -> None:
        """All in one piece."""
        self.host.sendall(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))

    def receive(self) -> Any:
        return json.loads(self.lines.readline())

    def answer(self, call: dict[str, Any], value: Any) -> dict[str, Any]:
        return {"id": call["id"], "ok": True, "value": value, "kind": "tool_result"}

    def thread(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Run in a thread; the list gets what it returns or raises."""
        outcome: list[Any] = []

        def run() -> None:
            try:
                outcome.append(function(*args))
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=run, daemon=True)
        self.threads.append(thread)
        thread.start()
        return outcome

    def join(self) -> None:
        for thread in self.threads:
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive(), f"{thread} still waits")

    def wait_for_followers(self, count: int) -> None:
        """Wait until so many threads wait for another one to read."""

        def following() -> int:
            waiters = (*self.channel._waiters.values(), self.channel._idle)
            return sum(w is not None and w.lock is not None and w.lock.locked() for w in waiters)

        wait_until(lambda: following() == count, f"{count} threads that follow")


class WhoReads(ChannelCase):
    def test_one_reads_for_all_and_hands_on_when_it_has_its_answer(self) -> None:
        outcomes = []
        calls = []
        for n in range(5):
            outcomes.append(self.thread(self.channel.call, "t", {"n": n}))
            calls.append(self.receive())
            self.wait_for_followers(n)
        # The first to wait is the reader, and the first to go.
        for n in range(5):
            self.send(self.answer(calls[n], n))
            wait_until(lambda n=n: bool(outcomes[n]), f"answer {n}")
        self.assertEqual(outcomes, [[0], [1], [2], [3], [4]])
        self.join()

    def test_whoever_only_looks_hands_on_to_those_who_came_meanwhile(self) -> None:
        outcome: list[Any] = []
        looked: list[bool] = []

        def look() -> bool:
            if not looked:
                looked.append(True)
                outcome.extend([self.thread(self.channel.call, "t", {})])
                self.wait_for_followers(1)
            return False

        self.channel._is_readable = look  # type: ignore[method-assign]
        self.channel.read_available()
        self.send(self.answer(self.receive(), "read by itself"))
        self.join()
        self.assertEqual(outcome, [["read by itself"]])

    def test_a_block_that_is_taken_leaves_the_reading_to_the_threads(self) -> None:
        first = self.thread(self.channel.call, "first", {})
        first_call = self.receive()
        second = self.thread(self.channel.call, "second", {})
        second_call = self.receive()
        self.wait_for_followers(1)
        frames: list[Any] = []
        timer = threading.Timer(
            0,
            lambda: (
                self.wait_for_followers(2),
                self.send(self.answer(first_call, 1), {"kind": "run", "code": "x"}),
            ),
        )
        timer.start()
        frames.append(self.channel.next_frame())
        timer.join()
        # Nobody but the second thread can read its answer now.
        self.send(self.answer(second_call, 2))
        self.join()
        self.assertEqual((frames, first, second), ([{"kind": "run", "code": "x"}], [1], [2]))

    def test_a_lock_that_an_exception_left_behind_is_found(self) -> None:
        self.channel._reading.acquire()
        self.send({"kind": "run"})
        self.assertEqual(self.channel.next_frame(), {"kind": "run"})

    def test_an_answer_that_wakes_nobody_breaks_nothing(self) -> None:
        def fail() -> None:
            raise RuntimeError("Event loop is closed")

        call_id, _ = self.channel.start_async_call("t", {}, fail)
        self.receive()
        self.send(self.answer({"id": call_id}, 1), {"kind": "run"})
        self.assertEqual(self.channel.next_frame(), {"kind": "run"})
        self.channel.forget(call_id)
        self.assertEqual(self.channel._waiters, {})

    def test_the_end_of_the_channel_wakes_everybody(self) -> None:
        outcomes = [self.thread(self.channel.call, "t", {"n": n}) for n in range(3)]
        for _ in range(3):
            self.receive()
        self.wait_for_followers(2)
        self.lines.close()
        self.host.close()
        with self.assertRaises(ChannelClosed):
            self.channel.next_frame()
        self.join()
        kinds = {type(outcome[0]) for outcome in outcomes}
        self.assertLessEqual(kinds, {ToolError, ChannelClosed})
        with self.assertRaises(ChannelClosed):
            self.channel.call("t", {})

    def test_nothing_is_left_of_calls_that_are_over(self) -> None:
        outcome = self.thread(lambda: [self.channel.call("t", {"n": n}) for n in range(50)])
        for _ in range(50):
            call = self.receive()
            self.send(self.answer(call, None))
        self.join()
        self.assertEqual(outcome, [[None] * 50])
        self.assertEqual((self.channel._waiters, self.channel.inside), ({}, set()))


class WhatStrikes(ChannelCase):
    def on_alarm(self, function: Callable[[], Any]) -> None:
        before = signal.signal(signal.SIGALRM, lambda *_: function())
        self.addCleanup(signal.signal, signal.SIGALRM, before)

    def test_an_error_of_a_signal_handler_is_not_taken_for_the_channels(self) -> None:
        class Late(TimeoutError):
            pass

        def late() -> None:
            raise Late(110, "too slow")

        self.on_alarm(late)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with self.assertRaises(Late):
            self.channel.call("slow", {})
        outcome = self.thread(lambda: (self.receive(), self.send(self.answer(self.receive(), 5))))
        self.assertEqual(self.channel.call("t", {}), 5)
        self.join()
        self.assertEqual(outcome, [((outcome[0][0]), None)])

    def test_a_frame_that_was_torn_is_ended_before_the_next(self) -> None:
        def late() -> None:
            raise ValueError("struck")

        self.on_alarm(late)
        self.inner.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

        def strike() -> None:
            # When the frame has begun to come, of which the rest finds no room.
            select.select([self.host], [], [], PATIENCE)
            os.kill(os.getpid(), signal.SIGALRM)

        self.thread(strike)
        with self.assertRaisesRegex(ValueError, "struck"):
            self.channel.call("put", {"v": "x" * 5_000_000})
        self.thread(self.channel.call, "next", {})
        torn = self.lines.readline()
        self.assertEqual((torn[:18], torn[-2:]), (b'{"id":"1","name":"', b"x\n"))
        self.assertEqual(self.receive()["name"], "next")

    def test_an_interrupt_is_raised_outside_of_this_file_alone(self) -> None:
        self.channel._current = self.channel.running = True
        self.send({"kind": "interrupt", "message": "enough"})
        frames: list[Any] = []

        def frame_of_the_channel() -> None:
            pass

        inside = channel_module.Channel.is_main.__code__
        self.channel.on_signal(2, type("Frame", (), {"f_code": inside})())
        frames.append(self.channel.attention)
        with self.assertRaisesRegex(BlockInterrupted, "enough"):
            self.channel.on_signal(
                2, type("Frame", (), {"f_code": frame_of_the_channel.__code__})()
            )
        frames.append(self.channel.attention)
        self.channel.on_signal(2, type("Frame", (), {"f_code": frame_of_the_channel.__code__})())
        self.assertEqual(frames, [True, False])

    def test_an_interrupt_between_blocks_is_forgotten(self) -> None:
        self.send({"kind": "interrupt", "message": "late"}, {"kind": "run"})
        self.assertEqual(self.channel.next_frame(), {"kind": "run"})
        self.assertEqual((self.channel._asked, self.channel.attention), (False, False))

    def test_an_interrupt_behind_the_block_is_kept_for_it(self) -> None:
        self.send({"kind": "run"}, {"kind": "interrupt", "message": "enough"})
        self.assertEqual(self.channel.next_frame(), {"kind": "run"})

        def block() -> None:
            self.channel.running = True
            self.assertTrue(self.channel.attention)
            self.channel.attend()

        with self.assertRaisesRegex(BlockInterrupted, "enough"):
            self.channel.guard(block)
        self.assertEqual((self.channel._asked, self.channel.running), (False, False))

    def test_a_thread_inside_is_spared(self) -> None:
        self.thread(self.channel.call, "t", {})
        call = self.receive()
        wait_until(lambda: len(self.channel.inside) == 1, "the thread to wait")
        self.assertEqual(self.channel.inside, {self.threads[0].ident})
        self.send(self.answer(call, 1))
        self.join()
        self.assertEqual(self.channel.inside, set())


class Loading(unittest.TestCase):
    def loaded_by(self, module: str) -> list[str]:
        code = f"import sys; before = set(sys.modules); import {module}; print(*sorted(set(sys.modules) - before))"
        done = subprocess.run(
            [
                sys.executable,
                "-I",
                "-S",
                "-c",
                f"import sys; sys.path.insert(0, {str(SOURCES)!r}); {code}",
            ],
            capture_output=True,
            text=True,
            check=True,
            env={"PATH": os.environ["PATH"]},
        )
        return done.stdout.split()

    def test_a_session_loads_nothing_heavy(self) -> None:
        loaded = self.loaded_by(
            "codehatch_guest.session, codehatch_guest.tools_import, codehatch_guest.streams"
        )
        heavy = {
            "asyncio",
            "ctypes",
            "_ctypes",
            "subprocess",
            "socket",
            "threading",
            "tempfile",
            "logging",
            "email",
            "typing_extensions",
            "inspect",
        }
        self.assertEqual(sorted(heavy & set(loaded)), [])

    def test_a_standalone_guest_loads_neither_asyncio_nor_ctypes_nor_subprocess(self) -> None:
        loaded = self.loaded_by("codehatch_guest.standalone")
        self.assertEqual(sorted({"asyncio", "ctypes", "_ctypes", "subprocess"} & set(loaded)), [])


if __name__ == "__main__":
    unittest.main()
