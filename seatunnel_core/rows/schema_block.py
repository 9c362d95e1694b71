"""Parser of a source's ``schema`` block: ``fields { name = type }`` or ``columns [ { name = …, type = … } ]``."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from attrs import frozen

from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.rows.keys import constraint_keys, primary_key, primary_key_name
from seatunnel_core.rows.types import NO_DIMENSIONS, VECTORS, arrow_type, own_types, type_name
from seatunnel_core.work.names import repeated

DEFAULT_TABLE = "default"

_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@frozen(kw_only=True)
class Column:
    """A column declared in a schema block."""

    field: pa.Field
    """Name, type and nullability."""

    length: int | None = None
    """``columnLength``: maximum length of strings, in characters."""

    scale: int | None = None
    """``columnScale``: decimal places of a float or double, or the dimension of a vector."""

    default: Any = None
    """``defaultValue`` in its original notation; ``None`` if it is not set."""

    may_lack: bool = False
    """True if ``defaultValue`` declares that a missing column is null."""


@frozen(kw_only=True)
class DeclaredTable:
    """A table declared in a schema block."""

    schema: TableSchema
    columns: tuple[Column, ...]
    """Columns in the order of ``schema.columns``."""


def written_in_python(schema: Mapping[str, Any] | pa.Schema) -> Mapping[str, Any]:
    """Return a ``schema`` block for a schema in Python code, such as ``{"city": "string"}`` or an Arrow schema."""
    if isinstance(schema, pa.Schema):
        parts = [(column.name, type_name(column.type), column.nullable) for column in own_types(schema)]
        return {"columns": [{"name": name, "type": kind, "nullable": nullable} for name, kind, nullable in parts]}
    if schema and all(isinstance(written, str) for written in schema.values()):
        return {"fields": schema}
    if not schema.get("fields") and not schema.get("columns"):
        raise ValueError(
            "a schema maps columns to names of types, such as {'city': 'string', 'inhabitants': 'bigint'}; found "
            f"{dict(schema)!r}"
        )
    return schema


def table_name(block: Mapping[str, Any] | None) -> str:
    """Return the path of the table in the block; ``"default"`` if it has none."""
    return str((block or {}).get("table") or DEFAULT_TABLE)


def table_schema(block: Mapping[str, Any] | None) -> TableSchema | None:
    """Return the columns of a ``schema`` block; ``None`` if there is no block or it declares no columns.

    Raises:
        ValueError: A column is invalid or has a default value. The message contains its name and the correct form.
    """
    declared = declared_table(block)
    if declared is None:
        return None
    for column in declared.columns:
        if column.default is not None:
            raise ValueError(
                f"column {column.field.name!r}: defaultValue has no effect here; set the value in the function"
            )
    return declared.schema


def declared_table(
    block: Mapping[str, Any] | None, dimensions: Mapping[str, int] = NO_DIMENSIONS
) -> DeclaredTable | None:
    """Return the declarations in a ``schema`` block; ``None`` if there is no block or it declares no columns.

    ``dimensions`` contains default dimensions of vectors by type name.

    Raises:
        ValueError: A column is invalid. The message contains its name and the correct form.
    """
    if not block:
        return None
    described_table(block)
    fields, columns = block.get("fields"), block.get("columns")
    if fields and columns:
        raise ValueError("a schema has either fields or columns, not both: put all columns in one of them")
    if fields:
        declared = _from_fields(fields, dimensions)
    elif columns:
        declared = _from_columns(columns, dimensions)
    else:
        return None
    schema = described_table(block, pa.schema([column.field for column in declared]))
    return DeclaredTable(schema=schema, columns=tuple(declared))


def described_table(block: Mapping[str, Any] | None, columns: pa.Schema | None = None) -> TableSchema:
    """Return a table schema with the name, keys and comment of a ``schema`` block, and with ``columns`` if known.

    Raises:
        ValueError: A key is invalid, or refers to a column that does not exist.
    """
    block = block or {}
    if block.get("metadata_table_id"):
        raise ValueError(
            "schema.metadata_table_id needs a metadata service, which this version does not support: declare the "
            "columns"
        )
    names = None if columns is None else columns.names
    comment = block.get("comment")
    return TableSchema(
        table=table_name(block),
        columns=pa.schema([]) if columns is None else columns,
        primary_key=primary_key(block.get("primaryKey"), names),
        primary_key_name=primary_key_name(block.get("primaryKey")),
        constraint_keys=constraint_keys(block.get("constraintKeys"), names),
        comment=None if comment is None else str(comment),
    )


def _from_fields(fields: Any, dimensions: Mapping[str, int]) -> list[Column]:
    if not isinstance(fields, Mapping):
        raise ValueError(f"schema.fields must be a block {{ name = type }}, found {fields!r}")
    return [Column(field=_field(str(name), written, dimensions)) for name, written in fields.items()]


def _from_columns(columns: Any, dimensions: Mapping[str, int]) -> list[Column]:
    if not isinstance(columns, list | tuple):
        raise ValueError("schema.columns must be a list [ { name = id, type = bigint }, … ]")
    declared = [_column(position, column, dimensions) for position, column in enumerate(columns, 1)]
    names = [column.field.name for column in declared]
    doubled = repeated(names)
    if doubled:
        raise ValueError(f"schema.columns contains {doubled} more than once")
    return declared


def _column(position: int, column: Any, dimensions: Mapping[str, int]) -> Column:
    if not isinstance(column, Mapping) or "name" not in column or "type" not in column:
        raise ValueError(f"column {position} of schema.columns needs a name and a type: {{ name = id, type = bigint }}")
    name = str(column["name"])
    scale = _size(name, column, "columnScale")
    if scale is not None:
        dimensions = dict.fromkeys(VECTORS, scale)
    field = _field(name, column["type"], dimensions, nullable=_nullable(name, column))
    length, default = _size(name, column, "columnLength"), column.get("defaultValue")
    written = {"comment": column.get("comment"), "length": length, "default": default}
    said = {key: text_of(value) for key, value in written.items() if value is not None}
    return Column(
        field=field.with_metadata(said) if said else field,
        length=length,
        scale=scale,
        default=default,
        may_lack="defaultValue" in column and default is None and field.nullable,
    )


def text_of(written: Any) -> str:
    """Return a value of a job file as field metadata: a string unchanged, anything else as JSON."""
    return written if isinstance(written, str) else json.dumps(written, ensure_ascii=False, default=str)


def _nullable(name: str, column: Mapping[str, Any]) -> bool:
    value = column.get("nullable")
    flag = _FLAGS.get(str(True if value is None else value).lower())
    if flag is None:
        raise ValueError(f"column {name!r}: nullable must be true or false, found {value!r}")
    return flag


def _size(name: str, column: Mapping[str, Any], key: str) -> int | None:
    value = column.get(key)
    if value is None:
        return None
    if not str(value).isascii() or not str(value).isdigit():
        raise ValueError(f"column {name!r}: {key} must be a whole number of at least 0, found {value!r}")
    return int(value)


def _field(name: str, declaration: Any, dimensions: Mapping[str, int], *, nullable: bool = True) -> pa.Field:
    try:
        return pa.field(name, arrow_type(declaration, dimensions), nullable=nullable)
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from None
