"""Time and position of each changed row of a log."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field, frozen

from seatunnel_core.rows.batch import Origins


@frozen
class Commit:
    """A transaction of a log."""

    time_ms: int
    """Time of its commit, in milliseconds since 1970."""

    position: str
    """Position as a text; the order of the texts is the order of the log."""


@define
class RowNumbers:
    """Numbers of rows within transactions, which may continue in the next batch."""

    _last: dict[str, tuple[str, int]] = field(init=False, factory=dict)
    """Position of the transaction and number of the last row of each table."""

    def origins(self, table: str, transactions: npt.NDArray[np.int64], commits: Mapping[int, Commit]) -> Origins:
        """Return the origins of consecutive rows of a table."""
        starts = np.flatnonzero(np.diff(transactions, prepend=-1))
        lengths = np.diff(starts, append=len(transactions))
        numbers = np.arange(1, len(transactions) + 1) - np.repeat(starts, lengths)
        found = [commits[int(number)] for number in transactions[starts]]
        last, count = self._last.get(table, ("", 0))
        if last == found[0].position:
            numbers[: lengths[0]] += count
        self._last[table] = found[-1].position, int(numbers[-1])
        return _origins(found, lengths, numbers)


def _origins(commits: Sequence[Commit], lengths: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]) -> Origins:
    runs = np.repeat(np.arange(len(commits), dtype=np.int32), lengths)
    times = np.array([each.time_ms for each in commits], np.int64)
    positions = pa.array([each.position for each in commits], pa.string())
    return Origins(
        times=pa.array(times[runs]),
        commits=pa.DictionaryArray.from_arrays(pa.array(runs), positions),
        numbers=pa.array(numbers, pa.int64()),
    )
