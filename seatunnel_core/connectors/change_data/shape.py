"""Comparison of a table's columns in the log with the planned ones."""

from collections.abc import Sequence

import pyarrow as pa

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SourceChangedError

CONTINUE = "Change the target in the same way, and resume the job with the command that it printed"
START_ANEW = "Change the target in the same way, and start a new job"


def shape_changes(logged: pa.Schema, planned: pa.Schema) -> str:
    """Return how the columns of rows of the log differ from the planned ones; ``""`` if they are equal."""
    if logged.names == planned.names and logged.types == planned.types:
        return ""
    changes = [f"{name} was added" for name in logged.names if name not in planned.names]
    changes += [f"{name} was removed" for name in planned.names if name not in logged.names]
    changes += [
        f"{name} was {planned.field(name).type} and is {logged.field(name).type}"
        for name in planned.names
        if name in logged.names and logged.field(name).type != planned.field(name).type
    ]
    return ", ".join(changes) or "they have another order"


def shape_message(table: str, changes: str, position: str) -> str:
    """Return the message about changed columns, without the remedy.

    Args:
        table: Path of the table.
        changes: The changes, from ``shape_changes``.
        position: Position of the first row with the new columns.
    """
    return (
        f"the columns of {table} have changed: {changes}; the first such row is at {position}. No row of the new shape "
        "was read"
    )


def require_shape(table: str, logged: pa.Schema, planned: pa.Schema, position: str) -> None:
    """Check that rows of the log have the planned columns.

    Args:
        table: Path of the table, for the message.
        logged: Columns of the rows of the log.
        planned: Columns that the job writes.
        position: Position of the first such row, for the message.

    Raises:
        SourceChangedError: A column was added, removed, renamed or moved, or has another type.
    """
    changes = shape_changes(logged, planned)
    if changes:
        raise SourceChangedError(f"{shape_message(table, changes, position)}. {START_ANEW}")


def require_same_keys(present: Sequence[TableSchema], former: Sequence[TableSchema]) -> None:
    """Check that tables have the primary keys that they had when the job started.

    Args:
        present: The tables as they are now.
        former: The tables when the job started.

    Raises:
        SourceChangedError: A table has a different key.
    """
    keys = {each.table: each.primary_key for each in former}
    for table in present:
        before = keys.get(table.table, table.primary_key)
        if table.primary_key != before:
            raise SourceChangedError(
                f"the key of {table.table} has changed since the job started, from {', '.join(before)} to "
                f"{', '.join(table.primary_key)}. Start a new job"
            )
