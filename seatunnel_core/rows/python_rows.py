"""Python rows, given as mappings. Column types are inferred from the values, and no value is changed.

A column is described by the set of its values' kinds, as in ``rows.inference``, so neither the order of rows nor their
batches affect the columns. Kinds are those of Python: a string that looks like a date is a string. Kinds without a
common type are an error, because Python values have no original notation that could be kept instead.

The Python type of each value is checked first, because Arrow would truncate ``1.5`` to the integer 1, drop the hour of
a timestamp, and drop keys that a struct lacks.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations, islice
from typing import Any

import pyarrow as pa
import pyarrow.types as of

from seatunnel_core.errors import RowError
from seatunnel_core.rows.plain_values import plain_values
from seatunnel_core.rows.python_kinds import (
    BIG,
    DECIMAL,
    EXACT,
    EXACT_NUMBERS,
    LIST,
    LONG,
    MAPPING,
    REFINED,
    plain_kind,
)
from seatunnel_core.rows.types import type_name

AT_ONCE = 10_000
"""Number of rows to keep as Python objects at a time."""

_INFERRED: Mapping[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    LONG: pa.int64(),
    "float": pa.float64(),
    "str": pa.string(),
    "bytes": pa.binary(),
    "date": pa.date32(),
    "datetime without a zone": pa.timestamp("us"),
    "datetime with a zone": pa.timestamp("us", "UTC"),
    "time": pa.time64("us"),
}
_TOGETHER: Mapping[frozenset[str], pa.DataType] = {
    frozenset(("int", LONG)): pa.int64(),
    frozenset(("int", "float")): pa.float64(),
}
"""Sets of several kinds, with their common type."""


class SeenValues:
    """Values at a location in rows: their kinds, each with its first row, and nested values."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.kinds: dict[str, int] = {}
        self.parts = SeenFields(path)
        self._element: SeenValues | None = None
        self._whole_digits = self._scale = self._int_digits = 0

    def see(self, values: Sequence[Any], rows: Sequence[int]) -> None:
        """Inspect values, each with its row number. Raise RowError if no column can represent a value."""
        for found in dict.fromkeys(map(type, values)):
            if found is not type(None):
                some = [pair for pair in zip(values, rows, strict=True) if type(pair[0]) is found]
                self._see_type(found, [value for value, _ in some], [row for _, row in some])

    def _see_type(self, found: type, values: list[Any], rows: list[int]) -> None:
        name = plain_kind(found)
        if name is None:
            raise RowError(
                f"row {rows[0]}, key {self.path!r}: {_a(found.__name__)} is not a valid column value; make it a "
                "bool, int, float, str, bytes, Decimal, date, datetime, time, UUID, list or mapping"
            )
        refined = name in REFINED and not (name == "int" and max(values) <= EXACT and min(values) >= -EXACT)
        for value, row in zip(values, rows, strict=True) if refined else ():
            self.kinds.setdefault(REFINED[name](value), row)
        if not refined:
            self.kinds.setdefault(name, rows[0])
        if name == MAPPING:
            self.parts.see(values, rows)
        elif name == LIST:
            numbers = [row for value, row in zip(values, rows, strict=True) for _ in value]
            self._element = self._element or SeenValues(f"{self.path}[]")
            self._element.see([each for value in values for each in value], numbers)
        elif name == DECIMAL:
            self._see_digits(values)
        elif name == "int":
            self._int_digits = max(self._int_digits, *(len(str(abs(each))) for each in (min(values), max(values))))

    def _see_digits(self, values: Iterable[Decimal]) -> None:
        for value in values:
            if value.is_finite():
                _, digits, exponent = value.as_tuple()
                assert isinstance(exponent, int)
                self._scale = max(self._scale, -exponent)
                self._whole_digits = max(self._whole_digits, len(digits) + exponent)

    def inferred(self) -> pa.DataType:
        """Return the type that represents all inspected values. Raise RowError if there is none."""
        if not self.kinds:
            return pa.null()
        if len(self.kinds) > 1:
            return self._together()
        ((kind, row),) = self.kinds.items()
        if kind == MAPPING and self.parts:
            return pa.struct(self.parts.inferred())
        if kind == LIST and self._element is not None:
            return pa.list_(self._element.inferred())
        if kind == DECIMAL and (decimal := self._decimal(self._whole_digits)) is not None:
            return decimal
        if kind not in _INFERRED:
            raise RowError(f"row {row}, key {self.path!r}: {_a(kind)} has no column type; {_HINTS[kind]}")
        return _INFERRED[kind]

    def _decimal(self, whole_digits: int) -> pa.DataType | None:
        """Return the decimal type with this many integer digits; ``None`` if there are too many."""
        precision = max(1, whole_digits + self._scale)
        if precision > 76:
            return None
        return (pa.decimal128 if precision <= 38 else pa.decimal256)(precision, self._scale)

    def _together(self) -> pa.DataType:
        """Return the type that represents values of several kinds."""
        found = _TOGETHER.get(frozenset(self.kinds))
        if DECIMAL in self.kinds and EXACT_NUMBERS.issuperset(self.kinds):
            found = self._decimal(max(self._whole_digits, self._int_digits))
            if found is None:
                raise RowError(f"key {self.path!r}: the numbers need more than 76 digits; convert them to strings")
        if found is not None:
            return found
        by_row = sorted(self.kinds.items(), key=lambda kind: kind[1])
        clashing = (pair for pair in combinations(by_row, 2) if _clash(*pair))
        (one, first), (other, second) = min(clashing, key=lambda pair: pair[1][1])
        raise RowError(
            f"row {second}, key {self.path!r}: found {_a(other)}, but row {first} contains {_a(one)}; use one type "
            "in all rows, or declare the column"
        )

    def require(self, declared: pa.DataType) -> None:
        """Raise RowError, with row and key, for a value that a declared type cannot represent unchanged."""
        for kind, row in self.kinds.items():
            if kind not in _held(declared):
                raise RowError(
                    f"row {row}, key {self.path!r}: found {_a(kind)}, but the column is declared as "
                    f"{type_name(declared)}; convert the value, or declare another type"
                )
        if of.is_struct(declared):
            declared_parts = {part.name: part.type for part in declared}
            for key, part in self.parts.items():
                if key not in declared_parts:
                    raise RowError(
                        f"key {part.path!r} is not declared: add it to the schema, or remove it from the rows"
                    )
                part.require(declared_parts[key])
        elif of.is_map(declared):
            for _, part in self.parts.items():
                part.require(declared.item_type)
        elif hasattr(declared, "value_type") and self._element is not None:
            self._element.require(declared.value_type)


