"""Commit ledger of a pipeline: records of the engine that may commit, and of committed committables.

It consists of two tables in the target's database::

    pipelines (pipeline, epoch)                the engine that may commit for a sink of a pipeline
    commits (pipeline, committable, epoch)     committed committables; with the key <job>/save-mode, applied save modes

``pipeline`` is ``<job>/<pipeline>/<sink>``. Each transaction first compares the epoch, and locks its row if the
database allows several writers. An engine that was replaced finds a newer epoch and fails, so it never commits after a
newer engine has started. Commit records are written in the transaction that publishes the rows.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen

from seatunnel_core.connector_api.errors import CommitError, SinkError
from seatunnel_core.connector_api.sink_context import SinkContext, WriterContext
from seatunnel_core.connectors.tables.database import TableDatabase
from seatunnel_core.connectors.tables.messages import committed_before, taken_over

_IDS = 500
"""Maximum number of committables in one statement."""


def key_of(context: SinkContext | WriterContext) -> str:
    """Return the key of a sink in the ledger: ``<job>/<pipeline>/<sink>``."""
    return f"{context.job_id}/{context.pipeline_id}/{context.sink_ordinal}"


def key_of_job(job_id: str) -> str:
    """Return the key of a job's save modes in the ledger."""
    return f"{job_id}/save-mode"


@frozen(kw_only=True)
class CommitLedger:
    """The ledger of one sink of one pipeline. All methods work in the caller's transaction."""

    database: TableDatabase
    context: SinkContext
    who: str
    where: str
    """Pipeline and sink, and the database, for messages."""

    pipelines: str
    commits: str
    """Quoted names of the tables ``pipelines`` and ``commits``."""

    @property
    def key(self) -> str:
        """SQL literal of the sink's key."""
        return self.database.literal(key_of(self.context))

    def claim(self, connection: Any) -> None:
        """Record this engine's epoch as the epoch of the pipeline.

        Raises:
            SinkError: A newer engine owns the pipeline, or the records of an earlier engine are missing.
        """
        epoch, own = self._epoch(connection), self.context.epoch
        if (epoch or 0) < self.context.prepared_in:
            found = "no row" if epoch is None else "an older row"
            raise SinkError(self.lost(f"{self.pipelines} has {found} of this pipeline"))
        if epoch is None:
            change = f"INSERT INTO {self.pipelines} (pipeline, epoch) VALUES ({self.key}, {own})"
        elif epoch > own:
            raise SinkError(taken_over(self.who, epoch, own))
        else:
            change = f"UPDATE {self.pipelines} SET epoch = {own} WHERE pipeline = {self.key}"
        self.database.run(connection, change)

    def hold(self, connection: Any) -> None:
        """Lock the pipeline's row until the transaction ends; raise ``CommitError`` if this engine does not own it."""
        epoch = self._epoch(connection)
        if epoch is None:
            raise CommitError(self.ended())
        if epoch != self.context.epoch:
            raise CommitError(taken_over(self.who, epoch, self.context.epoch))

    def _epoch(self, connection: Any) -> int | None:
        asked = self.database.lock_row(f"SELECT epoch FROM {self.pipelines} WHERE pipeline = {self.key}")
        rows = self.database.ask(connection, asked)
        return int(rows[0][0]) if rows else None

    def ended(self) -> str:
        """Return the error message for a pipeline that is not in the ledger."""
        return (
            f"{self.who}: {self.where} has no record of this pipeline: its job has ended, or the records were removed"
        )

    def lost(self, found: str) -> str:
        """Return the error message for a target that earlier processes of the job did not use."""
        return (
            f"{self.who}: {self.where} is not the database that this job has written to: {found}. It was moved, "
            "created again or restored from an older backup, so committed rows may be missing. Restore it and "
            "resume the job, or start a new job"
        )

    def done(self, connection: Any, ids: Sequence[str], *, may_be_committed: bool) -> set[str]:
        """Return the recorded ``ids``; raise ``CommitError`` if there are any and ``may_be_committed`` is false."""
        found: set[str] = set()
        for named in self._listed(ids):
            asked = f"SELECT committable FROM {self.commits} WHERE pipeline = {self.key} AND committable IN ({named})"
            found.update(name for (name,) in self.database.ask(connection, asked))
        if found and not may_be_committed:
            raise CommitError(committed_before(self.who, self.where, min(found)))
        return found

    def record(self, connection: Any, committable: str, *, job: bool = False) -> None:
        """Record a committable or, if ``job`` is true, a table to which the job's save mode was applied."""
        key = self._job if job else self.key
        values = f"({key}, {self.database.literal(committable)}, {self.context.epoch})"
        self.database.run(connection, f"INSERT INTO {self.commits} (pipeline, committable, epoch) VALUES {values}")

    def recorded(self, connection: Any) -> list[str]:
        """Return the IDs of all committed committables."""
        asked = f"SELECT committable FROM {self.commits} WHERE pipeline = {self.key}"
        return [name for (name,) in self.database.ask(connection, asked)]

    def recorded_for_job(self, connection: Any, prefix: str) -> set[str]:
        """Return the records of the job's save mode that start with ``prefix``."""
        matching = f"substr(committable, 1, {len(prefix)}) = {self.database.literal(prefix)}"
        asked = f"SELECT committable FROM {self.commits} WHERE pipeline = {self._job} AND {matching}"
        return {name for (name,) in self.database.ask(connection, asked)}

    def expire(self, connection: Any, keep: frozenset[str]) -> None:
        """Delete the commit records of older epochs to which no checkpoint refers."""
        asked = f"SELECT committable FROM {self.commits} WHERE pipeline = {self.key} AND epoch < {self.context.epoch}"
        old = [name for (name,) in self.database.ask(connection, asked) if name not in keep]
        for named in self._listed(old):
            removed = f"DELETE FROM {self.commits} WHERE pipeline = {self.key} AND committable IN ({named})"
            self.database.run(connection, removed)

    def clear(self, connection: Any) -> None:
        """Delete all records of the pipeline and of the job's save mode, after the job has ended."""
        self.database.run(connection, f"DELETE FROM {self.commits} WHERE pipeline IN ({self.key}, {self._job})")
        self.database.run(connection, f"DELETE FROM {self.pipelines} WHERE pipeline = {self.key}")

    @property
    def _job(self) -> str:
        return self.database.literal(key_of_job(self.context.job_id))

    def _listed(self, ids: Sequence[str]) -> Iterable[str]:
        """Yield comma-separated literals, at most ``_IDS`` at a time."""
        for start in range(0, len(ids), _IDS):
            yield ", ".join(self.database.literal(each) for each in ids[start : start + _IDS])
