"""Kinds of Python values. They determine the type of a column."""

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

MAPPING, LIST, DECIMAL = "mapping", "list", "Decimal"
LONG = "int that no float can represent"
BIG = "int of more than 64 bits"
EXACT_NUMBERS = frozenset(("int", LONG, BIG, DECIMAL))
"""Kinds of numbers. Their common type is ``Decimal`` if at least one of the values is a ``Decimal``."""

EXACT = 2**53
"""Largest absolute value up to which a float represents every integer exactly."""


def plain_kind(found: type) -> str | None:
    """Return the kind of a Python type; ``None`` if no column can represent it."""
    for base, name in _PYTHON:
        if issubclass(found, base):
            return name
    return None


_PYTHON: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "bool"),
    (int, "int"),
    (float, "float"),
    (str, "str"),
    ((bytes, bytearray), "bytes"),
    (Decimal, DECIMAL),
    (dt.datetime, "datetime"),
    (dt.date, "date"),
    (dt.time, "time"),
    (Mapping, MAPPING),
    ((list, tuple), LIST),
)
"""Python types in the order in which they are checked, because a bool is also an int and a datetime is also a date."""


def _int_kind(value: int) -> str:
    if -EXACT <= value <= EXACT:
        return "int"
    if not -(2**63) <= value < 2**63:
        return BIG
    return "int" if int(float(value)) == value else LONG


def _datetime_kind(value: Any) -> str:
    if getattr(value, "nanosecond", 0):
        return "datetime with nanoseconds"
    return "datetime without a zone" if value.utcoffset() is None else "datetime with a zone"


REFINED: Mapping[str, Any] = {
    "int": lambda value: _int_kind(value),
    DECIMAL: lambda value: DECIMAL if value.is_finite() else "Decimal that is not a number",
    "datetime": _datetime_kind,
    "time": lambda value: "time" if value.tzinfo is None else "time with a zone",
}
"""Python types with several kinds. The value determines the kind."""
