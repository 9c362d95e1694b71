"""Commit time and log position of each changed row."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field, frozen

from seatunnel_core.rows.batch import OriginColumns, Origins


@frozen
class Commit:
    """A transaction of a log."""

    time_ms: int
    """Commit time, in milliseconds since 1970."""

    position: str
    """Position as a string. These strings sort in log order."""


@define
class RowNumbers:
    """Row numbering within each transaction, which may continue in the next batch."""

    _last: dict[str, tuple[str, int]] = field(init=False, factory=dict)
    """Position of the last transaction and number of its last row, by table."""

    def origins(self, table: str, transactions: npt.NDArray[np.int64], commit_of: Callable[[int], Commit]) -> Origins:
        """Return the origins of consecutive rows of a table.

        Args:
            table: Name of the table.
            transactions: For each row, the sequence number of its transaction.
            commit_of: Returns the transaction for a number. Rarely called, because most jobs do not use origins.
        """
        starts = np.flatnonzero(np.diff(transactions, prepend=-1))
        lengths = np.diff(starts, append=len(transactions))
        first, last = (commit_of(int(transactions[at])).position for at in (0, -1))
        before, count = self._last.get(table, ("", 0))
        continued = count if before == first else 0
        self._last[table] = last, int(lengths[-1]) + (continued if len(lengths) == 1 else 0)

        def compute() -> OriginColumns:
            commits = [commit_of(int(number)) for number in transactions[starts]]
            numbers = np.arange(1, len(transactions) + 1) - np.repeat(starts, lengths)
            numbers[: lengths[0]] += continued
            return _columns(commits, lengths, numbers)

        return Origins(compute)


def _columns(
    commits: Sequence[Commit], lengths: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]
) -> OriginColumns:
    runs = np.repeat(np.arange(len(commits), dtype=np.int32), lengths)
    times = np.array([each.time_ms for each in commits], np.int64)
    positions = pa.array([each.position for each in commits], pa.string())
    return OriginColumns(
        times=pa.array(times[runs]),
        commits=pa.DictionaryArray.from_arrays(pa.array(runs), positions),
        numbers=pa.array(numbers, pa.int64()),
    )
