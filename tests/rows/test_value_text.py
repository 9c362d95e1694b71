"""Values as JSON, and texts that are cut."""

import datetime as dt
import json
import math
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_core.rows.types import arrow_type
from seatunnel_core.rows.value_text import cut, json_text, shortest


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("int", None, "null"),
        ("string", 'näme "x"\x1b', r'"näme \"x\"\u001b"'),
        ("boolean", True, "true"),
        ("float", struct.unpack("f", struct.pack("f", 3.1))[0], "3.1"),
        ("double", 3.0999999046325684, "3.0999999046325684"),
        ("double", float("inf"), '"Infinity"'),
        ("float", float("-inf"), '"-Infinity"'),
        ("decimal(30, 8)", Decimal("1E-8"), "0.00000001"),
        ("bytes", b"hi", '"aGk="'),
        ("time", dt.time(12, 1, 26), '"12:01:26"'),
        ("map<time, array<float>>", [(dt.time(1), [1.5, None, float("nan")])], '{"01:00:00":[1.5,null,"NaN"]}'),
        ("map<bigint, boolean>", [(1, False)], '{"1":false}'),
        ("map<float, bytes>", [(struct.unpack("f", struct.pack("f", 0.1))[0], b"hi")], '{"0.1":"aGk="}'),
        ('{a = "decimal(3, 1)", "b c" = date}', {"a": Decimal("1.5"), "b c": None}, '{"a":1.5,"b c":null}'),
        ("float_vector(2)", [1.5, 2.0], "[1.5,2.0]"),
    ],
)
def test_a_value_is_json_of_its_type(kind: str, value: Any, text: str) -> None:
    assert json_text(value, arrow_type(kind)) == text
    json.loads(text)


@given(st.floats(width=32, allow_nan=False))
def test_a_float_of_32_bits_is_the_same_after_it_was_shortened(value: float) -> None:
    short = shortest(value)
    assert struct.pack("f", short) == struct.pack("f", value)
    assert not math.isfinite(value) or len(Decimal(repr(short)).normalize().as_tuple().digits) <= 9


def test_a_text_that_is_cut_says_by_how_much() -> None:
    assert (cut("abc", 3), cut("a" * 2_000, 3)) == ("abc", "aaa… (1,997 more characters)")