class SeenFields:
    """Fields of mappings: their smallest positions and their values."""

    def __init__(self, path: str = "") -> None:
        self._path = path
        self._fields: dict[str, tuple[int, SeenValues]] = {}

    def __bool__(self) -> bool:
        return bool(self._fields)

    def see(self, rows: Sequence[Any], numbers: Sequence[int]) -> dict[str, tuple[list[Any], Sequence[int]]]:
        """Inspect rows, each with its number, and return their values by key like ``columns_of``."""
        found = columns_of(rows, numbers, self._path)
        places = _places(rows)
        for key, (values, _) in found.items():
            place, seen = self._fields.get(key, (places[key], None))
            seen = seen or SeenValues(f"{self._path}.{key}" if self._path else key)
            self._fields[key] = (min(place, places[key]), seen)
            seen.see(values, numbers)
        return found

    def items(self) -> list[tuple[str, SeenValues]]:
        """Return the fields, sorted by their smallest position in any mapping and then by name."""
        ordered = sorted(self._fields.items(), key=lambda item: (item[1][0], item[0]))
        return [(key, seen) for key, (_, seen) in ordered]

    def inferred(self) -> list[tuple[str, pa.DataType]]:
        """Return the names and types of the fields in order. Raise RowError like ``SeenValues.inferred``."""
        return [(key, seen.inferred()) for key, seen in self.items()]


def _places(rows: Sequence[Any]) -> dict[str, int]:
    """Return the smallest position of each key in any of the mappings."""
    places: dict[str, int] = {}
    for keys in dict.fromkeys(map(tuple, rows)):
        for place, key in enumerate(keys):
            places[key] = min(place, places.get(key, place))
    return places


_Kind = tuple[str, int]
"""A kind, and the first row with this kind."""


def _clash(one: _Kind, other: _Kind) -> bool:
    pair = frozenset((one[0], other[0]))
    return pair not in _TOGETHER and not (DECIMAL in pair and EXACT_NUMBERS.issuperset(pair))


_HINTS = {
    BIG: "make it a Decimal or a str",
    "Decimal that is not a number": "remove it, or make it None",
    "datetime with nanoseconds": "round it to microseconds",
    "time with a zone": "remove the time zone",
    DECIMAL: "it has more than 76 digits; make it a str",
    MAPPING: "it has no keys in any row; remove it, or declare the columns",
}


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0].lower() in "aeiou" else f"a {noun}"


