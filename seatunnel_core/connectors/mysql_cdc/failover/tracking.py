"""Transactions before the position of a job, by which it can continue at another server."""

import time

from attrs import define, evolve, field

from seatunnel_core.connectors.mysql_cdc.failover.logged_transactions import transactions_before
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.server import Server, ServerState

_PAUSE_S = 600.0
"""Time between attempts to determine the transactions, in seconds, because one may read a whole file of the log."""


@define
class Tracking:
    """Determines the transactions once, after the tables are copied. Each range then adds those that it reads."""

    _next_s: float = field(default=0.0, init=False)

    def tracked(self, server: Server, state: ServerState, progress: Progress) -> Progress:
        """Return the progress, with the transactions before its position if they can be determined."""
        if progress.gtids is not None or not state.has_gtids or progress.is_copying or progress.reading is not None:
            return progress
        if time.monotonic() < self._next_s:
            return progress
        self._next_s = time.monotonic() + _PAUSE_S
        found = transactions_before(server, state, progress.log)
        return progress if found is None else evolve(progress, gtids=str(found))
