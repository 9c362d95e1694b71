"""Conversion of MySQL's and MariaDB's values: declared types to Arrow types, server strings to arrays, rows to SQL."""

import re
from collections.abc import Mapping
from datetime import time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of

from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.fetched import converted
from seatunnel_core.connectors.jdbc.order import NUMBERS, OWN, Order, hexadecimal, number, quoted
from seatunnel_core.rows.extent import BEYOND, beyond

_UNSIGNED, _ENUM, _SET = 32, 256, 2048
"""Flags of a result column in the wire protocol."""

_BINARY = 63
"""Number of the character set ``binary`` in the wire protocol."""

_NAMES = {
    0: "decimal",
    1: "tinyint",
    2: "smallint",
    3: "int",
    4: "float",
    5: "double",
    7: "timestamp",
    8: "bigint",
    9: "mediumint",
    10: "date",
    11: "time",
    12: "datetime",
    13: "year",
    14: "date",
    16: "bit",
    245: "json",
    246: "decimal",
    255: "geometry",
}
"""Declared types, keyed by type code of the wire protocol. Other codes stand for strings or binary values."""

_TYPES: dict[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "tinyint unsigned": pa.int16(),
    "smallint": pa.int16(),
    **dict.fromkeys(("smallint unsigned", "mediumint", "mediumint unsigned", "int", "year"), pa.int32()),
    **dict.fromkeys(("int unsigned", "bigint"), pa.int64()),
    "bigint unsigned": pa.decimal128(20, 0),
    **dict.fromkeys(("float", "float unsigned"), pa.float32()),
    **dict.fromkeys(("double", "double unsigned"), pa.float64()),
    "date": pa.date32(),
    "time": pa.time64("us"),
    **dict.fromkeys(("datetime", "timestamp"), pa.timestamp("us")),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), pa.binary()),
    **dict.fromkeys(("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring"), pa.binary()),
    **dict.fromkeys(("multipolygon", "geometrycollection", "geomcollection"), pa.binary()),
}
"""Arrow types, keyed by declared type. Other declared types are read as strings."""

_ZERO = "0000-00-00"

_BEGINNING = 64
"""Length of the prefix that orders split bounds, in characters or bytes. The server sorts by at least this prefix."""

_INDEXED = 255
"""Maximum declared length of a column that is sorted by its full values instead of prefixes."""

MOMENT = "moment"
"""Name of the sort order for timestamps in a time zone with daylight saving time."""

ORDERS: dict[str, Order] = {
    OWN: Order(shown="CAST({} AS CHAR)", literal=lambda text: quoted(text.replace("\\", "\\\\")), ranges=True),
    "number": NUMBERS,
    "index": Order(
        by="CAST({} AS UNSIGNED)",
        shown="CAST({} AS UNSIGNED)",
        literal=number,
        key=int,
        description="in the order of the values' internal numbers",
    ),
    MOMENT: Order(
        by="CAST({} AS DATETIME(6))",
        shown="CAST(CAST({} AS DATETIME(6)) AS CHAR)",
        key=str,
        ranges=True,
        description="by local time, where one hour occurs twice a year unless url has serverTimezone=UTC",
    ),
    "seconds": Order(
        by="TIME_TO_SEC({})",
        shown="TIME_TO_SEC({})",
        literal=number,
        key=Decimal,
        description="by the number of seconds",
    ),
    "binary": Order(shown="HEX({})", literal=hexadecimal, key=bytes.fromhex),
    "bytes": Order(
        by=f"CAST(LEFT({{}}, {_BEGINNING}) AS BINARY)",
        shown=f"HEX(CAST(LEFT({{}}, {_BEGINNING}) AS BINARY))",
        literal=hexadecimal,
        key=bytes.fromhex,
        description="in byte order",
    ),
    "geometry": Order(
        by=f"CAST(LEFT(HEX({{}}), {_BEGINNING}) AS BINARY)",
        shown=f"HEX(CAST(LEFT(HEX({{}}), {_BEGINNING}) AS BINARY))",
        literal=hexadecimal,
        key=bytes.fromhex,
        description="in byte order",
    ),
}
"""Sort orders, keyed by kind of column. ``enum`` and ``set`` values sort by number but compare as strings, so they use
``index``. Strings without a declared collation are compared in the connection's collation, so they use ``bytes``.
"""

