"""Handling of rows that a sink rejects, according to its option ``row_error_handle_way``.

A writer that ``isolates_bad_rows`` has written no row of a batch when it raises ``RowError``. A rejected batch is
therefore divided until each bad row is isolated, and all other rows are written in order.

The old and the new row of an update stay together and are rejected together. If the new row were missing, the sink
would combine the old row with the next row.
"""

import enum
from collections.abc import Iterator

import pyarrow as pa
from attrs import evolve, frozen

from seatunnel_core.connector_api.sink import SinkWriter
from seatunnel_core.errors import RowError
from seatunnel_core.rows.batch import Batch
from seatunnel_core.rows.columns import sliced
from seatunnel_core.rows.kind import RowKind


class OnBadRow(enum.Enum):
    """Values of the option ``row_error_handle_way`` of a sink."""

    FAIL = "FAIL"
    SKIP = "SKIP"
    NULL = "NULL"
    """Write null instead of values that cannot be written, and skip rows that still cannot be written."""


@frozen
class Refused:
    """A row that a writer rejected, or both rows of an update."""

    place: int
    """Index of the first rejected row in its batch, from 0."""

    error: RowError
    written: bool
    """True if the row was written with null in place of the rejected value."""

    rows: int = 1
    """Number of rejected rows, including those written with null."""


def write_around(writer: SinkWriter, batch: Batch, *, nulls: bool) -> Iterator[Refused]:
    """Write the rows that the writer accepts, and yield the rejected ones in order."""
    waiting = [(0, batch)]
    while waiting:
        place, some = waiting.pop()
        try:
            writer.write(some)
        except RowError as error:
            half = _middle(some)
            if half:
                waiting += [(place + half, sliced(some, half, None)), (place, sliced(some, 0, half))]
            else:
                yield from _rejected(writer, some, place, error, nulls=nulls)


def _middle(batch: Batch) -> int:
    """Return the index at which to divide a batch without splitting an update; 0 for a single row or update."""
    rows: int = batch.rows.num_rows
    half, kinds = rows // 2, batch.kinds
    if half and kinds is not None:
        pair = (kinds[half - 1].as_py(), kinds[half].as_py())
        if pair == (RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER):
            half = (half + 1) % rows
    return half


def _rejected(writer: SinkWriter, some: Batch, place: int, error: RowError, *, nulls: bool) -> Iterator[Refused]:
    """Write a rejected row or update with nulls if allowed. Yield each rejected value, or the skipped row."""
    while True:
        found = _written_with_null(writer, some, error) if nulls else None
        if found is None:
            yield Refused(place, error, False, some.rows.num_rows)
            return
        some, rows, following = found
        yield Refused(place, error, True, rows)
        if following is None:
            return
        error = following


def _written_with_null(writer: SinkWriter, some: Batch, error: RowError) -> tuple[Batch, int, RowError | None] | None:
    """Write a row or an update with null instead of the rejected value. Return ``None`` if the value cannot be null.

    Otherwise return the rows, the number of nulls, and the error if a value of another column is also rejected.
    """
    for emptied, rows in _with_null(some, error.column):
        try:
            writer.write(emptied)
        except RowError as following:
            if following.column == error.column:
                continue
            return emptied, rows, following
        return emptied, rows, None
    return None


def _with_null(batch: Batch, name: str | None) -> Iterator[tuple[Batch, int]]:
    """Yield the batch with null in a column, first for each single row and then for all rows, with the number of nulls.

    The error does not identify which row of an update is bad, and a value that can be written must not be replaced.
    """
    if name is None or name not in batch.rows.schema.names:
        return
    place = batch.rows.schema.get_field_index(name)
    column, values = batch.rows.schema.field(place), batch.rows.column(place)
    filled = [row for row in range(len(values)) if values[row].is_valid]
    for chosen in [*([row] for row in filled), *([filled] if len(filled) > 1 else [])] if column.nullable else []:
        kept = pa.array([None if row in chosen else row for row in range(len(values))], pa.int64())
        yield evolve(batch, rows=batch.rows.set_column(place, column, values.take(kept))), len(chosen)
