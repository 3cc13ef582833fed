"""Blocks that the host stops: their state stays, and nothing else is hurt."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
import unittest
from typing import Any

from harness import CANCELLED, Block, GuestCase, sleeps, wait_until

from codehatch_guest import blocks

SETUP = """
from adk_code_mode_sandbox._rpc_client import ToolError, call
import os, time, threading
def begin(): os.mkdir('begun')
"""


class Interrupts(GuestCase):
    def start_guest(self, **options: Any) -> Any:
        guest = super().start_guest(**options)
        guest.run(SETUP)
        return guest

    def stopped(self, code: str, waits: bool = False) -> Block:
        """Start ``code``, which calls ``begin()`` where it is to be interrupted from, and stop it."""
        self.guest.start(code)
        begun = self.guest.workspace / "begun"
        wait_until(begun.exists, "the block to begin")
        if waits:
            wait_until(lambda: sleeps(self.guest.pid), "the block to wait")
        began = time.monotonic()
        self.guest.interrupt("stopped by the host: too long")
        block = self.guest.finish()
        begun.rmdir()
        self.assertLess(time.monotonic() - began, 20)
        return block

    def check_stopped(self, block: Block, stdout: str = "") -> None:
        last = block.stderr.splitlines()[-1:]
        self.assertEqual(last, ["BlockInterrupted: stopped by the host: too long"])
        self.assertEqual((block.exit_code, block.background_work, block.stdout), (1, False, stdout))
        self.prints("print(call('echo', {'v': 1})['args'])", "{'v': 1}\n")

    def test_a_busy_loop_is_stopped_and_the_state_stays(self) -> None:
        block = self.stopped(
            "n = 0\nprint('step 1', end='')\nwhile True:\n    n += 1\n    if n == 9: begin()"
        )
        self.check_stopped(block, "step 1")
        self.assertRegex(block.stderr, r'  File "<block \d>", line [345], in <module>\n')
        self.assertNotIn("codehatch", block.stderr)
        self.prints("print(n > 0)", "True\n")

    def test_code_that_waits_is_stopped(self) -> None:
        for code in (
            "begin()\ntime.sleep(1000)",
            "begin()\nthreading.Event().wait()",
            "begin()\nthreading.Lock().acquire(); (l := threading.Lock()).acquire(); l.acquire()",
            "import queue\nbegin()\nqueue.Queue().get()",
            "import queue\nbegin()\nqueue.SimpleQueue().get()",
            "import select\nbegin()\nselect.select([], [], [])",
            "import os\nr, w = os.pipe()\nbegin()\nos.read(r, 1)",
            "import signal\nbegin()\nsignal.pause()\nwhile True: pass",
            "begin()\nsum(i for i in iter(int, 1))",
        ):
            with self.subTest(code):
                self.check_stopped(self.stopped(code, waits="iter" not in code))

    def test_a_child_that_is_waited_for_is_killed(self) -> None:
        # Before it is waited for, the standard library leaves a child alone.
        self.guest.run(
            """
            import subprocess
            class Popen(subprocess.Popen):
                def communicate(self, *args, **options):
                    begin()
                    return super().communicate(*args, **options)
            subprocess.Popen = Popen
            """
        )
        block = self.stopped("subprocess.run(['sleep', '1000'])", waits=True)
        self.check_stopped(block)
        self.prints(
            "try: print(os.waitpid(-1, os.WNOHANG))\nexcept ChildProcessError: print('none')",
            "none\n",
        )

    def test_a_block_that_waits_for_a_tool_is_stopped_at_once(self) -> None:
        self.guest.start("x = 1\ncall('slow', {})")
        call = self.guest.next_call()
        self.guest.interrupt("stopped by the host: too long")
        block = self.guest.finish()
        self.guest.reply_error(call, **CANCELLED)
        self.check_stopped(block)
        self.prints("print(x)", "1\n")

    def test_the_interrupt_comes_before_the_answer_that_follows_it(self) -> None:
        self.guest.start("try: call('slow', {})\nexcept ToolError: print('never')")
        call = self.guest.next_call()
        answer = {"id": call["id"], "ok": False, "error": CANCELLED, "kind": "tool_result"}
        interrupt = {"message": "stopped by the host: too long", "kind": "interrupt"}
        self.guest.send_bytes((json.dumps(interrupt) + "\n" + json.dumps(answer) + "\n").encode())
        self.check_stopped(self.guest.finish())

    def test_an_interrupt_behind_a_large_answer_arrives(self) -> None:
        self.guest.start("def f():\n    call('slow', {})\n    while True: pass\nf()")
        call = self.guest.next_call()
        self.guest.reply(call, "x" * 5_000_000)
        self.guest.interrupt("stopped by the host: too long")
        self.check_stopped(self.guest.finish())

    def test_handlers_of_exceptions_do_not_swallow_it(self) -> None:
        block = self.stopped(
            "done = []\ntry:\n    begin()\n    while True:\n        try: time.sleep(0.001)\n"
            "        except Exception: pass\nfinally:\n    done.append(1)"
        )
        self.check_stopped(block)
        self.prints("print(done)", "[1]\n")

    def test_code_that_takes_everything_is_asked_again(self) -> None:
        self.guest.start(
            """
            times = 0
            while times < 3:
                try:
                    begin()
                    while True: time.sleep(0.001)
                except BaseException as error:
                    times += 1
                    call('took', {'error': type(error).__name__, 'is': isinstance(error, KeyboardInterrupt)})
            print('ended by itself')
            """
        )
        begun = self.guest.workspace / "begun"
        for _ in range(3):
            wait_until(begun.exists, "the block to begin")
            begun.rmdir()
            self.guest.interrupt("stopped by the host: too long")
            call = self.guest.next_call()
            self.assertEqual(call["args"], {"error": "BlockInterrupted", "is": True})
            self.guest.reply(call)
        self.assertEqual(
            self.guest.finish(), Block(stdout="ended by itself\n", calls=self.guest._block.calls)
        )

    def test_one_frame_interrupts_once(self) -> None:
        self.guest.start(
            """
            try:
                begin()
                while True: pass
            except KeyboardInterrupt:
                for _ in range(300_000): pass
                time.sleep(0.3)
                print('cleaned up')
            """
        )
        wait_until((self.guest.workspace / "begun").exists, "the block to begin")
        self.guest.interrupt()
        self.assertEqual(self.guest.finish().stdout, "cleaned up\n")

    def test_an_interrupt_between_blocks_does_nothing(self) -> None:
        for _ in range(3):
            self.guest.interrupt("late")
        self.prints("time.sleep(0.2); print('fine')", "fine\n")

    def test_an_interrupt_in_front_of_a_block_is_not_meant_for_it(self) -> None:
        frames = [
            {"message": "late", "kind": "interrupt"},
            {"code": "time.sleep(0.2); print('fine')", "kind": "run"},
        ]
        self.guest.send_bytes("".join(json.dumps(frame) + "\n" for frame in frames).encode())
        self.assertEqual(self.guest.finish(), Block(stdout="fine\n"))

    def test_an_interrupt_right_behind_a_block_is(self) -> None:
        frames = [
            {"code": "print('never')\nwhile True: pass", "kind": "run"},
            {"message": "stopped by the host: too long", "kind": "interrupt"},
        ]
        self.guest.send_bytes("".join(json.dumps(frame) + "\n" for frame in frames).encode())
        self.check_stopped(self.guest.finish())

    def test_an_interrupt_as_the_block_ends_hurts_neither_the_guest_nor_the_next_block(
        self,
    ) -> None:
        chance = random.Random(5)
        stopped = 0
        for n in range(300):
            self.guest.start(f"for i in range({chance.randrange(20_000)}): pass\nx = {n}")
            time.sleep(chance.random() * 0.002)
            self.guest.interrupt()
            block = self.guest.finish()
            if block.exit_code:
                stopped += 1
                self.assertEqual(
                    block.stderr.splitlines()[-1], "BlockInterrupted: stopped by the test"
                )
            following = self.guest.run(f"{n}")
            self.assertEqual(
                (following.exit_code, following.stderr, following.result),
                (0, "", {"type": "int", "value": n}),
            )
        if self.kind == "piped":
            # Else it takes a tenth of a second to be noticed.
            self.assertGreater(stopped, 0)

    def test_interrupts_in_the_middle_of_calls_leave_the_channel_whole(self) -> None:
        chance = random.Random(6)
        for n in range(60):
            self.guest.start(
                "for i in range(10**9): assert call('echo', {'i': i})['args']['i'] == i"
            )
            answered = 0
            while answered < chance.randrange(3, 40):
                self.guest.reply(call := self.guest.next_call(), {"args": call["args"]})
                answered += 1
            self.guest.interrupt()
            block = self.guest.finish()
            self.assertEqual(block.stderr.splitlines()[-1], "BlockInterrupted: stopped by the test")
            self.prints(f"print(call('echo', {{'v': {n}}})['args']['v'])", f"{n}\n")

    def test_hostile_text_forms_can_be_interrupted(self) -> None:
        loop = "begin()\n        while True: pass"
        block = self.stopped(f"class A:\n    def __repr__(self):\n        {loop}\nA()")
        self.check_stopped(block)
        block = self.stopped(
            f"class E(Exception):\n    def __str__(self):\n        {loop}\nraise E"
        )
        # Some interpreters take any exception of a text form for its own failure.
        self.assertIn(
            block.stderr.splitlines()[-1],
            (
                "BlockInterrupted: stopped by the host: too long",
                "E: <exception str() failed>",
                "E: <unprintable E object>",
            ),
        )
        block = self.stopped(
            f"import sys\nclass X:\n    def __str__(self):\n        {loop}\nsys.exit(X())"
        )
        self.check_stopped(block)
        block = self.stopped(
            f"import sys\nclass Out:\n    def write(self, text): ...\n    def flush(self):\n        {loop}\nsys.stdout = Out()"
        )
        self.check_stopped(block)

    def test_recursion_can_be_interrupted(self) -> None:
        for step in ("pass", "f(n - 50) if n > 60 else 0"):
            with self.subTest(step):
                self.guest.start(
                    f"def f(n):\n    try: f(n + 1)\n    except RecursionError: {step}\nbegin()\nwhile True: f(0)"
                )
                begun = self.guest.workspace / "begun"
                wait_until(begun.exists, "the block to begin")
                begun.rmdir()
                # Asked again, as hosts do: at the very end of the stack there is no room to hear it.
                while True:
                    self.guest.interrupt("stopped by the host: too long")
                    try:
                        block = self.guest.finish(patience=0.2)
                        break
                    except AssertionError:
                        self.assertIn("waited for", str(sys.exc_info()[1]))
                self.assertEqual((block.exit_code, block.background_work), (1, False))
                self.prints("print(call('echo', {'v': 1})['args'])", "{'v': 1}\n")

    def test_a_signal_alone_does_nothing(self) -> None:
        self.prints(
            """
            import os, signal
            for _ in range(3): os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000): pass
            print(call('echo', {'v': 1})['args'])
            """,
            "{'v': 1}\n",
        )

    def test_code_that_took_the_signal_has_it_for_its_block_alone(self) -> None:
        for handler in (
            "signal.SIG_IGN",
            "signal.SIG_DFL",
            "lambda *_: 1 / 0",
            "signal.default_int_handler",
        ):
            self.assertEqual(
                self.guest.run(
                    f"import signal; _ = signal.signal(signal.SIGINT, {handler})"
                ).exit_code,
                0,
            )
            self.check_stopped(self.stopped("begin()\nwhile True: pass"))

    def test_output_so_far_is_kept(self) -> None:
        block = self.stopped(
            "import subprocess\nprint('one')\nprint('two', end='', flush=True)\n"
            "_ = subprocess.run(['sh', '-c', 'echo three'])\nbegin()\ntime.sleep(1000)",
            waits=True,
        )
        self.check_stopped(block, "one\ntwothree\n")


class InterruptsOfAsyncio(Interrupts):
    """The same in coroutines; and all of the others again, on a guest that has loaded asyncio."""

    def start_guest(self, **options: Any) -> Any:
        guest = super().start_guest(**options)
        guest.run("import asyncio\nawait asyncio.sleep(0)")
        return guest

    def test_an_await_is_stopped_where_it_stands(self) -> None:
        block = self.stopped(
            "async def f():\n    await asyncio.Event().wait()\nbegin()\nawait f()", waits=True
        )
        self.assertEqual(
            block.stderr,
            'Traceback (most recent call last):\n  File "<block 3>", line 4, in <module>\n    await f()\n'
            "BlockInterrupted: stopped by the host: too long\n",
        )

    def test_coroutines_clean_up(self) -> None:
        block = self.stopped(
            "seen = []\nasync def f(n):\n    try: await asyncio.sleep(1000)\n    finally:\n"
            "        await asyncio.sleep(0)\n        seen.append(n)\n"
            "t = asyncio.create_task(f(0))\nawait asyncio.sleep(0)\nbegin()\nawait asyncio.gather(f(1), f(2))",
            waits=True,
        )
        self.check_stopped(block)
        self.prints("print(sorted(seen), t.cancelled())", "[0, 1, 2] True\n")

    def test_a_task_of_an_earlier_block_goes_on(self) -> None:
        self.guest.run(
            "go = asyncio.Event()\nasync def f():\n    await go.wait()\n    return 5\nt = asyncio.create_task(f())\nawait asyncio.sleep(0)"
        )
        self.check_stopped(self.stopped("begin()\nawait asyncio.sleep(1000)", waits=True))
        self.prints("go.set()\nprint(await t)", "5\n")

    def test_a_busy_task_is_stopped_while_the_block_waits_for_something_else(self) -> None:
        block = self.stopped(
            "async def busy():\n    begin()\n    while True: pass\nt = asyncio.create_task(busy())\nawait asyncio.sleep(1000)"
        )
        self.check_stopped(block)

    def test_a_busy_child_is_stopped_and_its_parent_makes_no_complaint_later(self) -> None:
        block = self.stopped(
            "async def busy():\n    begin()\n    while True: pass\nkept = asyncio.create_task(asyncio.sleep(0.01, 5))\nawait asyncio.sleep(0)\nawait asyncio.gather(busy(), asyncio.sleep(1000))"
        )
        self.check_stopped(block)
        self.prints("import gc\n_ = gc.collect()\nprint(1)", "1\n")

    def test_a_busy_callback_is_stopped(self) -> None:
        block = self.stopped(
            "def busy():\n    begin()\n    while True: pass\nasyncio.get_running_loop().call_soon(busy)\nawait asyncio.sleep(1000)"
        )
        self.check_stopped(block)

    def test_asyncio_run_is_stopped(self) -> None:
        for body in ("await asyncio.sleep(1000)", "while True: pass"):
            block = self.stopped(f"async def main():\n    begin()\n    {body}\nasyncio.run(main())")
            self.check_stopped(block)

    def test_a_coroutine_that_waits_for_a_tool_is_stopped(self) -> None:
        self.guest.start(
            "import codehatch_guest.tools_import as t\n"
            "await asyncio.gather(*[t._call_async('slow', {'i': i}) for i in range(3)])"
        )
        calls = [self.guest.next_call() for _ in range(3)]
        self.guest.interrupt("stopped by the host: too long")
        for call in calls:
            self.guest.reply_error(call, **CANCELLED)
        self.check_stopped(self.guest.finish())

    def test_a_coroutine_that_never_lets_go_costs_half_a_second(self) -> None:
        block = self.stopped(
            "async def f():\n    while True:\n        try: await asyncio.sleep(1000)\n        except asyncio.CancelledError: pass\nbegin()\nawait f()",
            waits=True,
        )
        self.check_stopped(block)


class InterruptsWithThreads(GuestCase):
    def start_guest(self, **options: Any) -> Any:
        guest = super().start_guest(**options)
        guest.run(SETUP)
        return guest

    def stop_after_begin(self) -> Block:
        begun = self.guest.workspace / "begun"
        wait_until(begun.exists, "the block to begin")
        begun.rmdir()
        return self.guest.stop("too long")

    def test_threads_end_with_their_block(self) -> None:
        self.guest.start(
            """
            ended = []
            def work():
                try:
                    while True: time.sleep(0.001)
                finally:
                    ended.append(1)
            threads = [threading.Thread(target=work) for _ in range(5)]
            for thread in threads: thread.start()
            begin()
            threads[0].join()
            """
        )
        block = self.stop_after_begin()
        self.assertEqual((block.exit_code, block.background_work), (1, False))
        self.assertNotIn("Thread", block.stderr)
        self.prints(
            "print(ended, [thread.is_alive() for thread in threads])",
            "[1, 1, 1, 1, 1] [False, False, False, False, False]\n",
        )

    def test_a_thread_that_cannot_be_stopped_is_background_work(self) -> None:
        self.guest.start(
            "threading.Thread(target=time.sleep, args=(1000,)).start()\nbegin()\ntime.sleep(1000)"
        )
        block = self.stop_after_begin()
        self.assertEqual((block.exit_code, block.background_work), (1, True))

    def test_a_thread_that_waits_for_a_tool_hears_that_it_was_cancelled(self) -> None:
        self.guest.start(
            """
            heard = []
            def work():
                try: call('slow', {})
                except ToolError as error: heard.append(str(error))
            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads: thread.start()
            threads[0].join()
            """
        )
        for _ in range(3):
            self.guest.next_call()
        block = self.guest.stop("too long")
        self.assertEqual((block.exit_code, block.background_work), (1, False))
        self.prints(
            "print(heard)",
            "['Cancelled: the code was stopped'"
            + ", 'Cancelled: the code was stopped'" * 2
            + "]\n",
        )

    def test_an_executors_idle_threads_do_not_cost_the_turn(self) -> None:
        self.guest.run(
            "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(4)\n"
            "_ = list(pool.map(lambda i: time.sleep(0.01), range(8)))"
        )
        self.guest.start("begin()\ntime.sleep(1000)")
        self.assertFalse(self.stop_after_begin().background_work)
        self.prints("print(list(pool.map(str, range(3))))", "['0', '1', '2']\n")

    def test_an_executor_in_a_with_statement_is_stopped(self) -> None:
        self.guest.start(
            """
            from concurrent.futures import ThreadPoolExecutor
            with ThreadPoolExecutor(4) as pool:
                r = list(pool.map(lambda i: call('slow', {'i': i}), range(12)))
            """
        )
        for _ in range(4):
            self.guest.next_call()
        block = self.guest.stop("too long")
        self.assertEqual((block.exit_code, block.background_work), (1, False))

    def test_threads_that_call_without_end_leave_the_channel_whole(self) -> None:
        chance = random.Random(7)
        for n in range(25):
            self.guest.start(
                """
                def work():
                    for i in range(10**9): assert call('echo', {'i': i})['args']['i'] == i
                threads = [threading.Thread(target=work, daemon=True) for _ in range(6)]
                for thread in threads: thread.start()
                work()
                """
            )
            for _ in range(chance.randrange(10, 150)):
                self.guest.reply(call := self.guest.next_call(), {"args": call["args"]})
            block = self.guest.stop("too long")
            self.assertEqual(
                (block.exit_code, block.background_work), (1, False), self.guest.describe()
            )
            self.prints(f"print(call('echo', {{'v': {n}}})['args']['v'])", f"{n}\n")

    def test_the_block_is_stopped_while_a_thread_reads_for_it(self) -> None:
        self.guest.start(
            """
            thread = threading.Thread(target=call, args=('slow', {}))
            thread.start()
            try:
                call('main', {})
            finally:
                os.mkdir('stopped')
            """
        )
        calls = [self.guest.next_call(), self.guest.next_call()]
        wait_until(lambda: sleeps(self.guest.pid), "the block to wait")
        self.guest.interrupt("too long")
        # The block's own call is never answered; the thread's when the block has been stopped.
        wait_until((self.guest.workspace / "stopped").exists, "the block to stop")
        for call in calls:
            if call["name"] == "slow":
                self.guest.reply_error(call, **CANCELLED)
        block = self.guest.finish()
        self.assertEqual((block.exit_code, block.background_work), (1, False))
        self.assertIn("BlockInterrupted: too long", block.stderr)


class LookingForThreads(unittest.TestCase):
    def test_a_thread_that_was_made_and_has_not_come_to_run_is_seen(self) -> None:
        # As it is for as long as the system gives it no time: the interpreter knows nothing of it.
        thread = threading.Thread()
        others = set(sys._current_frames())
        limbo: dict[Any, Any] = vars(threading)["_limbo"]
        before = blocks._look_for_threads(others)
        limbo[thread] = thread
        try:
            self.assertEqual(
                (before, blocks._look_for_threads(others)), ((set(), False), (set(), True))
            )
        finally:
            del limbo[thread]


class PipedInterrupts(Interrupts):
    kind = "piped"


class PipedInterruptsOfAsyncio(InterruptsOfAsyncio):
    kind = "piped"


class PipedInterruptsWithThreads(InterruptsWithThreads):
    kind = "piped"


if __name__ == "__main__":
    unittest.main()
