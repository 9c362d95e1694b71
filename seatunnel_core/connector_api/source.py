"""Interface of a source plugin (entry-point group ``seatunnel.source``).

A source is planned in three steps, so that the driver need not open data:

1. ``discover`` runs in the driver and only lists objects (names, sizes, times).
2. ``inspect`` runs in Spark tasks, once per discovered object, and examines it (headers, footers, offsets).
3. ``enumerate`` runs in the driver and converts the inspected objects to schemas and splits.

The enumeration is stored once, and every restart uses the stored one (protocol rule R12). ``read`` then runs in Spark
tasks, once per split, and again for each retry.

A source that never ends by itself is unbounded (``bounded`` is False). Its enumeration returns the schemas and the
initial splits. While the job runs, the driver calls ``poll`` to find data that was added since.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import field, frozen

from seatunnel_core.config.option import Option, Options
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.fact import Fact
from seatunnel_core.work.row_order import OrderGroup, RowOrder
from seatunnel_core.work.split import Split

__all__ = [
    "DiscoveredObject",
    "Enumeration",
    "Fact",
    "FrameSource",
    "OrderGroup",
    "PlanningContext",
    "PollCursor",
    "PollResult",
    "ReadContext",
    "RowOrder",
    "Source",
    "discovered",
]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DiscoveredObject = Mapping[str, Any]
"""Discovered object, such as a file or a range of keys, or the result of its inspection. JSON values only."""

PollCursor = Mapping[str, Any]
"""Position of a poll in an unbounded source: JSON values, or ``bytes`` for large parts."""


@frozen(kw_only=True)
class Enumeration:
    """Schemas and splits of a source, fixed at the start of the pipeline.

    For a bounded source these are all splits; for an unbounded one, the initial splits.
    """

    schemas: tuple[TableSchema, ...]
    """Schema of each table that the source reads, usually one."""

    splits: tuple[Split, ...] = field(repr=False)
    """Splits in reading order: ``splits[i].index == i``."""


@frozen(kw_only=True)
class PollResult:
    """New objects found by a poll of an unbounded source."""

    items: tuple[DiscoveredObject, ...] = field(default=(), repr=False)
    """New objects for ``enumerate``, in reading order. Return at most about a thousand, and the rest in the next poll:
    until they are read, their splits are part of every checkpoint."""

    inspect: bool = False
    """True if tasks must inspect the objects first: ``enumerate`` then receives the results of ``inspect``."""

    cursor: PollCursor = field(repr=False)
    """Cursor for the next poll, as JSON values. Part of every checkpoint, so its size must be bounded.

    Values may also be ``bytes``, which are stored once; checkpoints refer to them. They are retained for the life of
    the job, so reuse the same objects and add new ones rarely."""

    again_ms: int | None
    """Delay before the next poll, in milliseconds; ``None`` if the source has ended and needs no more facts."""

    warnings: tuple[str, ...] = ()
    """Warnings for the user, one sentence each."""


@frozen(kw_only=True)
class PlanningContext:
    """The job, and its limits for the size of splits."""

    parallelism: int
    """Maximum number of tasks that read the source at the same time."""

    rows_per_second: int | None = None
    """Rate limit in rows per second; ``None`` for none. A split should contain at most one second's worth of rows."""

    bytes_per_second: int | None = None
    """Rate limit in bytes per second; ``None`` for none."""

    job_id: str = ""
    """ID of the job, which is the same after it is resumed; ``""`` if the job is not run."""

    writes_directly: bool = False
    """True in a poll if a sink writes directly, so that its target may have rows that no checkpoint contains."""


