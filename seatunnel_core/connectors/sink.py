"""The interface of a sink plugin (entry-point group ``seatunnel.sink``).

A two-phase sink stages in Spark tasks (``open_writer``) and publishes in the driver (``commit``), when the checkpoint
that holds the committable is complete. Publishing consumes what was staged, in one atomic step (protocol rule R8).
"""

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import field, frozen

from seatunnel_core.config.option import Option, Options
from seatunnel_core.connectors.written_options import written_options
from seatunnel_core.errors import SinkError
from seatunnel_core.moved import renamed
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.committable import Committable, added
from seatunnel_core.work.retraction import Retraction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Guarantee(enum.Enum):
    """What a sink promises when work is repeated."""

    EXACTLY_ONCE = "exactly-once"
    """Two-phase: rows are staged, and published once."""

    IDEMPOTENT = "idempotent"
    """Writing a row again leaves the same result."""

    AT_LEAST_ONCE = "at-least-once"
    """A row may appear again after a failure."""


@frozen(kw_only=True)
class WriterContext:
    """Where one attempt of one work unit stages its rows. Every part goes into the names of staged and target files."""

    job_id: str
    pipeline_id: int
    sink_ordinal: int
    source_ordinal: int
    epoch: int
    unit: int
    attempt: str
    """Our attempt and Spark's task attempt, e.g. ``"1-37"``: no two attempts share it."""


@frozen(kw_only=True)
class SinkContext:
    """The part of a staging place that a sink knows in the driver, before any unit runs."""

    job_id: str
    pipeline_id: int
    sink_ordinal: int
    epoch: int
    process: int = 0
    """Equal for all pipelines of one process, and larger than in any process of the job before it."""


@frozen(kw_only=True)
class Staged:
    """What a writer leaves behind when it is finished."""

    body: Mapping[str, Any]
    """What ``commit`` needs: JSON values only."""

    rows: int
    bytes: int
    table_rows: Mapping[str, int] = field(factory=dict)
    """How many of the rows each table has, for a sink that wants to know in ``conclude``; else empty."""

    shown: tuple[str, ...] = ()
    """What ``Sink.show`` gets as soon as the unit has ended; no checkpoint holds it."""


class SinkWriter(ABC):
    """Stages the rows of one attempt of one work unit. Lives in a Spark task; may be killed without notice.

    ``finish`` may run in another thread than ``write``, while the task already writes its next unit with a writer of
    its own: what writers share, the sink's attributes above all, must bear that.
    """

    @abstractmethod
    def write(self, batch: Batch) -> None:
        """Take the rows of one batch. Raises ``RowError`` for a row that the target cannot hold."""

    @abstractmethod
    def finish(self) -> Staged:
        """Make all that was written durable and describe it. Called once, last."""

    @abstractmethod
    def abort(self) -> None:
        """Remove what was staged, as far as possible. Never raises."""


@frozen(kw_only=True)
class SaveMode:
    """What a sink does with what is in its target when the job first starts."""

    target: str
    """Equal for two sinks that would do it to the same thing: the path of a folder, the name of a table."""

    does: str = ""
    """As the options say it, such as ``DROP_DATA``; empty when everything stays as it is."""


