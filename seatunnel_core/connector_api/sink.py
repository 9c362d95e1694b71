"""The interface of a sink plugin (entry-point group ``seatunnel.sink``).

A two-phase sink stages in Spark tasks (``open_writer``) and publishes in the driver (``commit``), when the checkpoint
that holds the committable is complete. Publishing consumes what was staged, in one atomic step (protocol rule R8).
"""

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from seatunnel_core.config.option import Option, Options
from seatunnel_core.connector_api.capabilities import SupportsRollback, SupportsSaveMode
from seatunnel_core.connector_api.sink_context import SinkContext, WriterContext
from seatunnel_core.connector_api.written_options import written_options
from seatunnel_core.errors import SinkError
from seatunnel_core.findings import check_each
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.committable import Committable, added
from seatunnel_core.work.staged import Staged

__all__ = [
    "FrameSink",
    "Guarantee",
    "SaveMode",
    "Sink",
    "SinkContext",
    "SinkWriter",
    "Staged",
    "WriterContext",
]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Guarantee(enum.Enum):
    """Guarantee of a sink when work is repeated."""

    EXACTLY_ONCE = "exactly-once"
    """Two-phase: rows are staged, and published once."""

    IDEMPOTENT = "idempotent"
    """Writing a row again leaves the same result."""

    AT_LEAST_ONCE = "at-least-once"
    """A row may appear again after a failure."""


class SinkWriter(ABC):
    """Stages the rows of one attempt of one work unit. Lives in a Spark task; may be killed without notice.

    ``finish`` may run in another thread than ``write``, while the task already writes its next unit with another
    writer: shared state of writers, such as attributes of the sink, must be thread-safe.
    """

    @abstractmethod
    def write(self, batch: Batch) -> None:
        """Stage the rows of one batch.

        Raises:
            RowError: the target cannot hold a row.
        """

    @abstractmethod
    def finish(self) -> Staged:
        """Make the written rows durable and return their description. Called once, last."""

    @abstractmethod
    def abort(self) -> None:
        """Remove the staged output, as far as possible. Never raises."""


@frozen(kw_only=True)
class SaveMode:
    """The action of a sink on existing data of its target when the job first starts."""

    target: str
    """The path of a folder or the name of a table: equal for two sinks that act on the same target."""

    does: str = ""
    """The action as the options name it, such as ``DROP_DATA``; empty if nothing changes."""

    emptied_folder: str | None = None
    """The local folder that is emptied; ``None`` if no local folder is. The planner refuses a job with a source that
    reads from it."""


