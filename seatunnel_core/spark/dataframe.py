"""The DataFrame path: work units of programs in which Spark itself reads or transforms rows.

A work unit is some splits of a source or, where a transform looks across rows, all splits of its sources: a query.

::

    splits ─ mapInArrow(read, Arrow transforms) ─ DataFrame transforms ─ mapInArrow(Arrow transforms, stage) ─ collect

One work unit is one Spark job for each DataFrame transform that leads to sinks, and one fused job more for sinks that
no such transform leads to. Its result is like that of the fused path: one committable per sink. If Spark cuts the rows
into several partitions, several tasks stage them, and the sink merges what they staged.

The columns, their order and types as Spark has them, and the table's name are kept. The primary key and the order of
rows are not, nor is the row kind: a DataFrame has inserted rows only, and anything else is refused.
"""

import inspect
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import evolve, field, frozen

from seatunnel_core.connectors.sink import FrameSink, SinkContext, Staged
from seatunnel_core.connectors.source import FrameSource
from seatunnel_core.errors import SeaTunnelError, SinkError, SourceChangedError, SourceError, TransformError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.failure import spark_says, task_failure
from seatunnel_core.spark.frame_task import FrameWork, Note, Noted, counted, pass_on, read_to, stage_from, staged_parts
from seatunnel_core.spark.program import FramePlan, Program, Reader, Step, Target
from seatunnel_core.spark.scope import asked_for_rows, judge_plan, judging, plan_only
from seatunnel_core.spark.starting.gateway import QUERY_LOGGERS
from seatunnel_core.spark.unit_run import committable, shown
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.transforms.transform import ALL, AUTO, UNIT, DataFrameTransform, Transform
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import Failure
from seatunnel_core.work.unit import WorkUnit

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


