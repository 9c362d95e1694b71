"""Column types for new tables in databases that follow the SQL standard, and the types in which values are sent."""

import re
from typing import Any

import pyarrow as pa
import pyarrow.types as of

from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.tables.database import TableColumn

_PLAIN = re.compile(
    r"(tiny|small|medium|big)?int(eger)?(\(\d+\))?|(numeric|decimal)\(\d+, *\d+\)|real|float|double( precision)?|"
    r"bool(ean)?|date",
    re.IGNORECASE,
)
"""Pattern of the declared types that may be widened. Other declared types are stricter than their Arrow type."""

_FLAG = "tinyint(1)"
"""MySQL's boolean type. It is not widened: in a text column, its values would become 1 and 0."""

_SENT = {
    pa.int8(): pa.int16(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.date64(): pa.date32(),
    pa.null(): pa.string(),
}


def column_type(arrow: pa.DataType) -> Any:
    """Return SQLAlchemy's type for an Arrow type, as used in most databases; raise ``TypeError`` if there is none."""
    import sqlalchemy as sa

    simple = {
        pa.bool_(): sa.Boolean(),
        **dict.fromkeys((pa.int8(), pa.int16(), pa.uint8()), sa.SmallInteger()),
        **dict.fromkeys((pa.int32(), pa.uint16()), sa.Integer()),
        **dict.fromkeys((pa.int64(), pa.uint32()), sa.BigInteger()),
        pa.uint64(): sa.Numeric(20, 0),
        **dict.fromkeys((pa.float16(), pa.float32()), sa.REAL()),
        pa.float64(): sa.Double(),
        **dict.fromkeys((pa.string(), pa.large_string(), pa.string_view()), sa.Text()),
        **dict.fromkeys((pa.binary(), pa.large_binary()), sa.LargeBinary()),
        pa.date32(): sa.Date(),
    }
    if arrow in simple:
        return simple[arrow]
    if of.is_decimal(arrow):
        return sa.Numeric(arrow.precision, arrow.scale)
    if of.is_time(arrow):
        return sa.Time()
    if of.is_timestamp(arrow):
        return sa.DateTime(timezone=arrow.tz is not None)
    raise TypeError(arrow)


def is_plain(column: TableColumn) -> bool:
    """Return True if a column's declaration allows all values of its Arrow type."""
    return _PLAIN.fullmatch(column.declared) is not None and column.declared.lower() != _FLAG and not column.generated


def fits(have: pa.DataType, column: TableColumn) -> bool:
    """Return True if a column accepts values of the type ``have``; individual values may still be too large."""
    assert isinstance(column, Column)
    have, want = plain_type(have), column.arrow
    if have == want or (_is_number(have) and _is_number(want)):
        return True
    if of.is_boolean(have) and of.is_integer(want):
        return True
    if of.is_timestamp(have) and of.is_timestamp(want):
        return (have.tz is None) == (want.tz is None) or column.in_utc
    if of.is_list(have) and of.is_list(want):
        return bool(have.value_type == want.value_type or of.is_string(want.value_type))
    if of.is_string(want) and column.direct:
        return not of.is_nested(have) and not of.is_binary(have)
    return bool(of.is_null(have) or (of.is_date(have) and of.is_timestamp(want) and want.tz is None))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type in which values are sent; small and unsigned integers are widened."""
    if kind in _SENT:
        return _SENT[kind]
    if of.is_timestamp(kind):
        return pa.timestamp("us", kind.tz and "UTC")
    if of.is_time(kind):
        return pa.time64("us")
    if of.is_large_list(kind) or of.is_list(kind) or of.is_fixed_size_list(kind):
        return pa.list_(plain_type(kind.value_type))
    return kind


def _is_number(kind: pa.DataType) -> bool:
    return bool(of.is_integer(kind) or of.is_floating(kind) or of.is_decimal(kind))
