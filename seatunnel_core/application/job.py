"""A job that is built in code: the same sources, transforms and sinks as in a job file, by the same names and options.

::

    import seatunnel_core as st

    job = st.Job("cities", {"checkpoint.interval": 1000})
    cities = job.source("LocalFile", path="cities.csv", file_format_type="csv")
    sizes = cities.transform("Filter", include_fields=["city", "inhabitants"])
    sizes.sink("LocalFile", path="output/cities", file_format_type="parquet")
    report = job.run()
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_core.application.handle import JobHandle
from seatunnel_core.claiming.handover import ForeignSavepoint
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import Kind, job_from_code
from seatunnel_core.errors import UsageError
from seatunnel_core.job.restoring import ChosenCheckpoint, Restore, SavepointName
from seatunnel_core.reporting.report import JobReport

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Options = Mapping[str, Any]


class Job:
    """A job under construction. ``run`` and ``submit`` may be called several times: each is a job of its own id."""

    def __init__(self, name: str, env: Options | None = None) -> None:
        """``env`` holds the options of a job file's ``env`` block, ``spark.*`` included."""
        self.name = name
        self._env = {**(env or {}), "job.name": name}
        self._nodes: list[tuple[Kind, str, dict[str, Any]]] = []
        self._names: set[str] = set()

    def source(self, identifier: str, options: Options | None = None, /, *, name: str = "", **more: Any) -> "Rows":
        """Add a source.

        Args:
            identifier: the plugin's name, as in job files: ``"LocalFile"``.
            options: its options by name; needed for names that Python cannot write, such as ``{"row.num": 10}``.
            name: how messages and checkpoints call it; one is made when none is given. A job that is to be resumed
                after nodes were added or removed needs names of its own.
            more: further options.
        """
        return self._add(Kind.SOURCE, identifier, {**(options or {}), **more}, name, ())

    def from_arrow(self, data: Any, *, name: str = "", **more: Any) -> "Rows":
        """Add the rows of an object with the Arrow PyCapsule interface as a source: a DataFrame of pandas or Polars, a
        relation of DuckDB, a table of pyarrow. They are copied now, and what a stream gives is taken out of it.

        Args:
            more: further options of the source ``Memory``.

        Raises:
            UsageError: it has no such interface, more than 1 GiB, or a type that SeaTunnel has not.
        """
        from seatunnel_core.connectors.memory.held import hold

        try:
            held = hold(data)
        except ValueError as error:
            raise UsageError(f"from_arrow: {error}") from error
        return self.source("Memory", {"data": held}, name=name, **more)

    def _add(self, kind: Kind, identifier: str, options: dict[str, Any], name: str, inputs: Sequence["Rows"]) -> "Rows":
        name = name or self._free_name(kind, identifier)
        if name in self._names:
            raise UsageError(f"two nodes of the job {self.name!r} are named {name!r}; give one of them another name")
        if any(rows.job is not self for rows in inputs):
            raise UsageError(f"{name!r} takes rows of another job; build both nodes with the same st.Job")
        self._names.add(name)
        joined: dict[str, Any] = {"name": name}
        if inputs:
            joined["plugin_input"] = [rows.name for rows in inputs]
        if kind is not Kind.SINK:
            joined["plugin_output"] = name
        self._nodes.append((kind, identifier, {**options, **joined}))
        return Rows(self, name)

    def _free_name(self, kind: Kind, identifier: str) -> str:
        number = 1 + sum(1 for other, _, _ in self._nodes if other is kind)
        return f"{identifier}-{kind.value}-{number}"

    def run(self, **how: Any) -> JobReport:
        """Run the job to its end and return its report; takes what ``submit`` takes.

        An interrupt (Ctrl-C, or the stop button of a notebook) stops it after a last checkpoint.

        Raises:
            JobFailedError: a pipeline failed; the others went on to their end.
            KeyboardInterrupt: after an interrupt, once the job has stopped.
        """
        with self.submit(**how) as handle:
            return handle.result()

    def submit(
        self,
        *,
        job_id: str | None = None,
        restore: str | None = None,
        checkpoint: str | Sequence[str] = (),
        savepoint: str | None = None,
        from_savepoint: str | None = None,
        from_storage: str | None = None,
        retract: bool = False,
        accept_duplicates: bool = False,
        allow_non_restored_state: bool = False,
        take_over: bool = False,
        master: str | None = None,
        engine_config: Path | str | None = None,
    ) -> JobHandle:
        """Start the job and return at once.

        Args:
            job_id: the id of a new job; one is made when none is given.
            restore: the id of a job that was stopped or killed, to go on with.
            checkpoint: with ``restore``: go back to this checkpoint, ``"100000-7"``; of a job with several pipelines
                one or more of ``"PIPELINE:ID"``, the others go on from their latest.
            savepoint: with ``restore``: go back to this savepoint of the job.
            from_savepoint: begin a new job with a savepoint of another one, ``"JOB_ID/NAME"``.
            from_storage: where that one lies: an engine file, a folder or an exported archive; where this job's own
                checkpoints go when it is not given.
            retract: take back first what was published after the checkpoint or savepoint.
            accept_duplicates: leave it where it is, and publish it a second time.
            allow_non_restored_state: give up the state of sources and sinks that the job no longer has.
            take_over: with ``restore``: although the job still runs, here or in another process of this machine; that
                one ends with an error.
            master: where Spark runs, ``local[2]`` or ``spark://HOST:PORT``; a Spark session that the application has
                already is used as it is, and left open.
            engine_config: a ``seatunnel.yaml``; looked for in the usual places when none is named.

        Raises:
            ConfigError, JobError: the job is not valid; the message lists every problem.
            UsageError: ``job_id`` exists, or ``restore`` does not; or what is to be restored is not there, does not
                fit, or would publish rows a second time.
        """
        if job_id is not None and restore is not None:
            raise UsageError(f"job_id={job_id!r} names a new job and restore={restore!r} an old one: give one of them")
        checkpoints = (checkpoint,) if isinstance(checkpoint, str) else tuple(checkpoint)
        asked = Restore(
            checkpoints=tuple(map(ChosenCheckpoint.parse, checkpoints)),
            savepoint=savepoint,
            retract=retract,
            accept_duplicates=accept_duplicates,
            allow_non_restored_state=allow_non_restored_state,
            take_over=take_over,
        )
        begin_with = _begin_with(asked, restore=restore, from_savepoint=from_savepoint, from_storage=from_storage)
        raw = job_from_code(self._env, self._nodes)
        engine = load_engine(Path(engine_config) if engine_config is not None else None)
        return JobHandle.start(
            raw,
            engine,
            job_id=restore or job_id,
            restore=None if restore is None else asked,
            begin_with=begin_with,
            master=master,
        )


