"""Detection of logged changes that are already contained in a chunk."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connectors.change_data.chunk_keys import intervals_of
from seatunnel_core.connectors.change_data.emitted import Flags
from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.databases.dialect import Asking, Dialect
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.postgres_cdc.cursor import Mark, marks_of
from seatunnel_core.connectors.postgres_log.snapshot_mark import SnapshotMark


@frozen(kw_only=True)
class SeenRows:
    """Marks of a table's chunks."""

    marks: tuple[SnapshotMark, ...]
    """Snapshots of the chunks, in key order."""

    intervals: Callable[[pa.RecordBatch], npt.NDArray[np.int64]] = field(repr=False)
    """Function that returns, for each row, the index of the mark of its chunk."""

    def of_all_chunks(self, xid: int) -> bool:
        """Return True if the snapshots of all chunks contain a transaction."""
        return all(mark.contains(xid) for mark in self.marks)

    def in_all_chunks(self, xids: npt.NDArray[np.uint32]) -> Flags:
        """Return a mask of the transactions that the snapshots of all chunks contain."""
        return np.array(np.stack([mark.contain(xids) for mark in self.marks]).all(axis=0), np.bool_)

    def of(self, rows: pa.RecordBatch, xids: npt.NDArray[np.uint32]) -> Flags:
        """Return a mask of the rows whose transaction is contained in the snapshot of their chunk."""
        contained = np.stack([mark.contain(xids) for mark in self.marks])
        seen = np.array(contained.all(axis=0), np.bool_)
        uncertain = np.flatnonzero(contained.any(axis=0) & ~seen)
        if len(uncertain):
            index = self.intervals(rows.take(pa.array(uncertain)))
            seen[uncertain] = contained[index, uncertain]
        return seen


def seen_rows(dialect: Dialect, found: Found, number: int, marks: Sequence[Mark], ask: Asking) -> SeenRows | None:
    """Return the marks of a table; ``None`` if none of its chunks was read.

    ``ask`` runs a statement if the database must compare keys.
    """
    own = marks_of(marks, number)
    if not own:
        return None
    bounds = [(mark.order, mark.high) for mark in own if mark.table == number and mark.high is not None]
    column = found.split_column
    if column is None or not bounds:
        return SeenRows(marks=(SnapshotMark.parse(own[-1].snapshot),), intervals=_zeros)
    highs = [str(high) for _, high in bounds]
    find = partial(_intervals, dialect, found, column, bounds[0][0], highs, ask)
    return SeenRows(marks=tuple(SnapshotMark.parse(mark.snapshot) for mark in own), intervals=find)


def _zeros(rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
    return np.zeros(rows.num_rows, np.int64)


def _intervals(
    dialect: Dialect, found: Found, column: Column, order: str, highs: Sequence[str], ask: Asking, rows: pa.RecordBatch
) -> Any:
    return intervals_of(dialect, ask, found.reading.relation, column, order, highs, rows.column(column.name))