_GEOMETRY = ("geometry", "point", "linestring", "polygon", "multi", "geomcollection")
_BY_NUMBER = ("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "year")


def column_of(name: str, declared: str, collation: str = "", *, nullable: bool = True, filled: bool = False) -> Column:
    """Return the column for a declared type, such as ``decimal(15,2) unsigned``."""
    kind = re.sub(r"\([^)]*\)", "", declared.split(" zerofill")[0].split(" /*")[0]).strip()
    lengths = [int(part) for part in re.findall(r"\d+", declared)] if "(" in declared else []
    read = "{}"
    if kind.startswith("decimal"):
        precision, scale = [*lengths, 10, 0][0], ([*lengths, 0] if len(lengths) < 2 else lengths)[1]
        arrow = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    elif kind == "bit":
        arrow = pa.bool_() if lengths in ([], [1]) else pa.binary()
    else:
        arrow = _TYPES.get(kind, pa.string())
    if of.is_float32(arrow):
        read = "({} * 1E0)"  # the server writes a float with six digits, a double with all; a sum would lose -0.0
    return Column(
        name=name,
        declared=declared,
        arrow=arrow,
        read=read,
        collation=collation,
        order=_order(kind, lengths, collation),
        in_utc=kind == "datetime",  # otherwise a timestamp would be read in the zone of the session
        nullable=nullable,
        filled=filled,
    )


def _order(kind: str, lengths: list[int], collation: str) -> str:
    """Return the key in ``ORDERS`` for a declared type."""
    short = bool(lengths) and lengths[0] <= _INDEXED
    if kind.startswith(_BY_NUMBER):
        return "number"
    if kind.startswith(("bit", "enum", "set")):
        return "index"
    if kind.startswith(_GEOMETRY):
        return "geometry"
    if short and kind in ("char", "varchar") and collation:
        return OWN
    if short and kind in ("binary", "varbinary"):
        return "binary"
    return {"date": OWN, "datetime": OWN, "timestamp": MOMENT, "time": "seconds"}.get(kind, "bytes")


def fixed_zone(session: str, system: str) -> str:
    """Return the time zone of a session if it has a fixed offset, else ``""``; ``system`` is the zone ``SYSTEM``.

    An abbreviation other than UTC, such as GMT (London in winter), may depend on daylight saving time.
    """
    zone = system if session == "SYSTEM" else session
    return zone if zone == "UTC" or re.fullmatch(r"[+-]\d\d:\d\d", zone) else ""


def described(field: Any) -> str:
    """Return the declared type of a result column as described by PyMySQL."""
    unsigned = " unsigned" if field.flags & _UNSIGNED else ""
    kind = _NAMES.get(field.type_code)
    if field.flags & (_ENUM | _SET):
        return "enum" if field.flags & _ENUM else "set"
    if kind is None:
        return "blob" if field.charsetnr == _BINARY else "text"
    if kind == "decimal":
        signs = (1 if field.scale else 0) + (0 if unsigned else 1)
        return f"decimal({min(max(field.length - signs, field.scale, 1), 65)},{field.scale}){unsigned}"
    if kind == "bit" or (kind == "tinyint" and field.length == 1):
        return f"{kind}({field.length})"
    return kind + (unsigned if kind in ("tinyint", "smallint", "mediumint", "int", "bigint") else "")


# -- reading: the server writes everything but bytes as a string ---------------------------------------------------


def array_of(
    values: list[Any], kind: pa.DataType, name: str, *, zero_is_null: bool
) -> tuple[pa.Array, Mapping[int, str]]:
    """Convert a column of result values.

    Return the array, with null for values that rows cannot represent, and an error message for each of these, keyed by
    row index.
    """
    hint = f"; convert it in query, for example CAST(`{name}` AS CHAR)"
    if of.is_binary(kind):
        return pa.array(values, kind), {}
    if of.is_boolean(kind) and any(isinstance(value, bytes) for value in values):
        return pa.array([None if value is None else value != b"\x00" for value in values], kind), {}
    if of.is_boolean(kind):
        return converted(values, _truth, f"{hint}; or set int_type_narrowing = false to read tinyint(1) as a number")
    if of.is_time(kind):
        return converted(values, _times, f" as a time of day{hint}")
    if of.is_date(kind) or of.is_timestamp(kind):
        if zero_is_null:
            values = [None if value is not None and value.startswith(_ZERO) else value for value in values]
        return converted(
            values,
            lambda texts: _moments(texts, kind),
            f"{hint}; properties {{ zeroDateTimeBehavior = CONVERT_TO_NULL }} reads {_ZERO} as null",
        )
    return converted(values, lambda texts: pa.array(texts, pa.string()).cast(kind), hint)


def _moments(values: list[Any], kind: pa.DataType) -> pa.Array:
    found = pa.array(values, pa.string()).cast(kind)
    if beyond(found) is not None:
        raise pa.ArrowInvalid(f"it {BEYOND}")
    return found


def _times(values: list[Any]) -> pa.Array:
    return pa.array([None if value is None else time.fromisoformat(value) for value in values], pa.time64("us"))


def _truth(values: list[Any]) -> pa.Array:
    numbers = pa.array(values, pa.string()).cast(pa.int64())
    wrong = numbers.filter(pc.invert(pc.is_in(numbers, pa.array([0, 1, None]))))
    if len(wrong):
        raise pa.ArrowInvalid(f"{wrong[0].as_py()} is neither 0 nor 1")
    return numbers.cast(pa.bool_())


# -- writing: a whole batch as the SQL of statements, without a step in Python for each row -----------------------


def rows_as_sql(rows: pa.RecordBatch) -> pa.Array:
    """Return each row as an element of a VALUES list: ``(1,'text',NULL)``."""
    columns = [pc.fill_null(_as_sql(column), b"NULL") for column in rows.columns]
    joined = pc.binary_join_element_wise(*columns, pa.scalar(b",", pa.binary()))
    return pc.binary_join_element_wise(b"(", joined, b")", b"")


def _as_sql(column: pa.Array) -> pa.Array:
    kind = column.type
    if of.is_boolean(kind):
        return column.cast(pa.int8()).cast(pa.string()).cast(pa.binary())
    if of.is_integer(kind):
        return column.cast(pa.string()).cast(pa.binary())
    if of.is_binary(kind):
        written = [None if v is None else b"x'" + v.hex().encode() + b"'" for v in column.to_pylist()]
        return pa.array(written, pa.binary())
    texts = column if of.is_string(kind) else column.cast(pa.string())
    if of.is_string(kind):
        for what, instead in (("\\", "\\\\"), ("'", "''")):
            texts = pc.replace_substring(texts, what, instead)
    return pc.binary_join_element_wise(b"'", texts.cast(pa.binary()), b"'", b"")