class Sink(ABC):
    """One entry of a job's ``sink`` block. Picklable: it is shipped to the tasks that call ``open_writer``."""

    identifier: ClassVar[str]
    declared: ClassVar[tuple[Option[Any], ...]]
    guarantee: ClassVar[Guarantee] = Guarantee.EXACTLY_ONCE
    remarks: tuple[str, ...] = ()
    """What a person should know of the options, although they work: warnings when the job is planned."""

    weakness: str = ""
    """Why it is not exactly-once, as words that follow its name; empty: what the guarantee alone says."""

    tells_rows_apart: bool = False
    """Whether a writer that raises ``RowError`` has taken no row of that batch; so bad rows can be found, left out or
    written with null, as ``row_error_handle_way`` says, which is refused without it."""

    takes_any_moment: bool = False
    """Whether a writer takes dates before the year 1 and after 9999, as Arrow has them; else it is handed none, and
    their rows are refused before it (``within_extent``)."""

    retracts: ClassVar[bool] = False
    """Whether ``retract`` is there: the pipeline can go back to an older checkpoint without publishing rows twice."""

    saves_later: ClassVar[bool] = False
    """Whether ``apply_save_mode`` only notes that it is to be done, and ``create_tables`` does it, because the tables
    are not known before. Such a sink has to see to it by itself that it happens once for a job and a table, before any
    of the job's sinks publishes there, and that an engine which was replaced does nothing any more."""

    forgets: ClassVar[bool] = True
    """Whether ``sweep`` also forgets what it committed, so that ``keep`` has to hold all that live checkpoints name.
    ``False`` for a sink whose target tells that for ever: then only what its start has restored is read."""

    task_modules: ClassVar[tuple[str, ...]] = ()
    """Top-level modules that its Spark tasks import beyond pyarrow; probed on the executors before data moves."""

    example: ClassVar[str] = ""
    """Options of a block in HOCON that works, for help and documentation; empty: one is made of the required ones."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @property
    def target_folder(self) -> str | None:
        """The folder in which it stages, below ``.seatunnel/``; the job's manifest records it, so that what a dead job
        left can be found. ``None`` for a sink that stages nothing, or somewhere else."""
        return None

    @property
    def bound_to(self) -> Mapping[str, str]:
        """What staged things are bound to: the options that say where they are to be published and what they mean
        there, with their values for a person, without secrets. The job's manifest keeps them, and no committable is
        given to a sink that is told otherwise. As it stands here: all options that are not at their defaults. A sink
        whose ``commit`` does nothing, or goes by what the committable says alone, has none.
        """
        return written_options(self.options, *self.options.declared)

    @property
    def recognises_by(self) -> Mapping[str, str]:
        """What ``retract`` finds published things by, besides that: options with their values, as in ``bound_to``."""
        return {}

    @property
    def save_mode(self) -> SaveMode | None:
        """What ``apply_save_mode`` does, and where: it is called for one of the sinks of a job that share a target. As
        it stands here, sinks do that which are told the same; ``None``: there is nothing to do, whatever the options
        say."""
        if type(self).apply_save_mode is Sink.apply_save_mode:
            return None
        told = (f"{key}={value}" for key, value in sorted(self.bound_to.items()))
        return SaveMode(target=", ".join(told), does="its save mode")

    @property
    def emptied_folder(self) -> str | None:
        """The local folder that ``apply_save_mode`` empties, so that no source of the same job reads from it; ``None``
        for a sink that removes nothing."""
        return None

    def check_schema(self, schema: TableSchema) -> None:
        """Refuse a table whose columns do not fit to the options. In the driver: by ``--check``, where the columns are
        known without the data, and in a run before any task writes.

        Raises:
            SinkError: says what is asked for and what there is.
        """
        return

    def check_schemas(self, schemas: Sequence[TableSchema]) -> None:
        """As ``check_schema``, for all tables together: those that do not go with each other are refused, too."""
        for schema in schemas:
            self.check_schema(schema)

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        """Create what is missing for these tables, and refuse those that do not fit to what is there. In the driver of
        a run, once the schemas are known and before any task writes; for each source, and again at every start.

        The sink is shipped to its tasks after this, so it may keep in itself what they have to know.

        Raises:
            SinkError: says what is asked for and what there is.
        """

    @abstractmethod
    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        """Begin to stage one unit. Runs in a Spark task."""

    def merge(self, parts: Sequence[Staged]) -> Staged:
        """Describe as one what several tasks staged for the same work unit, as a Spark shuffle makes them do.

        As it stands here it joins the lists in the bodies, and wants everything else in them to be equal.

        Raises:
            SinkError: the bodies cannot be put together like that; a sink with such bodies says how.
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
                    raise SinkError(f"sink {self.identifier} does not say how to merge {key!r} of its staged parts")
        return Staged(
            body=body,
            rows=sum(part.rows for part in parts),
            bytes=sum(part.bytes for part in parts),
            table_rows=added(part.table_rows for part in parts),
            shown=tuple(text for part in parts for text in part.shown),
        )

    def show(self, shown: Sequence[str]) -> None:
        """Take what the writer of a unit that has ended left in ``Staged.shown``. In the driver, before the unit is
        committed, and again for a unit that is repeated after a failure."""

    def prepare(self, context: SinkContext) -> None:
        """Create the staging folder, and find out whether the target can be written. In the driver, at the start.

        The engine looks whether the job still is its own behind this and before ``apply_save_mode``. So what
        ``prepare`` leaves behind, and takes away if it is of a smaller epoch, can keep an engine that was replaced, and
        fell asleep after that look, from emptying the target: see ``docs/write-a-connector.md``.
        """

    def probe(self, context: SinkContext, token: str) -> None:
        """In a Spark task, before data moves: leave ``token`` where ``prove`` in the driver must find it."""

    def prove(self, context: SinkContext, token: str) -> None:
        """In the driver: raise ``SinkError`` unless the probe's ``token`` can be seen (another host's disk?)."""

    def apply_save_mode(self, context: SinkContext) -> None:
        """Act as ``data_save_mode`` says. Called once for a job and a target, before any of its pipelines publishes
        anything there; again only when the process was killed before that was stored.

        Raises:
            SinkError: it cannot be done, or another engine goes on with the job.
        """

    @abstractmethod
    def commit(self, committables: Sequence[Committable], context: SinkContext, *, again: bool) -> None:
        """Publish, in order. ``again`` says that an earlier attempt, here or in a former process, may have done it.

        Raises:
            CommitError: names the committable and what stands in the way; ``retryable`` when trying again may help.
        """

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        """Remove this pipeline's staging of older epochs (of its own too when ``final``), and say how many things went.

        ``keep`` holds the ids of the committables that some live checkpoint names; what they name stays, and that they
        were committed stays known: a person may go back to that checkpoint.
        """
        return 0

    def retract(self, context: SinkContext, retraction: Retraction) -> int:
        """Remove from the target what ``retraction`` takes of all that this sink published for this pipeline, for good
        when it returns, and say how many things went. What is gone already counts as taken back: it may be called again
        after a crash in its midst, and by an engine that has been replaced while the newer one runs.

        Raises:
            SinkError: it cannot be done; ``retryable`` when trying again may help.
        """
        raise SinkError(f"sink {self.identifier} cannot take published rows back")

    def published(self, context: SinkContext) -> Iterable[str]:
        """The ids of the committables of this pipeline that the target itself shows to be published, as far as it does;
        none for a sink that cannot tell. Before a restored pipeline does anything else: what its newest checkpoint does
        not know of was published behind one that somebody removed. Nothing is made or fenced off for it.

        Raises:
            SinkError: the target cannot be looked at; ``retryable`` when trying again may help.
        """
        return ()

    def clear(self, context: SinkContext) -> None:
        """Sweep a last time, what came late, and remove what sweeps leave, empty folders for example. Called once the
        job is recorded as ended, when nothing will be restored any more; may not be called at all, and is not repeated.
        """
        self.sweep(context, frozenset(), final=True)

    def conclude(self, committed_rows: int, table_rows: Mapping[str, int]) -> None:
        """Called once, when the last rows of a bounded pipeline are committed. ``Assert`` checks its row rules here.

        Args:
            committed_rows: of the whole life of the pipeline, restarts included.
            table_rows: of these, the rows of each table, as far as ``Staged.table_rows`` told them.

        Raises:
            RuleError: the pipeline fails, although its rows stay where they are.
        """


class FrameSink(Sink):
    """A sink into which Spark itself writes: tasks stage its rows as those of any sink, and to publish them the driver
    has Spark read what is staged and write it.
    """

    @abstractmethod
    def begin(self, empty: "DataFrame", schemas: Sequence[TableSchema], context: SinkContext) -> None:
        """In place of ``create_tables``. ``empty`` has the columns of the first schema, and no row.

        Raises:
            SinkError: as ``create_tables``; what Spark raises becomes one.
        """

    @abstractmethod
    def publish(
        self, spark: "SparkSession", committables: Sequence[Committable], context: SinkContext, *, again: bool
    ) -> None:
        """In place of ``commit``.

        Raises:
            CommitError: as ``commit``; what Spark raises becomes one.
        """

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        raise NotImplementedError(f"only Spark can make the target of {self.identifier} ready")

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, again: bool) -> None:
        raise NotImplementedError(f"only Spark publishes the rows of {self.identifier}")


__getattr__ = renamed(__name__, {"SinkPlace": "SinkContext", "StagingPlace": "WriterContext"})
