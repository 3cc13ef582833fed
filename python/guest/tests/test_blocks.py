"""State of a turn and the endings of its blocks."""

from __future__ import annotations

import os
import signal
import sys
import unittest

from harness import Block, GuestCase, sleeps, wait_until


class TurnState(GuestCase):
    def test_top_level_names_persist_and_functions_see_them(self) -> None:
        self.prints(
            """
            import math
            k = 3
            def f(): return math.floor(k * 1.5)
            print(f(), [k + i for i in range(2)])
            """,
            "4 [3, 4]\n",
        )
        self.prints(
            """
            class C:
                vals = [f() for _ in range(2)]
            k = 5
            print(C.vals, (lambda: k)(), f())
            """,
            "[4, 4] 5 7\n",
        )

    def test_there_is_one_dict_of_names(self) -> None:
        self.prints(
            """
            import __main__, sys
            x = 1
            print(globals() is locals() is vars(__main__), sys.modules["__main__"] is __main__)
            print(__name__, __main__.x, "__file__" in globals())
            """,
            "True True\n__main__ 1 False\n",
        )

    def test_main_guards_run(self) -> None:
        self.prints("if __name__ == '__main__': print('main')", "main\n")

    def test_classes_and_functions_pickle(self) -> None:
        self.prints(
            """
            import pickle
            from dataclasses import dataclass
            @dataclass
            class Point:
                x: int
            def f(): return 7
            """,
            "",
        )
        self.prints(
            """
            p, g = pickle.loads(pickle.dumps((Point(2), f)))
            print(p == Point(2), type(p) is Point, g())
            """,
            "True True 7\n",
        )

    def test_type_hints_resolve(self) -> None:
        self.prints(
            """
            from __future__ import annotations
            import typing, dataclasses
            class Node: ...
            @dataclasses.dataclass
            class Tree:
                root: Node
                more: typing.ClassVar[int] = 1
            """,
            "",
        )
        self.prints(
            """
            def walk(tree: Tree) -> Node: ...
            print(typing.get_type_hints(walk) == {"tree": Tree, "return": Node})
            print([f.name for f in dataclasses.fields(Tree)], walk.__annotations__["tree"])
            """,
            "True\n['root'] Tree\n",
        )

    def test_source_is_found_in_the_same_block_and_in_a_later_one(self) -> None:
        program = """
            import inspect
            def f(a):
                return a  # here
            class Bare:
                x = 1  # bare
            class Full:
                @property
                def p(self): return 1
            print(inspect.getsource(f), inspect.getsource(Bare), inspect.getsource(Full), sep="", end="")
            """
        expected = (
            "def f(a):\n    return a  # here\n"
            "class Bare:\n    x = 1  # bare\n"
            "class Full:\n    @property\n    def p(self): return 1\n"
        )
        self.prints(program, expected)
        self.prints(
            "print(inspect.getsource(f), inspect.getsource(Bare), sep='', end='')", expected[:61]
        )

    def test_source_of_a_name_that_was_defined_again_is_the_latest(self) -> None:
        self.guest.run("class A:\n    x = 1\ndef f(): return 1")
        self.guest.run("class A:\n    x = 2\ndef f(): return 2")
        self.prints(
            "import inspect; print(inspect.getsource(A) + inspect.getsource(f))",
            "class A:\n    x = 2\ndef f(): return 2\n\n",
        )

    def test_future_imports_last_for_the_turn(self) -> None:
        self.prints("from __future__ import annotations\ndef f(x: nowhere): ...", "")
        self.prints("def g(x: nowhere): ...\nprint(g.__annotations__)", "{'x': 'nowhere'}\n")

    def test_a_future_import_of_a_failed_block_counts_as_well(self) -> None:
        self.guest.run("from __future__ import annotations\n1 / 0")
        self.prints("def g(x: nowhere): ...", "")

    def test_names_that_a_block_clears_or_rebinds_do_no_harm(self) -> None:
        self.prints(
            """
            import sys, builtins
            globals().clear()
            """,
            "",
        )
        self.prints("class A: ...\nprint(A.__module__, __name__)", "__main__ __main__\n")
        self.prints("print = list = len = None", "")
        self.assertEqual(self.guest.run("[1, 2]").result, {"type": "list", "value": [1, 2]})
        self.prints("del print, list, len\nimport sys\nsys.modules.pop('__main__')", "")
        self.prints("import __main__\nprint(__main__.A is A)", "True\n")

    def test_rebound_builtins_are_for_the_block_alone(self) -> None:
        self.guest.run(
            """
            import builtins
            kept = dict(vars(builtins))
            for name in ("len", "print", "isinstance", "open", "repr", "str", "range", "type", "min",
                         "max", "list", "dict", "any", "zip", "super", "getattr", "BaseException"):
                setattr(builtins, name, None)
            """
        )
        self.assertEqual(self.guest.run("[1]").result, {"type": "list", "value": [1]})
        block = self.guest.run("x = 1\nlen([])")
        self.assertEqual(
            (block.exit_code, block.stderr.splitlines()[-1]),
            (
                1,
                "TypeError: 'NoneType' object is not callable",
            ),
        )
        self.assertEqual(self.guest.run("vars(builtins).update(kept); len([0])").result["value"], 1)

    def test_modules_of_the_workspace_come_last(self) -> None:
        for name in ("json", "socket", "random", "tempfile", "mine"):
            text = "raise RuntimeError('shadow')" if name != "mine" else "x = 5"
            (self.guest.workspace / f"{name}.py").write_text(text)
        self.prints(
            """
            import sys
            for name in ("json", "random", "tempfile"):
                sys.modules.pop(name, None)
            import json, random, tempfile, mine
            print(mine.x, json.dumps([1]))
            """,
            "5 [1]\n",
        )

    def test_recursion_limits_and_traces_do_not_reach_the_guest(self) -> None:
        self.guest.run(
            """
            import sys
            def bad(*_): raise RuntimeError("traced")
            sys.settrace(bad)
            sys.setprofile(bad)
            """
        )
        self.prints("import sys; print(sys.gettrace(), sys.getprofile())", "None None\n")
        self.guest.run("sys.setrecursionlimit(60)")
        self.prints("print(sys.getrecursionlimit() >= 500)", "True\n")

    def test_a_timer_ends_with_its_block(self) -> None:
        self.guest.run(
            """
            import signal
            def late(*_): raise TimeoutError("late")
            signal.signal(signal.SIGALRM, late)
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            """
        )
        self.prints(
            "import time; time.sleep(0.1); print(signal.getitimer(signal.ITIMER_REAL))",
            "(0.0, 0.0)\n",
        )

    def test_signal_handlers_of_blocks_run_only_while_a_block_runs(self) -> None:
        self.guest.run(
            """
            import os, signal, time
            struck = 0
            def late(*_):
                global struck
                struck += 1
                raise RuntimeError("late")
            signal.signal(signal.SIGUSR1, late)
            kept = 1
            """
        )
        for _ in range(3):
            os.kill(self.guest.pid, signal.SIGUSR1)
        wait_until(lambda: sleeps(self.guest.pid), "the guest to sleep again")
        block = self.guest.run("time.sleep(30)")
        self.assertEqual(block.stderr.splitlines()[-1], "RuntimeError: late")
        self.prints("print(struck, kept, signal.getsignal(signal.SIGUSR1) is late)", "1 1 True\n")

    def test_a_storm_of_signals_whose_handler_raises_tears_no_frame(self) -> None:
        block = self.guest.run(
            """
            import os, signal, time
            child = os.fork()
            if not child:
                time.sleep(0.05)
                while True:
                    os.kill(os.getppid(), signal.SIGUSR1)
                    time.sleep(0.0003)
            os.write(1, b"%d" % child)
            def late(*_): raise RuntimeError("late")
            signal.signal(signal.SIGUSR1, late)
            """
        )
        codes = {self.guest.run("_ = [i for i in range(3000)]").exit_code for _ in range(100)}
        self.assertLessEqual(codes, {0, 1})
        os.kill(int(block.stdout), signal.SIGKILL)
        self.guest.run("signal.signal(signal.SIGUSR1, signal.SIG_IGN)")
        self.guest.run("signal.signal(signal.SIGUSR1, signal.SIG_IGN)")
        self.prints("print(os.waitpid(child, 0)[0] == child)", "True\n")


