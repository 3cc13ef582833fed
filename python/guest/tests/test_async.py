"""Top-level ``await`` and tool functions that can be awaited."""

from __future__ import annotations

import unittest
from typing import Any

from harness import Failing, GuestCase, tree

STUB = '''"""Functions that run on the host."""

from __future__ import annotations

from adk_code_mode_sandbox._rpc_client import call as _call


def echo(**args):
    """Give back what it gets."""
    return _call("a.echo", args)
'''
FILES = {"__init__.py": "# HTTPStatusError\n", "a/__init__.py": STUB}


class TopLevelAwait(GuestCase):
    def test_await_runs_at_the_top_level(self) -> None:
        block = self.guest.run(
            """
            import asyncio
            async def f(x):
                await asyncio.sleep(0)
                return x * 2
            a, b = await asyncio.gather(f(1), f(2))
            print(a, b)
            await f(3)
            """
        )
        self.assertEqual((block.stdout, block.result), ("2 4\n", {"type": "int", "value": 6}))

    def test_async_loops_contexts_and_comprehensions_run(self) -> None:
        self.prints(
            """
            import asyncio, contextlib
            async def count(n):
                for i in range(n): yield i
            @contextlib.asynccontextmanager
            async def around():
                print('in'); yield 5; print('out')
            async for i in count(2): print(i)
            async with around() as x: print(x)
            print([i async for i in count(3)], {i: i async for i in count(1)})
            """,
            "0\n1\nin\n5\nout\n[0, 1, 2] {0: 0}\n",
        )

    def test_a_task_is_started_by_a_block_whose_last_line_alone_awaits(self) -> None:
        self.prints(
            """
            import asyncio
            async def f(): print('ran')
            task = asyncio.create_task(f())
            await task
            """,
            "ran\n",
        )

    def test_asyncio_run_works_where_nothing_is_awaited(self) -> None:
        program = """
            import asyncio
            async def main():
                await asyncio.sleep(0)
                return 7
            print(asyncio.run(main()))
            """
        self.prints(program, "7\n")
        self.prints("await asyncio.sleep(0)", "")
        self.prints(program, "7\n")
        self.prints("print(await main())", "7\n")

    def test_the_loop_is_the_same_in_every_block(self) -> None:
        self.prints("import asyncio\nloop = asyncio.get_running_loop()\nawait asyncio.sleep(0)", "")
        self.prints("print(asyncio.get_running_loop() is loop)\nawait asyncio.sleep(0)", "True\n")

    def test_a_pending_task_goes_on_when_a_later_block_awaits(self) -> None:
        self.prints(
            """
            import asyncio
            steps = []
            go = asyncio.Event()
            async def work():
                steps.append('begun')
                await go.wait()
                steps.append('done')
            task = asyncio.create_task(work())
            await asyncio.sleep(0)
            """,
            "",
        )
        self.prints("go.set()\nprint(steps, task.done())", "['begun'] False\n")
        self.prints("await task\nprint(steps)", "['begun', 'done']\n")

    def test_an_error_in_a_task_ends_only_the_block_that_awaits_it(self) -> None:
        block = self.guest.run(
            """
            import asyncio
            async def bad(): raise ValueError('v')
            async def good(): return 1
            try:
                await asyncio.gather(good(), bad(), good())
            except ValueError as error:
                print('caught', error)
            print(await asyncio.gather(good(), bad(), return_exceptions=True))
            await bad()
            """
        )
        self.assertEqual(block.stdout, "caught v\n[1, ValueError('v')]\n")
        self.assertEqual((block.exit_code, block.stderr.splitlines()[-1]), (1, "ValueError: v"))
        self.prints("print(await good())", "1\n")

    def test_an_exit_in_a_coroutine_ends_the_block(self) -> None:
        block = self.guest.run(
            "import asyncio, sys\nasync def f():\n    await asyncio.sleep(0)\n    sys.exit(4)\nawait f()"
        )
        self.assertEqual((block.exit_code, block.stderr), (4, ""))
        block = self.guest.run(
            "async def main(): await asyncio.sleep(100)\nt = asyncio.create_task(f())\nawait main()"
        )
        self.assertEqual((block.exit_code, block.stderr), (4, ""))
        self.prints(
            "await asyncio.sleep(0)\nprint(asyncio.all_tasks() == {asyncio.current_task()})",
            "True\n",
        )

    def test_a_coroutine_that_is_forgotten_is_mentioned_without_a_word_of_the_guest(self) -> None:
        block = self.guest.run(
            "async def f(): ...\ndef g():\n    c = f()\n    raise ValueError\ng()"
        )
        self.assertIn("RuntimeWarning: coroutine 'f' was never awaited", block.stderr)
        self.assertNotIn("codehatch", block.stderr)

    def test_a_loop_that_a_block_has_closed_or_robbed_is_replaced(self) -> None:
        self.prints(
            "import asyncio, os\nloop = asyncio.get_running_loop()\nawait asyncio.sleep(0)", ""
        )
        self.prints("loop.close()", "")
        self.prints("await asyncio.sleep(0.001)\nprint('a')", "a\n")
        self.guest.run("os.closerange(3, 256)")
        self.guest.run("files = [open('/dev/null') for _ in range(10)]")
        self.prints(
            "await asyncio.sleep(0.001)\nprint('b', [f.fileno() for f in files if f.read()])",
            "b []\n",
        )
        self.prints(
            "import gc; _ = gc.collect(); print([f.read() for f in files] == [''] * 10)", "True\n"
        )

    def test_asyncio_is_not_loaded_before_a_block_needs_it(self) -> None:
        self.prints(
            "import sys; print([m for m in ('asyncio', 'ctypes', 'subprocess') if m in sys.modules])",
            "[]\n",
        )


