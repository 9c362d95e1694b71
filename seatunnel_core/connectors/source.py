"""The interface of a source plugin (entry-point group ``seatunnel.source``).

A source is planned in three steps, so that the driver never opens data:

1. ``discover`` runs in the driver and only lists (names, sizes, times).
2. ``inspect`` runs in Spark tasks, once per discovered item, and looks inside (headers, footers, places to cut).
3. ``enumerate`` runs in the driver and turns what was found into a schema and splits.

The enumeration is frozen: it is written once and every restart reads it back (protocol rule R12).
``read`` then runs in Spark tasks, once per split, as often as failures make necessary.

A source that never ends by itself is unbounded (``bounded`` is false). Its enumeration gives the schemas, and splits
where there are some from the start; while the job runs, ``look`` tells in the driver what has come since.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import field, frozen

from seatunnel_core.config.option import Option, Options
from seatunnel_core.moved import keep_renamed_method, renamed
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.schema_block import DEFAULT_TABLE
from seatunnel_core.work.split import Split

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Item = Mapping[str, Any]
"""One discovered thing, or what a task found in it: JSON values only."""


@frozen(kw_only=True)
class Enumeration:
    """All that a bounded source will read, fixed at the start of the pipeline; of an unbounded one, how it begins."""

    schemas: tuple[TableSchema, ...]
    """One per table that the source reads, usually one."""

    splits: tuple[Split, ...] = field(repr=False)
    """``splits[i].index == i``."""


@frozen(kw_only=True)
class PollResult:
    """What an unbounded source has more than it remembered."""

    items: tuple[Item, ...] = field(default=(), repr=False)
    """For ``enumerate``, in the order in which they are to be read. A bounded number, a thousand or so: what is left
    out is found by the next look. Until they are emitted, their splits are part of every checkpoint."""

    inspect: bool = False
    """Whether tasks have to look into the items first: ``enumerate`` then gets what ``inspect`` returns."""

    memory: Item = field(repr=False)
    """What the next look has to know. Part of every checkpoint, so its size must have a bound."""

    again_ms: int | None
    """After how long it is worth looking again; ``None`` when nothing more will ever come."""

    warnings: tuple[str, ...] = ()
    """What a person should know, a sentence each."""


@frozen(kw_only=True)
class Planning:
    """What the engine knows when a source is planned, for choosing the size of splits."""

    parallelism: int
    """How many tasks may read the source at the same time."""

    rows_per_second: int | None = None
    """The speed limit: a split should hold no more than about one second of it."""

    bytes_per_second: int | None = None


class Source(ABC):
    """One entry of a job's ``source`` block. Picklable: it is shipped to the tasks that call ``read``."""

    identifier: ClassVar[str]
    """The name in job files, equal to the entry point's name; compared without regard to case."""

    declared: ClassVar[tuple[Option[Any], ...]]
    """Every option that the source understands."""

    task_modules: ClassVar[tuple[str, ...]] = ()
    """Top-level modules that its Spark tasks import beyond pyarrow; probed on the executors before data moves."""

    example: ClassVar[str] = ""
    """Options of a block in HOCON that works, for help and documentation; empty: one is made of the required ones."""

    bounded: bool = True
    """False for a source that never ends by itself: ``look`` then tells what has come."""

    replayable: ClassVar[bool] = True
    """Whether reading a split again gives the same rows: without it there is no exactly-once."""

    remarks: tuple[str, ...] = ()
    """What a person should know of the options, although they work: warnings when the job is planned."""

    caveat: str = ""
    """Where ``replayable`` holds only in part, a sentence that says when it does not; ``--check`` prints it."""

    beside_tables: ClassVar[frozenset[str]] = frozenset()
    """Options that may stand beside ``tables_configs``, because ``tables`` gives them to each entry."""

    acknowledges: bool = False
    """Whether ``acknowledge`` is to be called."""

    ordered: ClassVar[bool] = False
    """Whether rows must reach the sinks in the order of the splits (protocol rule R13)."""

    waits: bool | None = None
    """Whether ``read`` mostly waits, for a network or a clock: then splits are read side by side in threads, as many as
    the source's parallelism says, each by an unpickled copy of it. False: splits take as long as their size tells, and
    are read by as many tasks as there are processors. ``None``: found out while it runs."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        keep_renamed_method(cls, "look", "poll")

    @classmethod
    def tables(cls, options: Options) -> Sequence[Options]:
        """The options of each table, where they ask for several (``connectors/tables.py``); else nothing."""
        return options.get("tables_configs") or ()

    @classmethod
    def meet(cls, sources: Sequence["Source"]) -> None:
        """Told once, when a job is planned, of all its sources of this class: they may share what they hold in the
        driver. Each is closed by itself."""

    def run_in(self, *, streaming: bool) -> None:
        """Told before anything else is asked whether ``job.mode`` is ``STREAMING``, for sources to which that matters.

        Most ignore it: a bounded source ends in a streaming job too, and an unbounded one goes on in a batch job.
        """

    @property
    def read_path(self) -> str | None:
        """The local path, or the pattern of paths, that it reads; ``None`` for a source that reads no local files."""
        return None

    @property
    def read_paths(self) -> tuple[str, ...]:
        """``read_path`` of each of its tables."""
        return () if self.read_path is None else (self.read_path,)

    def discover(self, planning: Planning) -> Sequence[Item]:
        """List what there is to inspect, without opening any of it. Runs in the driver.

        An empty sequence (the default) needs no task: ``enumerate`` is called at once, and may list by itself.

        Raises:
            SourceError: what was asked for is not there; names it.
        """
        return ()

    def inspect(self, item: Item, planning: Planning) -> Item:
        """Look inside one discovered item. Runs in a Spark task; must be a pure function of the item's content."""
        raise NotImplementedError(f"{self.identifier} discovers items and does not say how to inspect them")

    @abstractmethod
    def enumerate(self, inspected: Sequence[Item], planning: Planning) -> Enumeration:
        """Turn the inspected items, in the order of ``discover``, into schemas and splits. Runs in the driver."""

    def poll(self, memory: Item, planning: Planning) -> PollResult:
        """Find out what has come since the look that returned ``memory``. Runs in the driver, again and again, of
        unbounded sources only, and lists without opening data.

        A pure function of ``memory`` and of what lies outside: after a crash it is asked with an older memory, and what
        it had found since is found again.

        Args:
            memory: empty for the first look.

        Raises:
            SourceError: it cannot be told. One that is retryable is followed by another look, any other fails the
                pipeline.
        """
        return PollResult(memory=memory, again_ms=None)

    def open(self, *, restored: bool) -> None:
        """Take hold of what the tasks share while they read, a state of a database for example. In the driver, at every
        start of the pipeline, before the source is shipped to its tasks.

        Args:
            restored: the enumeration comes from an earlier process.

        Raises:
            SourceError: it cannot be had.
        """

    def close(self) -> None:
        """Let go of it. In the driver, when the pipeline has ended or stopped; also without ``open``. Never raises."""

    @abstractmethod
    def read(self, split: Split, context: "ReadContext") -> Iterator[Batch]:
        """Yield the rows of one split, in order. Runs in a Spark task.

        Raises:
            RowError: a row cannot be read; names file, line and column. With ``row_error_handle_way = SKIP``
                ``context.skip(error)`` is called instead, and the row left out.
            SourceChangedError: the split's data is not what was enumerated (size, time).
        """

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        """Which pieces of the source the splits are, for a person who looks for what cannot be read: files and where in
        them, never rows. Neighbours may be told as one."""
        return [f"split {split.index}" for split in splits]

    def acknowledge(self, planned: Sequence[Split], unread: Sequence[Split], memory: Item) -> None:
        """Tell the place that is read from how far a checkpoint came, when all its rows are published. In the driver,
        beside the work, of sources that say ``acknowledges``; not for each checkpoint, and one may be told twice.

        What it tells must not make the place forget anything: an older checkpoint may be gone back to.

        Args:
            planned: the splits of the enumeration.
            unread: of these, and of those that were found since, the ones whose rows are not all published.
            memory: what the looks of an unbounded source had found by then; empty for a bounded one.

        Raises:
            SourceError: it cannot be told. The job goes on, and says so in its log.
        """

    def require_input(self) -> None:
        """Find out, before a job starts on this machine, whether there is something to read. Opens no data: rows, and
        all that has to be read of them, are the tasks'.

        Raises:
            SourceError: there is not, and what to write instead.
        """

    def planned_schemas(self) -> tuple[TableSchema, ...] | None:
        """The schemas as far as the options alone give them; ``None`` when only the data can tell.

        ``--check`` prints it, so it must not start Spark; it may look at the beginning of a local file.
        """
        return None

    def planned_reading(self) -> Sequence[str]:
        """What a person should know of how rows will be read, a sentence each. ``--check`` prints them, after it has
        asked for ``planned_schemas``."""
        return ()


