"""Rows of every type whose values lie at the edge of it, or beyond what many targets hold."""

import math
import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from seatunnel_core.rows.types import SIMPLE, VECTORS, arrow_type

_DAY = 86_400
_BEFORE_ONE, _YEAR_ONE, _LAST_DAY = -719_163, -719_162, 2_932_896
"""Days since 1970 of December 31 of the year 0, of 0001-01-01 and of 9999-12-31."""

_DAYS = [-(2**31), _BEFORE_ONE, _YEAR_ONE, -141_428, -141_427, -1, 0, 11_016, _LAST_DAY, _LAST_DAY + 1, 2**31 - 1]
"""With the days around the beginning of Gregory's calendar, and a leap day."""

_MOMENTS = [
    *(-(2**63) + 1, _YEAR_ONE * _DAY * 10**6 - 1, _YEAR_ONE * _DAY * 10**6, -62_104_060_800_000_001),
    *(-1, 0, 1, 1_000, 10**6, 1_711_846_800_000_000, 4_102_444_800_123_456),
    *((_LAST_DAY + 1) * _DAY * 10**6 - 1, (_LAST_DAY + 1) * _DAY * 10**6, 2**63 - 1),
]
_FLOATS = [math.nan, math.inf, -math.inf, -0.0, 0.0, 0.1, 1e15, 1e16, 1e-5, 123456789.0, 16777217.0]
_TEXTS = [
    *(
        "",
        " ",
        "  a  ",
        "\0",
        "a\0b",
        "\ud7ff\ue000",
        "😀",
        "e\u0301",
        "\ufeff",
        "\ufffe",
        "\x7f\x85\u2028\u2029",
        "\x1b[31m",
    ),
    *("\n", "\r", "a\r\nb", "\t", '"', '""', "'", "\\", "\\N", "\\n", "a,b", "a\x01b", "{}", "[1]", "<a>&amp;]]>"),
    *("null", "NULL", "NaN", "true", "0", "-0", "007", "1e5", "=1+1", "#", "漢" * 40, "x" * 40_000, "_x0041_"),
]

VALUES: dict[str, list[Any]] = {
    "string": _TEXTS,
    "boolean": [True, False],
    "tinyint": [-128, 0, 127],
    "smallint": [-(2**15), 2**15 - 1],
    "int": [-(2**31), 2**31 - 1],
    "bigint": [-(2**63), -(2**53) - 1, 2**53 + 1, 2**63 - 1],
    "float": [*_FLOATS, 3.4028234663852886e38, -3.4028234663852886e38, 1.401298464324817e-45, 1.1754943508222875e-38],
    "double": [*_FLOATS, 1.7976931348623157e308, -1.7976931348623157e308, 5e-324, 0.1 + 0.2, 2.0**53, 1e22, 1e23],
    "null": [],
    "bytes": [b"", b"\0", b"a", b"\xff\xfe", "漢".encode(), b"\r\n", b'",', bytes(range(256))],
    "date": _DAYS,
    "time": [0, 1, 999_999, 10**6, 43_200 * 10**6 + 120_000, _DAY * 10**6 - 1, _DAY * 10**6, -1],
    "timestamp": _MOMENTS,
    "timestamp_tz": _MOMENTS,
    "sparse_float_vector": [[], [(0, 1.0)], [(2**32 - 1, -0.0), (5, math.nan)], [(1, None)]],
    "decimal(38, 18)": [Decimal(f"{sign}{'9' * 20}.{'9' * 18}") for sign in ("", "-")] + [Decimal("1E-18")],
    "decimal(38, 0)": [Decimal("9" * 38), Decimal("-" + "9" * 38), Decimal(0)],
    "decimal(38, 38)": [Decimal("0." + "9" * 38), Decimal("1E-38"), Decimal("-1E-38")],
    "decimal(18, 2)": [Decimal("9" * 16 + ".99"), Decimal("-0.01"), Decimal("0.00"), Decimal("1.10")],
    "decimal(76, 10)": [Decimal("9" * 66 + "." + "9" * 10), Decimal("-" + "9" * 66), Decimal("1E-10")],
    "array<int>": [[], [None], [1, None, -(2**31)]],
    "array<string>": [[], [""], ["", None, 'a","b\\', "\0", "😀", "null", " "]],
    "array<double>": [[math.nan], [-0.0, math.inf], [5e-324, 1e22]],
    "array<float>": [[3.4028234663852886e38, math.nan, -0.0]],
    "array<array<int>>": [[], [[]], [None], [[None], [1, 2]]],
    "array<decimal(38, 18)>": [[Decimal(f"{'9' * 20}.{'9' * 18}"), None]],
    "array<date>": [[0, None], [_YEAR_ONE], [_BEFORE_ONE], [2**31 - 1]],
    "array<time>": [[0, _DAY * 10**6 - 1], [_DAY * 10**6]],
    "array<timestamp>": [[moment] for moment in _MOMENTS],
    "array<bytes>": [[b"", b"\xff", None]],
    "map<string, int>": [[], [("a", None)], [("", 1), ("\0", 2), ('"', 3), ("a=b,c", 4)], [("a", 1), ("a", 2)]],
    "map<int, string>": [[(-(2**31), ""), (2**31 - 1, None)]],
    "map<double, string>": [[(0.1, "a"), (math.inf, "b")], [(math.nan, "c")], [(-0.0, "d"), (0.0, "e")]],
    "map<boolean, int>": [[(True, 1), (False, None)]],
    "map<date, int>": [[(0, 1)], [(_BEFORE_ONE, 1)], [(2**31 - 1, 1)]],
    "map<timestamp, int>": [[(0, 1)], [(2**63 - 1, 1)], [(_MOMENTS[1], 1)]],
    "map<bytes, int>": [[(b"\xff", 1), (b"", 2)]],
    "map<decimal(38, 18), int>": [[(Decimal("1E-18"), 1)]],
    "map<string, array<int>>": [[("a", []), ("b", None), ("c", [None])]],
    "{a = int, b = string}": [{"a": None, "b": None}, {"a": 2**31 - 1, "b": ""}, {"a": None, "b": '"}'}],
    "{a = {b = {c = double}}, d = array<{e = string}>}": [
        {"a": None, "d": None},
        {"a": {"b": None}, "d": []},
        {"a": {"b": {"c": None}}, "d": [None, {"e": None}, {"e": ""}]},
        {"a": {"b": {"c": -0.0}}, "d": [{"e": "\0"}]},
    ],
    "{a = timestamp_tz, b = date}": [{"a": moment, "b": None} for moment in _MOMENTS] + [{"a": 0, "b": 2**31 - 1}],
    "float_vector(3)": [[0.0, -0.0, 1.0], [math.nan, math.inf, -math.inf], [3.4028234663852886e38, 1e-45, 0.1]],
    "float16_vector(2)": [[65504.0, -0.0], [math.nan, math.inf], [5.960464477539063e-08, 0.0999755859375]],
    "bfloat16_vector(2)": [[0, 0x8000], [0x7F80, 0xFF80], [0x7FC0, 0x3F80]],
    "binary_vector(16)": [[0, 255]],
}
"""By type, as Arrow's integers where Python's type of it does not reach; null is added to each."""

