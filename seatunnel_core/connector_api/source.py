"""The interface of a source plugin (entry-point group ``seatunnel.source``).

A source is planned in three steps, so that the driver never opens data:

1. ``discover`` runs in the driver and only lists (names, sizes, times).
2. ``inspect`` runs in Spark tasks, once per discovered object, and examines it (headers, footers, offsets).
3. ``enumerate`` runs in the driver and turns the inspected items into schemas and splits.

The enumeration is frozen: it is written once and every restart reads it back (protocol rule R12).
``read`` then runs in Spark tasks, once per split, and again for each retry.

A source that never ends by itself is unbounded (``bounded`` is false). Its enumeration gives the schemas, and the
splits that exist from the start. While the job runs, the driver calls ``poll`` to learn what has been added since.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import field, frozen

from seatunnel_core.config.option import Option, Options
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.split import Split

__all__ = [
    "DiscoveredObject",
    "Enumeration",
    "FrameSource",
    "PlanningContext",
    "PollCursor",
    "PollResult",
    "ReadContext",
    "Source",
    "discovered",
]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DiscoveredObject = Mapping[str, Any]
"""A discovered object, such as a file or a range of keys, or the result of its inspection. JSON values only."""

PollCursor = Mapping[str, Any]
"""The position of a poll in an unbounded source: JSON values, or ``bytes`` for large parts."""


@frozen(kw_only=True)
class Enumeration:
    """The schemas and splits of a source, fixed at the start of the pipeline.

    For a bounded source the splits are all that it will read; for an unbounded one, those that exist from the start.
    """

    schemas: tuple[TableSchema, ...]
    """One per table that the source reads, usually one."""

    splits: tuple[Split, ...] = field(repr=False)
    """``splits[i].index == i``."""


@frozen(kw_only=True)
class PollResult:
    """The new objects that a poll of an unbounded source found."""

    items: tuple[DiscoveredObject, ...] = field(default=(), repr=False)
    """New objects for ``enumerate``, in reading order. Return a bounded number, about a thousand: the next poll finds
    the rest. Until they are emitted, their splits are part of every checkpoint."""

    inspect: bool = False
    """True if tasks have to inspect the items first: ``enumerate`` then gets what ``inspect`` returns."""

    cursor: PollCursor = field(repr=False)
    """The cursor for the next poll, as JSON values. Part of every checkpoint, so its size must be bounded.

    Values may also be ``bytes``, which are stored once; checkpoints refer to them. They are retained as long as the
    job, so return the same ones each time, and rarely new ones."""

    again_ms: int | None
    """Time to wait before the next poll; ``None`` if there will be no more data."""

    warnings: tuple[str, ...] = ()
    """Warnings for the user, a sentence each."""


@frozen(kw_only=True)
class PlanningContext:
    """Limits of the job, for choosing the size of splits."""

    parallelism: int
    """Maximum number of tasks that read the source at the same time."""

    rows_per_second: int | None = None
    """The speed limit, ``None`` for none: a split should hold no more than about one second of it."""

    bytes_per_second: int | None = None
    """The speed limit in bytes, ``None`` for none."""


class Source(ABC):
    """One entry of a job's ``source`` block. Picklable: it is shipped to the tasks that call ``read``."""

    identifier: ClassVar[str]
    """The name in job files, equal to the name of the entry point; compared without regard to case."""

    declared: ClassVar[tuple[Option[Any], ...]]
    """Every option that the source understands."""

    task_modules: ClassVar[tuple[str, ...]] = ()
    """Top-level modules that its Spark tasks import beyond pyarrow; executors are probed for them before data moves."""

    example: ClassVar[str] = ""
    """Options of a valid block in HOCON, for help and documentation; empty: one is built from the required options."""

    bounded: bool = True
    """False for a source that never ends by itself: it is polled while the job runs."""

    replayable: ClassVar[bool] = True
    """True if reading a split again gives the same rows: a job whose source cannot do so is not exactly-once."""

    remarks: tuple[str, ...] = ()
    """Warnings about options that work but may surprise the user; issued when the job is planned."""

    caveat: str = ""
    """A sentence that states when ``replayable`` does not hold, printed by ``--check``; empty: it always holds."""

    beside_tables: ClassVar[frozenset[str]] = frozenset()
    """Options that are allowed beside ``tables_configs``, because ``tables`` copies them into each entry."""

    acknowledges: bool = False
    """True if the engine calls ``acknowledge``."""

    ordered: ClassVar[bool] = False
    """True if rows must reach the sinks in the order of the splits (protocol rule R13)."""

    waits: bool | None = None
    """True if ``read`` mostly waits, for a network or a clock. True: splits are read side by side in threads, as many
    as the source's parallelism, each by an unpickled copy of the source. False: splits take as long as their size
    suggests, and as many tasks read them as there are processors. ``None``: the engine finds out while the job runs."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @classmethod
    def tables(cls, options: Options) -> Sequence[Options]:
        """Return the options of each table if the job asks for several (``several_tables``), else none.

        Those in ``beside_tables`` are copied into each entry that does not set them.
        """
        entries = options.get("tables_configs") or ()
        shared = {key: options[key] for key in cls.beside_tables if options.is_set(key)}
        if not shared:
            return entries
        own = ({key: entry[key] for key in entry if entry.is_set(key)} for entry in entries)
        return [Options({**shared, **values}, cls.declared) for values in own]

    @classmethod
    def meet(cls, sources: Sequence["Source"]) -> None:
        """Let all sources of this class in one job share state of the driver.

        Called once, when the job is planned. Each source is closed separately.
        """

    def run_in(self, *, streaming: bool) -> None:
        """Set whether ``job.mode`` is ``STREAMING``. Called before every other method.

        Most sources ignore it: a bounded source ends in a streaming job too, and an unbounded one keeps running in a
        batch job.
        """

    @property
    def read_path(self) -> str | None:
        """The local path, or the pattern of paths, that it reads; ``None`` for a source that reads no local files."""
        return None

    @property
    def read_paths(self) -> tuple[str, ...]:
        """The ``read_path`` of each of its tables."""
        return () if self.read_path is None else (self.read_path,)

    def discover(self, planning: PlanningContext) -> Sequence[DiscoveredObject]:
        """List the objects to inspect, without opening them. Runs in the driver.

        An empty sequence (the default) needs no task: ``enumerate`` is called at once, and may list by itself.

        Raises:
            SourceError: something that the options name does not exist; the message names it.
        """
        return ()

    def inspect(self, item: DiscoveredObject, planning: PlanningContext) -> DiscoveredObject:
        """Examine one discovered object. Runs in a Spark task; must be a pure function of the object's content."""
        raise NotImplementedError(f"{self.identifier} discovers objects but does not implement inspect")

    @abstractmethod
    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        """Turn the inspected items, in the order of ``discover``, into schemas and splits. Runs in the driver."""

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        """Find what has been added since the poll that returned ``cursor``, without opening data.

        Runs in the driver, repeatedly, and only for unbounded sources. The result must depend on ``cursor`` and on the
        outside world only: after a crash the engine polls with an older cursor, and everything found since must be
        found again.

        Args:
            cursor: the ``cursor`` of the last result; empty for the first poll.
            planning: what the engine knows, as for ``enumerate``.

        Raises:
            SourceError: the source cannot be polled. The engine polls again after a retryable error; any other fails
                the pipeline.
        """
        return PollResult(cursor=cursor, again_ms=None)

    def open(self, *, restored: bool) -> None:
        """Acquire what the tasks share while they read, such as a database snapshot.

        Runs in the driver at every start of the pipeline, before the source is shipped to its tasks.

        Args:
            restored: whether the enumeration comes from an earlier process.

        Raises:
            SourceError: it cannot be acquired.
        """

    def close(self) -> None:
        """Release what ``open`` acquired, also if ``open`` was never called. Never raises.

        Runs in the driver when the pipeline has ended or stopped.
        """

    @abstractmethod
    def read(self, split: Split, context: "ReadContext") -> Iterator[Batch]:
        """Yield the rows of one split, in order. Runs in a Spark task.

        Raises:
            RowError: a row cannot be read; the message names file, line and column. With ``SKIP`` as
                ``row_error_handle_way`` call ``context.skip(error)`` instead and leave the row out.
            SourceChangedError: the split's data is not what was enumerated (size, time).
        """

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        """Describe the splits for a user who looks for unreadable data: files and positions, never rows.

        Neighbouring splits may share one description.
        """
        return [f"split {split.index}" for split in splits]

    def acknowledge(self, planned: Sequence[Split], unread: Sequence[Split], cursor: PollCursor) -> None:
        """Report to the external system how far a checkpoint came, once all rows of that checkpoint are published.

        Runs in the driver beside the work, only if ``acknowledges`` is true. The engine may leave out checkpoints, and
        may report one twice. The report must not make the external system discard anything: a job may be restored from
        an older checkpoint.

        Args:
            planned: the splits of the enumeration.
            unread: of these, and of those found by polls since, the ones whose rows are not all published.
            cursor: the cursor of the last poll by then, with names in place of ``bytes``; empty for a bounded source.

        Raises:
            SourceError: the system cannot be reached. The job continues and logs the error.
        """

    def require_input(self) -> None:
        """Check, before a job starts on this machine, that there is something to read.

        Opens no data: tasks read and examine it.

        Raises:
            SourceError: there is nothing to read; the message states what to write instead.
        """

    def planned_schemas(self) -> tuple[TableSchema, ...] | None:
        """Return the schemas as far as the options alone define them; ``None`` if they depend on the data.

        ``--check`` prints them, so this must not start Spark; it may read the beginning of a local file.
        """
        return None

    def planned_reading(self) -> Sequence[str]:
        """Return remarks on how rows will be read, a sentence each.

        ``--check`` prints them after it has called ``planned_schemas``.
        """
        return ()


