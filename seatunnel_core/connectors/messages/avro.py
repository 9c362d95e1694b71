"""Avro schemas of tables. A message contains only the record, without the schema."""

from typing import Any

import pyarrow as pa

from seatunnel_core.connector_api.errors import ConnectorError
from seatunnel_core.rows.types import type_name

_PLAIN: dict[pa.DataType, Any] = {
    pa.null(): "null",
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.time64("us"): {"type": "long", "logicalType": "time-micros"},
    pa.timestamp("us"): {"type": "long", "logicalType": "local-timestamp-micros"},
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
}


def avro_schema(columns: pa.Schema) -> dict[str, Any]:
    """Return a record schema with a field for each column. Nullable columns have the type ``["null", type]``."""
    return _record("SeaTunnelRow", list(columns))


def _record(name: str, parts: list[pa.Field]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [_field(name, part) for part in parts]}


def _field(record: str, column: pa.Field) -> dict[str, Any]:
    kind = _type(f"{record}_{column.name}", column.type)
    if kind is None:
        raise ConnectorError(f"column {column.name!r} of type {type_name(column.type)} is not supported by avro")
    return {"name": column.name, "type": ["null", kind] if column.nullable else kind}


def _type(name: str, kind: pa.DataType) -> Any:
    if kind in _PLAIN:
        return _PLAIN[kind]
    if pa.types.is_decimal(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if pa.types.is_struct(kind):
        return _record(name, list(kind))
    if pa.types.is_list(kind):
        inside = _type(name, kind.value_type)
        return None if inside is None else {"type": "array", "items": ["null", inside]}
    if pa.types.is_map(kind) and pa.types.is_string(kind.key_type):
        inside = _type(name, kind.item_type)
        return None if inside is None else {"type": "map", "values": ["null", inside]}
    return None