def _begin_with(
    asked: Restore, *, restore: str | None, from_savepoint: str | None, from_storage: str | None
) -> ForeignSavepoint | None:
    """The savepoint that a new job begins with. Refuses what says how to restore where nothing is restored."""
    if from_savepoint is None:
        if from_storage is not None:
            raise UsageError('from_storage says where a savepoint lies: give from_savepoint="JOB_ID/NAME" too')
        if restore is None and asked != Restore():
            raise UsageError('what is restored, and how, needs restore=JOB_ID or from_savepoint="JOB_ID/NAME"')
        return None
    if restore is not None or asked.goes_back:
        raise UsageError("from_savepoint begins a new job: give neither restore, checkpoint nor savepoint with it")
    if asked.retract:
        raise UsageError(
            "a new job cannot take back what another one published; let that one do it: "
            "submit(restore=JOB_ID, savepoint=NAME, retract=True)"
        )
    return ForeignSavepoint(
        savepoint=SavepointName.parse(from_savepoint),
        storage=from_storage,
        accept_duplicates=asked.accept_duplicates,
        allow_non_restored_state=asked.allow_non_restored_state,
    )


class Rows:
    """What a source or a transform gives: the place where the next node is joined."""

    def __init__(self, job: Job, name: str) -> None:
        self.job = job
        self.name = name

    def transform(self, identifier: str, options: Options | None = None, /, *, name: str = "", **more: Any) -> "Rows":
        """Add a transform behind these rows, by the plugin's name and options, as in ``Job.source``."""
        return self.job._add(Kind.TRANSFORM, identifier, {**(options or {}), **more}, name, (self,))

    def map_batches(
        self, function: "Callable[[pa.RecordBatch], pa.RecordBatch]", *, name: str = "", **options: Any
    ) -> "Rows":
        """Add a Python function from an Arrow record batch to another one. It runs in Spark tasks and must give the
        same rows however the rows are cut into batches."""
        return self.transform("Python", {"function": function}, name=name, **options)

    def map_frame(
        self, function: "Callable[..., DataFrame]", /, *others: "Rows", name: str = "", **options: Any
    ) -> "Rows":
        """Add a Python function from a Spark DataFrame to another one; from several, where there are ``others``.

        Spark's plan decides what the frame holds: the rows of a work unit where it works row by row, and all rows of
        the sources, in one query, where it looks across rows, which a streaming job refuses. ``scope="unit"`` or
        ``scope="all"`` says it instead, and must, for a function that asks for rows while it plans.
        """
        return self._transformed("DataFrame", {"function": function, **options}, name, others)

    def sql(self, query: str, /, *others: "Rows", name: str = "", **options: Any) -> "Rows":
        """Add a query of Spark SQL over these rows, and ``others``: each is a view of its node's name. What looks
        across rows runs once over all rows of the sources, as in ``map_frame``."""
        return self._transformed("SparkSql", {"query": query, **options}, name, others)

    def _transformed(self, identifier: str, options: Options, name: str, others: Sequence["Rows"]) -> "Rows":
        return self.job._add(Kind.TRANSFORM, identifier, dict(options), name, (self, *others))

    def collect(self, *others: "Rows", name: str = "", **options: Any) -> None:
        """Add a sink that keeps the rows in this process, for ``JobHandle.collected``: up to 16 MB of them, or as the
        option ``limit`` says."""
        self.sink("Memory", options, *others, name=name)

    def sink(
        self, identifier: str, options: Options | None = None, /, *others: "Rows", name: str = "", **more: Any
    ) -> None:
        """Add a sink behind these rows, and behind ``others`` if there are any."""
        self.job._add(Kind.SINK, identifier, {**(options or {}), **more}, name, (self, *others))
