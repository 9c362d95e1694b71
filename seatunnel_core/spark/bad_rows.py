"""Handling of rows that a sink rejects, according to its option ``row_error_handle_way``.

A writer that ``isolates_bad_rows`` has written no row of a batch when it raises ``RowError``. So a rejected batch is
halved repeatedly until each bad row is isolated; all other rows are written, in order.
"""

import enum
from collections.abc import Iterator

import pyarrow as pa
from attrs import evolve, frozen

from seatunnel_core.connector_api.sink import SinkWriter
from seatunnel_core.errors import RowError
from seatunnel_core.rows.batch import Batch
from seatunnel_core.rows.columns import sliced


class OnBadRow(enum.Enum):
    """Values of the option ``row_error_handle_way`` of a sink."""

    FAIL = "FAIL"
    SKIP = "SKIP"
    NULL = "NULL"
    """Values that cannot be written become null; a row that still cannot be written is skipped."""


@frozen
class Refused:
    """A row that a writer rejected."""

    place: int
    """Index of the row in its batch, from 0."""

    error: RowError
    written: bool
    """True if the row is written again with null in place of the rejected value."""


def write_around(writer: SinkWriter, batch: Batch, *, nulls: bool) -> Iterator[Refused]:
    """Write the rows that the writer accepts, and yield the rejected ones in order."""
    waiting = [(0, batch)]
    while waiting:
        place, some = waiting.pop()
        try:
            writer.write(some)
        except RowError as error:
            half = some.rows.num_rows // 2
            if half:
                waiting += [(place + half, sliced(some, half, None)), (place, sliced(some, 0, half))]
                continue
            emptied = _with_null(some, error.column) if nulls else None
            yield Refused(place, error, emptied is not None)
            waiting += [(place, emptied)] if emptied is not None else []


def _with_null(batch: Batch, name: str | None) -> Batch | None:
    """Return the one-row batch with null in a column; ``None`` if the column is not nullable or already null."""
    if name is None or name not in batch.rows.schema.names:
        return None
    place = batch.rows.schema.get_field_index(name)
    column = batch.rows.schema.field(place)
    if not column.nullable or batch.rows.column(place).null_count:
        return None
    return evolve(batch, rows=batch.rows.set_column(place, column, pa.nulls(1, column.type)))