class SparkFrames:
    """The DataFrames of work units, built and run on one Spark session."""

    def __init__(self, spark: "SparkSession", slots: int) -> None:
        self._spark = spark
        self._slots = slots
        self._building = threading.Lock()
        """Held while frames are built: ``SparkSql`` names a view, and views belong to the whole session."""

        self._noted = _new_notes(spark)

    def plan(self, transform: DataFrameTransform, arriving: Mapping[str, TableSchema]) -> FramePlan:
        """Return what a DataFrame transform makes of its inputs, as Spark analyses it on frames without rows.

        Raises:
            TransformError: Spark refuses it, it cannot be judged, it leaves out one of several inputs, or a column's
                type has no counterpart.
        """
        schemas = {name: spark_schema(schema) for name, schema in arriving.items()}
        first = next(iter(arriving.values()))
        with self._building:
            frames = {name: plan_only(self._spark, columns) for name, columns in schemas.items()}
            try:
                with judging(f"the function of {transform.identifier}"):
                    made = _applied(transform, frames, first)
                looked = judge_plan(made, list(frames.values()))
            except TransformError as error:
                if transform.scope == AUTO or not asked_for_rows(error.__context__):
                    raise
                empty = {name: self._spark.createDataFrame([], columns) for name, columns in schemas.items()}
                made, looked = _applied(transform, empty, first), None
        if looked is not None and looked.unread and len(arriving) > 1:
            names = ", ".join(repr(name) for number, name in enumerate(arriving) if number in looked.unread)
            raise TransformError(
                f"{transform.identifier} does not read its input {names}: leave it out of plugin_input, or write "
                "UNION ALL where the rows of all inputs are meant"
            )
        clauses = " and ".join(looked.clauses) if looked is not None else ""
        across = {UNIT: "", ALL: clauses or "scope = all"}.get(transform.scope, clauses)
        return FramePlan(schema=TableSchema(table=first.table, columns=arrow_columns(made.schema)), across=across)

    def source_schema(self, source: FrameSource) -> TableSchema:
        """Return the schema of a source that Spark reads, as Spark analyses it.

        Raises:
            SourceError: Spark refuses it, or a column's type has no counterpart.
        """
        with self._building:
            frame = _read(source, self._spark)
        try:
            return TableSchema(table=source.table, columns=arrow_columns(frame.schema))
        except TransformError as error:
            raise SourceError(f"{source.identifier}: {error}") from error

    def begin(self, sink: FrameSink, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        """Have a sink prepare its target, given a frame with its columns and no row.

        Raises:
            SinkError: a column's type has no counterpart, or the sink refuses. What Spark raises is not wrapped.
        """
        try:
            columns = spark_schema(schemas[0])
        except TransformError as error:
            raise SinkError(f"pipeline {context.pipeline_id}, sink {sink.identifier}: {error}") from error
        with self._building:
            sink.begin(self._spark.createDataFrame([], columns), schemas, context)

    def publish(
        self, sink: FrameSink, committables: Sequence[Committable], context: SinkContext, *, again: bool
    ) -> None:
        """Have a sink publish what is staged for it; what Spark raises is not wrapped."""
        sink.publish(self._spark, committables, context, again=again)

    def run_unit(self, program: Program, work: FrameWork, tag: str, pool: str) -> UnitResult:
        """Run the part of a work unit that passes through DataFrames; an error of the data becomes its failure.

        Whatever Spark raises when the job fails as a whole is not wrapped.
        """
        started = time.perf_counter()
        self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
        failure: Failure | None = None
        staged: dict[str, Staged] = {}
        skipped = 0
        try:
            build = _UnitFrames(self._spark, program, work, self._slots, self._note_for(tag))
            reports: list[str] = []
            with build.keeping():
                for node in build.staging_nodes():
                    with self._building:
                        frame = build.staged(node)
                    reports += [row[0] for row in frame.collect()]
            parts, skipped, failure = staged_parts(reports)
            noted = self._noted_for(tag)
            failure = next((one.failure for one in noted.values() if one.failure is not None), failure)
            if failure is None:
                sinks = {target.name: target.sink for target in program.targets}
                staged = {name: sinks[name].merge(some) for name, some in parts.items()}
        except SeaTunnelError as error:
            failure = task_failure(error, f"pipeline {program.pipeline_id}")
        finally:
            noted = self._noted_for(tag, forget=True)
            counts = _counts(noted)
            self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", None)
        return UnitResult(
            job_id=program.job_id,
            pipeline_id=program.pipeline_id,
            source=program.source_name,
            attempt=work.attempt.id,
            failure=failure,
            rows_read=counts["rows"],
            rows_skipped=counts["skipped"] + skipped,
            bytes_read=counts["bytes"],
            wall_ms=(time.perf_counter() - started) * 1000,
            committables={
                name: committable(program, work.attempt.unit, work.attempt.epoch, one) for name, one in staged.items()
            },
            shown=shown(staged),
            notes=tuple(dict.fromkeys(note for one in noted.values() for note in one.notes)),
        )

    def _note_for(self, tag: str) -> Callable[[str, str], Note]:
        notes = self._noted

        def note_for(source: str, step: str) -> Note:
            def note(noted: Noted, number: int | None) -> None:
                notes.add({(tag, source, step, _partition_number() if number is None else number): noted})

            return note

        return note_for

    def _noted_for(self, tag: str, *, forget: bool = False) -> dict[Any, Noted]:
        every: dict[Any, Noted] = self._noted.value
        mine = {key: noted for key, noted in list(every.items()) if key[0] == tag}
        for key in mine if forget else ():
            every.pop(key)
        return mine


def _counts(noted: dict[Any, Noted]) -> dict[str, int]:
    """Return how many rows and bytes were read for a job, and how many rows were skipped.

    Each partition counts once, however often its task was repeated, and each row once, however often it was read. Steps
    between DataFrame transforms, which have no source, read nothing, and skip rows of their own.
    """
    by_step: dict[tuple[str, str], dict[str, int]] = {}
    for (_, source, step, _), one in noted.items():
        total = by_step.setdefault((source, step), {"rows": 0, "skipped": 0, "bytes": 0})
        for name in total:
            total[name] += getattr(one, name)
    most: dict[str, dict[str, int]] = {}
    for (source, step), total in by_step.items():
        key = source or f" {step}"
        most[key] = max(most.get(key, total), total, key=lambda each: each["rows"])
    return {name: sum(total[name] for total in most.values()) for name in ("rows", "skipped", "bytes")}


def _partition_number() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return int(context.partitionId()) if context is not None else 0


@frozen
class _UnitFrames:
    """The frames of one work unit."""

    spark: "SparkSession"
    program: Program
    work: FrameWork
    slots: int
    note_for: Callable[[str, str], Note]
    """Returns the function that takes what was counted, by the source whose rows are counted (empty for none) and the
    step where they are counted."""

    kept: "dict[str, DataFrame]" = field(factory=dict)
    """Of a query: frames of which several tables are made. A second computation might sample or limit the rows
    differently."""

    def staging_nodes(self) -> list[str]:
        """Return the DataFrame transforms, and sources that Spark reads, behind which a sink follows.

        Only Arrow transforms may stand between such a node and the sink.
        """
        sources = [reader.name for reader in self.program.readers if isinstance(reader.source, FrameSource)]
        frames = [step.name for step in self.program.steps if isinstance(step.transform, DataFrameTransform)]
        return [name for name in (*sources, *frames) if reaches_sink(self.program, name)]

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Release the kept frames at the end."""
        try:
            yield
        finally:
            for frame in self.kept.values():
                frame.unpersist()

    def staged(self, node: str) -> "DataFrame":
        """Return a frame that stages what a node gives; it has one row per partition, with what was staged."""
        table = self._gives(node)
        return self.after(node).mapInArrow(stage_from(self.work, node, table.table, table.columns), "report string")

    def after(self, node: str) -> "DataFrame":
        """Return what a DataFrame transform, or a source that Spark reads, gives for this unit."""
        from pyspark import StorageLevel

        reader = self.program.reader(node)
        if reader is not None:
            return self._source_frame(reader)
        if node in self.kept:
            return self.kept[node]
        step = self._step(node)
        assert isinstance(step.transform, DataFrameTransform)
        frame = _applied(step.transform, self._before(step), self._gives(step.inputs[0]))
        if self.program.splits is not None and self._takers(node) > 1:
            self.kept[node] = frame.persist(StorageLevel.DISK_ONLY)
        return frame

    def _takers(self, node: str) -> int:
        """Return how many tables are made of what a node gives.

        It is one for each input of a DataFrame transform, and one for all sinks together.
        """
        frames = [step for step in self.program.steps if isinstance(step.transform, DataFrameTransform)]
        inputs = [origin for step in frames for name in step.inputs for origin in self._origins(name)]
        return inputs.count(node) + reaches_sink(self.program, node)

    def _source_frame(self, reader: Reader) -> "DataFrame":
        """Return the rows of a source that Spark reads; they are counted on their way.

        Raises:
            SourceChangedError: its columns have changed since the job began.
        """
        source, schema = reader.source, reader.schemas[0]
        assert isinstance(source, FrameSource)
        frame = _read(source, self.spark)
        if arrow_columns(frame.schema) != schema.columns:
            raise SourceChangedError(
                f"{source.identifier}: {schema.table} has other columns than when the job began: "
                f"{frame.schema.simpleString()}"
            )
        return frame.mapInArrow(counted(schema.columns, self.note_for(reader.name, reader.name)), frame.schema)

    def _before(self, step: Step) -> "dict[str, DataFrame]":
        """Return the inputs of a DataFrame transform, by the names that the job has for them."""
        return {view: self._input(step, name) for name, view in zip(step.inputs, step.views, strict=True)}

    def _input(self, step: Step, name: str) -> "DataFrame":
        schema = spark_schema(self._gives(name))
        columns = arrow_columns(schema)
        frames = []
        for origin in self._origins(name):
            reader = self.program.reader(origin)
            if reader is not None and not isinstance(reader.source, FrameSource):
                note = self.note_for(origin, f"{step.name} through {name}")
                read = read_to(self.work, origin, step.name, name, columns, note)
                frames.append(self._numbers(reader).mapInArrow(read, schema))
            else:
                note = self.note_for("", f"{origin} to {step.name} through {name}")
                table = self._gives(origin).table
                between = pass_on(self.work, origin, table, step.name, name, columns, note)
                frames.append(self.after(origin).mapInArrow(between, schema))
        frame = frames[0]
        for other in frames[1:]:
            frame = frame.unionAll(other)
        return frame

    def _numbers(self, reader: Reader) -> "DataFrame":
        """Return a frame of the indices of a source's splits, one partition for each task that reads them.

        A work unit has few splits. A query has all of them, and no more tasks than may read the source at the same
        time.
        """
        if self.program.splits is None:
            splits, tasks = len(self.work.attempt.unit.splits), 2 * self.slots
        else:
            splits, tasks = len(self.program.splits[reader.name]), reader.parallelism or 2 * self.slots
        return self.spark.range(0, splits, 1, max(1, min(splits, tasks)))

    def _origins(self, name: str) -> list[str]:
        """Return the sources and DataFrame transforms from which rows come to a node through Arrow transforms only.

        A node that is one of them is its own origin.
        """
        if self.program.reader(name) is not None or isinstance(self._step(name).transform, DataFrameTransform):
            return [name]
        origins: dict[str, None] = {}
        for before in self._step(name).inputs:
            origins.update(dict.fromkeys(self._origins(before)))
        return list(origins)

    def _gives(self, node: str) -> TableSchema:
        reader = self.program.reader(node)
        return (reader or self._step(node)).schemas[0]

    def _step(self, name: str) -> Step:
        return next(step for step in self.program.steps if step.name == name)


def reaches_sink(program: Program, node: str) -> bool:
    """Return whether rows of a node reach a sink through Arrow transforms only."""
    nodes: tuple[Step | Target, ...] = (*program.steps, *program.targets)
    for consumer in (one for one in nodes if node in one.inputs):
        if isinstance(consumer, Target):
            return True
        if isinstance(consumer.transform, Transform) and reaches_sink(program, consumer.name):
            return True
    return False


def both_parts(program: Program, unit: WorkUnit, framed: UnitResult, direct: Sequence[UnitResult]) -> UnitResult:
    """Return one result for a unit whose sinks stand partly behind DataFrame transforms and partly not.

    What a sink staged in both ways is merged. Rows that are read in both ways are counted once.

    Args:
        program: the program of the unit.
        unit: the work unit.
        framed: the result of the DataFrame path.
        direct: the results of the fused path: of each source one or several, each for some of its splits.
    """
    results = (framed, *direct)
    failure = next((result.failure for result in results if result.failure is not None), None)
    parts: dict[str, list[Committable]] = {}
    for result in results:
        for name, one in result.committables.items():
            parts.setdefault(name, []).append(one)
    merged: dict[str, Committable] = {}
    if failure is None:
        try:
            merged = {name: _merged(program, unit, framed.attempt.epoch, name, some) for name, some in parts.items()}
        except SeaTunnelError as error:
            failure = task_failure(error, f"pipeline {program.pipeline_id}")
    return evolve(
        framed,
        failure=failure,
        rows_read=max(framed.rows_read, sum(result.rows_read for result in direct)),
        rows_skipped=max(framed.rows_skipped, sum(result.rows_skipped for result in direct)),
        bytes_read=max(framed.bytes_read, sum(result.bytes_read for result in direct)),
        wall_ms=sum(result.wall_ms for result in results),
        committables=merged,
        shown=_all_shown(results) if failure is None else {},
        notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
    )


def _all_shown(results: Iterable[UnitResult]) -> dict[str, tuple[str, ...]]:
    every: dict[str, tuple[str, ...]] = {}
    for result in results:
        for name, texts in result.shown.items():
            every[name] = (*every.get(name, ()), *texts)
    return every


def _merged(program: Program, unit: WorkUnit, epoch: int, sink: str, parts: Iterable[Committable]) -> Committable:
    staged = [Staged(body=part.body, rows=part.rows, bytes=part.bytes, table_rows=part.table_rows) for part in parts]
    target = next(target for target in program.targets if target.name == sink)
    return committable(program, unit, epoch, target.sink.merge(staged) if len(staged) > 1 else staged[0])


def spark_schema(schema: TableSchema) -> "StructType":
    """Return the Spark types of a table's columns.

    Raises:
        TransformError: Spark has no type for a column.
    """
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    fields = []
    for column in schema.columns:
        try:
            if pa.types.is_decimal256(column.type):
                raise TypeError("Spark's decimals have at most 38 digits")
            fields.append(StructField(column.name, from_arrow_type(column.type, True)))
        except Exception as error:
            raise TransformError(
                f"column {column.name!r} of table {schema.table!r} has the type {column.type}, for which Spark has no "
                "counterpart; leave it out or convert it before"
            ) from error
    return StructType(fields)


def arrow_columns(schema: "StructType") -> pa.Schema:
    """Return the Arrow columns of a Spark schema: every column may be null, and timestamps are in UTC.

    Raises:
        TransformError: a column's type has no counterpart in Arrow.
    """
    from pyspark.sql.pandas.types import to_arrow_type

    # Spark 4.0 and 4.1 give moments in UTC unless told otherwise; later versions want to be told the zone.
    zone = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_type).parameters else {}
    fields = []
    for column in schema:
        try:
            fields.append(pa.field(column.name, to_arrow_type(column.dataType, **zone)))
        except Exception as error:
            kind = column.dataType.simpleString()
            raise TransformError(f"column {column.name!r} has Spark's type {kind}, which no sink can write") from error
    return pa.schema(fields)


@contextmanager
def _without_query_logs() -> Iterator[None]:
    """Keep PySpark from printing each query that it cannot plan, with the stack of the JVM, before it raises.

    It prints again afterwards: a session of the application's own has queries of others, too.
    """
    from pyspark.logger import PySparkLogger

    printing = [logger for logger in map(PySparkLogger.getLogger, QUERY_LOGGERS) if not logger.disabled]
    try:
        for logger in printing:
            logger.disabled = True
        yield
    finally:
        for logger in printing:
            logger.disabled = False


def _read(source: FrameSource, spark: "SparkSession") -> "DataFrame":
    try:
        with _without_query_logs():
            return source.frame(spark)
    except SeaTunnelError:
        raise
    except Exception as error:
        raise SourceError(f"{source.identifier}: {spark_says(error)}") from error


def _applied(transform: DataFrameTransform, frames: "Mapping[str, DataFrame]", schema: TableSchema) -> "DataFrame":
    """Return what a transform makes of its inputs; ``schema`` is that of the first."""
    try:
        with _without_query_logs():
            if len(frames) == 1:
                made = transform.apply(next(iter(frames.values())), schema)
            else:
                made = transform.apply_to_inputs(frames, schema)
    except SeaTunnelError:
        raise
    except Exception as error:
        said = str(error).strip().splitlines() or [""]
        raise TransformError(f"{transform.identifier}: {type(error).__name__}: {said[0]}") from error
    names = made.columns
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise TransformError(f"{transform.identifier} gives several columns named {', '.join(twice)}: rename them")
    return made


def _new_notes(spark: "SparkSession") -> "Accumulator[dict[Any, Any]]":
    """Return an accumulator of dictionaries by (job, source, step, partition).

    A repeated task overwrites its own entry.
    """
    from pyspark import AccumulatorParam

    class Union(AccumulatorParam):  # type: ignore[misc]  # pyspark is not typed for us
        def zero(self, value: dict[Any, Any]) -> dict[Any, Any]:
            return {}

        def addInPlace(self, value1: dict[Any, Any], value2: dict[Any, Any]) -> dict[Any, Any]:  # noqa: N802
            value1.update(value2)
            return value1

    return spark.sparkContext.accumulator({}, Union())
