"""What transforms that choose columns share."""

from collections.abc import Iterable

import pyarrow as pa
from attrs import evolve

from seatunnel_core.errors import TransformError
from seatunnel_core.rows.batch import TableSchema


def check_known(transform: str, names: Iterable[str], schema: TableSchema) -> None:
    """Raise ``TransformError`` for a name that is no column of the schema."""
    unknown = [name for name in names if name not in schema.columns.names]
    if unknown:
        raise TransformError(
            f"{transform}: the table {schema.table} has no column {', '.join(unknown)}; it has "
            f"{', '.join(schema.columns.names)}"
        )


def with_columns(schema: TableSchema, columns: pa.Schema) -> TableSchema:
    """The schema with other columns; a primary key that has lost a column is none any more."""
    whole = all(name in columns.names for name in schema.primary_key)
    return evolve(schema, columns=columns, primary_key=schema.primary_key if whole else ())