class FrameSource(Source):
    """A source that Spark itself reads as a ``DataFrame``, so its operator chain takes the DataFrame path.

    It has a single split, so one work unit reads all of it, and a retry reads it again from the beginning.
    """

    @abstractmethod
    def frame(self, spark: "SparkSession") -> "DataFrame":
        """Return the rows. Called in the driver, to learn the columns and then once per attempt of the unit."""

    @property
    @abstractmethod
    def table(self) -> str:
        """The path of the table."""

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        raise NotImplementedError(f"only Spark reads the columns of {self.identifier}")

    def read(self, split: Split, context: "ReadContext") -> Iterator[Batch]:
        raise NotImplementedError(f"only Spark reads the rows of {self.identifier}")

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        return [f"all of {self.table}"]


class ReadContext(ABC):
    """Services of the engine for ``Source.read`` and for transforms inside a task."""

    @abstractmethod
    def skip(self, error: Exception, rows: int = 1) -> None:
        """Count a bad row that is left out, or raise ``error`` if the job is set to ``FAIL`` (the default)."""

    def leave_out(self, what: str, example: str) -> None:
        """Count a row that the job skips by its options, independent of ``skip``.

        Args:
            what: the end of a sentence that begins with the number of rows, the same for all rows of a kind.
            example: the position of the row.
        """
        self.note(what, example)

    def note(self, what: str, example: str, rows: int = 1) -> None:
        """Count rows that were read only in part; each work unit reports the count to the user once.

        Args:
            what: the end of a sentence that begins with the number of rows, the same for all rows of a kind.
            example: the position of one of them.
            rows: how many rows to add to the count.
        """


def discovered(names: Iterable[str]) -> tuple[DiscoveredObject, ...]:
    """Return discovered objects with a name only, for sources that need no more."""
    return tuple({"name": name} for name in names)
