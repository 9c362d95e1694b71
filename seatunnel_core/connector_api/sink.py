"""Interface of a sink plugin (entry-point group ``seatunnel.sink``).

A two-phase sink stages rows in Spark tasks (``open_writer``), and publishes them in the driver (``commit``) once the
checkpoint with the committable is complete. Publishing consumes the staged output in one atomic step (protocol rule
R8).
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
from seatunnel_core.work.committable import Committable, Staged, added
from seatunnel_core.work.row_order import RowOrder, TargetOrder

__all__ = [
    "FrameSink",
    "Guarantee",
    "RowOrder",
    "SaveMode",
    "Sink",
    "SinkContext",
    "SinkWriter",
    "Staged",
    "TargetOrder",
    "WriterContext",
]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Guarantee(enum.Enum):
    """Delivery guarantee of a sink."""

    EXACTLY_ONCE = "exactly-once"
    """Rows are staged and then published once."""

    IDEMPOTENT = "idempotent"
    """Writing a row again has no further effect."""

    AT_LEAST_ONCE = "at-least-once"
    """A row may be written again after a failure."""


class SinkWriter(ABC):
    """Writer that stages the rows of one attempt of one work unit. Runs in a Spark task; may be killed without notice.

    ``finish`` and ``write`` may run in different threads, while another writer of the task already writes the next
    unit. State that writers share, such as attributes of the sink, must be thread-safe.
    """

    @abstractmethod
    def write(self, batch: Batch) -> None:
        """Stage the rows of one batch.

        Raises:
            RowError: The target cannot store a row.
        """

    @abstractmethod
    def finish(self) -> Staged:
        """Make the written rows durable and return their description. Called once, after all rows."""

    @abstractmethod
    def abort(self) -> None:
        """Remove as much of the staged output as possible. Never raises."""


@frozen(kw_only=True)
class SaveMode:
    """Treatment of existing data in a sink's target at the first start of a job."""

    target: str
    """Path of a folder or name of a table. It must be the same for any two sinks that change the same target."""

    does: str = ""
    """Name of the action in the options, such as ``DROP_DATA``; empty if nothing changes."""

    search_path: str = ""
    """Search path that determines, together with ``target``, which table a name denotes; empty if there is none."""

    emptied_folder: str | None = None
    """Local folder that is emptied, if any. The planner rejects a job with a source that reads from this folder."""