class Sink(ABC):
    """One entry of a job's ``sink`` block. Picklable: it is shipped to the tasks that call ``open_writer``."""

    identifier: ClassVar[str]
    """The name in job files, equal to the name of the entry point; compared without regard to case."""

    declared: ClassVar[tuple[Option[Any], ...]]
    """Every option that the sink understands."""

    guarantee: ClassVar[Guarantee] = Guarantee.EXACTLY_ONCE
    """Guarantee of the sink when work is repeated."""

    remarks: tuple[str, ...] = ()
    """Warnings about options that work but may surprise the user; issued when the job is planned."""

    weakness: str = ""
    """The reason why it is not exactly-once, as words that follow its name; empty: ``guarantee`` explains it."""

    isolates_bad_rows: bool = False
    """True if a writer that raises ``RowError`` has taken no row of that batch, so that bad rows can be found, and left
    out or written with null, as ``row_error_handle_way`` asks. Without it that option is refused."""

    takes_any_moment: bool = False
    """True if a writer takes dates before the year 1 and after 9999, as Arrow has them. If not, rows with such a date
    are refused before they reach it (``within_extent``)."""

    defers_save_mode: ClassVar[bool] = False
    """True if ``apply_save_mode`` only records the request and ``create_tables`` carries it out, because the tables are
    not known earlier. Such a sink has to make sure by itself that this happens once per job and table, before any of
    the job's sinks publishes there, and that a replaced engine changes nothing any more."""

    expires_commit_records: ClassVar[bool] = True
    """True if ``sweep`` also forgets what it committed, so that ``keep`` has to hold all that live checkpoints name.
    ``False`` for a sink whose target records that for ever: then only what its start has restored is read."""

    needs_order: bool = False
    """True if the order of rows decides what the target holds, as where the last row of a key counts: then units are
    handed on in the order of their splits, whatever their source promises, and two sources are refused."""

    needs_end: bool = False
    """True if rows are published by ``SupportsComplete.complete`` only, when all have arrived. A pipeline that never
    ends is rejected."""

    disabled_capabilities: frozenset[type] = frozenset()
    """``SupportsRollback``, if the options of this sink rule it out although the class implements it."""

    prunes: bool = False
    """True if it adds no row, and removes in the end those of its target whose key did not come: then no row may be
    left out on the way to it, and another sink may have the same target."""

    task_modules: ClassVar[tuple[str, ...]] = ()
    """Top-level modules that its Spark tasks import beyond pyarrow; executors are probed for them before data moves."""

    example: ClassVar[str] = ""
    """Options of a valid block in HOCON, for help and documentation; empty: one is built from the required options."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def disable(self, *capabilities: type) -> None:
        """Rule out ``SupportsRollback``, the only capability that may depend on the options of a sink."""
        if set(capabilities) - {SupportsRollback}:
            raise ValueError("only SupportsRollback can be ruled out; let the methods of others do nothing")
        self.disabled_capabilities |= frozenset(capabilities)

    @property
    def target_folder(self) -> str | None:
        """The folder with the staging area ``.seatunnel/``; ``None`` for a sink that stages nothing, or elsewhere.

        The job's manifest records it, so that leftovers of a dead job can be found.
        """
        return None

    @property
    def bound_to(self) -> Mapping[str, str]:
        """The options that define where staged output is published and what it means there.

        The values are readable texts without secrets. The job's manifest stores them, and a committable is never passed
        to a sink whose values differ. By default all options that are not at their defaults. A sink whose ``commit``
        does nothing, or depends on the committable alone, returns none.
        """
        return written_options(self.options, *self.options.declared)

    @property
    def recognises_by(self) -> Mapping[str, str]:
        """The options that identify published output, in addition to ``bound_to`` and in the same form."""
        return {}

    @property
    def save_mode(self) -> SaveMode | None:
        """The action and the target of ``apply_save_mode``; ``None`` if there is nothing to do.

        ``apply_save_mode`` is called for one of the sinks of a job that share a target. By default, sinks with equal
        ``bound_to`` share one.
        """
        if not isinstance(self, SupportsSaveMode):
            return None
        options = (f"{key}={value}" for key, value in sorted(self.bound_to.items()))
        return SaveMode(target=", ".join(options), does="its save mode")

    def check_schema(self, schema: TableSchema) -> None:
        """Reject a table whose columns do not fit the options.

        Runs in the driver: in ``--check``, if the columns are known without the data, and in a run before any task
        writes.

        Raises:
            SinkError: the message states what is required and what was found.
        """

    def check_schemas(self, schemas: Sequence[TableSchema]) -> None:
        """Check each table with ``check_schema``, and reject tables that do not fit each other."""
        check_each(self.check_schema, schemas, SinkError)

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        """Create missing tables, and reject those that do not fit the existing ones.

        Runs in the driver once the schemas are known and before any task writes; for each source, and again at every
        start. The sink is shipped to its tasks after this, so attributes set here reach the tasks.

        Raises:
            SinkError: the message states what is required and what was found.
        """

    @abstractmethod
    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        """Return a writer that stages one unit. Runs in a Spark task."""

    def merge(self, parts: Sequence[Staged]) -> Staged:
        """Combine what several tasks staged for the same work unit, as a Spark shuffle makes them do.

        By default, lists in the bodies are joined and everything else in them must be equal.

        Raises:
            SinkError: the bodies cannot be combined in this way; such a sink has to override this method.
        """
        body: dict[str, Any] = {}
        for part in parts:
            for key, value in part.body.items():
                known = body.get(key, value)
                if key in body and isinstance(value, list) and isinstance(known, list):
                    body[key] = known + value
                elif known == value:
                    body[key] = value
                else:
                    raise SinkError(f"sink {self.identifier} does not define how to merge {key!r} of its staged parts")
        return Staged(
            body=body,
            rows=sum(part.rows for part in parts),
            bytes=sum(part.bytes for part in parts),
            table_rows=added(part.table_rows for part in parts),
            tables={name: identity for part in parts for name, identity in part.tables.items()},
            shown=tuple(text for part in parts for text in part.shown),
        )

    def show(self, shown: Sequence[str]) -> None:
        """Show the texts of ``Staged.shown`` of a finished unit.

        Runs in the driver before the unit is committed, and again for a unit that is repeated after a failure.
        """

    def prepare(self, context: SinkContext) -> None:
        """Create the staging folder, and check that the target can be written. Runs in the driver, at the start.

        The engine checks between this and ``apply_save_mode`` that the job is still its own. An engine may be suspended
        after that check and resume when it has been replaced. To keep it from emptying the target then, leave a fence
        here and remove those of smaller epochs: see ``docs/start/write-a-connector.md``.
        """

    @abstractmethod
    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        """Publish the committables, in order.

        ``may_be_committed`` is true if an earlier attempt, in this process or an earlier one, may have published them.

        Raises:
            CommitError: the message names the committable and the obstacle; ``retryable`` when trying again may help.
        """

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        """Remove what this pipeline staged in older epochs, and return the number of removed items.

        Args:
            context: the sink and its epoch.
            keep: the ids of the committables of live checkpoints. Their output and the records of their commits must
                stay, because the job may be restored from such a checkpoint.
            final: whether to sweep the current epoch too.
        """
        return 0

    def clear(self, context: SinkContext) -> None:
        """Sweep a last time, and remove remains such as empty folders.

        Called once, when the job is recorded as ended and will not be restored. It may not be called at all.
        """
        self.sweep(context, frozenset(), final=True)


class FrameSink(Sink):
    """A sink into which Spark itself writes.

    Tasks stage its rows as those of any sink; to publish them, Spark reads what is staged and writes it, started by the
    driver.
    """

    @abstractmethod
    def begin(self, empty: "DataFrame", schemas: Sequence[TableSchema], context: SinkContext) -> None:
        """Prepare the target, in place of ``create_tables``; ``empty`` has the first schema and no row.

        Raises:
            SinkError: as ``create_tables``; the engine turns exceptions of Spark into one.
        """

    @abstractmethod
    def publish(
        self,
        spark: "SparkSession",
        committables: Sequence[Committable],
        context: SinkContext,
        *,
        may_be_committed: bool,
    ) -> None:
        """Publish the committables with Spark, in place of ``commit``.

        Raises:
            CommitError: as ``commit``; the engine turns exceptions of Spark into one.
        """

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        raise NotImplementedError(f"only Spark prepares the target of {self.identifier}")

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        raise NotImplementedError(f"only Spark publishes the rows of {self.identifier}")
