"""A job that is built in code: the same sources, transforms and sinks as in a job file, by the same names and options.

::

    import seatunnel_core as st

    job = st.Job("cities", {"checkpoint.interval": 1000})
    cities = job.source("LocalFile", path="cities.csv", file_format_type="csv")
    sizes = cities.transform("Filter", include_fields=["city", "inhabitants"])
    sizes.sink("LocalFile", path="output/cities", file_format_type="parquet")
    report = job.run()
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_core.application import outline
from seatunnel_core.application.handle import JobHandle
from seatunnel_core.application.rows import Options, Rows
from seatunnel_core.claiming.handover import ForeignSavepoint
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import Kind, job_from_code
from seatunnel_core.connectors.source_function import SourceFunction
from seatunnel_core.errors import RowError, UsageError
from seatunnel_core.job.restoring import ChosenCheckpoint, Restore, SavepointName
from seatunnel_core.reporting.report import JobReport

if TYPE_CHECKING:
    import pyarrow as pa


class Job:
    """A job under construction. ``run`` and ``submit`` may be called several times: each is a job of its own id."""

    def __init__(self, name: str, env: Options | None = None) -> None:
        """Create a job without nodes; ``env`` holds the options of a job file's ``env`` block, ``spark.*`` included."""
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
        """Add a source, and return its rows.

        Args:
            identifier: The plugin's name, as in job files: ``"LocalFile"``. Or a function with ``@st.source``.
            options: Its options by name, for names that are no Python identifiers, such as ``{"row.num": 10}``.
            name: The node's name in messages and checkpoints; generated if it is empty. Give names to the nodes of a
                job that is to be restored after nodes were added or removed.
            **more: Further options.

        Raises:
            UsageError: Another node of the job has this name.
        """
        given = {**(options or {}), **more}
        if isinstance(identifier, str):
            return self._add(Kind.SOURCE, identifier, given, name, ())
        if not isinstance(identifier, SourceFunction):
            raise UsageError(
                f"a source is the name of a plugin, or a function with @st.source; found {identifier!r}. Rows that are "
                "there already go to from_rows, and tables to from_arrow"
            )
        free = "" if identifier.name in self._names else identifier.name
        return self._add(Kind.SOURCE, "PythonFunction", {**given, "function": identifier}, name or free, ())

    def from_arrow(self, data: Any, *, name: str = "", **more: Any) -> "Rows":
        """Add the rows of an object with the Arrow PyCapsule interface as a source, and return them.

        Such objects are DataFrames of pandas or Polars, relations of DuckDB, and tables of pyarrow. The rows are copied
        now, and a stream is read to its end.

        Args:
            data: The object.
            name: The node's name, as in ``source``.
            **more: Further options of the source ``Memory``.

        Raises:
            UsageError: The object has no such interface, more than 1 GiB, or a type that SeaTunnel does not have.
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
        """Add rows of Python as a source, and return them: a list or an iterator of mappings from column to value.

        They are read now, to their end and once, and are held in memory: 1 GiB at most. So each row arrives once at a
        sink that is exactly-once, although an iterator can be read only once; the job then warns that only an iterator
        of the same rows can resume it in another process.

        Without a schema the types of the values decide, of all rows and in whatever order they come: each column needs
        one Python type, or ``int`` beside ``float``, where ``None`` and an absent key are null. No value is changed.
        ``nesting="tables"`` makes child tables of lists, as in files of JSON.

        Args:
            rows: The rows.
            schema: The columns, ``{"city": "string", "inhabitants": "bigint"}`` by the names of types in job files, or
                a ``pyarrow.Schema``.
            name: The node's name, as in ``source``.
            **more: Further options of the source ``Memory``.

        Raises:
            UsageError: A value fits no column, or not with those of other rows: the message names row and key. Or the
                rows are no mappings, have no columns, or more than 1 GiB.
        """
        from seatunnel_core.connectors.memory.held import hold_rows
        from seatunnel_core.rows.schema_block import table_schema, written_in_python

        if hasattr(rows, "__arrow_c_stream__") or not isinstance(rows, Iterable):
            hint = "use from_arrow" if hasattr(rows, "__arrow_c_stream__") else "give a list or an iterator of mappings"
            raise UsageError(f"from_rows: found a {type(rows).__name__}; {hint}")
        try:
            declared = None if schema is None else table_schema(written_in_python(schema))
        except ValueError as error:
            raise UsageError(f"from_rows: {error}") from error
        if declared is not None and (declared.primary_key or declared.constraint_keys or declared.comment):
            raise UsageError("from_rows: a schema has columns only here, without keys and comments")
        try:
            held = hold_rows(rows, declared and declared.columns)
        except RowError as error:
            raise UsageError(f"from_rows: {error}") from error
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

    def run(
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
        progress: bool = True,
    ) -> JobReport:
        """Run the job to its end and return its report.

        An interrupt (Ctrl-C, or the stop button of a notebook) stops it after a last checkpoint.

        Args:
            job_id: This and what follows are the arguments of ``submit``, whose errors are raised too.
            restore: As in ``submit``.
            checkpoint: As in ``submit``.
            savepoint: As in ``submit``.
            from_savepoint: As in ``submit``.
            from_storage: As in ``submit``.
            retract: As in ``submit``.
            accept_duplicates: As in ``submit``.
            allow_non_restored_state: As in ``submit``.
            take_over: As in ``submit``.
            master: As in ``submit``.
            engine_config: As in ``submit``.
            progress: Whether a notebook shows how the job stands, in place. Elsewhere nothing is shown.

        Raises:
            JobFailedError: A pipeline failed; the others ran to their end.
            KeyboardInterrupt: After an interrupt, once the job has stopped.
        """
        handle = self.submit(
            job_id=job_id,
            restore=restore,
            checkpoint=checkpoint,
            savepoint=savepoint,
            from_savepoint=from_savepoint,
            from_storage=from_storage,
            retract=retract,
            accept_duplicates=accept_duplicates,
            allow_non_restored_state=allow_non_restored_state,
            take_over=take_over,
            master=master,
            engine_config=engine_config,
        )
        with handle:
            return handle.result(progress=progress)

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
        """Start the job and return its handle at once.

        Args:
            job_id: The id of a new job; generated if it is ``None``.
            restore: The id of a job that was stopped or killed, to resume it.
            checkpoint: With ``restore``, the checkpoint to go back to, such as ``"100000-7"``. For a job with several
                pipelines one or more of ``"PIPELINE:ID"``; the others resume from their latest.
            savepoint: With ``restore``, the savepoint of the job to go back to.
            from_savepoint: The savepoint of another job that a new job begins with, ``"JOB_ID/NAME"``.
            from_storage: The storage of ``from_savepoint``: an engine file, a folder or an exported archive; by default
                the one that this job uses.
            retract: Whether to retract first what was published after the checkpoint or savepoint.
            accept_duplicates: Whether to leave it in place, and publish its rows a second time.
            allow_non_restored_state: Whether to discard the state of sources and sinks that the job no longer has.
            take_over: With ``restore``, whether to resume the job although it still runs, here or in another process of
                this machine, which then ends with an error.
            master: Where Spark runs: ``local[2]`` or ``spark://HOST:PORT``. A Spark session that the application
                already has is used as it is, and left open.
            engine_config: A ``seatunnel.yaml``; by default the first one found in the usual places.

        Raises:
            ConfigError: The options are wrong; the message lists every problem.
            JobError: The job is not valid; the message lists every problem.
            UsageError: ``job_id`` exists, or ``restore`` does not; or what is to be restored does not exist, does not
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
    """Return the savepoint that a new job begins with, or ``None``; refuse restore options if nothing is restored."""
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
