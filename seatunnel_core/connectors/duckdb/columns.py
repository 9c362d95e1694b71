"""Mapping of row types to types of DuckDB.

====================================== =============================================
Arrow                                  DuckDB
====================================== =============================================
``bool``                               ``BOOLEAN``
``int8`` … ``int64``                   ``TINYINT`` … ``BIGINT``
``uint8`` … ``uint64``                 ``UTINYINT`` … ``UBIGINT``
``halffloat``, ``float``, ``double``   ``FLOAT``, ``FLOAT``, ``DOUBLE``
``decimal128(p, s)``                   ``DECIMAL(p, s)``; no more than 38 digits
``string``, ``binary``                 ``VARCHAR``, ``BLOB``
``date32``, ``date64``, any time       ``DATE``, ``TIME``
any timestamp, with any zone           ``TIMESTAMP``, ``TIMESTAMP WITH TIME ZONE``
``list``, ``fixed_size_list``          ``T[]``
``map``, ``struct``                    ``MAP(K, V)``, ``STRUCT(…)``
====================================== =============================================

Timestamps and times are staged in microseconds; a finer value is an error of its row.

A column of an existing table may have another type, if it keeps or rejects each value.
"""

import re
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.types as of

PLAIN: Mapping[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.date32(): "DATE",
    pa.time64("us"): "TIME",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE",
}
_ARROW = {declared: kind for kind, declared in PLAIN.items()}
_STORED = {
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.date64(): pa.date32(),
}


def stored_type(kind: pa.DataType) -> pa.DataType:
    """Return the type in which values of a type are staged.

    Raises:
        TypeError: DuckDB has no type for it; the message is the Arrow type.
    """
    kind = _STORED.get(kind, kind)
    if of.is_timestamp(kind):
        return pa.timestamp("us", kind.tz and "UTC")
    if of.is_time(kind):
        return pa.time64("us")
    if of.is_fixed_size_binary(kind):
        return pa.binary()
    if kind in PLAIN or of.is_decimal128(kind):
        return kind
    if of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind):
        return pa.list_(stored_type(kind.value_type))
    if of.is_map(kind):
        return pa.map_(stored_type(kind.key_type), stored_type(kind.item_type))
    if of.is_struct(kind) and kind.num_fields:
        return pa.struct([pa.field(part.name, stored_type(part.type)) for part in kind])
    raise TypeError(str(kind))


def declared_type(kind: pa.DataType) -> str:
    """Return the type of DuckDB for a stored type."""
    if kind in PLAIN:
        return PLAIN[kind]
    if of.is_decimal128(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if of.is_list(kind):
        return f"{declared_type(kind.value_type)}[]"
    if of.is_map(kind):
        return f"MAP({declared_type(kind.key_type)}, {declared_type(kind.item_type)})"
    parts = (f"{quoted(part.name)} {declared_type(part.type)}" for part in kind)
    return f"STRUCT({', '.join(parts)})"


def arrow_type(declared: str) -> pa.DataType | None:
    """Return the Arrow type of a column with scalar values; ``None`` for all others."""
    decimal = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", declared)
    return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else _ARROW.get(declared)


def quoted(*names: str) -> str:
    """Return the quoted identifier of a name, or of a path of several names."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)
