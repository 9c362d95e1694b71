"""Warnings about open transactions that delay the snapshot of the captured tables."""

import time
from collections.abc import Callable
from typing import Any

from attrs import define, field

from seatunnel_core.connectors.postgres_log.server_sessions import oldest_transaction

PATIENCE_S = 10.0
"""Time for which a transaction may delay the snapshot without a warning, in seconds."""


@define
class SnapshotDelay:
    """Measures how long the oldest open transaction has delayed the snapshot. Not thread-safe."""

    patience_s: float = PATIENCE_S
    _clock: Callable[[], float] = time.monotonic
    _oldest: int | None = field(default=None, init=False)
    """ID of the oldest transaction at the last call."""

    _since: float = field(default=0.0, init=False)
    _is_reported: bool = field(default=False, init=False)

    def warnings(self, connection: Any) -> tuple[str, ...]:
        """Return a warning if the same transaction has delayed the snapshot for long; empty if already returned."""
        found = oldest_transaction(connection)
        if found is None:
            return ()
        oldest, session = found
        now = self._clock()
        if oldest != self._oldest:
            self._oldest, self._since, self._is_reported = oldest, now, False
        if self._is_reported or now - self._since < self.patience_s:
            return ()
        self._is_reported = True
        return (f"the snapshot of the tables waits until open transactions have ended; the oldest: {session}",)