class AwaitableTools(GuestCase):
    def setUp(self) -> None:
        super().setUp()
        context = tree(FILES)
        tools = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        self.start_guest(tools=tools)

    def test_calls_overlap_and_each_gets_its_own_answer(self) -> None:
        self.guest.start(
            """
            import asyncio
            from tools import a
            r = await asyncio.gather(*[a.echo.aio(i=i) for i in range(50)])
            print(r == list(range(50)))
            """
        )
        calls = [self.guest.next_call() for _ in range(50)]
        for call in reversed(calls):
            self.guest.reply(call, call["args"]["i"])
        self.assertEqual(self.guest.finish().stdout, "True\n")

    def test_the_module_of_twins_has_the_same_functions(self) -> None:
        self.prints(
            """
            from tools.aio.a import echo
            import tools.aio, tools.aio.a, inspect
            print((await echo(i=1))['args'], echo is tools.aio.a.echo, echo.__doc__, echo.__name__)
            print((await tools.aio.a.echo(i=2))['args'], inspect.signature(echo))
            """,
            "{'i': 1} True Give back what it gets. echo\n{'i': 2} (**args)\n",
        )

    def test_errors_are_raised_where_the_call_is_awaited(self) -> None:
        def answer(name: str, args: dict[str, Any]) -> Any:
            if args["i"] % 2:
                raise Failing(type="KeyError", message=str(args["i"]))
            return args["i"]

        self.guest.answer = answer
        self.prints(
            """
            import asyncio
            from tools import ToolError, a
            r = await asyncio.gather(*[a.echo.aio(i=i) for i in range(4)], return_exceptions=True)
            print(r)
            try:
                await a.echo.aio(i={1})
            except TypeError as error:
                print(error)
            """.replace("from tools import ToolError, a", "from tools import a"),
            "[0, ToolError('KeyError: 1'), 2, ToolError('KeyError: 3')]\n"
            "echo() argument i is a set, which has no JSON form; use sorted(...) or list(...)\n",
        )

    def test_a_cancelled_call_gives_its_answer_to_nobody(self) -> None:
        self.guest.start(
            """
            import asyncio
            from tools import a
            try:
                await asyncio.wait_for(a.echo.aio(i=1), 0.01)
            except asyncio.TimeoutError:
                print('late')
            print(await a.echo.aio(i=2))
            """
        )
        late = self.guest.next_call()
        call = self.guest.next_call()
        self.guest.reply(late, "for nobody")
        self.guest.reply(call, "fine")
        self.assertEqual(self.guest.finish().stdout, "late\nfine\n")

    def test_an_answer_to_a_loop_that_is_closed_harms_nobody(self) -> None:
        self.guest.start(
            """
            import asyncio
            from tools import a
            async def start():
                asyncio.ensure_future(a.echo.aio(i=1))
                await asyncio.sleep(0)
            loop = asyncio.new_event_loop()
            loop.run_until_complete(start())
            loop.close()
            print(a.echo(i=2))
            """
        )
        lost, call = self.guest.next_call(), self.guest.next_call()
        self.guest.reply(lost, "for nobody")
        self.guest.reply(call, "fine")
        self.assertEqual(self.guest.finish().stdout, "fine\n")

    def test_a_call_that_is_forgotten_is_mentioned_by_its_name(self) -> None:
        block = self.guest.run("from tools import a\na.echo.aio(i=1)\nNone")
        self.assertIn("coroutine 'a.echo.aio' was never awaited", block.stderr)
        self.assertEqual(block.calls, [])

    def test_loops_in_threads_and_plain_calls_go_together(self) -> None:
        self.prints(
            """
            import asyncio, threading
            from tools import a
            seen = []
            async def many(base):
                r = await asyncio.gather(*[a.echo.aio(i=base + i) for i in range(30)])
                seen.extend(one['args']['i'] == base + i for i, one in enumerate(r))
            def plain(base):
                for i in range(30): seen.append(a.echo(i=base + i)['args']['i'] == base + i)
            threads = [threading.Thread(target=asyncio.run, args=(many(100 * n),)) for n in range(3)]
            threads += [threading.Thread(target=plain, args=(1000 * n,)) for n in range(1, 4)]
            for thread in threads: thread.start()
            await many(5000)
            for thread in threads: await asyncio.to_thread(thread.join)
            print(len(seen), all(seen))
            """.replace(
                "await asyncio.to_thread(thread.join)",
                "await asyncio.get_running_loop().run_in_executor(None, thread.join)",
            ),
            "210 True\n",
        )

    def test_a_call_from_a_thread_of_asyncio_works(self) -> None:
        self.prints(
            """
            import asyncio
            from tools import a
            loop = asyncio.get_running_loop()
            r = await asyncio.gather(*[loop.run_in_executor(None, lambda i=i: a.echo(i=i)) for i in range(40)])
            print([one['args']['i'] for one in r] == list(range(40)))
            """,
            "True\n",
        )


if __name__ == "__main__":
    unittest.main()
