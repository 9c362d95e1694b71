"""Which sinks of a job have come to a table: its save mode acts before a second one writes there, and never again.

It stands in the table of commits, until the job has ended:

    seatunnel_commits ("<job>/save-mode", "<table>", epoch)                        somebody has acted
    seatunnel_commits ("<job>/save-mode", "<table>/<pipeline>/<sink>", epoch)      who has come

``<table>`` is a digest. The first row is inserted in the transaction that empties the table: of two that do so at the
same time, such as a process that was asleep and the one that goes on with its job, the database lets one pass.
"""

import hashlib
from typing import Any

from attrs import frozen

from seatunnel_core.connectors.jdbc.databases.dialect import Dialect, TablePath
from seatunnel_core.connectors.jdbc.staging import COMMITS
from seatunnel_core.connectors.sink import SinkContext

WAIT_S = 60
"""How long to wait for another process that is about to make the same table anew."""


def key_of_job(job_id: str) -> str:
    return f"{job_id}/save-mode"


@frozen(kw_only=True)
class TableSaveMode:
    """The save mode of one sink of one pipeline at one table."""

    dialect: Dialect
    context: SinkContext
    path: TablePath

    @property
    def lock(self) -> str:
        """What only one process holds at a time, where making a table ends the transaction."""
        return f"seatunnel_{self._digest}"

    @property
    def _digest(self) -> str:
        said = "\0".join((self.context.job_id, *self.path))
        return hashlib.sha256(said.encode()).hexdigest()[:24]

    @property
    def _own(self) -> str:
        return f"{self._digest}/{self.context.pipeline_id}/{self.context.sink_ordinal}"

    def may_act(self, connection: Any) -> bool:
        """Whether no other sink of the job has come here. It may have acted before, and been killed."""
        return not self._come(connection) - {self._digest, self._own}

    def note(self, connection: Any, *, acted: bool) -> None:
        """Write down that this sink has come, in the transaction in which it acted."""
        come = self._come(connection)
        for name in ([self._digest] if acted else []) + [self._own]:
            if name not in come:
                values = ", ".join(map(self.dialect.literal, (key_of_job(self.context.job_id), name)))
                cursor = self.dialect.cursor(connection)
                cursor.execute(
                    f"INSERT INTO {COMMITS} (pipeline, committable, epoch) VALUES ({values}, {self.context.epoch})"
                )

    def _come(self, connection: Any) -> set[str]:
        job = self.dialect.literal(key_of_job(self.context.job_id))
        here = f"substr(committable, 1, {len(self._digest)}) = {self.dialect.literal(self._digest)}"
        asked = f"SELECT committable FROM {COMMITS} WHERE pipeline = {job} AND {here}"
        return {name for (name,) in self.dialect.ask(connection, asked)}
