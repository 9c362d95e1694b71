"""Corrections of a chunk: logged changes before its mark that may be missing in the rows that were read."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.jdbc.fetched import Fetched
from seatunnel_core.connectors.mysql_cdc.server import FULL_IMAGES
from seatunnel_core.connectors.mysql_log.change_batch import ChangeBatch, TableChanges
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.rows.kind import RowKind

_NEW = (RowKind.INSERT, RowKind.UPDATE_AFTER)
Inside = Callable[[pa.RecordBatch], npt.NDArray[np.bool_]]
"""Function that returns a mask of the rows inside a chunk."""


@define
class Correction:
    """Latest image of each changed row before the mark, by primary key."""

    key: Sequence[str]
    """Columns of the primary key."""

    _last: dict[tuple[Any, ...], tuple[TableChanges, int] | None] = field(factory=dict, init=False)
    """Changed rows by key; ``None`` for a deleted row."""

    def add(self, batches: Iterable[ChangeBatch], mark: LogPosition) -> None:
        """Add the logged changes before the mark. The log must start before any change that the rows may lack.

        Raises:
            SourceError: The log does not contain all columns of a changed row.
        """
        for batch in batches:
            before = {each.number for each in batch.transactions if each.begin < mark}
            for changes in batch.changes:
                self._add(changes, before)

    def _add(self, changes: TableChanges, before: set[int]) -> None:
        if not changes.complete:
            raise SourceError(
                f"the log lacks columns of changed rows of {changes.table.database}.{changes.table.name}; "
                f"{FULL_IMAGES}, and start a new job"
            )
        columns = [changes.rows.column(name).to_pylist() for name in self.key]
        for number, key in enumerate(zip(*columns, strict=True)):
            if int(changes.transactions[number]) in before:
                self._last[key] = (changes, number) if changes.kinds[number] in _NEW else None

    def unchanged(self, rows: Fetched) -> Fetched:
        """Return the rows that were not changed."""
        if not self._last:
            return rows
        columns = [rows.rows.column(name).to_pylist() for name in self.key]
        keep = [key not in self._last for key in zip(*columns, strict=True)]
        if all(keep):
            return rows
        kept = np.flatnonzero(keep)
        misfits = {new: rows.misfits[int(old)] for new, old in enumerate(kept) if int(old) in rows.misfits}
        return Fetched(rows=rows.rows.filter(pa.array(keep)), misfits=misfits)

    def changed(self, inside: Inside) -> Iterator[Fetched]:
        """Yield the changed rows inside the chunk as of the mark."""
        by_batch: dict[int, tuple[TableChanges, list[int]]] = {}
        for found in self._last.values():
            if found is not None:
                by_batch.setdefault(id(found[0]), (found[0], []))[1].append(found[1])
        for changes, numbers in by_batch.values():
            rows = changes.rows.take(pa.array(numbers, pa.int64()))
            misfits = {new: changes.misfits[old] for new, old in enumerate(numbers) if old in changes.misfits}
            keep = np.flatnonzero(inside(rows))
            if len(keep):
                kept = {new: misfits[int(old)] for new, old in enumerate(keep) if int(old) in misfits}
                yield Fetched(rows=rows.take(pa.array(keep)), misfits=kept)
