"""Output and input of blocks, in both lives of the guest."""

from __future__ import annotations

import re
import unittest

from harness import Block, GuestCase, wait_until


class Output(GuestCase):
    def test_text_without_a_newline_is_output(self) -> None:
        self.prints("print('a', end='')", "a")
        self.prints("import sys; _ = sys.stdout.write('b\\nc')", "b\nc")

    def test_both_streams_are_kept_apart(self) -> None:
        block = self.guest.run("import sys\nprint('out')\nprint('err', file=sys.stderr)")
        self.assertEqual(block, Block(stdout="out\n", stderr="err\n"))

    def test_text_arrives_in_the_order_in_which_it_was_written(self) -> None:
        self.prints(
            """
            import os, subprocess, sys
            print('one')
            os.write(1, b'two\\n')
            subprocess.run(['sh', '-c', 'echo three'], check=True)
            print('four', end='', flush=True)
            _ = sys.stdout.buffer.write(b' five\\n'), sys.stdout.flush()
            os.system('echo six')
            print('seven')
            """,
            "one\ntwo\nthree\nfour five\nsix\nseven\n",
        )

    def test_what_is_no_utf8_or_no_text_does_not_lose_the_line(self) -> None:
        self.prints("print('a\\ud800b', '日本 😀')", "a\\ud800b 日本 😀\n")
        self.prints("import os; _ = os.write(1, b'a\\xffb\\n')", "a\ufffdb\n")
        block = self.guest.run("raise ValueError('\\ud800')")
        self.assertEqual(block.stderr.splitlines()[-1], "ValueError: \\ud800")

    def test_a_stream_that_was_closed_works_again(self) -> None:
        for code in (
            "import sys; sys.stdout.close()",
            "sys.stdout.buffer.close()",
            "sys.stdout.buffer.raw.close()",
            "_ = sys.stdout.detach()",
            "sys.stdout = None",
            "del sys.stdout",
            "sys.stdout = 5",
            "import io; sys.stdout = io.StringIO()",
            "sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')",
            "wrapper = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8'); del wrapper",
            "sys.stderr.close(); sys.stdin.close()",
            "exit(0)",
        ):
            with self.subTest(code):
                self.guest.run(code)
                block = self.guest.run("import sys\nprint('out')\nprint('err', file=sys.stderr)")
                self.assertEqual(block, Block(stdout="out\n", stderr="err\n"))

    def test_a_wrapper_around_stdout_loses_nothing(self) -> None:
        self.prints(
            """
            import io, sys
            print('a')
            sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')
            print('b')
            sys.stdout = sys.__stdout__
            print('c')
            """,
            "a\nb\nc\n",
        )

    def test_a_tee_of_the_blocks_own_is_flushed(self) -> None:
        self.prints(
            """
            import sys
            class Late:
                def __init__(self, to): self.to, self.held = to, ''
                def write(self, text): self.held += text
                def flush(self):
                    self.to.write(self.held)
                    self.held = ''
            sys.stdout = Late(sys.stdout)
            print('held back')
            """,
            "held back\n",
        )
        self.prints("print('again')", "again\n")

    def test_descriptors_that_were_closed_are_back_in_the_next_block(self) -> None:
        for code in (
            "import os; os.close(1)",
            "os.close(1); os.close(2)",
            "os.close(0)",
            "null = os.open('/dev/null', os.O_WRONLY); _ = os.dup2(null, 1)",
            "_ = os.dup2(1, 2)",
            "os.close(1); file = open('taken', 'w'); print(file.fileno(), file=file)",
            "os.set_blocking(1, False); os.set_blocking(2, False)",
        ):
            with self.subTest(code):
                self.guest.run(code)
                self.check_streams()

    def check_streams(self) -> None:
        block = self.guest.run(
            """
            import subprocess, sys
            print('out')
            print('err', file=sys.stderr)
            _ = subprocess.run(['sh', '-c', 'echo child; echo child >&2; cat'], check=True)
            """
        )
        self.assertEqual(block, Block(stdout="out\nchild\n", stderr="err\nchild\n"))

    def test_closing_every_low_descriptor_loses_no_turn(self) -> None:
        self.guest.run("import os\nkept = 1\nos.closerange(3, 256)")
        self.check_streams()
        self.guest.run("os.closerange(0, 256)")
        self.check_streams()
        self.prints("print(kept)", "1\n")

    def test_an_error_is_reported_without_stderr(self) -> None:
        for code in (
            "import os, sys; os.close(2)",
            "sys.stderr = None",
            "del sys.stderr",
            "sys.stderr.close()",
        ):
            with self.subTest(code):
                block = self.guest.run(f"{code}\n1 / 0")
                self.assertEqual(
                    block.stderr.splitlines()[-1], "ZeroDivisionError: division by zero"
                )

    def test_much_output_arrives_whole(self) -> None:
        block = self.guest.run("for i in range(60_000): print(i)")
        self.assertEqual(block.stdout, "".join(f"{i}\n" for i in range(60_000)))
        block = self.guest.run("import os\n_ = os.write(1, b'x' * 3_000_000); print('end')")
        self.assertEqual(block.stdout.rstrip("x")[-4:], "end\n")

    def test_there_is_no_input(self) -> None:
        self.assertIn("EOFError", self.guest.run("print('hi')\nn = input('name? ')").stderr)
        self.prints(
            """
            import subprocess, sys
            print(repr(sys.stdin.read()), repr(sys.stdin.readline()), sys.stdin.isatty())
            print(subprocess.run([sys.executable, '-c', 'import sys; print(repr(sys.stdin.read()))'],
                                 capture_output=True, text=True).stdout)
            """,
            "'' '' False\n''\n\n",
        )

    def test_a_breakpoint_is_passed_over(self) -> None:
        block = self.guest.run("x = 1\nbreakpoint()\nprint(x)")
        self.assertEqual(
            block,
            Block(
                stdout="1\n", stderr="breakpoint() was passed over: nobody is at the keyboard.\n"
            ),
        )

    def test_nobody_types_a_password(self) -> None:
        block = self.guest.run("import getpass\ngetpass.getpass()")
        self.assertEqual(block.exit_code, 1)
        self.assertIn("EOFError", block.stderr)

    def test_exit_handlers_do_not_run(self) -> None:
        self.prints("import atexit; _ = atexit.register(print, 'never')", "")
        self.guest.send({"kind": "shutdown"})
        self.assertEqual(self.guest.wait_exit(), 0)
        self.assertEqual(self.guest.real_output()[0], "")

    def test_threads_that_never_end_do_not_keep_the_guest(self) -> None:
        self.guest.run("import threading; threading.Thread(target=threading.Event().wait).start()")
        self.guest.send({"kind": "shutdown"})
        self.assertEqual(self.guest.wait_exit(), 0)


