"""Conversion of PostgreSQL's values: declared types to Arrow types, and ADBC's arrays to rows."""

import re
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of
from attrs import evolve

from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.fetched import Fetched, converted, fetched, schema_of, without
from seatunnel_core.connectors.jdbc.order import OWN
from seatunnel_core.rows.extent import BEYOND, beyond, shown

_TYPES = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "text": pa.string(),
    "varchar": pa.string(),
    "bpchar": pa.string(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}
_LISTS = {
    f"_{name}": pa.list_(_TYPES[name])
    for name in ("bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "bpchar", "bytea")
}
_READ_LISTS = {name: _TYPES[name] for name in ("date", "time", "timestamp", "timestamptz")}
"""Element types of arrays that are read as typed arrays but written as strings, which the server casts."""

_SHORT = {
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
    "time without time zone": "time",
}
_AS_TEXT_DIRECT = {"json", "xml"}
"""Types that are read as strings and that COPY accepts as strings."""

_SINCE_1970_D = 10_957
_SINCE_1970_US = _SINCE_1970_D * 86_400_000_000

_LEAST_PRECISION, _UNBOUNDED = 1, pa.decimal128(38, 18)


def column_of(name: str, modifier: int, base: str, kind: str, declared: str, has_order: bool) -> Column:
    """Return the column for an entry of the catalog.

    ``modifier`` encodes precision and scale; it is -1 if the type has none. ``base`` is the name of the type, or of the
    base type of a domain, and ``kind`` its ``typtype``. ``has_order`` is True if ``>=`` can compare values of the type.
    """
    found = _of_type(name, modifier, base, kind, declared)
    misfit = _DIMENSIONS if of.is_list(found.arrow) else ""
    return evolve(found, order=OWN if has_order else "text", misfit=misfit)


_INET = "pg_catalog.inet_out({})::text"
_INETS = (
    "CASE WHEN {} IS NOT NULL THEN "
    "ARRAY(SELECT pg_catalog.inet_out(e)::text FROM unnest({}) WITH ORDINALITY AS u(e, n) "
    "ORDER BY n) END"
)
_DIMENSIONS = "CASE WHEN pg_catalog.array_ndims({}) > 1 THEN {}::text END"


_FIRST_D, _FIRST_US = -2_440_588, -210_866_803_200_000_000
"""First day and first timestamp that the server supports, in 4713 BC of the Julian calendar, relative to 1970."""


def before_4713_bc(values: pa.Array) -> pa.Array | None:
    """Return a mask of the dates and timestamps before the first supported one; ``None`` if there are none.

    Batches without such values are never compared with a Python number, because pyarrow would import pandas to convert
    the number. That takes 0.15 s of processor time or more in each worker process.
    """
    is_date = of.is_date32(values.type)
    if not is_date and values.type not in (_TYPES["timestamp"], _TYPES["timestamptz"]):
        return None
    numbers = values.view(pa.int32() if is_date else pa.int64())
    first = _FIRST_D if is_date else _FIRST_US
    least = pc.min(numbers).as_py()
    return pc.fill_null(pc.less(numbers, first), False) if least is not None and least < first else None


def with_typed_array(column: Column) -> Column:
    """Return an array column as it is read: as a typed array if rows support the element type."""
    if not (column.declared.endswith("[]") and column.arrow == pa.list_(pa.string())):
        return column
    element = column.declared.removesuffix("[]")
    plain = re.sub(r"\([^)]*\)", "", element)
    base = _SHORT.get(plain, plain)
    if base in _READ_LISTS:
        return evolve(column, arrow=pa.list_(_READ_LISTS[base]), read="{}")
    if base == "numeric":
        return evolve(column, arrow=pa.list_(_numeric(column.name, -1, element, "b").arrow))
    return column


def _of_type(name: str, modifier: int, base: str, kind: str, declared: str) -> Column:
    if base == "numeric":
        return _numeric(name, modifier, declared, kind)
    arrow = _TYPES.get(base) or _LISTS.get(base)
    if arrow is not None:
        return Column(name=name, declared=declared, arrow=arrow, read="{}", direct=kind != "d")
    if base == "oid":
        return Column(name=name, declared=declared, arrow=pa.int64(), read="{}::bigint", direct=False, cast="oid")
    cast = declared if kind == "d" else without_length(declared)
    if base in ("inet", "_inet"):  # the string form would include a netmask
        arrow, read = (pa.string(), _INET) if base == "inet" else (pa.list_(pa.string()), _INETS)
        return Column(name=name, declared=declared, arrow=arrow, read=read, direct=False, cast=cast)
    if base.startswith("_"):
        texts = pa.list_(pa.string())
        return Column(name=name, declared=declared, arrow=texts, read="{}::text[]", direct=False, cast=cast)
    direct = base in _AS_TEXT_DIRECT and kind != "d"
    return Column(name=name, declared=declared, arrow=pa.string(), read="{}::text", direct=direct, cast=cast)


def without_length(declared: str) -> str:
    """Remove the length from a declared type. ``bit`` and ``character``, with default length 1, become ``varying``."""
    varying = re.sub(r"\b(bit|character)(\(\d+\)|(?=\[|$))", r"\1 varying", declared)
    return re.sub(r"\([^)]*\)", "", varying)


def _numeric(name: str, modifier: int, declared: str, kind: str) -> Column:
    if modifier < 0 and (written := re.search(r"\((\d+),(-?\d+)\)", declared)):
        precision, scale = int(written[1]), int(written[2])
    else:
        precision, scale = ((modifier - 4) >> 16) & 0xFFFF, (modifier - 4) & 0x7FF
    if modifier < 0 and "(" not in declared:
        arrow: pa.DataType = _UNBOUNDED
    elif _LEAST_PRECISION <= precision <= 76 and scale <= precision:
        arrow = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    else:
        return Column(name=name, declared=declared, arrow=pa.string(), read="{}::text", direct=False, cast="numeric")
    # As a string: ADBC's own conversion of a number to a string takes ten times as long as the server's.
    return Column(name=name, declared=declared, arrow=arrow, read="{}::text", direct=kind != "d")


def rows_of(batch: pa.RecordBatch, columns: Sequence[Column]) -> Fetched:
    """Convert an ADBC batch to rows. The arrays after the columns contain, as strings, the values that do not fit."""
    texts = iter(batch.columns[len(columns) :])
    arrays = [
        _fitted(array, column, next(texts) if column.misfit else None)
        for array, column in zip(batch.columns, columns, strict=False)
    ]
    return fetched(schema_of(columns), arrays)


def _fitted(array: pa.Array, column: Column, texts: pa.Array | None) -> tuple[pa.Array, Mapping[int, str]]:
    """Return the values of a column, and messages about those that rows cannot represent, keyed by index."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    hint = f'; convert it in query, for example "{column.name}"::text'
    if texts is not None:
        many = pc.is_valid(texts) if texts.null_count < len(texts) else None
        array, several = without(
            array, many, lambda number: f"{str(texts[number])[:60]!r} has several dimensions{hint}"
        )
        found, others = _fitted(array, column, None)
        return found, {**others, **several}
    if array.type != column.arrow:
        return converted(array, lambda values: cast_numbers(values, column.arrow), hint)
    return without(array, beyond(array), lambda number: f"{_moment(array[number])!r} {BEYOND}{hint}")


_INFINITE = {
    (2**31 - 1 + _SINCE_1970_D) - 2**32: "infinity",
    -(2**31) + _SINCE_1970_D: "-infinity",
    (2**63 - 1 + _SINCE_1970_US) - 2**64: "infinity",
    -(2**63) + _SINCE_1970_US: "-infinity",
}
"""Values that ADBC returns for infinite dates and timestamps because of an overflow."""


def _moment(value: pa.Scalar) -> str:
    """Format a date or timestamp that rows cannot represent, or the first such value in an array, for a message."""
    if of.is_list(value.type):
        return f"[{_moment(value.values.filter(beyond(value.values))[0])}]"
    return _INFINITE.get(value.value) or shown(value)


_MOST_CHARACTERS = 57
"""Maximum length of a numeric string that always fits into a decimal256 with 76 digits, 18 of them after the point."""


def cast_numbers(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast values. Strings are cast through a wider decimal, because Arrow misreads numbers with too many digits."""
    if kind == _UNBOUNDED and of.is_string(array.type):
        if (pc.max(pc.utf8_length(array)).as_py() or 0) > _MOST_CHARACTERS:
            raise pa.ArrowInvalid(f"the number has more than {_MOST_CHARACTERS} digits")
        return array.cast(pa.decimal256(76, _UNBOUNDED.scale)).cast(kind)
    if of.is_list(kind):
        inner = cast_numbers(array.flatten(), kind.value_type)
        offsets = pc.subtract(array.offsets, array.offsets[0])
        return pa.ListArray.from_arrays(offsets, inner, type=kind, mask=array.is_null() if array.null_count else None)
    return array.cast(kind)
