"""Comparison of a table's columns in the log with the planned ones."""

import pyarrow as pa

from seatunnel_core.connector_api.errors import SourceChangedError


def require_shape(table: str, logged: pa.Schema, planned: pa.Schema, position: str) -> None:
    """Check that rows of the log have the planned columns.

    Args:
        table: Path of the table, for the message.
        logged: Columns of the rows of the log.
        planned: Columns that the job writes.
        position: Position of the first row with these columns, for the message.

    Raises:
        SourceChangedError: A column was added, removed, renamed or moved, or has another type.
    """
    if logged.names == planned.names and logged.types == planned.types:
        return
    changes = [f"{name} was added" for name in logged.names if name not in planned.names]
    changes += [f"{name} was removed" for name in planned.names if name not in logged.names]
    changes += [
        f"{name} was {planned.field(name).type} and is {logged.field(name).type}"
        for name in planned.names
        if name in logged.names and logged.field(name).type != planned.field(name).type
    ]
    changes = changes or ["its columns have another order"]
    raise SourceChangedError(
        f"the columns of {table} have changed: {', '.join(changes)}; the first such row is at {position}. No row "
        "of the new shape was read. Change the target in the same way, and start a new job"
    )
