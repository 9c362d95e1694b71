"""Kinds of JSON values, and the type that represents all kinds of a column.

A column is described by the set of its values' kinds, so neither the order nor the division of rows affects the result.
The set determines the type:

======================================================== ===============================================================
kinds of the values                                      type
======================================================== ===============================================================
only nulls                                               ``string``; tables treat the type as unknown (``rows.unknown``)
``true`` and ``false``                                   ``boolean``
64-bit whole numbers                                     ``bigint``
whole numbers, and numbers with decimals or an exponent  ``double`` if all values are exactly representable
date strings                                             ``date``
timestamp strings without a time zone; date strings      ``timestamp``
timestamp strings that all end with ``Z``                ``timestamp_tz``
objects                                                  a row with the fields of all objects
lists                                                    an array with a type that fits all elements
the strings ``NaN``, ``Infinity`` and ``-Infinity``      ``string``, or ``double`` together with numbers
all other values and mixtures                            ``string``, with the value as written
======================================================== ===============================================================
"""

import datetime as dt
import math
import re
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from seatunnel_core.rows.repeated_keys import RepeatedKeys
from seatunnel_core.rows.written_decimal import NegativeZero

BOOLEAN, WHOLE, LONG, FRACTION, DATE, LOCAL, MOMENT, OBJECT, LIST, TEXT, UNWRITABLE = (1 << bit for bit in range(11))
"""``WHOLE``: 64-bit integers that a double represents exactly; ``LONG``: other 64-bit integers; ``UNWRITABLE``: strings
for doubles that JSON cannot represent.
"""

TYPES: Mapping[int, pa.DataType] = {
    0: pa.string(),
    BOOLEAN: pa.bool_(),
    WHOLE: pa.int64(),
    LONG: pa.int64(),
    WHOLE | LONG: pa.int64(),
    FRACTION: pa.float64(),
    WHOLE | FRACTION: pa.float64(),
    UNWRITABLE: pa.string(),
    WHOLE | UNWRITABLE: pa.float64(),
    FRACTION | UNWRITABLE: pa.float64(),
    WHOLE | FRACTION | UNWRITABLE: pa.float64(),
    DATE: pa.date32(),
    LOCAL: pa.timestamp("us"),
    DATE | LOCAL: pa.timestamp("us"),
    MOMENT: pa.timestamp("us", tz="UTC"),
    TEXT: pa.string(),
}
"""Type for each set of kinds without objects and lists; ``string`` for all other sets."""

HELD: Mapping[pa.DataType, int] = {
    pa.bool_(): BOOLEAN,
    pa.int64(): WHOLE | LONG,
    pa.float64(): WHOLE | FRACTION | UNWRITABLE,
    pa.date32(): DATE,
    pa.timestamp("us"): DATE | LOCAL,
    pa.timestamp("us", tz="UTC"): MOMENT,
}
"""Kinds of values that each type represents unchanged. ``string`` represents all kinds."""

_DATE = r"\d{4}-(?:0[1-9]|1[0-2])-\d\d"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?"
_MOMENT = re.compile(rf"({_DATE})(?:[T ]{_TIME}(Z)?)?", re.ASCII)
_EXACT_DIGITS = 15
"""Number of digits up to which a decimal number is exact as a double, if its exponent is small enough."""

_EXACT_EXPONENT = 300


def united(kinds: int) -> int:
    """Return the canonical form of a set of kinds, which is ``TEXT`` if no other type represents all of them."""
    return kinds if kinds in TYPES or kinds in (OBJECT, LIST) else TEXT


def kinds_of(values: Collection[Any]) -> int:
    """Return the union of the kinds of JSON values. Faster than ``kind_of`` for each value."""
    found = 0
    for kind in set(map(type, values)):
        if kind in _OF_TYPE:
            found |= _OF_TYPE[kind]
        else:
            for value in {value for value in values if type(value) is kind}:
                found |= kind_of(value)
                if found & TEXT:
                    return TEXT
    return united(found)


_OF_TYPE: Mapping[type, int] = {type(None): 0, bool: BOOLEAN, dict: OBJECT, RepeatedKeys: OBJECT, list: LIST}


def kind_of(value: Any) -> int:
    """Return the kind of a value returned by ``native_json.parsed``; 0 for null."""
    kind = type(value)
    if kind is str:
        return _kind_of_text(value)
    if kind is int or kind is NegativeZero:
        return _kind_of_whole(value)
    if value is None:
        return 0
    if kind is bool:
        return BOOLEAN
    if kind is dict or kind is RepeatedKeys:
        return OBJECT
    if kind is list:
        return LIST
    return FRACTION if _is_double(value) else TEXT


def _kind_of_whole(value: int) -> int:
    if -(2**53) <= value <= 2**53:
        return WHOLE
    if not -(2**63) <= value < 2**63:
        return TEXT
    return WHOLE if int(float(value)) == value else LONG


def _is_double(value: Any) -> bool:
    """Return True if a double preserves the digits of a number with a decimal point or an exponent."""
    if isinstance(value, float):  # NaN and infinity, which have no digits
        return True
    number = float(value)
    if math.isinf(number):
        return False
    digits = value.as_tuple()
    few = len(digits.digits) <= _EXACT_DIGITS and abs(value.adjusted()) < _EXACT_EXPONENT
    return few or bool(Decimal(repr(number)) == value)


def _kind_of_text(text: str) -> int:
    if text[4:5] != "-":
        return UNWRITABLE if text in ("NaN", "Infinity", "-Infinity") else TEXT
    found = _MOMENT.fullmatch(text)
    if found is None:
        return TEXT
    try:
        dt.date.fromisoformat(found[1])
    except ValueError:  # such as the 30th of February or the year 0, which are not dates
        return TEXT
    if len(text) == len(found[1]):
        return DATE
    return MOMENT if found[2] else LOCAL
