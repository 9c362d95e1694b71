"""Order of the changed rows of several tables with one target.

Decoders group the rows of a batch of the log by table, because this is faster. If a row moves from one table to
another, its deletion and its insertion must arrive in the order of the log.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connectors.change_data.moved_rows import cuts
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.rows.order import RowOrder

Numbers = npt.NDArray[np.int64]
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

    where: Callable[[], Sequence[Mapping[str, Any]]]
    """Function that returns the ``source`` block of the Debezium message for each row."""


def grouped(given: Iterable[T], group_of: Callable[[T], Hashable]) -> list[list[T]]:
    """Return the groups in the order of their first members."""
    groups: dict[Hashable, list[T]] = {}
    for each in given:
        groups.setdefault(group_of(each), []).append(each)
    return list(groups.values())


def in_order(tables: Sequence[LoggedRows], order: RowOrder) -> Iterator[Run]:
    """Yield all rows of the tables of a group, in an order with which their target is correct."""
    events = [each.events for each in tables]
    at: Numbers | None = np.empty(0, np.int64)
    if len(tables) > 1 and order is not RowOrder.NONE:
        keys = [each.batch.rows.select(each.found.schema().primary_key) for each in tables]
        at = cuts(keys, events) if order is RowOrder.KEY else None
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