class Endings(GuestCase):
    def check(self, code: str, exit_code: int, stderr: str = "", stdout: str = "") -> None:
        block = self.guest.run(code)
        self.assertEqual((block.exit_code, block.stdout, block.stderr), (exit_code, stdout, stderr))

    def test_exit_codes(self) -> None:
        for code, exit_code, stderr in (
            ("import sys; sys.exit()", 0, ""),
            ("sys.exit(None)", 0, ""),
            ("sys.exit(0)", 0, ""),
            ("sys.exit(3)", 3, ""),
            ("sys.exit(-1)", -1, ""),
            ("sys.exit(256)", 256, ""),
            ("sys.exit(True)", 1, ""),
            ("sys.exit(10**30)", (1 << 63) - 1, ""),
            ("sys.exit(-10**5000)", -((1 << 63) - 1), ""),
            ("sys.exit('no luck')", 1, "no luck\n"),
            ("sys.exit(['a'])", 1, "['a']\n"),
            ("sys.exit(2.5)", 1, "2.5\n"),
            ("exit(4)", 4, ""),
            ("quit()", 0, ""),
            ("raise SystemExit", 0, ""),
            ("raise SystemExit(5)", 5, ""),
            ("class E(SystemExit): ...\nraise E(6)", 6, ""),
        ):
            with self.subTest(code):
                self.check(code, exit_code, stderr)

    def test_an_exit_text_that_cannot_be_made_is_named(self) -> None:
        self.check(
            "import sys\nclass T:\n    def __str__(self): return 1 / 0\nsys.exit(T())",
            1,
            "<T object, whose text form failed with ZeroDivisionError>\n",
        )

    def test_code_after_an_exit_does_not_run_and_the_state_stays(self) -> None:
        self.check(
            "x = 41\nprint('before')\nimport sys; sys.exit(0)\nprint('never')", 0, "", "before\n"
        )
        self.prints("print(x + 1)", "42\n")

    def test_exceptions_that_are_no_errors_end_the_block_alone(self) -> None:
        self.check("class Z(BaseException): ...", 0)
        for number, name in enumerate(("KeyboardInterrupt", "GeneratorExit", "Z"), 2):
            with self.subTest(name):
                self.check(
                    f"raise {name}('x')",
                    1,
                    "Traceback (most recent call last):\n"
                    f'  File "<block {number}>", line 1, in <module>\n'
                    f"    raise {name}('x')\n"
                    f"{name}: x\n",
                )
        self.prints("print('alive')", "alive\n")

    def test_the_interpreter_can_be_ended_and_its_status_says_how(self) -> None:
        self.guest.start("import os; os._exit(7)")
        self.assertEqual(self.guest.wait_exit(), 7)

    def test_a_forked_child_that_reaches_the_end_of_the_block_ends_there(self) -> None:
        block = self.guest.run(
            """
            import os, sys
            child = os.fork()
            if child:
                _, status = os.waitpid(child, 0)
                print("parent:", os.WEXITSTATUS(status))
            else:
                print("child")
                sys.exit(9)
            """
        )
        self.assertEqual(block, Block(stdout="child\nparent: 9\n"))
        self.prints("print(child > 0)", "True\n")

    def test_a_child_of_the_multiprocessing_module_works(self) -> None:
        self.prints(
            """
            import multiprocessing
            def work(n): print("work", n)
            process = multiprocessing.get_context("fork").Process(target=work, args=(3,))
            process.start()
            process.join()
            print(process.exitcode)
            """,
            "work 3\n0\n",
        )