def _held(declared: pa.DataType) -> tuple[str, ...]:
    """Return the kinds that a type represents. Arrow checks the range of numbers."""
    if of.is_floating(declared):
        return ("float", "int", LONG)
    if of.is_decimal(declared):
        return (DECIMAL, "int", LONG, BIG)
    if of.is_integer(declared):
        return ("int", LONG)
    if of.is_timestamp(declared):
        return ("datetime without a zone" if declared.tz is None else "datetime with a zone",)
    if of.is_struct(declared) or of.is_map(declared):
        return (MAPPING,)
    if of.is_nested(declared):
        return (LIST,)
    return tuple(kind for kind, held in _INFERRED.items() if held == declared)


def columns_of(
    rows: Sequence[Any], numbers: Sequence[int], within: str = ""
) -> dict[str, tuple[list[Any], Sequence[int]]]:
    """Return values by key, with ``None`` for missing ones. Raise RowError if a row is not a mapping."""
    for row, number in zip(rows, numbers, strict=True):
        if not isinstance(row, Mapping):
            raise RowError(
                f"row {number} is {_a(type(row).__name__)}; expected a mapping from column to value, such as "
                "{'city': 'Lima'}"
            )
    keys = dict.fromkeys(key for row in rows for key in row)
    wrong = [key for key in keys if not isinstance(key, str)]
    if wrong:
        number = next(number for row, number in zip(rows, numbers, strict=True) if wrong[0] in row)
        place = f" of {within!r}" if within else ""
        raise RowError(
            f"row {number}: the key {wrong[0]!r}{place} is {_a(type(wrong[0]).__name__)}; keys must be strings"
        )
    return {key: (list(plain_values([row.get(key) for row in rows])), numbers) for key in keys}


class PythonRows:
    """Converts rows to Arrow in order. If ``columns`` is ``None``, columns are inferred from all rows."""

    def __init__(self, columns: pa.Schema | None) -> None:
        self._declared = columns
        self._seen = SeenFields()
        self.count = 0
        """Number of rows so far."""

    @property
    def columns(self) -> pa.Schema:
        """Declared columns, or columns inferred from all rows so far. Raises RowError if they are unknown."""
        if self._declared is not None:
            return self._declared
        if not self._seen:
            what = "there are no rows" if not self.count else "the rows have no keys"
            raise RowError(f"{what}, so the columns are unknown: declare them, such as schema={{'city': 'string'}}")
        return pa.schema(self._seen.inferred())

    def see(self, rows: Sequence[Any]) -> dict[str, tuple[list[Any], Sequence[int]]]:
        """Inspect the next rows and return their values by key. Raise RowError for a value that matches no column."""
        numbers = range(self.count + 1, self.count + 1 + len(rows))
        self.count += len(rows)
        return self._seen.see(rows, numbers)

    def batches(self, rows: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        """Yield rows in batches with the columns known so far. Raise RowError for a value that does not match."""
        left, blank = iter(rows), 0
        while some := list(islice(left, AT_ONCE)):
            found = self.see(some)
            if self._declared is None and not self._seen:  # rows without keys, before the first row with keys
                blank += len(some)
                continue
            columns = self.columns
            if blank:
                yield pa.RecordBatch.from_arrays([pa.nulls(blank, column.type) for column in columns], schema=columns)
                blank = 0
            self._require(columns)
            empty: tuple[list[Any], Sequence[int]] = ([None] * len(some), range(len(some)))
            arrays = [_array(column, *found.get(column.name, empty)) for column in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=columns)

    def _require(self, columns: pa.Schema) -> None:
        if self._declared is None:
            return
        for key, seen in self._seen.items():
            if key not in columns.names:
                row = next(iter(seen.kinds.values()), None)
                where = "" if row is None else f"row {row}: "
                raise RowError(
                    f"{where}the key {key!r} is not a column: add it to the schema, or remove it from the rows"
                )
            seen.require(columns.field(key).type)


def _array(column: pa.Field, values: list[Any], numbers: Sequence[int]) -> pa.Array:
    if not column.nullable and None in values:
        raise RowError(
            f"row {numbers[values.index(None)]}, key {column.name!r}: the value is None, but the column is not nullable"
        )
    try:
        return pa.array(values, column.type)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        for value, number in zip(values, numbers, strict=True):
            try:
                pa.array([value], column.type)
            except (pa.ArrowException, ValueError, OverflowError) as wrong:
                raise RowError(
                    f"row {number}, key {column.name!r}: the value does not fit {type_name(column.type)}: {wrong}"
                ) from None
        raise RowError(f"key {column.name!r}: the values do not fit {type_name(column.type)}: {error}") from error
