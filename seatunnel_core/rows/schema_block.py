"""The ``schema`` block of a source: ``fields { name = type }`` or ``columns [ { name = …, type = … } ]``."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.rows.types import arrow_type

DEFAULT_TABLE = "default"

_COLUMN_KEYS = {"name", "type", "nullable", "columnLength", "columnScale", "defaultValue", "comment"}
_FALSE = {"false", "no", "off", False}


def table_name(block: Mapping[str, Any] | None) -> str:
    """The table's path that the block names, else ``"default"``."""
    return str((block or {}).get("table") or DEFAULT_TABLE)


def table_schema(block: Mapping[str, Any] | None) -> TableSchema | None:
    """What a ``schema`` block declares; ``None`` when there is no block or it declares no column.

    Raises:
        ValueError: names the column that is declared wrongly and says what to write.
    """
    if not block:
        return None
    fields, columns = block.get("fields"), block.get("columns")
    if fields and columns:
        raise ValueError("a schema has either fields or columns, not both: put all columns in one of them")
    if fields:
        declared = _from_fields(fields)
    elif columns:
        declared = _from_columns(columns)
    else:
        return None
    schema = pa.schema(declared)
    return TableSchema(table=table_name(block), columns=schema, primary_key=_primary_key(block, schema))


def _from_fields(fields: Any) -> list[pa.Field]:
    if not isinstance(fields, Mapping):
        raise ValueError(f"schema.fields is a block {{ name = type }}, found {fields!r}")
    return [_field(str(name), declaration) for name, declaration in fields.items()]


def _from_columns(columns: Any) -> list[pa.Field]:
    if not isinstance(columns, list | tuple):
        raise ValueError("schema.columns is a list [ { name = id, type = bigint }, … ]")
    declared = []
    for position, column in enumerate(columns, 1):
        if not isinstance(column, Mapping) or "name" not in column or "type" not in column:
            raise ValueError(
                f"column {position} of schema.columns needs a name and a type: {{ name = id, type = bigint }}"
            )
        unknown = sorted(set(column) - _COLUMN_KEYS)
        if unknown:
            raise ValueError(f"column {column['name']!r} has unknown keys {unknown}; known are {sorted(_COLUMN_KEYS)}")
        if column.get("defaultValue") is not None:
            raise ValueError(f"column {column['name']!r}: defaultValue is not supported; set the value in a transform")
        declared.append(_field(str(column["name"]), column["type"], nullable=_nullable(column)))
    names = [each.name for each in declared]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ValueError(f"schema.columns names {doubled} more than once")
    return declared


def _nullable(column: Mapping[str, Any]) -> bool:
    value = column.get("nullable", True)
    return (value.lower() if isinstance(value, str) else value) not in _FALSE


def _field(name: str, declaration: Any, *, nullable: bool = True) -> pa.Field:
    try:
        return pa.field(name, arrow_type(declaration), nullable=nullable)
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from None


def _primary_key(block: Mapping[str, Any], schema: pa.Schema) -> tuple[str, ...]:
    key = block.get("primaryKey") or {}
    if not isinstance(key, Mapping):
        raise ValueError("schema.primaryKey is a block { name = pk, columnNames = [id] }")
    names = key.get("columnNames") or ()
    columns = tuple(str(name) for name in ([names] if isinstance(names, str) else names))
    unknown = [name for name in columns if name not in schema.names]
    if unknown:
        raise ValueError(f"the primary key names {unknown}, which the schema does not have: {schema.names}")
    return columns
