"""Optional capabilities of a sink or a source, each defined by a protocol.

A sink has a capability if it implements the methods of the protocol; it need not derive from it. If the options of a
sink rule out a capability that its class implements, the sink lists it in ``Sink.disabled_capabilities``.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeGuard, runtime_checkable

from seatunnel_core.connector_api.replication_slot import ReplicationSlot
from seatunnel_core.connector_api.sink_context import SinkContext
from seatunnel_core.connector_api.source import Fact, PollCursor
from seatunnel_core.connector_api.source_progress import SourceProgress
from seatunnel_core.connector_api.values import Split
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.work.retraction import Retraction

__all__ = [
    "SupportsComplete",
    "SupportsConclude",
    "SupportsDryRun",
    "SupportsFacts",
    "SupportsProbe",
    "SupportsProgress",
    "SupportsPublishedQuery",
    "SupportsReplicationSlot",
    "SupportsReread",
    "SupportsRestoreCheck",
    "SupportsRestoredSchemas",
    "SupportsRollback",
    "SupportsSaveMode",
    "can_roll_back",
]


@runtime_checkable
class SupportsSaveMode(Protocol):
    """Sink that can change existing data in its target before the job writes."""

    @abstractmethod
    def apply_save_mode(self, context: SinkContext) -> None:
        """Change existing data as the save mode requires.

        Called once per job and target, before any pipeline of the job publishes there. Called again only if the process
        was killed before the call was recorded. See ``Sink.defers_save_mode`` for sinks whose tables are not known yet.

        Raises:
            SinkError: The change is not possible, or another engine continues the job.
        """


@runtime_checkable
class SupportsRollback(Protocol):
    """Sink that can roll back published output, so that its pipeline can be restored from an older checkpoint."""

    @abstractmethod
    def roll_back(self, context: SinkContext, retraction: Retraction) -> int:
        """Remove the output of this pipeline that ``retraction`` selects, and return the number of removed outputs.

        The removal is durable when this method returns. Output that is already missing counts as rolled back, because
        the engine may call this again after a crash, and a replaced engine may call it while the newer one runs.

        Raises:
            SinkError: The rollback failed; ``retryable`` if another attempt may succeed.
        """


@runtime_checkable
class SupportsComplete(Protocol):
    """Sink that publishes its rows after all of them have arrived, for example to replace the rows of its target."""

    @abstractmethod
    def complete(self, context: SinkContext) -> None:
        """Publish the rows of the whole run.

        Called in the driver when the sources have ended and every row is committed, before the final sweep. A later
        process calls it again if this one was killed before the pipeline was recorded as finished.

        Raises:
            SinkError: Publishing failed; ``retryable`` if another attempt may succeed.
        """


@runtime_checkable
class SupportsDryRun(Protocol):
    """Sink that can inspect its target without changing it, for ``--check``."""

    @abstractmethod
    def dry_run(self, schemas: Sequence[TableSchema] | None) -> Sequence[str]:
        """Log in, find the tables, and compare their columns with the incoming ones. Runs in the driver.

        Args:
            schemas: Schemas of the incoming tables; ``None`` if they are known only when the data is read.

        Returns:
            The results, one sentence each.

        Raises:
            SinkError: A job started now would fail: the target cannot be reached, denies access, or cannot accept the
                columns.
        """


@runtime_checkable
class SupportsFacts(Protocol):
    """Unbounded source that needs facts, such as positions, from its readers (``ReadContext.report_fact``)."""

    @abstractmethod
    def absorb(self, cursor: PollCursor, facts: Sequence[Fact]) -> PollCursor:
        """Return the cursor with the facts of finished splits, in the order in which their rows were forwarded.

        Called in the driver before a poll. Must be a pure function: after a crash it is called again with an older
        cursor and the facts that were reported since.
        """


@runtime_checkable
class SupportsRestoredSchemas(Protocol):
    """Unbounded source of tables whose columns may change while a job is stopped."""

    @abstractmethod
    def restored_schemas(
        self, cursor: PollCursor, schemas: Sequence[TableSchema], *, job_id: str
    ) -> Sequence[TableSchema]:
        """Return the schemas of the rows that are read after a cursor.

        Called in the driver before ``open``, each time a pipeline starts from a checkpoint with a cursor.

        Args:
            cursor: The restored cursor.
            schemas: The schemas that ``enumerate`` returned when the job started.
            job_id: ID of the job, as in ``PlanningContext.job_id``.

        Raises:
            SourceChangedError: The rows after the cursor have several schemas, or their schema is unknown.
            SourceError: The system cannot be read.
        """


@runtime_checkable
class SupportsProgress(Protocol):
    """Unbounded source that reads a log and reports its position in it."""

    @abstractmethod
    def progress(self, cursor: PollCursor) -> SourceProgress | None:
        """Return the progress at a cursor; ``None`` if it is unknown, for example before the first poll.

        Called in the driver whenever a user displays the job, in any thread and during polls. It must be fast: use the
        results of the last poll instead of sending requests to a server.

        Args:
            cursor: Cursor of the last poll, with the facts of the splits that were read since, and names in place
                of ``bytes``.
        """


@runtime_checkable
class SupportsProbe(Protocol):
    """Sink that can verify that its tasks and the driver access the same target."""

    @abstractmethod
    def probe(self, context: SinkContext, token: str) -> None:
        """Write ``token`` to the target. Runs in a Spark task, before data moves."""

    @abstractmethod
    def prove(self, context: SinkContext, token: str) -> None:
        """Check in the driver that the token of ``probe`` is visible.

        Raises:
            SinkError: The token is not visible, for example because tasks write to a local disk of another machine.
        """


@runtime_checkable
class SupportsPublishedQuery(Protocol):
    """Sink that can determine from its target which committables are published."""

    @abstractmethod
    def published(self, context: SinkContext) -> Iterable[str]:
        """Return the IDs of this pipeline's committables that are published according to the target.

        Also recognize them by the entries of ``context.recognised_before``. This is the first call for a restored
        pipeline: an ID that the newest checkpoint does not contain was published after a checkpoint that has since been
        removed. Must not create or fence anything.

        Raises:
            SinkError: The target cannot be read; ``retryable`` if another attempt may succeed.
        """


@runtime_checkable
class SupportsReplicationSlot(Protocol):
    """Source that reads a replication slot, which remains on the server after the job has ended."""

    @abstractmethod
    def replication_slot(self) -> ReplicationSlot | None:
        """Return the slot as the server reports it; ``None`` if the source does not require one.

        Raises:
            SourceError: The server cannot be read.
        """

    @abstractmethod
    def needs_slot(self, cursor: PollCursor) -> bool:
        """Return True if a job with this cursor can continue from the slot.

        Args:
            cursor: Cursor of a source of any job and any connector.

        Raises:
            SourceError: The server cannot be read.
        """

    @abstractmethod
    def drop_slot(self) -> Sequence[str]:
        """Drop the slot, and its publication if the engine created it; return the results, one sentence each.

        Raises:
            SourceError: The slot is in use, or the server rejects it.
        """


@runtime_checkable
class SupportsReread(Protocol):
    """Unbounded source that can read one of its tables again while it reads a log."""

    @abstractmethod
    def captured_tables(self) -> Sequence[str]:
        """Return the names of the captured tables. Called in any thread of the driver; must not send requests."""

    @abstractmethod
    def reread(self, cursor: PollCursor, table: str) -> PollCursor:
        """Return the cursor with a request to read a table again.

        Called in the driver before a poll, which then plans the splits of the table. Must not change anything else:
        the request is dropped if the poll fails, or if the process ends before a checkpoint contains the cursor.

        Args:
            cursor: The cursor, including all facts.
            table: Name of the table.

        Raises:
            UsageError: The table is unknown or is already being read again, or the options do not allow it.
        """


@runtime_checkable
class SupportsRestoreCheck(Protocol):
    """Unbounded source that can determine whether an earlier state can still be used."""

    @abstractmethod
    def require_readable(self, cursor: PollCursor, unread: Sequence[Split]) -> None:
        """Check that the system still contains the data after the cursor and the data of the unread splits.

        Called in the driver when a checkpoint or savepoint is chosen for a restore, before the state of the job
        changes. If this raises an error, the job can still resume from its latest checkpoint.

        Args:
            cursor: The cursor of the checkpoint.
            unread: Splits of earlier polls with rows that the checkpoint does not contain.

        Raises:
            SourceChangedError: Data after the cursor was removed, or the cursor belongs to another system.
            SourceError: The system cannot be read.
        """


@runtime_checkable
class SupportsConclude(Protocol):
    """Sink with final checks or actions for a bounded pipeline, such as ``Assert`` with its row rules."""

    @abstractmethod
    def conclude(self, committed_rows: int, table_rows: Mapping[str, int]) -> None:
        """Run final checks or actions, once the last rows of a bounded pipeline are committed.

        Args:
            committed_rows: Rows committed by the pipeline, including all restarts.
            table_rows: Committed rows of each table, as far as ``Staged.table_rows`` reported them.

        Raises:
            RuleError: The pipeline fails, although its rows remain published.
        """


def can_roll_back(sink: object) -> TypeGuard[SupportsRollback]:
    """Return True if this sink, with its options, can roll back published output."""
    return isinstance(sink, SupportsRollback) and SupportsRollback not in getattr(sink, "disabled_capabilities", ())
