"""Transactions that a job has read or may have written, which allow it to continue on another server."""

import time

from attrs import define, evolve, field

from seatunnel_core.connectors.mysql_cdc.failover.continuation import require_same_log
from seatunnel_core.connectors.mysql_cdc.failover.logged_transactions import possibly_logged, transactions_before
from seatunnel_core.connectors.mysql_cdc.planning import Planned
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.server import Server, ServerState

_PAUSE_S = 600.0
"""Time between attempts to determine the transactions, in seconds. An attempt may read a whole log file."""


@define
class Tracking:
    """Transactions that were read, determined once after the tables are copied. Each range then adds its own."""

    written: str | None = field(default=None, init=False)
    """Transactions that this process may have read. Sinks that write directly may have written them.

    ``None`` if they are unknown: an earlier process may have read others.
    """

    is_verified: bool = field(default=False, init=False)
    """True if the log of the server was compared with the transactions that the job has read."""

    _next_s: float = field(default=0.0, init=False)

    def tracked(self, server: Server, state: ServerState, progress: Progress) -> Progress:
        """Return the progress, with the transactions before its position if they can be determined."""
        if progress.gtids is not None or not state.has_gtids or progress.is_copying or progress.reading is not None:
            return progress
        if time.monotonic() < self._next_s:
            return progress
        self._next_s = time.monotonic() + _PAUSE_S
        found = transactions_before(server, state, progress.log)
        return progress if found is None else evolve(progress, gtids=str(found.transactions), last=found.last)

    def verify(self, server: Server, state: ServerState, progress: Progress) -> None:
        """Raise ``SourceChangedError`` if the log is not the one from which the job has read. Checked only once."""
        if not self.is_verified:
            require_same_log(server, state, progress)
            self.is_verified = True

    def record_written(self, server: Server, state: ServerState, planned: Planned) -> None:
        """Record the transactions that readers of planned ranges may read.

        The former process of a resumed job may have read more than the checkpoint contains, but nothing that the
        server has not logged by now.
        """
        if planned.progress.gtids is not None and (planned.bodies or self.written is None):
            self.written = str(possibly_logged(server, state))

    def follow(self) -> None:
        """Prepare to continue on another server, which must have the transactions that were written."""
        self.is_verified, self._next_s = False, 0.0
