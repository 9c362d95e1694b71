"""Order of the changed rows of several tables with one target.

Decoders group the rows of a batch of the log by table, because this is faster. If a row moves from one table to
another, its deletion and its insertion must arrive in the order of the log.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, evolve, field, frozen

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connector_api.source import ReadContext, RowOrder
from seatunnel_core.connectors.change_data.emitted import Flags, with_lone_rows
from seatunnel_core.connectors.change_data.key_codes import Numbers, key_columns
from seatunnel_core.connectors.change_data.moved_rows import cuts
from seatunnel_core.connectors.change_data.row_owners import KeyedRows, RowOwners
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.rows.columns import kept, sliced
from seatunnel_core.rows.kind import RowKind

Run = tuple[int, int, int]
"""Consecutive rows of one table: index of the table, offset and number of the rows."""

T = TypeVar("T")


@frozen(kw_only=True, eq=False)
class LoggedRows:
    """Changed rows of one table in a batch of the log, as a source emits them."""

    batch: Batch
    found: Found
    events: Numbers
    """For each row, the number of its event in the log, which also orders the rows of different tables."""

    transactions: Numbers
    """For each row, the number of its transaction."""

    where: Callable[[], Sequence[Mapping[str, Any]]] = tuple
    """Function that returns the ``source`` block of the Debezium message for each row."""

    @property
    def key(self) -> list[pa.Array]:
        """Columns of the primary key."""
        return key_columns(self.batch.rows, self.found.schema().primary_key)

    @property
    def kinds(self) -> npt.NDArray[np.int8]:
        """``RowKind`` of each row, as a number."""
        kinds = self.batch.kinds
        return np.full(len(self.events), RowKind.INSERT, np.int8) if kinds is None else kinds.to_numpy()

    def kept(self, keep: Flags) -> "LoggedRows":
        """Return the rows for which the mask is true, without ``where``.

        Raises:
            SourceError: The new row of an update is kept without its old row, and lacks a value.
        """
        kinds, mask = with_lone_rows(self.kinds, keep), pa.array(keep)
        batch = kept(evolve(self.batch, kinds=pa.array(kinds, pa.int8())), mask)
        for name, absent in batch.absent.items():
            if pc.any(pc.and_(absent, pc.equal(batch.kinds, int(RowKind.INSERT)))).as_py():
                raise SourceError(
                    f"table {batch.table}: an update changes the key of a row that was also inserted into another "
                    f"table with the same target, and the log lacks its value of the column {name!r}. Let the source "
                    "log whole rows, and start a new job"
                )
        return LoggedRows(batch=batch, found=self.found, events=self.events[keep], transactions=self.transactions[keep])


def grouped(given: Iterable[T], group_of: Callable[[T], Hashable]) -> list[list[T]]:
    """Return the groups in the order of their first members."""
    groups: dict[Hashable, list[T]] = {}
    for each in given:
        groups.setdefault(group_of(each), []).append(each)
    return list(groups.values())


@define
class LogOrder:
    """Order of the changed rows of a log stream, from one batch to the next."""

    context: ReadContext
    _owners: dict[str, RowOwners] = field(init=False, factory=dict)
    """Owners of the keys of the last transaction, by group."""

    def batches(self, rows: Sequence[LoggedRows]) -> Iterator[Batch]:
        """Yield the rows of a batch of the log, in the order that their targets need.

        Raises:
            SourceError: The values of a row that was moved are unknown.
        """
        for tables in grouped(rows, lambda each: self.context.order_group(each.batch.table).name):
            group = self.context.order_group(tables[0].batch.table)
            kept = self._kept(group.name, tables) if group.may_move else tables
            for table, start, size in in_order(kept, group.order):
                batch = kept[table].batch
                yield batch if size == batch.rows.num_rows else sliced(batch, start, size)

    def _kept(self, group: str, tables: Sequence[LoggedRows]) -> list[LoggedRows]:
        """Return the rows without those that would change a row that was moved to another table."""
        keyed = [
            KeyedRows(
                table=each.batch.table,
                key=each.key,
                kinds=each.kinds,
                transactions=each.transactions,
                events=each.events,
            )
            for each in tables
        ]
        stale = self._owners.setdefault(group, RowOwners()).stale(keyed)
        return [each.kept(~flags) if flags.any() else each for each, flags in zip(tables, stale, strict=True)]


def in_order(tables: Sequence[LoggedRows], order: RowOrder) -> Iterator[Run]:
    """Yield all rows of the tables of a group, in the order that their target needs."""
    events = [each.events for each in tables]
    at: Numbers | None = np.empty(0, np.int64)
    if len(tables) > 1 and order is not RowOrder.NONE:
        at = cuts([each.key for each in tables], events) if order is RowOrder.KEY else None
    yield from runs(events) if at is None else _parts(events, at)


def _parts(events: Sequence[Numbers], at: Numbers) -> Iterator[Run]:
    """Yield the rows table by table, in the parts that begin at certain events."""
    ends = [[*np.searchsorted(each, at).tolist(), len(each)] for each in events]
    starts = [[0, *each[:-1]] for each in ends]
    for part in range(len(at) + 1):
        for table in range(len(events)):
            start, end = starts[table][part], ends[table][part]
            if start < end:
                yield table, start, end - start


def runs(events: Sequence[Numbers]) -> Iterator[Run]:
    """Yield the rows in log order.

    ``events`` contains the ascending event numbers of the rows of each table. No two tables share an event.
    """
    if not events:
        return
    tables = np.repeat(np.arange(len(events)), [len(each) for each in events])[_order(events)]
    starts = np.flatnonzero(np.diff(tables, prepend=-1))
    sizes = np.diff(starts, append=len(tables))
    offsets = [0] * len(events)
    for table, size in zip(tables[starts].tolist(), sizes.tolist(), strict=True):
        yield table, offsets[table], size
        offsets[table] += size


def ranks(events: Sequence[Numbers], transactions: Sequence[Numbers]) -> list[Numbers]:
    """Return the index of each row among the rows of all tables in its transaction, for the rows of each table."""
    order = _order(events)
    ordered: Numbers = np.concatenate(transactions)[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return np.split(found, np.cumsum([len(each) for each in events])[:-1])


def _order(events: Sequence[Numbers]) -> Numbers:
    """Return the indexes of all rows in log order, as if the rows of all tables were concatenated."""
    return np.argsort(np.concatenate(events), kind="stable")
