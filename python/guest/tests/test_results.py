"""What the last expression of a block becomes."""

from __future__ import annotations

import unittest

from harness import GuestCase


class Result(GuestCase):
    def check(self, code: str, expected: object) -> None:
        block = self.guest.run(code)
        self.assertEqual((block.result, block.exit_code, block.stderr), (expected, 0, ""))

    def test_values_with_a_json_form_arrive_as_they_are(self) -> None:
        for code, kind, value in (
            ("1 + 1", "int", 2),
            ("2 ** 100", "int", 2**100),
            ("0.1", "float", 0.1),
            ("1.0", "float", 1.0),
            ("True", "bool", True),
            ("'naïve 日本 😀'", "str", "naïve 日本 😀"),
            ("[1, (2, None), {'a': []}]", "list", [1, [2, None], {"a": []}]),
            ("()", "tuple", []),
            ("{}", "dict", {}),
            ("b'\\x00\\xff'", "bytes", {"kind": "bytes", "data": "AP8=", "encoding": "base64"}),
            ("__import__('decimal').Decimal('1.10')", "Decimal", "1.10"),
            ("__import__('datetime').date(2024, 1, 2)", "date", "2024-01-02"),
        ):
            with self.subTest(code):
                self.check(code, {"type": kind, "value": value})

    def test_an_integer_of_any_size_is_a_result(self) -> None:
        # The digits are compared as text: the tests' own interpreter may not read so many.
        self.guest.start("10 ** 6000")
        line = self.guest.next_line()
        self.assertEqual(
            line,
            b'{"exit_code":0,"background_work":false,"kind":"done","result":{"type":"int","value":1'
            + b"0" * 6000
            + b"}}",
        )

    def test_none_and_statements_have_no_result(self) -> None:
        for code in (
            "None",
            "x = 1",
            "x = 5; None",
            "print('a') if False else None",
            "pass",
            "def f(): ...",
        ):
            with self.subTest(code):
                self.check(code, None)

    def test_the_last_expression_may_follow_statements_or_be_alone(self) -> None:
        self.check("x = 2\ny = 3\nx * y", {"type": "int", "value": 6})
        self.check("'only a docstring'", {"type": "str", "value": "only a docstring"})
        self.check("x = 1; x + 1", {"type": "int", "value": 2})
        self.check("x;", {"type": "int", "value": 1})
        self.check("if True:\n    5", None)
        self.check("(yes := 7)", {"type": "int", "value": 7})
        self.check("[yes\n for _ in range(2)\n]  # note", {"type": "list", "value": [7, 7]})

    def test_a_host_that_does_not_want_results_gets_none(self) -> None:
        self.assertIsNone(self.guest.run("1 + 1", extensions=()).result)
        self.assertIsNone(self.guest.run("1 + 1", extensions=["image"]).result)
        self.guest.send({"kind": "run", "code": "1 + 1", "extensions": "result"})
        self.assertIsNone(self.guest.finish().result)

    def test_other_values_are_their_text(self) -> None:
        for code, kind, text in (
            ("{3}", "set", "{3}"),
            ("{1: 'a'}", "dict", "{1: 'a'}"),
            ("object", "type", "<class 'object'>"),
            ("1j", "complex", "1j"),
            ("l = []; l.append(l); l", "list", "[[...]]"),
            ("class A:\n    def __repr__(self): return 'an A'\nA()", "A", "an A"),
        ):
            with self.subTest(code):
                self.check(code, {"type": kind, "repr": text})

    def test_large_values_are_text_of_bounded_length_with_both_ends(self) -> None:
        for code, begin, end in (
            ("'ab' * 2_000_000", "'abab", "abab'"),
            ("b'ab' * 2_000_000", "b'abab", "abab'"),
            ("list(range(600_000))", "[0, 1, 2,", "599998, 599999]"),
            ("tuple(range(600_000))", "(0, 1, 2,", "599998, 599999)"),
            (
                "dict.fromkeys(range(100_000))",
                "{0: None, 1: None,",
                "999: None, ... 99000 more ...}",
            ),
            ("[['x' * 1000] * 1000] * 100", "[['xxx", "xxx']]"),
            ("set(range(30_000))", "{0, 1,", "}"),
        ):
            with self.subTest(code):
                result = self.guest.run(code).result
                text = result["repr"]
                self.assertEqual((text[: len(begin)], text[-len(end) :]), (begin, end))
                self.assertLess(len(text), 25_000)

    def test_a_value_of_a_megabyte_is_the_largest_that_is_sent(self) -> None:
        self.assertEqual(
            len(self.guest.run("'x' * ((1 << 20) - 2)").result["value"]), (1 << 20) - 2
        )
        self.assertIn("repr", self.guest.run("'x' * ((1 << 20) - 1)").result)

    def test_a_hostile_text_form_does_not_fail_the_block(self) -> None:
        for body, text in (
            ("1 / 0", "<A object, whose text form failed with ZeroDivisionError>"),
            ("return 5", "<A object, whose text form failed with TypeError>"),
            ("return repr(self)", "<A object, whose text form failed with RecursionError>"),
            ("raise MemoryError", "<A object, whose text form failed with MemoryError>"),
            ("class S(str):\n            __len__ = None\n        return S('fine')", "fine"),
        ):
            with self.subTest(body):
                self.check(
                    f"class A:\n    def __repr__(self):\n        {body}\nA()",
                    {"type": "A", "repr": text},
                )

    def test_a_text_form_that_exits_exits(self) -> None:
        block = self.guest.run("class A:\n    def __repr__(self): raise SystemExit(4)\nA()")
        self.assertEqual((block.exit_code, block.result), (4, None))

    def test_hostile_attributes_and_types_do_not_fail_the_block(self) -> None:
        self.check(
            "class A:\n    def __getattr__(self, name): raise ValueError(name)\n    def __repr__(self): return 'a'\nA()",
            {"type": "A", "repr": "a"},
        )
        self.check(
            "class M(type):\n    def __getattribute__(cls, name): raise ValueError(name)\n"
            "class B(metaclass=M):\n    def __repr__(self): return 'b'\nB()",
            {"type": "B", "repr": "b"},
        )

    def test_lone_surrogates_arrive_as_escapes(self) -> None:
        self.guest.send({"kind": "run", "code": "'a\\ud800'", "extensions": ["result"]})
        self.assertEqual(self.guest.finish().result, {"type": "str", "value": "a\ud800"})
        self.check(
            "class S:\n    def __repr__(self): return '\\ud800'\nS()",
            {"type": "S", "repr": "\ud800"},
        )


