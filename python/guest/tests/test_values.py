"""Values on their way out, as JSON text."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import sys
import types
import typing
import unittest
import uuid
from typing import Any, ClassVar

import harness  # noqa: F401 # finds the guest

from codehatch_guest import values


class Colour(enum.Enum):
    RED = "r"
    NEXT = 7


class Number(enum.IntEnum):
    TWO = 2


class Mode(str, enum.Enum):
    FAST = "fast"


@dataclasses.dataclass
class Point:
    x: int
    when: Any = None
    shared: ClassVar[int] = 5
    scale: dataclasses.InitVar[int] = 1


class Pair(typing.NamedTuple):
    left: int
    right: Any


class Shouting(str):
    def __str__(self) -> str:
        return "changed"


class Odd(int):
    def __int__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "changed"


class Half(float):
    def __repr__(self) -> str:
        return "changed"


class Forms(unittest.TestCase):
    maxDiff = None

    def text(self, value: Any) -> str:
        return values.dumps(value, "v").decode()

    def test_plain_values_are_what_pythons_json_writes(self) -> None:
        for value in (
            None, True, False, 0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1, 2**70, 10**40,
            0.1, 1.0, -0.0, 1e16, 1e-07, 5e-324, 1.7976931348623157e308, "", "naïve 日本 😀",
            '"\\\b\f\n\r\t\0\x1f\x7f\u2028', [], [1, [2.0, None]], (), (1, "a"), {}, {"a": {"b": [True]}},
        ):  # fmt: skip
            with self.subTest(value):
                expected = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
                self.assertEqual(self.text(value), expected)

    def test_what_json_has_no_numbers_for_is_written_as_python_writes_it(self) -> None:
        self.assertEqual(
            self.text([float("nan"), float("inf"), -math.inf]), "[NaN,Infinity,-Infinity]"
        )

    def test_a_lone_surrogate_is_an_escape(self) -> None:
        self.assertEqual(self.text(["\ud800é"]), '["\\ud800\\u00e9"]')
        self.assertEqual(self.text({"\udfff": Point(1)})[:10], '{"\\udfff":')

    def test_other_values_have_the_documented_forms(self) -> None:
        moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901, datetime.timezone.utc)
        some_id = uuid.UUID(int=5)
        for value, expected in (
            (moment, "2024-01-02T03:04:05.678901+00:00"),
            (datetime.datetime(2024, 1, 2), "2024-01-02T00:00:00"),
            (datetime.date(2024, 1, 2), "2024-01-02"),
            (datetime.time(3, 4), "03:04:00"),
            (decimal.Decimal("1.10"), "1.10"),
            (decimal.Decimal("NaN"), "NaN"),
            (some_id, str(some_id)),
            (pathlib.PurePosixPath("a/b"), "a/b"),
            (pathlib.Path("x"), "x"),
            (b"\x00\xff", {"kind": "bytes", "data": "AP8=", "encoding": "base64"}),
            (bytearray(b"a"), {"kind": "bytes", "data": "YQ==", "encoding": "base64"}),
            (memoryview(b"a"), {"kind": "bytes", "data": "YQ==", "encoding": "base64"}),
            (Colour.RED, "r"),
            (Colour.NEXT, 7),
            (Number.TWO, 2),
            (Mode.FAST, "fast"),
            (Point(1, moment), {"x": 1, "when": "2024-01-02T03:04:05.678901+00:00"}),
            (Pair(1, Pair(2, b"")), {"left": 1, "right": {"left": 2, "right": self.empty_bytes()}}),
            (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
            (collections.Counter("aab"), {"a": 2, "b": 1}),
            (collections.defaultdict(list, a=[1]), {"a": [1]}),
            (Shouting("quiet"), "quiet"),
            ({Shouting("quiet"): 1, Mode.FAST: 2}, {"quiet": 1, "fast": 2}),
            (Odd(5), 5),
            (Half(0.5), 0.5),
        ):
            with self.subTest(value):
                self.assertEqual(json.loads(self.text(value)), expected)
                self.assertEqual(json.loads(self.text([{"a": value}])), [{"a": expected}])

    def empty_bytes(self) -> dict[str, str]:
        return {"kind": "bytes", "data": "", "encoding": "base64"}

    def test_forms_do_not_depend_on_what_is_in_sys_modules(self) -> None:
        kept = dict(sys.modules)
        try:
            for name in ("datetime", "decimal", "uuid", "pathlib", "enum", "numpy"):
                sys.modules.pop(name, None)
            text = self.text([datetime.date(2024, 1, 2), decimal.Decimal(1), Colour.RED])
        finally:
            sys.modules.update(kept)
        self.assertEqual(text, '["2024-01-02","1","r"]')

    def test_scalars_of_numpy_are_pythons(self) -> None:
        # By their names: numpy itself may not be here.
        generic = type("generic", (), {"__module__": "numpy"})

        def scalar(value: Any, name: str = "int64") -> Any:
            kind = type(name, (generic,), {"__module__": "numpy", "item": lambda self: value})
            kind.__str__ = lambda self: "2024-01-02T00:00:00.000000001"  # type: ignore[method-assign]
            return kind()

        self.assertEqual(self.text([scalar(3), scalar(0.5), scalar(True)]), "[3,0.5,true]")
        self.assertEqual(self.text(scalar(1, "datetime64")), '"2024-01-02T00:00:00.000000001"')
        with self.assertRaisesRegex(TypeError, r"v is a numpy\.complex128, which has no JSON form"):
            self.text(scalar(1j, "complex128"))


class Refusals(unittest.TestCase):
    def refusal(self, value: Any, where: str = "f() argument ") -> str:
        with self.assertRaises((TypeError, ValueError)) as caught:
            values.dumps(value, where)
        return f"{type(caught.exception).__name__}: {caught.exception}"

    def test_the_place_is_named(self) -> None:
        cell = types.SimpleNamespace()
        for value, message in (
            ({"v": {1, 2}}, "f() argument v is a set, which has no JSON form; use sorted(...) or list(...)"),
            ({"v": {"items": [0, 1, 2, {3}]}}, "f() argument v.items[3] is a set, which has no JSON form; use sorted(...) or list(...)"),
            ({"v": [Point(1, 1j)]}, "f() argument v[0].when is a complex, which has no JSON form"),
            ({"v": Pair(1, cell)}, "f() argument v.right is a types.SimpleNamespace, which has no JSON form"),
            ({"v": (x for x in ())}, "f() argument v is a generator, which has no JSON form; use list(...)"),
            ({"v": object}, "f() argument v is a type, which has no JSON form"),
            ({"v": datetime.timedelta(1)}, "f() argument v is a datetime.timedelta, which has no JSON form"),
            ({"v": {1: "a"}}, "f() argument v has the key 1 of type int; JSON keys are strings, so convert it first, for example with str()"),
            ({"v": {None: 1}}, "f() argument v has the key None of type NoneType; JSON keys are strings, so convert it first, for example with str()"),
            ({"v": [{("a", 1): 2}]}, "f() argument v[0] has the key ('a', 1) of type tuple; JSON keys are strings, so convert it first, for example with str()"),
        ):  # fmt: skip
            with self.subTest(message):
                self.assertEqual(self.refusal(value), f"TypeError: {message}")

    def test_hints_fit_the_kind(self) -> None:
        frame = type(
            "DataFrame", (), {"to_dict": 1, "columns": 2, "tolist": 3, "__module__": "pandas"}
        )
        series = type("Series", (), {"to_dict": 1, "tolist": 3, "__module__": "pandas"})
        model = type("User", (), {"model_dump": 1, "model_fields": 2, "__module__": "app"})
        for value, hint in (
            (frame(), "v is a pandas.DataFrame, which has no JSON form; use .to_dict('records')"),
            (series(), "v is a pandas.Series, which has no JSON form; use .tolist()"),
            (model(), "v is a app.User, which has no JSON form; use .model_dump(mode='json')"),
        ):
            self.assertEqual(self.refusal(value, "v"), f"TypeError: {hint}")

    def test_names_of_any_length_make_messages_of_bounded_length(self) -> None:
        self.assertLess(len(self.refusal({"k" * 100_000: {1}})), 300)
        self.assertLess(len(self.refusal({"v": {b"k" * 100_000: 1}})), 300)

    def test_what_contains_itself_is_refused(self) -> None:
        plain: list[Any] = [1]
        plain.append({"a": plain})
        self.assertEqual(
            self.refusal({"v": plain}), "ValueError: f() argument v[1].a contains itself"
        )
        other: dict[str, Any] = {"s": b""}
        other["me"] = [other]
        self.assertEqual(
            self.refusal({"v": other}), "ValueError: f() argument v.me[0] contains itself"
        )

    def test_nesting_of_400_levels_is_the_deepest(self) -> None:
        deep: Any = 1
        for _ in range(400):
            deep = [deep]
        self.assertEqual(values.dumps(deep, "v"), b"[" * 400 + b"1" + b"]" * 400)
        self.assertEqual(
            self.refusal([[deep]], "v"),
            "ValueError: v is nested deeper than 400 levels, or contains itself",
        )

    def test_a_value_that_occurs_twice_is_sent_twice(self) -> None:
        shared = [b""]
        text = '{"kind":"bytes","data":"","encoding":"base64"}'
        self.assertEqual(values.dumps([shared, shared], "v").decode(), f"[[{text}],[{text}]]")

    def test_what_would_be_too_large_is_known_before_it_is_encoded(self) -> None:
        for value in ("x" * 101, ["x" * 60, "y" * 60], [1] * 60, {"a": ["x" * 99]}, {"a" * 99: 1}):
            with self.subTest(value), self.assertRaises(values.TooLarge):
                values.dumps(value, "v", 100)
        self.assertEqual(len(values.dumps("x" * 98, "v", 100)), 100)


class WithoutAccelerator(unittest.TestCase):
    def test_the_same_text_comes_from_the_encoder_in_python(self) -> None:
        kept = values._encoders.copy(), values._make_encoder
        try:
            values._make_encoder = None
            for string in list(values._encoders):
                values._encoders[string] = values._new_encoder(string)
            text = values.dumps({"a": [1, 2.5, None, "é"], "b": Colour.RED}, "v")
        finally:
            values._encoders.update(kept[0])
            values._make_encoder = kept[1]
        self.assertEqual(text.decode(), '{"a":[1,2.5,null,"é"],"b":"r"}')


if __name__ == "__main__":
    unittest.main()