class OutputOfEarlierBlocks(GuestCase):
    def test_a_threads_lines_are_marked_with_its_block(self) -> None:
        block = self.guest.run(
            """
            import threading
            go, gone = threading.Event(), threading.Event()
            def work():
                print('with its block')
                started.set()
                go.wait()
                print('one\\ntwo')
                print('thr', end='')
                print('ee')
                gone.set()
            started = threading.Event()
            threading.Thread(target=work).start()
            _ = started.wait()
            """
        )
        self.assertEqual(block, Block(stdout="with its block\n", background_work=True))
        self.prints(
            "print('main')\ngo.set()\n_ = gone.wait()\nprint('main again')",
            "main\n[block 1] one\n[block 1] two\n[block 1] three\nmain again\n",
        )

    def test_a_new_thread_that_gets_the_number_of_an_earlier_one_is_not_marked(self) -> None:
        self.guest.run(
            """
            import threading
            go = threading.Event()
            old = threading.Thread(target=go.wait)
            old.start()
            """
        )
        self.prints(
            """
            go.set(); old.join()
            for _ in range(20):
                new = threading.Thread(target=print, args=(old.ident == threading.get_ident(),))
                new.start()
                new.join()
            """,
            "False\n" * 20,
        )

    def test_an_executors_idle_thread_is_no_work_and_prints_for_the_block_that_uses_it(
        self,
    ) -> None:
        block = self.guest.run(
            """
            from concurrent.futures import ThreadPoolExecutor
            pool = ThreadPoolExecutor(2)
            print(list(pool.map(str, range(3))))
            """
        )
        self.assertEqual((block.stdout, block.background_work), ("['0', '1', '2']\n", False))
        self.prints("for text in 'ab':\n    pool.submit(print, text).result()", "a\nb\n")

    def test_a_thread_of_asyncio_prints_for_the_block_that_uses_it(self) -> None:
        block = self.guest.run(
            "import asyncio\nawait asyncio.get_running_loop().run_in_executor(None, print, 'a')"
        )
        self.assertEqual((block.stdout, block.background_work), ("a\n", False))
        self.prints("await asyncio.get_running_loop().run_in_executor(None, print, 'b')", "b\n")

    def test_a_pending_tasks_lines_are_marked_with_its_block(self) -> None:
        self.prints(
            """
            import asyncio
            async def work():
                print('with its block')
                await go.wait()
                print('later')
                asyncio.create_task(more())
            async def more(): print('more')
            go = asyncio.Event()
            task = asyncio.create_task(work())
            await asyncio.sleep(0)
            """,
            "with its block\n",
        )
        self.prints("print('no await')", "no await\n")
        self.prints(
            """
            async def mine(): print('mine')
            go.set()
            other = asyncio.create_task(mine())
            await task
            await asyncio.sleep(0.001)
            await other
            print('end')
            """,
            "[block 1] later\nmine\n[block 1] more\nend\n",
        )

    def test_a_marked_stream_is_a_whole_stream(self) -> None:
        self.guest.run(
            "import threading\ngo = threading.Event()\nthreading.Thread(target=go.wait).start()"
        )
        self.prints(
            """
            import sys, subprocess, io
            print(sys.stdout.encoding, sys.stdout.errors, sys.stdout.isatty(), sys.stdout.writable())
            sys.stdout.writelines(['a\\n', 'b\\n'])
            subprocess.run(['echo', 'child'], stdout=sys.stdout, check=True)
            sys.stdout.reconfigure(line_buffering=True)
            sys.stdout.buffer.write(b'bytes\\n')
            sys.stdout.close()
            print('after')
            """,
            "utf-8 backslashreplace False True\na\nb\nchild\nbytes\nafter\n",
        )
        self.prints("go.set()", "")


