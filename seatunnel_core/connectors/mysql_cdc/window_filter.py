"""Filter of changed rows during the snapshot. It emits only changes that no chunk contains or will contain."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from seatunnel_core import stored
from seatunnel_core.connectors.change_data.emitted import Flags
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc.chunk_places import Places
from seatunnel_core.connectors.mysql_log.change_batch import TableChanges, Transaction
from seatunnel_core.connectors.mysql_log.position import LogPosition, position_of
from seatunnel_core.rows.kind import RowKind

Placing = Callable[[Found, str, Sequence[str], pa.Array], Places]
"""Function that returns, for each key, the number of bounds that are less than or equal to it."""


@frozen(kw_only=True)
class MarkedChunk:
    """A chunk that was read, with its mark."""

    table: str
    order: str
    low: str | None
    high: str | None
    mark: LogPosition

    def record(self) -> list[Any]:
        """Return the chunk as JSON values."""
        return [self.table, self.order, self.low, self.high, str(self.mark)]

    @classmethod
    def from_record(cls, record: Sequence[Any]) -> "MarkedChunk":
        """Return the chunk from JSON values."""
        table, order, low, high, mark = record
        return cls(table=table, order=order, low=low, high=high, mark=position_of(mark))


@frozen(kw_only=True)
class WindowFilter:
    """Chunks of a window in reading order: by table name, then by key."""

    chunks: tuple[MarkedChunk, ...] = field(repr=False)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "WindowFilter | None":
        """Return the filter in the body of a split; ``None`` if all rows are emitted."""
        if "window" not in body:
            return None
        return cls(chunks=tuple(map(MarkedChunk.from_record, stored.items(body, "window"))))

    def keep(
        self,
        found: Found,
        changes: TableChanges,
        transactions: Mapping[int, Transaction],
        placing: Placing,
        *,
        repeats: bool = False,
    ) -> Flags | None:
        """Return a mask of the rows to emit; ``None`` for all.

        With ``repeats``, the changes of a chunk before its mark are also emitted. If a row moves between tables with
        one target, its insertion may be part of a chunk, but its deletion is not.
        """
        own = [chunk for chunk in self.chunks if chunk.table == found.reading.name]
        if not own:
            is_read = found.reading.name < self.chunks[0].table
            return None if is_read else np.zeros(len(changes.kinds), np.bool_)
        places = self._places(own, found, changes, placing)
        keep = places < 0  # These chunks were read in an earlier window. Later chunks are not read yet.
        begins = [transactions[int(number)].begin for number in changes.transactions]
        for number, chunk in enumerate(own):
            inside = np.flatnonzero(places == number)
            keep[inside] = repeats or [begins[int(row)] >= chunk.mark for row in inside]
        return keep if found.split_column is None else _with_unplaced(keep, changes, found.split_column.name)

    def _places(self, own: Sequence[MarkedChunk], found: Found, changes: TableChanges, placing: Placing) -> Places:
        """Return the index of each row's chunk: -1 for earlier chunks, the number of chunks for later ones."""
        if found.split_column is None:
            return np.zeros(len(changes.kinds), np.int64)
        bounds = [bound for bound in (own[0].low, *(chunk.high for chunk in own)) if bound is not None]
        keys = changes.rows.column(found.split_column.name)
        places = placing(found, own[0].order, bounds, keys)
        return places - 1 if own[0].low is not None else places


def _with_unplaced(keep: Flags, changes: TableChanges, column: str) -> Flags:
    """Return the mask with the rows whose key the log does not contain, because of ``binlog_row_image = MINIMAL``.

    The new row of an update then has the key of the old one. Other rows may belong to any chunk, so they are kept. If
    such a row is emitted, it is an error.
    """
    unplaced = ~changes.arrived(changes.rows.schema.get_field_index(column))
    after = np.flatnonzero(unplaced & (changes.kinds == RowKind.UPDATE_AFTER))
    keep = keep | unplaced
    keep[after] = keep[after - 1]
    return keep