keep_renamed_method(Source, "look", "poll")


class FrameSource(Source):
    """A source that Spark itself reads: its rows come as a ``DataFrame``, and their chain takes the DataFrame path.

    It has one split, so a work unit is the whole of it, and what fails is read again from the beginning.
    """

    @abstractmethod
    def frame(self, spark: "SparkSession") -> "DataFrame":
        """The rows. Called in the driver, to learn the columns and then once per attempt of the unit."""

    @property
    @abstractmethod
    def table(self) -> str:
        """The path of the table."""

    def enumerate(self, inspected: Sequence[Item], planning: Planning) -> Enumeration:
        raise NotImplementedError(f"only Spark can tell the columns of {self.identifier}")

    def read(self, split: Split, context: "ReadContext") -> Iterator[Batch]:
        raise NotImplementedError(f"only Spark reads the rows of {self.identifier}")

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        return [f"all of {self.table}"]


class ReadContext(ABC):
    """What the engine offers to ``Source.read`` and to transforms inside a task."""

    @abstractmethod
    def skip(self, error: Exception, rows: int = 1) -> None:
        """Count a bad row that is left out, or raise ``error`` when the job says ``FAIL`` (the default)."""

    def note(self, what: str, example: str, rows: int = 1) -> None:
        """Count rows that were read, but not all that stands there; who runs the job is told once for each unit.

        Args:
            what: the end of a sentence that begins with the number of rows, the same for all of a kind.
            example: where one of them stands.
        """


def table_without_name(options: Options) -> str:
    """What the table of a source is called where ``schema.table`` does not say it: as other nodes take its rows."""
    return options.get("plugin_output") or DEFAULT_TABLE


def named_block(options: Options) -> Mapping[str, Any]:
    """The ``schema`` block of a source, with a name for its table."""
    return {"table": table_without_name(options), **(options["schema"] or {})}


def discovered(names: Iterable[str]) -> tuple[Item, ...]:
    """Items that carry nothing but a name, for sources that need no more."""
    return tuple({"name": name} for name in names)


__getattr__ = renamed(__name__, {"News": "PollResult"})