class PipedOutput(Output):
    kind = "piped"

    def test_much_output_arrives_while_the_block_runs(self) -> None:
        self.guest.start(
            "print('before')\nfrom adk_code_mode_sandbox._rpc_client import call\ncall('wait', {})"
        )
        call = self.guest.next_call()
        self.assertEqual(self.guest.real_output(), ("before\n", ""))
        self.guest.reply(call)
        self.assertEqual(self.guest.finish().exit_code, 0)


class PipedOutputOfEarlierBlocks(OutputOfEarlierBlocks):
    kind = "piped"


class CapturedOutput(GuestCase):
    """What only a guest does that captures its own output."""

    def test_both_ends_of_endless_output_are_sent(self) -> None:
        block = self.guest.run(
            "import os\n_ = os.write(1, b'begin\\n')\nfor _ in range(20): os.write(1, b'x' * (1 << 20))\nprint('end')"
        )
        self.assertEqual((block.stdout[:7], block.stdout[-4:]), ("begin\nx", "end\n"))
        self.assertEqual(
            re.findall(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n", block.stdout),
            [str(20 * (1 << 20) + 10 - 16 * (1 << 20))],
        )

    def test_what_comes_between_blocks_is_sent_with_the_next_and_says_so(self) -> None:
        self.guest.run(
            """
            import subprocess
            wait = 'until [ -e go ]; do sleep 0.01; done; echo late; touch ready'
            late = subprocess.Popen(['sh', '-c', wait])
            """
        )
        (self.guest.workspace / "go").touch()
        wait_until((self.guest.workspace / "ready").exists, "the child to write")
        self.prints(
            "print('mine')",
            "[written after the last block, by what it left running]\nlate\n[end of it]\nmine\n",
        )

    def test_a_child_that_is_left_running_is_background_work_and_a_dead_one_is_none(self) -> None:
        block = self.guest.run("import subprocess; child = subprocess.Popen(['sleep', '100'])")
        self.assertTrue(block.background_work)
        block = self.guest.run(
            "import os; child.kill(); os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)"
        )
        self.assertEqual((block.exit_code, block.background_work), (0, False))

    def test_code_that_writes_to_dev_stdout_is_heard(self) -> None:
        self.assertIn(
            "there\n", self.guest.run("open('/dev/stdout', 'a').write('there\\n')").stdout
        )
        self.assertIn(
            "there\n", self.guest.run("_ = open('/dev/stdout', 'w').write('there\\n')").stdout
        )
        self.prints("print('after')", "after\n")

    def test_output_that_a_block_closed_in_spite_of_all_is_said_to_be_lost(self) -> None:
        block = self.guest.run(
            """
            import os
            print('lost')
            for fd in os.listdir('/proc/self/fd'):
                path = os.readlink(f'/proc/self/fd/{fd}') if os.path.islink(f'/proc/self/fd/{fd}') else ''
                if int(fd) > 2 and '(deleted)' in path:
                    os.close(int(fd))
            os.close(1)
            """
        )
        self.assertEqual(
            block.stdout, "[output was lost: the code closed the descriptor it goes to]\n"
        )
        self.prints("print('after')", "after\n")

    def test_without_a_directory_to_write_to_memory_is_used(self) -> None:
        self.start_guest(environment={"TMPDIR": "/nowhere"})
        self.prints("print('fine')", "fine\n")


if __name__ == "__main__":
    unittest.main()