class Sink(ABC):
    """Entry of a job's ``sink`` block. Picklable: it is shipped to the tasks that call ``open_writer``."""

    identifier: ClassVar[str]
    """Name in job files, equal to the name of the entry point; not case-sensitive."""

    declared: ClassVar[tuple[Option[Any], ...]]
    """Options of the sink."""

    guarantee: Guarantee = Guarantee.EXACTLY_ONCE
    """Delivery guarantee of the sink."""

    remarks: tuple[str, ...] = ()
    """Warnings about options that work but may surprise the user, logged when the job is planned."""

    weakness: str = ""
    """Reason why the sink is not exactly-once, as a phrase that follows its name; empty if ``guarantee`` explains
    it."""

    isolates_bad_rows: bool = False
    """True if a writer that raises ``RowError`` has not written any row of that batch. The engine can then find bad
    rows and skip them or write them as null, as configured by ``row_error_handle_way``. If False, that option is
    rejected."""

    keeps_absent: bool = False
    """True if a writer handles ``Batch.absent``: the target keeps its value if the new one is absent. If False, rows
    with absent values are rejected before they reach the writer."""

    takes_any_moment: bool = False
    """True if a writer accepts dates before the year 1 and after 9999, as Arrow does. If False, rows with these dates
    are rejected before they reach the writer (``within_extent``)."""

    defers_save_mode: ClassVar[bool] = False
    """True if ``apply_save_mode`` only records the request and ``create_tables`` executes it, because the tables are
    not known earlier. The sink must then ensure that this happens once per job and table, before any of the job's
    sinks publishes there, and that a replaced engine changes nothing."""

    expires_commit_records: ClassVar[bool] = True
    """True if ``sweep`` also deletes commit records; ``keep`` must then contain every committable that a live
    checkpoint refers to. False if the target keeps these records permanently, so that ``keep`` only needs the
    committables of the restored state."""

    needs_order: bool = False
    """True if the order of rows affects the target, for example if the last row with a key wins. Units are then
    forwarded in split order, regardless of the source's guarantee and ordering keys, and a second source is
    rejected."""

    replaces_rows: bool = False
    """True if a row replaces the row with the same key in the target, so that rows may be written again at any time. If
    False, requests to read a captured table again are rejected."""

    needs_end: bool = False
    """True if rows are only published by ``SupportsComplete.complete``, once all rows have arrived. A pipeline that
    never ends is rejected."""

    disabled_capabilities: frozenset[type] = frozenset()
    """``SupportsRollback`` if the options of this sink rule it out although the class implements it."""

    prunes: bool = False
    """True if the sink adds no rows, and at the end deletes the target rows whose keys were not received. Rows may then
    not be skipped before the sink, but another sink may write to the same target."""

    task_modules: tuple[str, ...] = ()
    """Top-level modules, except pyarrow, that tasks import. Executors are checked for them before data moves."""

    example: ClassVar[str] = ""
    """Options of a valid block in HOCON, for help and documentation; by default generated from the required options."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def disable(self, *capabilities: type) -> None:
        """Rule out ``SupportsRollback``, the only capability that may depend on the options of a sink."""
        if set(capabilities) - {SupportsRollback}:
            raise ValueError(
                "a sink can disable only SupportsRollback; for other interfaces, implement methods that do nothing"
            )
        self.disabled_capabilities |= frozenset(capabilities)

    @property
    def writes_directly(self) -> bool:
        """Return True if tasks write to the target itself, which may then contain rows that no checkpoint covers.

        Two attempts of a unit then never overlap (protocol rule R15), and the units of an ordered source run one after
        another, unless their ordering keys differ (R13).
        """
        return self.guarantee is not Guarantee.EXACTLY_ONCE

    @property
    def target_folder(self) -> str | None:
        """Return the folder that contains the staging area ``.seatunnel/``, or ``None``.

        The manifest of the job records it, so that output of an aborted job can be found.
        """
        return None

    @property
    def bound_to(self) -> Mapping[str, str]:
        """Return the options that determine where and how staged output is published.

        The values are readable strings without secrets. The job's manifest stores them, and a committable is never
        passed to a sink with different values. By default, all options that differ from their defaults are returned. If
        ``commit`` does nothing, or depends on the committable alone, return no options.
        """
        return written_options(self.options, *self.options.declared)

    @property
    def recognises_by(self) -> Mapping[str, str]:
        """Return the options that identify published output, in addition to ``bound_to`` and in the same form."""
        return {}

    @property
    def save_mode(self) -> SaveMode | None:
        """Return the target and the action of ``apply_save_mode``; ``None`` if there is nothing to do.

        If several sinks of a job share a target, ``apply_save_mode`` is called for only one of them. By default, sinks
        share a target if their ``bound_to`` is equal.
        """
        if not isinstance(self, SupportsSaveMode):
            return None
        options = (f"{key}={value}" for key, value in sorted(self.bound_to.items()))
        return SaveMode(target=", ".join(options), does="its save mode")

    def check_schema(self, schema: TableSchema) -> None:
        """Reject a table with columns that do not match the options.

        Runs in the driver: in ``--check``, if the columns are known without the data, and in a run before any task
        writes.

        Raises:
            SinkError: The columns do not match; the message states the expected and the actual columns.
        """

    def check_schemas(self, schemas: Sequence[TableSchema]) -> None:
        """Check each table with ``check_schema``, and reject incompatible tables."""
        check_each(self.check_schema, schemas, SinkError)

    def order_of(self, schema: TableSchema) -> TargetOrder:
        """Return the target of a table's rows, and the order in which they must arrive relative to other tables.

        A source with ``ordered`` keeps the order of rows of different tables only if they have one target and need it.
        By default, tables with the same names of columns and the same primary key have one target, in which only the
        order of rows with the same key matters: rows cannot move between other tables, nor be matched without a key.
        With ``needs_order``, all tables have one target, and the order of all rows matters, which is slower if the
        source reads several tables. Called in the driver.
        """
        if self.needs_order:
            return TargetOrder()
        names = sorted(schema.columns.names), sorted(schema.primary_key)
        order = RowOrder.KEY if schema.primary_key else RowOrder.NONE
        return TargetOrder(target=repr(names), order=order, key=tuple(schema.primary_key))

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        """Create missing tables, and reject tables that do not match the existing ones.

        Runs in the driver once the schemas are known and before any task writes; called for each source, at every
        start. The sink is shipped to its tasks after this, so attributes set here reach the tasks.

        Raises:
            SinkError: A table cannot be created or does not match; the message states what is required and what was
                found.
        """

    @abstractmethod
    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        """Return a writer that stages one unit. Runs in a Spark task."""

    def merge(self, parts: Sequence[Staged]) -> Staged:
        """Combine the output that several tasks staged for the same work unit, for example after a Spark shuffle.

        By default, lists in the bodies are concatenated, and everything else must be equal. Override this method for
        other bodies.

        Raises:
            SinkError: The bodies cannot be combined in this way.
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
                    raise SinkError(
                        f"sink {self.identifier} does not define how to merge the values of {key!r} in its staged parts"
                    )
        return Staged(
            body=body,
            rows=sum(part.rows for part in parts),
            bytes=sum(part.bytes for part in parts),
            table_rows=added(part.table_rows for part in parts),
            tables={name: identity for part in parts for name, identity in part.tables.items()},
            shown=tuple(text for part in parts for text in part.shown),
        )

    def show(self, shown: Sequence[str]) -> None:
        """Display the values in ``Staged.shown`` of a finished unit.

        Runs in the driver before the unit is committed, and again if the unit is repeated after a failure.
        """

    def prepare(self, context: SinkContext) -> None:
        """Create the staging folder, and check that the target is writable. Runs in the driver, at the start.

        Between this call and ``apply_save_mode``, the engine checks that it still owns the job. The process may be
        suspended after that check, and resume once another process has replaced it. To prevent the suspended process
        from emptying the target, create a fence in this method and remove the fences of smaller epochs (see
        ``docs/start/write-a-connector.md``).
        """

    @abstractmethod
    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        """Publish the committables, in order.

        ``may_be_committed`` is True if an earlier attempt, in this process or an earlier one, may have published them.

        Raises:
            CommitError: Publishing failed; the message contains the committable and the cause; ``retryable`` if a retry
                may help.
        """

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        """Remove the output that this pipeline staged in older epochs, and return the number of removed items.

        Args:
            context: The sink and its epoch.
            keep: IDs of the committables of live checkpoints. Their output and their commit records must stay, because
                the job may be restored from such a checkpoint.
            final: True to also sweep the current epoch.
        """
        return 0

    def clear(self, context: SinkContext) -> None:
        """Perform the final sweep, and remove leftovers such as empty folders.

        Called once, after the job was recorded as ended and can no longer be restored. The call is not guaranteed.
        """
        self.sweep(context, frozenset(), final=True)


class FrameSink(Sink):
    """Sink to which Spark writes directly.

    Tasks stage the rows as for any sink. To publish them, the driver starts a Spark job that reads the staged rows and
    writes them.
    """

    @property
    def writes_directly(self) -> bool:
        return False

    @abstractmethod
    def begin(self, empty: "DataFrame", schemas: Sequence[TableSchema], context: SinkContext) -> None:
        """Prepare the target. Called instead of ``create_tables``; ``empty`` has the first schema and no rows.

        Raises:
            SinkError: As for ``create_tables``; the engine converts exceptions of Spark.
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
        """Publish the committables with Spark. Called instead of ``commit``.

        Raises:
            CommitError: As for ``commit``; the engine converts exceptions of Spark.
        """

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        raise NotImplementedError(f"only Spark prepares the target of {self.identifier}")

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        raise NotImplementedError(f"only Spark publishes the rows of {self.identifier}")
