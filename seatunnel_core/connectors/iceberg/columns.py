"""Mapping of row types to Iceberg types.

====================================== =============================================
Arrow                                  Iceberg
====================================== =============================================
``bool``                               ``boolean``
``int8``, ``int16``, ``int32``         ``int``, also ``uint8`` and ``uint16``
``int64``, ``uint32``                  ``long``
``halffloat``, ``float``               ``float``
``double``                             ``double``
``decimal128(p, s)``                   ``decimal(p, s)``; no more than 38 digits
``string``, ``binary``                 ``string``, ``binary``
``date32``, ``date64``, any time       ``date``, ``time``
any timestamp, with any zone           ``timestamp``, ``timestamptz``
``list``, ``fixed_size_list``          ``list``
``map``, ``struct``                    ``map``, ``struct``
====================================== =============================================

Tables store timestamps and times in microseconds; a row with a more precise value is rejected.
"""

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as of

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.tables.messages import no_column, no_type, unfit
from seatunnel_core.rows.types import own_types, type_name

if TYPE_CHECKING:
    from pyiceberg.schema import Schema


def iceberg_schema(schema: TableSchema) -> "Schema":
    """Return the schema of a new table with optional columns; raise ``SinkError`` if Iceberg has no type for one."""
    from pyiceberg.schema import Schema
    from pyiceberg.types import NestedField

    ids = count(1)
    fields = []
    for column in schema.columns:
        number = next(ids)
        fields.append(NestedField(number, column.name, _iceberg_type(schema, column, ids), required=False))
    return Schema(*fields)


def _iceberg_type(schema: TableSchema, column: pa.Field, ids: Any) -> Any:
    try:
        return _converted(column.type, lambda: next(ids))
    except TypeError as error:
        raise no_type("Iceberg", schema, column, error) from None


def _converted(kind: pa.DataType, number: Callable[[], int]) -> Any:
    from pyiceberg import types as ice

    if of.is_decimal128(kind):
        return ice.DecimalType(kind.precision, kind.scale)
    if of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind):
        return ice.ListType(number(), _converted(kind.value_type, number), element_required=False)
    if of.is_map(kind):
        key, value = number(), number()
        return ice.MapType(
            key, _converted(kind.key_type, number), value, _converted(kind.item_type, number), value_required=False
        )
    if of.is_struct(kind):
        return ice.StructType(
            *(ice.NestedField(number(), part.name, _converted(part.type, number), required=False) for part in kind)
        )
    simple = {
        pa.bool_(): ice.BooleanType,
        **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()), ice.IntegerType),
        **dict.fromkeys((pa.int64(), pa.uint32()), ice.LongType),
        **dict.fromkeys((pa.float16(), pa.float32()), ice.FloatType),
        pa.float64(): ice.DoubleType,
        **dict.fromkeys((pa.string(), pa.large_string(), pa.string_view()), ice.StringType),
        **dict.fromkeys((pa.binary(), pa.large_binary()), ice.BinaryType),
        **dict.fromkeys((pa.date32(), pa.date64()), ice.DateType),
    }
    if of.is_timestamp(kind):
        return ice.TimestampType() if kind.tz is None else ice.TimestamptzType()
    if of.is_time(kind):
        return ice.TimeType()
    if of.is_fixed_size_binary(kind):
        return ice.BinaryType()
    if kind not in simple:
        raise TypeError(type_name(kind))
    return simple[kind]()


def refuse_unfit(rows: TableSchema, table: "Schema", named: str, *, case_sensitive: bool) -> None:
    """Raise ``SinkError`` if a table does not support the columns of the rows, before the first row is written."""
    taken: dict[int, str] = {}
    for column in rows.columns:
        field = column_of(table, column.name, case_sensitive=case_sensitive)
        if field is None:
            raise no_column(named, column.name, table.column_names, rows.table, adds=None)
        if field.field_id in taken:
            raise SinkError(
                f"{taken[field.field_id]!r} and {column.name!r} would both be written to the column {field.name!r} of "
                f"{named}"
            )
        taken[field.field_id] = column.name
        if not _fits(_iceberg_type(rows, column, count(1)), field.field_type):
            raise unfit(column, str(field.field_type), named, rows.table, widened=None)
    for field in table.fields:
        if field.required and field.field_id not in taken:
            raise SinkError(f"the table {named} requires a column {field.name!r}, which the rows of {rows.table} lack")


def types_of(rows: pa.Schema, table: "Schema", *, case_sensitive: bool) -> dict[str, pa.DataType]:
    """Return the types of the table's columns, keyed by the column names in the rows."""
    by_name = {column.name: column.type for column in own_types(table.as_arrow())}
    found = {name: column_of(table, name, case_sensitive=case_sensitive) for name in rows.names}
    return {name: by_name[column.name] for name, column in found.items() if column is not None}


def column_of(table: "Schema", name: str, *, case_sensitive: bool) -> Any:
    """Return the table's field for a column: the field with the same name, or else one that differs only in case."""
    by_name = {field.name: field for field in table.fields}
    if name in by_name or case_sensitive:
        return by_name.get(name)
    return {field.name.lower(): field for field in table.fields}.get(name.lower())


def _fits(have: Any, wanted: Any) -> bool:
    """Return True if the type ``wanted`` can represent every value of the type ``have``."""
    from pyiceberg import types as ice
    from pyiceberg.exceptions import ResolveError
    from pyiceberg.schema import promote

    if isinstance(have, ice.ListType) and isinstance(wanted, ice.ListType):
        return _fits(have.element_type, wanted.element_type)
    if isinstance(have, ice.MapType) and isinstance(wanted, ice.MapType):
        return _fits(have.key_type, wanted.key_type) and _fits(have.value_type, wanted.value_type)
    if isinstance(have, ice.StructType) and isinstance(wanted, ice.StructType):
        parts = {part.name: part for part in have.fields}
        names = {part.name for part in wanted.fields}
        return parts.keys() <= names and all(
            _fits(parts[part.name].field_type, part.field_type) if part.name in parts else not part.required
            for part in wanted.fields
        )
    if have == wanted or not (have.is_primitive and wanted.is_primitive):
        return bool(have == wanted)
    try:
        return (
            not isinstance(have, ice.StringType) and promote(have, wanted) == wanted
        )  # pyiceberg would promote a string to bytes.
    except ResolveError:
        return False
