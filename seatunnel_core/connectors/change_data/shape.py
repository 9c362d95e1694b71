"""Comparison of a table's logged columns with its planned columns."""

from collections.abc import Sequence

import pyarrow as pa

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SourceChangedError

CONTINUE = "Change the target in the same way, and resume the job with the command that it printed"
START_ANEW = "Change the target in the same way, and start a new job"


def shape_changes(logged: pa.Schema, planned: pa.Schema) -> str:
    """Describe how the columns of logged rows differ from the planned ones; return ``""`` if they are equal."""
    if logged.names == planned.names and logged.types == planned.types:
        return ""
    changes = [f"{name} was added" for name in logged.names if name not in planned.names]
    changes += [f"{name} was removed" for name in planned.names if name not in logged.names]
    changes += [
        f"{name} was {planned.field(name).type} and is now {logged.field(name).type}"
        for name in planned.names
        if name in logged.names and logged.field(name).type != planned.field(name).type
    ]
    return ", ".join(changes) or "their order is different"


def shape_message(table: str, changes: str, position: str) -> str:
    """Return the message about changed columns, without a remedy."""
    return (
        f"the columns of {table} have changed: {changes}; the first row with the new columns is at {position} and "
        "was not read"
    )


def require_shape(table: str, logged: pa.Schema, planned: pa.Schema, position: str) -> None:
    """Check that logged rows have the planned columns.

    Raises:
        SourceChangedError: A column was added, removed, renamed or moved, or has another type.
    """
    changes = shape_changes(logged, planned)
    if changes:
        raise SourceChangedError(f"{shape_message(table, changes, position)}. {START_ANEW}")


def require_same_keys(present: Sequence[TableSchema], former: Sequence[TableSchema]) -> None:
    """Raise SourceChangedError unless each table has the primary key that it had when the job started."""
    keys = {each.table: each.primary_key for each in former}
    for table in present:
        before = keys.get(table.table, table.primary_key)
        if table.primary_key != before:
            raise SourceChangedError(
                f"the key of {table.table} has changed since the job started, from {', '.join(before) or 'none'} to "
                f"{', '.join(table.primary_key) or 'none'}. Start a new job"
            )