class Sources(GuestCase):
    def test_an_empty_block_and_one_of_comments_are_blocks(self) -> None:
        for code in ("", "\n", "   ", "# nothing", "\n\n# x\n"):
            with self.subTest(code):
                self.guest.send({"kind": "run", "code": code})
                self.assertEqual(self.guest.finish(), Block())

    def test_a_block_without_code_runs_nothing(self) -> None:
        for frame in ({"kind": "run"}, {"kind": "run", "code": None}, {"kind": "run", "code": 7}):
            self.guest.send(frame)
            self.assertEqual(self.guest.finish(), Block())

    def test_line_ends_of_all_kinds_end_lines(self) -> None:
        self.guest.send({"kind": "run", "code": "a = 1\r\nb = 2\r\nif a:\r\n    print(a + b)\r\n"})
        self.assertEqual(self.guest.finish(), Block(stdout="3\n"))
        self.guest.send({"kind": "run", "code": "x = 1\r\n1 / 0\r\n"})
        self.assertIn('", line 2, in <module>\n    1 / 0\n', self.guest.finish().stderr)

    def test_source_that_python_cannot_read_is_an_error_of_the_block(self) -> None:
        for code, kinds in (
            (
                "x = 1\0",
                (
                    "ValueError: source code string cannot contain null bytes",
                    "SyntaxError: source code string cannot contain null bytes",
                ),
            ),
            (
                "x = '\ud800'",
                (
                    "UnicodeEncodeError: 'utf-8' codec can't encode character '\\ud800' "
                    "in position 5: surrogates not allowed",
                ),
            ),
            (
                "(" * 6000 + ")" * 6000,
                ("SyntaxError: too many nested parentheses", "MemoryError", "RecursionError"),
            ),
        ):
            with self.subTest(code[:10]):
                self.guest.send({"kind": "run", "code": code})
                block = self.guest.finish()
                self.assertEqual((block.exit_code, block.stdout), (1, ""))
                self.assertTrue(
                    any(block.stderr.splitlines()[-1].startswith(kind) for kind in kinds),
                    block.stderr,
                )
                self.assertNotIn("codehatch", block.stderr)
        self.prints("print('alive')", "alive\n")

    def test_a_syntax_error_runs_nothing_and_points_at_its_place(self) -> None:
        block = self.guest.run("print('one')\nx = 1\n\nfor in y:\n    pass\nprint(2)")
        self.assertEqual((block.exit_code, block.stdout), (1, ""))
        lines = block.stderr.splitlines()
        self.assertEqual(lines[0], '  File "<block 1>", line 4')
        self.assertEqual(lines[1], "    for in y:")
        self.assertRegex(lines[2], r"^ +\^+$")
        self.assertEqual(lines[3], "SyntaxError: invalid syntax")

    def test_a_large_block_runs(self) -> None:
        lines = 1_500_000 // 12
        code = "x = 12345.6\n" * lines + "print(x)\n1 / 0"
        self.guest.send({"kind": "run", "code": code, "extensions": ["result"]})
        block = self.guest.finish()
        self.assertEqual(block.stdout, "12345.6\n")
        self.assertEqual(
            block.stderr,
            "Traceback (most recent call last):\n"
            f'  File "<block 1>", line {lines + 2}, in <module>\n'
            "    1 / 0\n"
            + ("    ~~^~~\n" if sys.version_info >= (3, 11) else "")
            + "ZeroDivisionError: division by zero\n",
        )
        self.prints("print('alive')", "alive\n")

    def test_deeply_nested_source_fails_or_runs_but_loses_no_turn(self) -> None:
        for code in (
            "x = " + "-" * 5000 + "1",
            "x = " + "[" * 150 + "]" * 150,
            "x" + " + x" * 20000,
        ):
            self.guest.send({"kind": "run", "code": code})
            self.assertIn(self.guest.finish().exit_code, (0, 1))
        self.prints("print('alive')", "alive\n")


if __name__ == "__main__":
    unittest.main()
