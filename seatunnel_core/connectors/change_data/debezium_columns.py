"""Conversion of the columns of captured tables to columns of Debezium messages, depending on their database types.

The Arrow type of a column determines its representation in messages, which is Debezium's default. The field metadata
contains the name of Debezium's logical type.
"""

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.types as of

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.messages.debezium_envelopes import BITS, LOGICAL, VARIABLE

_DATA = "io.debezium.data."
_NAMES = {
    "mysql": {
        "year": "io.debezium.time.Year",
        "enum": f"{_DATA}Enum",
        "set": f"{_DATA}EnumSet",
        "json": f"{_DATA}Json",
    },
    "postgresql": {
        "uuid": f"{_DATA}Uuid",
        "json": f"{_DATA}Json",
        "jsonb": f"{_DATA}Json",
        "xml": f"{_DATA}Xml",
    },
}
_MS_DIGITS = 3
"""Maximum number of fractional digits of a time that Debezium represents in milliseconds."""


def message_schema(found: Found, connector: str) -> TableSchema:
    """Return the message schema of a table; ``connector`` is ``mysql``, ``mariadb`` or ``postgresql``."""
    schema = found.schema()
    fields = [
        _field(column, connector).with_nullable(column.name not in schema.primary_key)
        for column in _columns(found, schema)
    ]
    return TableSchema(table=schema.table, columns=pa.schema(fields), primary_key=schema.primary_key)


def with_message_types(rows: pa.RecordBatch, schema: TableSchema) -> pa.RecordBatch:
    """Cast the rows of a table to the types of ``message_schema``."""
    arrays = [values.cast(column.type) for values, column in zip(rows.columns, schema.columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema.columns)


def _columns(found: Found, schema: TableSchema) -> Sequence[Column]:
    by_name = {column.name: column for column in found.columns}
    return [by_name[name] for name in schema.columns.names]


def _field(column: Column, connector: str) -> pa.Field:
    is_postgres = connector == "postgresql"
    name = _logical_name(column, "postgresql" if is_postgres else "mysql")
    kind = _of_postgres(column) if is_postgres else _of_mysql(column)
    return pa.field(column.name, kind, metadata={LOGICAL: name.encode()} if name else None)


def _logical_name(column: Column, database: str) -> str:
    word = _word(column)
    if database == "mysql" and word == "bit" and of.is_binary(column.arrow):
        return BITS
    if database == "postgresql" and word == "numeric" and column.declared == "numeric" and of.is_decimal(column.arrow):
        return VARIABLE
    return "" if column.declared.endswith("[]") else _NAMES[database].get(word, "")


def _of_mysql(column: Column) -> pa.DataType:
    word = _word(column)
    if word == "tinyint" and of.is_boolean(column.arrow):
        return pa.int16()
    if word == "timestamp":
        return pa.timestamp(_unit(_digits(column, 0)), "UTC")
    if word == "datetime":
        return pa.timestamp("ms" if _digits(column, 0) <= _MS_DIGITS else "us")
    return column.arrow


def _of_postgres(column: Column) -> pa.DataType:
    digits = _digits(column, 6)
    if of.is_timestamp(column.arrow) and column.arrow.tz:
        return pa.timestamp(_unit(digits), "UTC")
    if of.is_timestamp(column.arrow) and digits <= _MS_DIGITS:
        return pa.timestamp("ms")
    if of.is_time(column.arrow) and digits <= _MS_DIGITS:
        return pa.time32("ms")
    return column.arrow


def _unit(digits: int) -> str:
    """Return the Arrow time unit for a number of fractional digits. It determines the digits shown in messages."""
    return "us" if digits > _MS_DIGITS else "ms" if digits else "s"


def _word(column: Column) -> str:
    found = re.match(r"\w+", column.declared.lower())
    return found[0] if found else ""


def _digits(column: Column, default: int) -> int:
    """Return the number of fractional digits of a time type."""
    found = re.search(r"\((\d+)\)", column.declared)
    return int(found[1]) if found else default
