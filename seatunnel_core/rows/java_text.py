"""Formatting of values like Java's ``toString``."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def java_moments(moments: Any) -> pa.Array:
    """Format times and timestamps like Java's ``toString``: 07:15, 2024-02-29T07:15:30, 07:15:30.500."""
    if pa.types.is_timestamp(moments.type):
        moments = pc.cast(moments, pa.timestamp("us"))
    texts = pc.replace_substring(pc.cast(moments, pa.string()), pattern=" ", replacement="T")
    return pc.replace_substring_regex(texts, pattern=r":00\.000000$|\.000000$|(\.\d{3})000$", replacement=r"\1")


def java_text(number: float, *, single: bool = False) -> str:
    """Format a number like Java's ``Double.toString`` or, with ``single``, ``Float.toString``."""
    if number != number or number in (float("inf"), float("-inf")):
        return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
    text = pa.scalar(number, pa.float32()).cast(pa.string()).as_py() if single else repr(number)
    sign, figures, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    written = "".join(map(str, figures)).rstrip("0") or "0"
    point = len(figures) + exponent
    minus = "-" if sign else ""
    if written == "0":
        return f"{minus}0.0"
    if -3 < point <= 7:
        if point <= 0:
            return f"{minus}0.{'0' * -point}{written}"
        written = written.ljust(point, "0")
        return f"{minus}{written[:point]}.{written[point:] or '0'}"
    return f"{minus}{written[0]}.{written[1:] or '0'}E{point - 1}"


def java_texts(values: pa.Array) -> pa.Array | None:
    """Return simple values as strings; ``None`` for types other than numbers, booleans, dates, times and strings.

    A decimal keeps all digits, and a timestamp with time zone is formatted in UTC.
    """
    kind = values.type
    if pa.types.is_floating(kind):
        single = kind == pa.float32()
        return pa.array([None if x is None else java_text(x, single=single) for x in values.to_pylist()], pa.string())
    if pa.types.is_timestamp(kind):
        return pc.binary_join_element_wise(java_moments(values), "Z" if kind.tz else "", "")
    if pa.types.is_time(kind):
        return java_moments(values)
    if pa.types.is_decimal(kind):
        return pa.array([None if x is None else f"{x:f}" for x in values.to_pylist()], pa.string())
    known = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind)
    return pc.cast(values, pa.string()) if known else None