UNKNOWN = {*SIMPLE, *VECTORS} - {kind.partition("(")[0] for kind in VALUES}
assert not UNKNOWN, f"types without extreme values: {UNKNOWN}; add them to VALUES"

TYPES: dict[str, pa.DataType] = {f"c{number}": arrow_type(kind) for number, kind in enumerate(VALUES)}
"""The columns: one for each type."""


def rows(columns: pa.Schema, name: str) -> pa.RecordBatch:
    """A row for each value of a column, in which the others are null, and one with null; ``id`` numbers all rows."""
    number = list(TYPES).index(name)
    values = [*VALUES[list(VALUES)[number]], None]
    arrays = {
        "id": pa.array(range(number * 1_000, number * 1_000 + len(values)), pa.int64()),
        name: array_of(values, TYPES[name]),
    }
    found = [arrays.get(column.name, pa.nulls(len(values), column.type)) for column in columns]
    return pa.RecordBatch.from_arrays(found, schema=columns)


def array_of(values: list[Any], kind: pa.DataType) -> pa.Array:
    """An array whose dates and times are given as Arrow counts them."""
    return _typed(pa.array(values, _counted(kind)), kind)


def _counted(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_map(kind):
        return pa.map_(_counted(kind.key_type), _counted(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_counted(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(part.name, _counted(part.type)) for part in kind])
    return kind


def _typed(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The array with another type of the same buffers."""
    return _rebuilt(array, kind, list(_children(array, kind)))


def _children(array: pa.Array, kind: pa.DataType) -> Iterator[pa.Array]:
    if pa.types.is_map(kind):
        entries = pa.StructArray.from_arrays(
            [_typed(array.keys, kind.key_type), _typed(array.items, kind.item_type)],
            fields=[pa.field("key", kind.key_type, nullable=False), pa.field("value", kind.item_type)],
        )
        yield entries
    elif pa.types.is_list(kind):
        yield _typed(array.values, kind.value_type)
    elif pa.types.is_struct(kind):
        yield from (_typed(array.field(number), part.type) for number, part in enumerate(kind))


def _rebuilt(array: pa.Array, kind: pa.DataType, children: list[pa.Array]) -> pa.Array:
    if not children:
        return array if array.type == kind else array.view(kind)
    own = 1 if pa.types.is_struct(kind) else 2
    return pa.Array.from_buffers(kind, len(array), array.buffers()[:own], children=children)


def comparable(value: pa.Scalar) -> Any:
    """What two values have in common that are the same: -0.0 is not 0.0, and NaN is itself."""
    kind = value.type
    if not value.is_valid:
        return None
    if pa.types.is_floating(kind):
        number = value.as_py()
        return "NaN" if math.isnan(number) else struct.pack(">d", number)
    if pa.types.is_date32(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        return value.value
    if pa.types.is_map(kind):
        return [tuple(comparable(entry[part]) for part in ("key", "value")) for entry in _entries(value)]
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind):
        return [comparable(each) for each in value.values]
    if pa.types.is_struct(kind):
        return {part.name: comparable(value[part.name]) for part in kind}
    return value.as_py()


def _entries(value: pa.Scalar) -> Iterator[pa.Scalar]:
    return iter(value.values)