class Source(ABC):
    """Entry of a job's ``source`` block. Picklable: it is shipped to the tasks that call ``read``."""

    identifier: ClassVar[str]
    """Name in job files, equal to the name of the entry point; not case-sensitive."""

    declared: ClassVar[tuple[Option[Any], ...]]
    """Options of the source."""

    task_modules: tuple[str, ...] = ()
    """Top-level modules, except pyarrow, that tasks import. Executors are checked for them before data moves."""

    example: ClassVar[str] = ""
    """Options of a valid block in HOCON, for help and documentation; by default generated from the required options."""

    bounded: bool = True
    """False for a source that never ends by itself: it is polled while the job runs."""

    replayable: bool = True
    """True if reading a split again returns the same rows. If False, the job is not exactly-once."""

    remarks: tuple[str, ...] = ()
    """Warnings about options that work but may surprise the user, logged when the job is planned."""

    caveat: str = ""
    """Sentence about cases in which ``replayable`` does not hold, printed by ``--check``; empty if it always holds."""

    beside_tables: ClassVar[frozenset[str]] = frozenset()
    """Options that are allowed in addition to ``tables_configs``: ``tables`` copies them into each entry."""

    acknowledges: bool = False
    """True if the engine calls ``acknowledge``."""

    acknowledges_oldest: bool = False
    """True if ``acknowledge`` reports the oldest stored checkpoint instead of the newest, because the external system
    discards acknowledged data. Savepoints do not count."""

    ordered: ClassVar[bool] = False
    """True if rows must reach the sinks in the order of the splits, except for splits that commute by their ordering
    keys (protocol rule R13)."""

    has_origins: bool = False
    """True if all batches have ``origins``: the time and position of each row in a log."""

    waits: bool | None = None
    """True if ``read`` mostly waits for a network or a clock. Splits are then read concurrently in as many threads as
    the source's parallelism, each by its own unpickled copy of the source. If False, the time to read a split is
    proportional to its size, and splits are read by as many tasks as there are processors. If ``None``, the engine
    measures this while the job runs."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @classmethod
    def tables(cls, options: Options) -> Sequence[Options]:
        """Return the options of each table if the job configures several (``several_tables``), else an empty sequence.

        Options in ``beside_tables`` are copied into each entry that does not set them.
        """
        entries = options.get("tables_configs") or ()
        shared = {key: options[key] for key in cls.beside_tables if options.is_set(key)}
        if not shared:
            return entries
        own = ({key: entry[key] for key in entry if entry.is_set(key)} for entry in entries)
        return [Options({**shared, **values}, cls.declared) for values in own]

    @classmethod
    def meet(cls, sources: Sequence["Source"]) -> None:
        """Let the sources of this class in a job share state in the driver.

        Called once, when the job is planned. Each source is closed separately.
        """

    def run_in(self, *, streaming: bool) -> None:
        """Set whether ``job.mode`` is ``STREAMING``. Called before every other method.

        Most sources ignore it: a bounded source also ends in a streaming job, and an unbounded one keeps running in a
        batch job.
        """

    @property
    def read_path(self) -> str | None:
        """Return the local path or path pattern that is read; ``None`` for a source that does not read local files."""
        return None

    @property
    def read_paths(self) -> tuple[str, ...]:
        """Return the ``read_path`` of each table."""
        return () if self.read_path is None else (self.read_path,)

    def discover(self, planning: PlanningContext) -> Sequence[DiscoveredObject]:
        """List the objects to inspect, without opening them. Runs in the driver.

        If the sequence is empty (the default), no tasks run: ``enumerate`` is called at once, and may list the objects
        itself.

        Raises:
            SourceError: An object given in the options does not exist; the message contains its name.
        """
        return ()

    def inspect(self, item: DiscoveredObject, planning: PlanningContext) -> DiscoveredObject:
        """Examine a discovered object. Runs in a Spark task; must be a pure function of the object's content."""
        raise NotImplementedError(f"{self.identifier} discovers objects but does not implement inspect")

    @abstractmethod
    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        """Convert the inspected objects, in the order of ``discover``, to schemas and splits. Runs in the driver."""

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        """Find data that was added since the poll that returned ``cursor``, without opening it.

        Runs in the driver, repeatedly, and only for unbounded sources. The result must depend only on ``cursor`` and on
        the external system: after a crash the engine polls with an older cursor, and everything found since then must
        be found again.

        Args:
            cursor: The ``cursor`` of the last result, after ``SupportsFacts.absorb`` if readers reported facts; empty
                for the first poll.
            planning: Limits of the job, as for ``enumerate``.

        Raises:
            SourceError: The source cannot be polled. The engine polls again after a retryable error; any other error
                fails the pipeline.
        """
        return PollResult(cursor=cursor, again_ms=None)

    def open(self, *, restored: bool) -> None:
        """Acquire resources that the tasks share while they read, such as a database snapshot.

        Runs in the driver at every start of the pipeline, before the source is shipped to its tasks.

        Args:
            restored: True if the enumeration was created by an earlier process.

        Raises:
            SourceError: A resource cannot be acquired.
        """

    def close(self) -> None:
        """Release the resources that ``open`` acquired. Also called if ``open`` was not called. Never raises.

        Runs in the driver when the pipeline has ended or stopped.
        """

    @abstractmethod
    def read(self, split: Split, context: "ReadContext") -> Iterator[Batch]:
        """Yield the rows of a split, in order. Runs in a Spark task.

        Raises:
            RowError: A row cannot be read; the message contains file, line and column. With ``SKIP`` as
                ``row_error_handle_way`` call ``context.skip(error)`` instead and omit the row.
            SourceChangedError: The split's data has changed since it was enumerated (size, time).
        """

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        """Describe the location of the splits' data, to help find unreadable data: files and positions, never rows.

        Adjacent splits may share one description.
        """
        return [f"split {split.index}" for split in splits]

    def acknowledge(self, planned: Sequence[Split], unread: Sequence[Split], cursor: PollCursor) -> None:
        """Report the position of a checkpoint to the external system, once all rows of that checkpoint are published.

        Runs in the driver concurrently with the tasks, and only if ``acknowledges`` is true. The engine may skip
        checkpoints, and may report one twice. A job may be restored from an older checkpoint: if the external system
        discards data because of the report, set ``acknowledges_oldest``.

        Args:
            planned: Splits of the enumeration.
            unread: Splits of the enumeration or of later polls with rows that have not been published.
            cursor: Cursor of the last poll before the checkpoint, with names in place of ``bytes``; empty for a bounded
                source.

        Raises:
            SourceError: The system cannot be reached. The job continues and logs the error.
        """

    def require_input(self) -> None:
        """Check that the input exists, without opening data. Called before a job starts on this machine.

        Raises:
            SourceError: There is no input; the message states the remedy.
        """

    def planned_schemas(self) -> tuple[TableSchema, ...] | None:
        """Return the schemas if the options alone determine them; ``None`` if they depend on the data.

        ``--check`` prints them, so this must not start Spark. It may read the beginning of a local file.
        """
        return None

    def planned_reading(self) -> Sequence[str]:
        """Return remarks on how rows will be read, one sentence each, for ``--check`` (after ``planned_schemas``)."""
        return ()


