"""Rows that a sink cannot take, and what its ``row_error_handle_way`` makes of them.

A writer that ``tells_rows_apart`` has taken nothing of a batch when it raises ``RowError``. So what it refuses is
halved until the bad rows stand by themselves; all others are written, in their order.
"""

import enum
from collections.abc import Iterator

import pyarrow as pa
from attrs import evolve, frozen

from seatunnel_core.connectors.sink import SinkWriter
from seatunnel_core.errors import RowError
from seatunnel_core.rows.batch import Batch


class OnBadRow(enum.Enum):
    """The values of the option."""

    FAIL = "FAIL"
    SKIP = "SKIP"
    NULL = "NULL"
    """The value that cannot be written becomes null; a row without another such value is written."""


@frozen
class Refused:
    """One row that was not taken as it is."""

    place: int
    """In its batch, from 0."""

    error: RowError
    written: bool
    """Whether it was written all the same, with null in the place of what could not be."""


def write_around(writer: SinkWriter, batch: Batch, *, nulls: bool) -> Iterator[Refused]:
    """Write the rows that the writer takes, and give the others in their order."""
    waiting = [(0, batch)]
    while waiting:
        place, some = waiting.pop()
        try:
            writer.write(some)
        except RowError as error:
            half = some.rows.num_rows // 2
            if half:
                waiting += [(place + half, _part(some, half, None)), (place, _part(some, 0, half))]
                continue
            emptied = _with_null(some, error.column) if nulls else None
            yield Refused(place, error, emptied is not None)
            waiting += [(place, emptied)] if emptied is not None else []


def _part(batch: Batch, start: int, length: int | None) -> Batch:
    kinds = None if batch.kinds is None else batch.kinds.slice(start, length)
    return evolve(batch, rows=batch.rows.slice(start, length), kinds=kinds)


def _with_null(batch: Batch, name: str | None) -> Batch | None:
    """The row with null in a column; ``None`` where that may not be, or is so already."""
    if name is None or name not in batch.rows.schema.names:
        return None
    place = batch.rows.schema.get_field_index(name)
    column = batch.rows.schema.field(place)
    if not column.nullable or batch.rows.column(place).null_count:
        return None
    return evolve(batch, rows=batch.rows.set_column(place, column, pa.nulls(1, column.type)))
