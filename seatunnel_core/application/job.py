"""A job built in code, with the sources, transforms, sinks and options of job files.

::

    import seatunnel_core as st

    job = st.Job("cities", {"checkpoint.interval": 1000})
    cities = job.source("LocalFile", path="cities.csv", file_format_type="csv")
    sizes = cities.transform("Filter", include_fields=["city", "inhabitants"])
    sizes.sink("LocalFile", path="output/cities", file_format_type="parquet")
    report = job.run()
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_core.application import outline
from seatunnel_core.application.handle import JobHandle
from seatunnel_core.claiming.handover import ForeignSavepoint
from seatunnel_core.claiming.increments import job_to_go_on_with
from seatunnel_core.claiming.job_id import new_job_id
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import Kind, job_from_code
from seatunnel_core.connectors.source_function import SourceFunction
from seatunnel_core.errors import RowError, UsageError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.registry import lookup
from seatunnel_core.reporting.report import JobReport
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_core.transforms.row_function import RowFunction

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Options = Mapping[str, Any]


class Job:
    """A job under construction. Each call to ``run`` or ``submit`` starts a new job with its own ID."""

    def __init__(self, name: str, env: Options | None = None) -> None:
        """Create an empty job; ``env`` is the ``env`` block of a job file, including ``spark.*``."""
        self.name = name
        self._env = {**(env or {}), "job.name": name}
        self._nodes: list[tuple[Kind, str, dict[str, Any]]] = []
        self._names: set[str] = set()

    def __repr__(self) -> str:
        return f"<Job {self.name!r}: {outline.in_short(self._nodes)}>"

    def _repr_html_(self) -> str:
        return outline.as_html(f"Job {self.name}: {outline.in_short(self._nodes)}", self._nodes)

    def source(
        self, identifier: str | SourceFunction[...], options: Options | None = None, /, *, name: str = "", **more: Any
    ) -> "Rows":
        """Add a source and return its rows.

        Args:
            identifier: The plugin's name in job files, for example ``"LocalFile"``, or a function with ``@st.source``.
            options: Options whose names are not Python identifiers, such as ``{"row.num": 10}``.
            name: The node's name in messages and checkpoints; generated if empty. Name the nodes of a job that will be
                restored after nodes were added or removed.
            **more: Further options.

        Raises:
            UsageError: Another node of the job has this name.
        """
        given = {**(options or {}), **more}
        if isinstance(identifier, str):
            return self._add(Kind.SOURCE, identifier, given, name, ())
        if not isinstance(identifier, SourceFunction):
            raise UsageError(
                "expected the name of a source plugin, or a function decorated with @st.source; found "
                f"{identifier!r}. For rows in memory use from_rows, for Arrow tables from_arrow"
            )
        free = "" if identifier.name in self._names else identifier.name
        return self._add(Kind.SOURCE, "PythonFunction", {**given, "function": identifier}, name or free, ())

    def from_arrow(self, data: Any, *, name: str = "", **more: Any) -> "Rows":
        """Add an object with the Arrow PyCapsule interface as a source, and return its rows.

        Examples are pandas and Polars DataFrames, DuckDB relations and PyArrow tables. The rows are copied immediately;
        a stream is read to its end.

        Args:
            data: The object.
            name: The node's name, as in ``source``.
            **more: Further options of the ``Memory`` source.

        Raises:
            UsageError: The object lacks the interface, exceeds 1 GiB, or has a type that SeaTunnel does not support.
        """
        from seatunnel_core.connectors.memory.held import hold

        try:
            held = hold(data)
        except ValueError as error:
            raise UsageError(f"from_arrow: {error}") from error
        return self.source("Memory", {"data": held}, name=name, **more)

    def from_rows(
        self,
        rows: Iterable[Mapping[str, Any]],
        *,
        schema: "Mapping[str, Any] | pa.Schema | None" = None,
        name: str = "",
        **more: Any,
    ) -> "Rows":
        """Add a list or an iterator of mappings from column name to value as a source, and return its rows.

        The rows are read immediately and kept in memory (at most 1 GiB), so an exactly-once sink receives each row
        once, even from an iterator. For an iterator, the job logs a warning: to resume it in another process, pass an
        iterator with the same rows.

        Without a schema, the types are inferred from all rows: each column must have values of one Python type, or a
        mix of ``int`` and ``float``; ``None`` and an absent key are null. No value is changed. ``nesting="tables"``
        converts lists to child tables, as in JSON files.

        Args:
            rows: The rows.
            schema: The columns with their types in job files, ``{"city": "string", "inhabitants": "bigint"}``, or a
                ``pyarrow.Schema``.
            name: The node's name, as in ``source``.
            **more: Further options of the ``Memory`` source.

        Raises:
            UsageError: A value has an unsupported type or does not match the other rows (the message contains row and
                key); or the rows are not mappings, have no columns, or exceed 1 GiB.
        """
        from seatunnel_core.connectors.memory.held import hold_rows
        from seatunnel_core.rows.schema_block import table_schema, written_in_python

        if hasattr(rows, "__arrow_c_stream__") or not isinstance(rows, Iterable):
            hint = "use from_arrow" if hasattr(rows, "__arrow_c_stream__") else "pass a list or an iterator of mappings"
            raise UsageError(f"from_rows: found a {type(rows).__name__}; {hint}")
        try:
            declared = None if schema is None else table_schema(written_in_python(schema))
        except ValueError as error:
            raise UsageError(f"from_rows: {error}") from error
        if declared is not None and (declared.primary_key or declared.constraint_keys or declared.comment):
            raise UsageError("from_rows: the schema may contain only columns, not keys or comments")
        try:
            held = hold_rows(rows, declared and declared.columns)
        except RowError as error:
            raise UsageError(f"from_rows: {error}") from error
        return self.source("Memory", {"data": held}, name=name, **more)

    def _add(self, kind: Kind, identifier: str, options: dict[str, Any], name: str, inputs: Sequence["Rows"]) -> "Rows":
        name = name or self._free_name(kind, identifier)
        if name in self._names:
            raise UsageError(f"two nodes of the job {self.name!r} are named {name!r}; rename one of them")
        if any(rows.job is not self for rows in inputs):
            raise UsageError(f"{name!r} reads from a node of another job; build both nodes with the same st.Job")
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

    def run(
        self,
        *,
        job_id: str | None = None,
        restore: Restore | str | None = None,
        master: str | None = None,
        engine_config: Path | str | None = None,
        progress: bool = True,
    ) -> JobReport:
        """Run the job to completion and return its report.

        An interrupt (Ctrl-C, or the stop button of a notebook) stops the job after a final checkpoint.

        Args:
            job_id: As in ``submit``.
            restore: As in ``submit``.
            master: As in ``submit``.
            engine_config: As in ``submit``.
            progress: True to show the progress in a notebook, updated in place. Outside notebooks nothing is shown.

        Raises:
            JobFailedError: A pipeline failed; the others ran to completion.
            KeyboardInterrupt: After an interrupt, once the job has stopped.
        """
        with self.submit(job_id=job_id, restore=restore, master=master, engine_config=engine_config) as handle:
            return handle.result(progress=progress)

    def submit(
        self,
        *,
        job_id: str | None = None,
        restore: Restore | str | None = None,
        master: str | None = None,
        engine_config: Path | str | None = None,
    ) -> JobHandle:
        """Start the job and return its handle immediately.

        Args:
            job_id: ID of a new job; generated if ``None``.
            restore: ID of a stopped or killed job to resume, or ``st.Restore`` to choose a checkpoint or savepoint.
            master: Spark master: ``local[2]`` or ``spark://HOST:PORT``. An existing Spark session of the application is
                used unchanged and left open.
            engine_config: Path of a ``seatunnel.yaml``; by default the first one found in the default locations.

        Raises:
            ConfigError: Options are invalid; the message lists every problem.
            JobError: The job is not valid; the message lists every problem.
            UsageError: ``job_id`` already exists; the job, checkpoint or savepoint to restore does not exist; or the
                restored state does not match the job or would publish rows a second time.
        """
        if isinstance(restore, str):
            restore = Restore(restore)
        begin_with = ForeignSavepoint.of(restore)
        old = None if restore is None else restore.job_id
        if restore is not None and old is None and begin_with is None:
            raise UsageError('st.Restore needs the ID of a job to resume, or from_savepoint="JOB_ID/NAME"')
        if job_id is not None and old is not None:
            raise UsageError(
                f"job_id={job_id!r} is for a new job, but restore={old!r} is for an existing one: pass only one of them"
            )
        raw = job_from_code(self._env, self._nodes)
        engine = load_engine(Path(engine_config) if engine_config is not None else None)
        job_id, restore = old or job_id, None if old is None else restore
        if job_id is None and begin_with is None and (job_id := job_to_go_on_with(raw, engine, None)) is not None:
            restore = Restore(job_id)
        job_run = JobRun(
            raw,
            engine,
            registry=lookup,
            job_id=job_id or new_job_id(),
            restore=restore,
            begin_with=begin_with,
            master=master,
        )
        try:
            job_run.start()
        except BaseException:
            job_run.close()
            raise
        return JobHandle(job_run)


class Rows:
    """The output of a source or a transform, to which further nodes can be added."""

    def __init__(self, job: "Job", name: str) -> None:
        self.job = job
        self.name = name

    def __repr__(self) -> str:
        return f"<Rows {self.name!r} of job {self.job.name!r}>"

    def _repr_html_(self) -> str:
        return outline.as_html(
            f"Rows {self.name} of job {self.job.name}", outline.leading_to(self.name, self.job._nodes)
        )

    def transform(
        self, identifier: str | RowFunction, options: Options | None = None, /, *, name: str = "", **more: Any
    ) -> "Rows":
        """Add a transform of these rows and return its output.

        The arguments are those of ``Job.source``; the identifier may also be a function decorated with
        ``@st.transform``.
        """
        if isinstance(identifier, RowFunction):
            free = "" if identifier.name in self.job._names else identifier.name
            return self.transform("Python", {**(options or {}), **identifier.options()}, name=name or free, **more)
        if not isinstance(identifier, str):
            raise UsageError(
                "expected the name of a transform plugin, or a function decorated with @st.transform; found "
                f"{identifier!r}. For a function of Arrow batches use map_batches, for a function of DataFrames "
                "map_frame"
            )
        return self.job._add(Kind.TRANSFORM, identifier, {**(options or {}), **more}, name, (self,))

    def map_batches(
        self, function: "Callable[[pa.RecordBatch], pa.RecordBatch]", *, name: str = "", **options: Any
    ) -> "Rows":
        """Add a Python function that maps an Arrow record batch to another one, and return its output.

        The function runs in Spark tasks. Its output must not depend on how the input is divided into batches.
        """
        return self.transform("Python", {"function": function}, name=name, **options)

    def map_frame(
        self, function: "Callable[..., DataFrame]", /, *others: "Rows", name: str = "", **options: Any
    ) -> "Rows":
        """Add a Python function that maps one or more Spark DataFrames to another one, and return its output.

        If Spark's plan of the function processes each row separately, the function receives the rows of one work unit.
        Otherwise it receives all rows of the sources in one query, which streaming jobs reject. ``scope="unit"`` or
        ``scope="all"`` overrides this, and is required for a function that reads rows while it builds its plan.
        """
        return self._transformed("DataFrame", {"function": function, **options}, name, others)

    def sql(self, query: str, /, *others: "Rows", name: str = "", **options: Any) -> "Rows":
        """Add a Spark SQL query over these rows and ``others``, and return its output.

        Each input is a view with the name of its node. A query that combines rows runs once over all rows of the
        sources, as in ``map_frame``.
        """
        return self._transformed("SparkSql", {"query": query, **options}, name, others)

    def _transformed(self, identifier: str, options: Options, name: str, others: Sequence["Rows"]) -> "Rows":
        return self.job._add(Kind.TRANSFORM, identifier, dict(options), name, (self, *others))

    def collect(self, *others: "Rows", name: str = "", **options: Any) -> None:
        """Add a sink that keeps the rows in this process for ``JobHandle.collect``.

        The maximum is 16 MB by default; the option ``limit`` changes it.
        """
        self.sink("Memory", options, *others, name=name)

    def sink(
        self, identifier: str, options: Options | None = None, /, *others: "Rows", name: str = "", **more: Any
    ) -> None:
        """Add a sink for these rows and for ``others``; the arguments are the same as for ``Job.source``."""
        self.job._add(Kind.SINK, identifier, {**(options or {}), **more}, name, (self, *others))