class FrameSource(Source):
    """Source that Spark reads as a ``DataFrame``; its operator chain uses the DataFrame path.

    It has a single split, so one work unit reads all of it, and a retry reads it again from the beginning.
    """

    @abstractmethod
    def frame(self, spark: "SparkSession") -> "DataFrame":
        """Return the rows. Called in the driver, to determine the columns and then once per attempt of the unit."""

    @property
    @abstractmethod
    def table(self) -> str:
        """Return the path of the table."""

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        raise NotImplementedError(f"only Spark reads the columns of {self.identifier}")

    def read(self, split: Split, context: "ReadContext") -> Iterator[Batch]:
        raise NotImplementedError(f"only Spark reads the rows of {self.identifier}")

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        return [f"all of {self.table}"]


class ReadContext(ABC):
    """Services of the engine for sources and transforms in a task."""

    @abstractmethod
    def skip(self, error: Exception, rows: int = 1) -> None:
        """Count a skipped bad row, or raise ``error`` if ``row_error_handle_way`` is ``FAIL`` (the default)."""

    def leave_out(self, what: str, example: str) -> None:
        """Count a row that the job's options exclude. These rows are not counted as skipped.

        Args:
            what: End of a sentence that starts with the number of rows; the same for all rows excluded for one reason.
            example: Position of the row.
        """
        self.note(what, example)

    def report_fact(self, fact: Fact) -> None:
        """Report a fact to the source, which receives it with ``SupportsFacts.absorb`` (protocol rule R17).

        It becomes part of the state of the pipeline together with the rows of the split. If the split is read again,
        only the facts of the attempt whose rows are published count.

        Args:
            fact: JSON values only.

        Raises:
            SourceError: The source is bounded or does not implement ``SupportsFacts``, or the fact is not JSON.
        """
        raise NotImplementedError("this context does not support facts")

    def order_group(self, table: str) -> OrderGroup:
        """Return the group of a table, given its name in the source's schemas.

        The tables of a group may have one target. A source with ``ordered`` must yield their rows in the order of the
        changes, as far as the group requires it. Rows of different groups may be yielded in any order. By default, all
        tables are in one group, and the order of all rows matters.
        """
        return OrderGroup()

    def note(self, what: str, example: str, rows: int = 1) -> None:
        """Count rows that were only partially read; each work unit reports the count to the user once.

        Args:
            what: End of a sentence that starts with the number of rows; the same for all rows with the same reason.
            example: Position of one of these rows.
            rows: Number of rows to add to the count.
        """


def discovered(names: Iterable[str]) -> tuple[DiscoveredObject, ...]:
    """Return discovered objects that only have a name."""
    return tuple({"name": name} for name in names)
