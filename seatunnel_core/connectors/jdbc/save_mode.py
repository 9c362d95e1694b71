"""Save mode of a table, applied once for all sinks of a job that write to it, before any of them writes.

The table of commits records it until the job has ended:

    seatunnel_commits ("<job>/save-mode", "<table>", epoch)                        the save mode was applied
    seatunnel_commits ("<job>/save-mode", "<table>/<pipeline>/<sink>", epoch)      this sink has prepared the table

``<table>`` is a digest. The first row is inserted in the transaction that empties the table. If a suspended process and
its successor do this at the same time, the primary key allows only one of them to succeed.
"""

import hashlib
from typing import Any

from attrs import frozen

from seatunnel_core.connectors.tables.ledger import CommitLedger
from seatunnel_core.connectors.tables.table_path import TablePath


@frozen(kw_only=True)
class TableSaveMode:
    """Save mode of one table, for one sink of one pipeline."""

    ledger: CommitLedger
    path: TablePath

    @property
    def lock(self) -> str:
        """Name of a lock that only one process can hold, for databases in which DDL ends the transaction."""
        return f"seatunnel_{self._digest}"

    @property
    def _digest(self) -> str:
        parts = "\0".join((self.ledger.context.job_id, *self.path))
        return hashlib.sha256(parts.encode()).hexdigest()[:24]

    @property
    def _own(self) -> str:
        return f"{self._digest}/{self.ledger.context.pipeline_id}/{self.ledger.context.sink_ordinal}"

    def may_act(self, connection: Any) -> bool:
        """Return True if no other sink of the job has prepared the table. This sink may have done so earlier."""
        return not self._reached(connection) - {self._digest, self._own}

    def note(self, connection: Any, *, acted: bool) -> None:
        """Record that this sink has prepared the table, in the transaction that prepared it."""
        reached = self._reached(connection)
        for name in ([self._digest] if acted else []) + [self._own]:
            if name not in reached:
                self.ledger.record(connection, name, job=True)

    def _reached(self, connection: Any) -> set[str]:
        return self.ledger.recorded_for_job(connection, self._digest)