class Images(GuestCase):
    def test_what_shows_itself_as_an_image_is_one(self) -> None:
        block = self.guest.run("class P:\n    def _repr_png_(self): return b'png'\nP()")
        self.assertIsNone(block.result)
        self.assertEqual(
            block.images, [{"mime_type": "image/png", "data": "cG5n", "kind": "image"}]
        )
        block = self.guest.run("class J:\n    def _repr_jpeg_(self): return b'jpg'\nJ()")
        self.assertEqual(
            block.images, [{"mime_type": "image/jpeg", "data": "anBn", "kind": "image"}]
        )

    def test_an_image_that_cannot_be_made_is_text(self) -> None:
        block = self.guest.run(
            "class P:\n    def _repr_png_(self): return 1 / 0\n    def __repr__(self): return 'P'\nP()"
        )
        self.assertEqual((block.images, block.result), ([], {"type": "P", "repr": "P"}))

    def test_a_host_that_does_not_want_images_gets_text(self) -> None:
        block = self.guest.run(
            "class P:\n    def _repr_png_(self): return b'png'\n    def __repr__(self): return 'P'\nP()",
            extensions=["result"],
        )
        self.assertEqual((block.images, block.result), ([], {"type": "P", "repr": "P"}))

    def test_figures_left_open_are_rendered_and_closed(self) -> None:
        fake = """
            import sys, types
            class Figure:
                def __init__(self, text): self.text = text
                def savefig(self, buffer, format, bbox_inches):
                    if self.text is None: raise ValueError("no text")
                    buffer.write(self.text)
            pyplot = types.ModuleType("matplotlib.pyplot")
            figures = {}
            pyplot.get_fignums = lambda: list(figures)
            pyplot.figure = figures.get
            pyplot.close = lambda what: figures.clear() if what == "all" else None
            module = types.ModuleType("matplotlib.figure")
            module.Figure = Figure
            sys.modules["matplotlib.figure"] = module
            sys.modules["matplotlib.pyplot"] = pyplot
        """
        self.guest.run(fake)
        block = self.guest.run("figures.update({1: Figure(b'1'), 2: Figure(b'2')})")
        self.assertEqual([image["data"] for image in block.images], ["MQ==", "Mg=="])
        self.prints("print(figures)", "{}\n")
        block = self.guest.run("Figure(b'3')")
        self.assertEqual(
            ([image["data"] for image in block.images], block.result), (["Mw=="], None)
        )
        block = self.guest.run("figures[1] = Figure(None)")
        self.assertEqual(
            (block.exit_code, block.images, block.stderr),
            (0, [], "[a figure could not be rendered: ValueError: no text]\n"),
        )


if __name__ == "__main__":
    unittest.main()
