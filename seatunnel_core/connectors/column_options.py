"""Checks for sink options that contain column names."""

from collections.abc import Iterable

from seatunnel_core.config.problem import nearest
from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError


def require_columns(key: str, names: Iterable[str], schema: TableSchema) -> None:
    """Raise SinkError if a table lacks a column that an option names. The message lists the existing columns."""
    known = schema.columns.names
    for name in names:
        if name not in known:
            meant = nearest(name, known)
            raise SinkError(
                f"option {key!r}: the table {schema.table} has no column {name!r}; it has {', '.join(known)}"
                + (f"; did you mean {meant}?" if meant else "")
            )
