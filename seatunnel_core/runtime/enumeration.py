"""Stored form of an enumeration (protocol rule R12): JSON, with each schema as an Arrow IPC message in base64."""

import json
from typing import Any

from seatunnel_core import stored
from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.checkpoint.state.enumeration import FORMAT_VERSION, document_of, ordering_keys_of, splits_of
from seatunnel_core.connector_api.source import Enumeration
from seatunnel_core.errors import StoredValueError
from seatunnel_core.rows.batch import ConstraintKey, TableSchema
from seatunnel_core.rows.schema_text import schema_from_text, schema_to_text


def freeze(enumeration: Enumeration) -> bytes:
    """Return the bytes of an enumeration; equal enumerations have equal bytes, so they share one attachment."""
    document = {
        "version": FORMAT_VERSION,
        "schemas": [_freeze_schema(schema) for schema in enumeration.schemas],
        "splits": [[split.weight_bytes, split.rows, split.body] for split in enumeration.splits],
        **ordering_keys_of(enumeration.splits),
    }
    return json.dumps(document, separators=(",", ":"), sort_keys=True).encode()


def thaw(body: bytes) -> Enumeration:
    """Decode an enumeration; raise ``StateFormatError`` if it is invalid or has a newer version."""
    document = document_of(body)
    try:
        schemas = tuple(map(_thaw_schema, stored.items(document, "schemas")))
    except StoredValueError as error:
        raise StateFormatError(f"the stored enumeration is invalid: {error}") from error
    return Enumeration(schemas=schemas, splits=splits_of(document))


def _freeze_schema(schema: TableSchema) -> dict[str, Any]:
    """Return a schema as JSON values. Empty members are omitted, as in versions without these members."""
    frozen: dict[str, Any] = {
        "table": schema.table,
        "columns": schema_to_text(schema.columns),
        "primary_key": list(schema.primary_key),
    }
    if schema.primary_key_name is not None:
        frozen["primary_key_name"] = schema.primary_key_name
    if schema.constraint_keys:
        frozen["constraint_keys"] = [
            [key.name, key.kind, list(key.columns), *([list(key.sort_types)] if key.sort_types else [])]
            for key in schema.constraint_keys
        ]
    if schema.comment is not None:
        frozen["comment"] = schema.comment
    if schema.root is not None:
        frozen["root"] = schema.root
    return frozen


def _thaw_schema(document: Any) -> TableSchema:
    return TableSchema(
        table=stored.text(document, "table"),
        columns=schema_from_text(stored.text(document, "columns")),
        primary_key=tuple(stored.texts(document, "primary_key")),
        primary_key_name=stored.text(document, "primary_key_name") if "primary_key_name" in document else None,
        constraint_keys=tuple(map(_thaw_key, stored.items(document, "constraint_keys")))
        if "constraint_keys" in document
        else (),
        comment=stored.text(document, "comment") if "comment" in document else None,
        root=stored.text(document, "root") if "root" in document else None,
    )


def _thaw_key(written: Any) -> ConstraintKey:
    if not isinstance(written, list | tuple) or len(written) not in (3, 4):
        raise StoredValueError("a key must be a list of its name, kind and columns, and optionally their sort types")
    parts = dict(zip(("name", "kind", "columns", "sort_types"), (*written, []), strict=False))
    return ConstraintKey(
        name=stored.text(parts, "name"),
        kind=stored.text(parts, "kind"),
        columns=tuple(stored.texts(parts, "columns")),
        sort_types=tuple(stored.texts(parts, "sort_types")),
    )
