"""Commit time and log position of each changed row."""

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field, frozen

from seatunnel_core.connectors.change_data.key_codes import Numbers
from seatunnel_core.connectors.change_data.log_order import grouped, ranks
from seatunnel_core.rows.batch import OriginColumns, Origins


@frozen
class Commit:
    """A transaction of a log."""

    time_ms: int
    """Commit time, in milliseconds since 1970."""

    position: str
    """Position as a string. These strings sort in log order."""


@frozen(kw_only=True, eq=False)
class TableRows:
    """Transactions and events of the changed rows of one table in a batch of the log."""

    group: str
    """Name of the table's group (``ReadContext.order_group``)."""

    transactions: Numbers
    """For each row, the ascending number of its transaction."""

    events: Numbers
    """For each row, the ascending number of its event, which also orders the rows of different tables."""


@define
class RowNumbers:
    """Row numbering within each transaction, which may continue in the next batch.

    The rows of all tables of a group are numbered together.
    """

    _last: dict[str, tuple[str, int]] = field(init=False, factory=dict)
    """Position of the last transaction and number of its last row, by group."""

    def origins(self, tables: Sequence[TableRows], commit_of: Callable[[int], Commit]) -> list[Origins]:
        """Return the origins of the rows of each table in a batch.

        ``commit_of`` returns the transaction for a number. It is rarely called, because most jobs do not use origins.
        """
        found: dict[int, Origins] = {}
        for group in grouped(range(len(tables)), lambda at: tables[at].group):
            found |= zip(group, self._of_group([tables[at] for at in group], commit_of), strict=True)
        return [found[at] for at in range(len(tables))]

    def _of_group(self, tables: Sequence[TableRows], commit_of: Callable[[int], Commit]) -> list[Origins]:
        first = min(int(each.transactions[0]) for each in tables)
        last = max(int(each.transactions[-1]) for each in tables)
        before, count = self._last.get(tables[0].group, ("", 0))
        continued = count if before == commit_of(first).position else 0
        rows = sum(int(np.count_nonzero(each.transactions == last)) for each in tables)
        self._last[tables[0].group] = commit_of(last).position, rows + (continued if first == last else 0)

        @cache
        def numbers() -> Sequence[Numbers]:
            found = ranks([each.events for each in tables], [each.transactions for each in tables])
            pairs = zip(found, tables, strict=True)
            return [rank + 1 + continued * (each.transactions == first) for rank, each in pairs]

        return [Origins(partial(_origins, at, each, numbers, commit_of)) for at, each in enumerate(tables)]


def _origins(
    at: int, rows: TableRows, numbers: Callable[[], Sequence[Numbers]], commit_of: Callable[[int], Commit]
) -> OriginColumns:
    starts = np.flatnonzero(np.diff(rows.transactions, prepend=-1))
    commits = [commit_of(int(number)) for number in rows.transactions[starts]]
    return _columns(commits, np.diff(starts, append=len(rows.transactions)), numbers()[at])


def _columns(commits: Sequence[Commit], lengths: npt.NDArray[np.int64], numbers: Numbers) -> OriginColumns:
    runs = np.repeat(np.arange(len(commits), dtype=np.int32), lengths)
    times = np.array([each.time_ms for each in commits], np.int64)
    positions = pa.array([each.position for each in commits], pa.string())
    return OriginColumns(
        times=pa.array(times[runs]),
        commits=pa.DictionaryArray.from_arrays(pa.array(runs), positions),
        numbers=pa.array(numbers, pa.int64()),
    )
