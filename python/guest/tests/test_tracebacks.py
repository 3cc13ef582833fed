"""What model code reads when its block fails."""

from __future__ import annotations

import re
import sys
import unittest

from harness import Failing, GuestCase, tree

# Marks below a line, which interpreters draw in more and more places.
_MARKS = re.compile(r"^ +[~^]+\n", re.MULTILINE)


class Reports(GuestCase):
    def report(self, code: str, exit_code: int = 1) -> str:
        block = self.guest.run(code)
        self.assertEqual((block.exit_code, block.stdout), (exit_code, ""))
        return _MARKS.sub("", block.stderr)

    if sys.version_info >= (3, 11):

        def test_the_failing_part_of_a_line_is_marked(self) -> None:
            self.assertEqual(
                self.guest.run("d = {}\nprint(1, d['missing'])").stderr.splitlines()[2:4],
                ["    print(1, d['missing'])", "             ~^^^^^^^^^^^"],
            )

    def test_frames_are_the_blocks_own_with_their_lines(self) -> None:
        self.assertEqual(
            self.report("# comment\ndef g(d):\n    return d['missing']\n\ng({})"),
            "Traceback (most recent call last):\n"
            '  File "<block 1>", line 5, in <module>\n'
            "    g({})\n"
            '  File "<block 1>", line 3, in g\n'
            "    return d['missing']\n"
            "KeyError: 'missing'\n",
        )

    def test_frames_of_an_earlier_block_have_its_lines(self) -> None:
        self.guest.run("def half(x):\n    return x / 0")
        self.assertEqual(
            self.report("y = 1\nhalf(y)"),
            "Traceback (most recent call last):\n"
            '  File "<block 2>", line 2, in <module>\n'
            "    half(y)\n"
            '  File "<block 1>", line 2, in half\n'
            "    return x / 0\n"
            "ZeroDivisionError: division by zero\n",
        )

    def test_the_source_survives_a_cleared_cache(self) -> None:
        self.guest.run("def half(x):\n    return x / 0\nimport linecache")
        self.assertIn(
            "    return x / 0\n",
            self.report("linecache.clearcache(); linecache.cache.clear()\nhalf(1)"),
        )

    def test_the_failing_last_expression_is_shown(self) -> None:
        self.assertEqual(
            self.report("x = 0\n1 / x"),
            "Traceback (most recent call last):\n"
            '  File "<block 1>", line 2, in <module>\n'
            "    1 / x\n"
            "ZeroDivisionError: division by zero\n",
        )

    def test_chained_errors_are_shown_in_order(self) -> None:
        self.assertEqual(
            self.report(
                "def f(): raise KeyError('k')\ntry:\n    f()\nexcept KeyError as e:\n    raise ValueError('v') from e"
            ),
            "Traceback (most recent call last):\n"
            '  File "<block 1>", line 3, in <module>\n'
            "    f()\n"
            '  File "<block 1>", line 1, in f\n'
            "    def f(): raise KeyError('k')\n"
            "KeyError: 'k'\n"
            "\nThe above exception was the direct cause of the following exception:\n\n"
            "Traceback (most recent call last):\n"
            '  File "<block 1>", line 5, in <module>\n'
            "    raise ValueError('v') from e\n"
            "ValueError: v\n",
        )
        self.assertIn(
            "\nDuring handling of the above exception, another exception occurred:\n",
            self.report("try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('v')"),
        )
        self.assertNotIn(
            "ZeroDivision",
            self.report(
                "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('v') from None"
            ),
        )

    if sys.version_info >= (3, 11):

        def test_groups_are_shown_with_their_members(self) -> None:
            text = self.report(
                "def bad(n): raise ValueError(n)\n"
                "errors = []\n"
                "for n in range(2):\n"
                "    try: bad(n)\n"
                "    except ValueError as e: errors.append(e)\n"
                "raise ExceptionGroup('both', errors) from KeyError('k')\n"
            )
            for part in (
                "KeyError: 'k'\n",
                "  + Exception Group Traceback (most recent call last):\n",
                '  |   File "<block 1>", line 6, in <module>\n',
                "  | ExceptionGroup: both (2 sub-exceptions)\n",
                "    | ValueError: 0\n",
                "    | ValueError: 1\n",
            ):
                self.assertIn(part, text)
            self.assertNotIn("codehatch", text)

    def test_deep_recursion_is_bounded(self) -> None:
        text = self.report("def f(n): return f(n + 1)\nf(0)")
        self.assertTrue(
            text.rstrip().splitlines()[-1].startswith("RecursionError: maximum recursion")
        )
        self.assertIn("[Previous line repeated ", text)
        self.assertLess(len(text), 3000)
        # Where two functions call each other the standard library folds nothing.
        text = self.report("def a(n): return b(n)\ndef b(n): return a(n)\na(0)")
        self.assertRegex(text, r"\n  \[\d\d\d frames left out\]\n")
        self.assertLess(len(text), 8000)

    if sys.version_info >= (3, 11):

        def test_a_stack_of_a_hundred_thousand_frames_is_bounded(self) -> None:
            text = self.report(
                "import sys\nsys.setrecursionlimit(100_000)\ndef a(n): return b(n)\ndef b(n): return a(n)\na(0)"
            )
            self.assertRegex(text, r"\n  \[\d\d\d\d\d frames left out\]\n")
            self.assertLess(len(text), 8000)

    def test_a_long_chain_is_bounded(self) -> None:
        text = self.report(
            "error = None\nfor n in range(3000):\n    new = ValueError(n)\n    new.__cause__ = error\n"
            "    error = new\nraise error"
        )
        self.assertTrue(text.endswith("ValueError: 2999\n"))
        self.assertEqual(text.count("direct cause"), 20)

    def test_a_chain_in_a_circle_ends(self) -> None:
        text = self.report(
            "a = ValueError('a'); b = KeyError('b')\na.__context__ = b\nb.__context__ = a\nraise a"
        )
        self.assertTrue(text.endswith("ValueError: a\n"))

    def test_a_huge_message_is_cut_in_the_middle(self) -> None:
        text = self.report("raise ValueError('begin' + 'x' * 10_000_000 + 'end')")
        self.assertIn("ValueError: beginxxx", text)
        self.assertTrue(text.endswith("xxxend\n"))
        self.assertLess(len(text), 101_000)

    def test_a_hostile_error_is_named(self) -> None:
        self.assertIn(
            "A: <exception str() failed>\n",
            self.report(
                "class A(Exception):\n    def __str__(self): return 1 / 0\nraise A"
            ).replace("<unprintable A object>", "<exception str() failed>"),
        )
        self.assertIn(
            self.report(
                "class B(Exception):\n    def __str__(self): raise SystemExit\nraise B"
            ).splitlines()[-1],
            (
                "B (its text failed with SystemExit)",
                "B: <exception str() failed>",
                "B: <unprintable B object>",
            ),
        )

    def test_frames_of_the_guest_and_of_the_tools_are_not_shown(self) -> None:
        def answer(name: str, args: dict) -> None:
            raise Failing(type="KeyError", message="no such thing")

        stub = (
            "from adk_code_mode_sandbox._rpc_client import call as _call\n\n\n"
            "def find(*, q):\n    return _call('find', {'q': q})\n"
        )
        with tree(
            {"__init__.py": "# HTTPStatusError\nfrom .find import find\n", "find.py": stub}
        ) as tools:
            self.start_guest(tools=tools).answer = answer
            self.assertEqual(
                self.report("from tools import find\nfind(q=1)"),
                "Traceback (most recent call last):\n"
                '  File "<block 1>", line 2, in <module>\n'
                "    find(q=1)\n"
                "tools.ToolError: KeyError: no such thing\n",
            )
            self.assertEqual(
                self.report("find(q={1, 2})").splitlines()[-1],
                "TypeError: find() argument q is a set, which has no JSON form; use sorted(...) or list(...)",
            )

    def test_asyncio_is_not_shown_either(self) -> None:
        self.assertEqual(
            self.report(
                "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    raise ValueError('v')\nawait f()"
            ),
            "Traceback (most recent call last):\n"
            '  File "<block 1>", line 5, in <module>\n'
            "    await f()\n"
            '  File "<block 1>", line 4, in f\n'
            "    raise ValueError('v')\n"
            "ValueError: v\n",
        )

    def test_frames_of_libraries_are_shown(self) -> None:
        text = self.report("import json\njson.loads('{')")
        self.assertIn("json/decoder.py", text)
        self.assertTrue(
            text.startswith('Traceback (most recent call last):\n  File "<block 1>", line 2')
        )

    def test_missing_input_comes_with_a_hint(self) -> None:
        hint = (
            "There is no interactive input in this sandbox: pass the data in the code, "
            "or read it from a file or a tool.\n"
        )
        self.assertTrue(
            self.report("n = input()").endswith(f"EOFError: EOF when reading a line\n{hint}")
        )
        self.assertTrue(self.report("import getpass; getpass.getpass('')").endswith(hint))
        self.assertNotIn(hint, self.report("import pickle; pickle.loads(b'')"))

    def test_a_failed_block_keeps_none_of_its_locals_alive(self) -> None:
        self.guest.run(
            "import weakref\nclass Big: ...\ndef f():\n    big = Big()\n    global ref\n"
            "    ref = weakref.ref(big)\n    1 / 0\nf()"
        )
        self.prints("print(ref())", "None\n")


if __name__ == "__main__":
    unittest.main()
