"""Snapshot marks, which determine the logged transactions that a snapshot contains.

A log position is not sufficient, because a transaction is logged before it becomes visible.
"""

import re
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from seatunnel_core.connectors.postgres_log.sql_connection import run

_CURRENT = "SELECT pg_catalog.txid_current_snapshot()::text"
"""Query for the current snapshot. Newer versions also have ``pg_current_snapshot()``, with the same result."""

_WRITTEN = re.compile(r"(\d+):(\d+):((?:\d+(?:,\d+)*)?)")


@frozen(kw_only=True)
class SnapshotMark:
    """A snapshot in the format of ``pg_current_snapshot()``, with 64-bit transaction IDs.

    Valid for transactions with IDs that differ by less than 2**31 from ``xmax``.
    """

    xmin: int
    """Lowest transaction ID in progress. All transactions with lower IDs have ended."""

    xmax: int
    """First unassigned transaction ID."""

    in_progress: frozenset[int] = field(factory=frozenset)
    """Transaction IDs in progress between ``xmin`` and ``xmax``."""

    @classmethod
    def parse(cls, written: str) -> "SnapshotMark":
        """Parse a ``pg_snapshot`` string, such as ``10:20:10,14,15``.

        Raises:
            ValueError: The string has a different format or is inconsistent.
        """
        found = _WRITTEN.fullmatch(written)
        if found is None:
            raise ValueError(f"{written!r} is not a snapshot; expected xmin:xmax:xip, such as 10:20:10,14,15")
        ids = frozenset(map(int, found[3].split(","))) if found[3] else frozenset()
        mark = cls(xmin=int(found[1]), xmax=int(found[2]), in_progress=ids)
        if not 0 < mark.xmin <= mark.xmax or any(not mark.xmin <= each < mark.xmax for each in ids):
            raise ValueError(f"{written!r} is not a snapshot: its transactions must lie between xmin and xmax")
        return mark

    def __str__(self) -> str:
        return f"{self.xmin}:{self.xmax}:{','.join(map(str, sorted(self.in_progress)))}"

    def full_id(self, xid: int) -> int:
        """Convert a 32-bit transaction ID from the log to 64 bits."""
        distance = (xid - self.xmax) & 0xFFFFFFFF
        return self.xmax + distance - (1 << 32 if distance >= 1 << 31 else 0)

    def contains(self, xid: int) -> bool:
        """Return True if the snapshot contains a committed transaction, given its 32-bit ID from the log."""
        found = self.full_id(xid)
        return found < self.xmin or (found < self.xmax and found not in self.in_progress)

    def contain(self, xids: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
        """Return a mask of the transactions that the snapshot contains."""
        distances = (xids.astype(np.int64) - (self.xmax & 0xFFFFFFFF)) & 0xFFFFFFFF
        found = self.xmax + distances - np.where(distances >= 1 << 31, 1 << 32, 0)
        open_then = np.isin(found, np.array(sorted(self.in_progress), np.int64))
        seen: npt.NDArray[np.bool_] = (found < self.xmin) | ((found < self.xmax) & ~open_then)
        return seen


def current_mark(connection: Any) -> SnapshotMark:
    """Return the snapshot of the current transaction, which must have the isolation level REPEATABLE READ."""
    ((written,),) = run(connection, _CURRENT)
    return SnapshotMark.parse(written)
