"""Types for the branches of CASE, for the operands of comparisons and for the target of CAST."""

import pyarrow as pa
from sqlglot import exp

from seatunnel_core.rows.types import type_name
from seatunnel_core.transforms.sql.value import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    SqlError,
    common_number,
    is_moment,
    is_number,
    is_simple,
)

_CASTS = {
    "TEXT": STRING,
    "VARCHAR": STRING,
    "CHAR": STRING,
    "NVARCHAR": STRING,
    "BOOLEAN": BOOLEAN,
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": INT,
    "BIGINT": BIGINT,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "DATE": DATE,
    "TIME": TIME,
    "TIMESTAMP": TIMESTAMP,
    "DATETIME": TIMESTAMP,
    "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
    "TIMESTAMP_TZ": pa.timestamp("us", tz="UTC"),
    "BINARY": BYTES,
    "VARBINARY": BYTES,
    "BLOB": BYTES,
}


def cast_type(target: exp.Expression, at: str) -> pa.DataType:
    """Return the type in ``CAST(… AS type)``; raise ``SqlError``, which lists all types, for an unknown one."""
    name = str(target.args.get("kind") or target.this.value).upper()
    if name == "BYTES":
        return BYTES
    if name == "DECIMAL":
        numbers = [int(each.name) for each in target.expressions if each.name.isdigit()]
        precision, scale = (*numbers, 0)[:2] if numbers else (38, 18)
        if not 1 <= precision <= 38 or scale > precision:
            raise SqlError(
                f"Sql: {at}: DECIMAL({precision}, {scale}): the precision must be at most 38, and the scale must not "
                "be larger"
            )
        return pa.decimal128(precision, scale)
    if name not in _CASTS:
        raise SqlError(
            f"Sql: {at}: CAST does not support the type {name}; expected one of STRING, BOOLEAN, TINYINT, SMALLINT, "
            "INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), DATE, TIME, TIMESTAMP, TIMESTAMP_TZ, BYTES"
        )
    return _CASTS[name]


def common(one: pa.DataType, other: pa.DataType, at: str) -> pa.DataType:
    """Return the common type of two results of an expression; raise ``SqlError`` if there is none."""
    if one == other or other == NULL:
        return one
    if one == NULL:
        return other
    if is_number(one) and is_number(other):
        return _wider(one, other)
    if is_moment(one) and is_moment(other):
        return one if (pa.types.is_timestamp(one) and one.tz) or not pa.types.is_timestamp(other) else other
    if STRING in (one, other) and is_simple(one) and is_simple(other):
        return STRING
    raise SqlError(f"Sql: {at}: {type_name(one)} and {type_name(other)} have no common type; use CAST")


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the wider type of two numbers as in SeaTunnel: for an integer and a float, float."""
    if FLOAT in (one, other) and pa.types.is_integer(other if one == FLOAT else one):
        return FLOAT
    return common_number(one, other)


def compared_as(one: pa.DataType, other: pa.DataType, at: str) -> pa.DataType:
    """Return the type in which two values are compared. As in H2, a string is converted to the other's type."""
    for kind in (one, other):
        if not is_simple(kind):
            raise SqlError(f"Sql: {at}: values of type {type_name(kind)} cannot be compared")
    if STRING in (one, other) and NULL not in (one, other):
        return other if one == STRING else one
    return common_number(one, other) if is_number(one) and is_number(other) else common(one, other, at)
