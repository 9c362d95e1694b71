"""The DataFrame path: work units of programs in which Spark itself transforms rows.

::

    splits ─ mapInArrow(read, Arrow transforms) ─ DataFrame transforms ─ mapInArrow(Arrow transforms, stage) ─ collect

One work unit is one Spark job — one per DataFrame transform that sinks hang on, and a fused task more for sinks that no
such transform leads to. Its result is what the fused path would give: one committable per sink. What Spark cuts into
several partitions is staged by several tasks, and merged by the sink.

What is kept: the columns, their order and types as Spark has them, and the table's name. What is not: the row kind —
a DataFrame has inserted rows only, and anything else is refused — the primary key, and the order of rows.
"""

import inspect
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import evolve, frozen

from seatunnel_core.checkpoint.events import Failure
from seatunnel_core.checkpoint.split import Committable
from seatunnel_core.connectors.sink import FrameSink, SinkPlace, Staged
from seatunnel_core.connectors.source import FrameSource
from seatunnel_core.errors import SeaTunnelError, SinkError, SourceChangedError, SourceError, TransformError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.failure import failure_of, spark_says
from seatunnel_core.spark.frame_task import FrameWork, Note, Noted, counted, pass_on, read_to, stage_from, staged_parts
from seatunnel_core.spark.gateway import QUERY_LOGGERS
from seatunnel_core.spark.program import Program, Step, Target
from seatunnel_core.spark.task import UnitResult, committable
from seatunnel_core.transforms.transform import DataFrameTransform, Transform

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


class SparkFrames:
    """Builds and runs the DataFrames of work units on one Spark session."""

    def __init__(self, spark: "SparkSession", slots: int) -> None:
        self._spark = spark
        self._slots = slots
        self._building = threading.Lock()
        """Only one thread builds frames: ``SparkSql`` names a view, and views belong to the whole session."""

        self._noted = _new_notes(spark)

    def output_schema(self, transform: DataFrameTransform, schema: TableSchema) -> TableSchema:
        """What a DataFrame transform makes of a schema, found by having Spark analyse it on a frame without rows.

        Raises:
            TransformError: Spark refuses it, or a column's type has no counterpart.
        """
        empty = self._spark.createDataFrame([], spark_schema(schema))
        with self._building:
            frame = _applied(transform, empty, schema)
        return TableSchema(table=schema.table, columns=arrow_columns(frame.schema))

    def source_schema(self, source: FrameSource) -> TableSchema:
        """What a source that Spark reads gives, found by having Spark analyse it.

        Raises:
            SourceError: Spark refuses it, or a column's type has no counterpart.
        """
        with self._building:
            frame = _read(source, self._spark)
        try:
            return TableSchema(table=source.table, columns=arrow_columns(frame.schema))
        except TransformError as error:
            raise SourceError(f"{source.identifier}: {error}") from error

    def begin(self, sink: FrameSink, schemas: Sequence[TableSchema], place: SinkPlace) -> None:
        """Have a sink make its target ready, with a frame of its columns and no row.

        Raises:
            SinkError: a column's type has no counterpart, or the sink refuses. What Spark raises stays as it is.
        """
        try:
            columns = spark_schema(schemas[0])
        except TransformError as error:
            raise SinkError(f"pipeline {place.pipeline_id}, sink {sink.identifier}: {error}") from error
        with self._building:
            sink.begin(self._spark.createDataFrame([], columns), schemas, place)

    def publish(self, sink: FrameSink, committables: Sequence[Committable], place: SinkPlace, *, again: bool) -> None:
        """Have a sink publish. What Spark raises stays as it is."""
        sink.publish(self._spark, committables, place, again=again)

    def run_unit(self, program: Program, work: FrameWork, tag: str, pool: str) -> UnitResult:
        """Run the part of a work unit that passes DataFrame transforms. An error of the data becomes its failure.

        Raises whatever Spark raises when the job fails as a whole.
        """
        started = time.perf_counter()
        self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
        failure: Failure | None = None
        staged: dict[str, Staged] = {}
        skipped = 0
        try:
            build = _UnitFrames(self._spark, program, work, self._slots, self._note_for(tag))
            told: list[str] = []
            for node in build.staging_nodes():
                with self._building:
                    frame = build.staged(node)
                told += [row[0] for row in frame.collect()]
            parts, skipped, failure = staged_parts(told)
            noted = self._noted_for(tag)
            failure = next((one.failure for one in noted.values() if one.failure is not None), failure)
            if failure is None:
                sinks = {target.name: target.sink for target in program.targets}
                staged = {name: sinks[name].merge(some) for name, some in parts.items()}
        except SeaTunnelError as error:
            failure = failure_of(error, f"pipeline {program.pipeline_id}")
        finally:
            counts = _counts(self._noted_for(tag, forget=True))
            self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", None)
        return UnitResult(
            job_id=program.job_id,
            pipeline_id=program.pipeline_id,
            source=program.source_name,
            unit=work.unit.number,
            epoch=work.epoch,
            attempt=work.attempt,
            failure=failure,
            rows_read=counts["rows"],
            rows_skipped=counts["skipped"] + skipped,
            bytes_read=counts["bytes"],
            wall_ms=(time.perf_counter() - started) * 1000,
            committables={name: committable(program, work.unit, work.epoch, one) for name, one in staged.items()},
        )

    def _note_for(self, tag: str) -> Callable[[str], Note]:
        notes = self._noted

        def note_for(step: str) -> Note:
            return lambda noted: notes.add({(tag, step, _partition_number()): noted})

        return note_for

    def _noted_for(self, tag: str, *, forget: bool = False) -> dict[Any, Noted]:
        every: dict[Any, Noted] = self._noted.value
        mine = {key: noted for key, noted in list(every.items()) if key[0] == tag}
        for key in mine if forget else ():
            every.pop(key)
        return mine


def _counts(noted: dict[Any, Noted]) -> dict[str, int]:
    """What was read for a job: each partition once, whatever was repeated; each row once, however often read. Steps
    between DataFrame transforms read nothing, and skip rows of their own."""
    by_step: dict[str, dict[str, int]] = {}
    for (_, step, _), one in noted.items():
        total = by_step.setdefault(step, {"rows": 0, "skipped": 0, "bytes": 0})
        for name in total:
            total[name] += getattr(one, name)
    read = max(by_step.values(), key=lambda total: total["rows"], default={"rows": 0, "skipped": 0, "bytes": 0})
    between = (total["skipped"] for total in by_step.values() if total is not read and not total["rows"])
    return {**read, "skipped": read["skipped"] + sum(between)}


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
    note_for: Callable[[str], Note]

    def staging_nodes(self) -> list[str]:
        """The DataFrame transforms, and a source that Spark reads, behind which a sink follows, with nothing but Arrow
        transforms between."""
        frames = [step.name for step in self.program.steps if isinstance(step.transform, DataFrameTransform)]
        source = [self.program.source_name] if self.program.reads_frame else []
        return [name for name in (*source, *frames) if reaches_sink(self.program, name)]

    def staged(self, node: str) -> "DataFrame":
        """One row per partition: what was staged of what the transform gives."""
        table = self._gives(node)
        return self.after(node).mapInArrow(stage_from(self.work, node, table.table, table.columns), "told string")

    def after(self, node: str) -> "DataFrame":
        """What a DataFrame transform, or a source that Spark reads, gives for this unit."""
        if node == self.program.source_name:
            return self._source_frame()
        step = self._step(node)
        assert isinstance(step.transform, DataFrameTransform)
        arriving = self._arriving(step)
        return _applied(step.transform, self._before(step, arriving), arriving)

    def _source_frame(self) -> "DataFrame":
        """The rows of a source that Spark reads, counted on their way."""
        source, schema = self.program.source, self.program.schemas[0]
        assert isinstance(source, FrameSource)
        frame = _read(source, self.spark)
        if arrow_columns(frame.schema) != schema.columns:
            raise SourceChangedError(
                f"{source.identifier}: {schema.table} has other columns than when the job began: "
                f"{frame.schema.simpleString()}"
            )
        return frame.mapInArrow(counted(schema.columns, self.note_for(self.program.source_name)), frame.schema)

    def _before(self, step: Step, arriving: TableSchema) -> "DataFrame":
        schema = spark_schema(arriving)
        columns = arrow_columns(schema)
        frames = []
        for origin in self._arrow_origins(step):
            if origin == self.program.source_name and not self.program.reads_frame:
                splits = len(self.work.unit.splits)
                numbers = self.spark.range(0, splits, 1, min(splits, 2 * self.slots))
                read = read_to(self.work, step.name, columns, self.note_for(step.name))
                frames.append(numbers.mapInArrow(read, schema))
            else:
                table = self._gives(origin).table
                between = pass_on(
                    self.work, origin, table, step.name, columns, self.note_for(f"{origin} to {step.name}")
                )
                frames.append(self.after(origin).mapInArrow(between, schema))
        frame = frames[0]
        for other in frames[1:]:
            frame = frame.unionAll(other)
        return frame

    def _arrow_origins(self, step: Step) -> list[str]:
        """The source and the DataFrame transforms from which rows come here through Arrow transforms only."""
        origins: dict[str, None] = {}
        for name in step.inputs:
            if name == self.program.source_name:
                origins[name] = None
                continue
            before = self._step(name)
            if isinstance(before.transform, DataFrameTransform):
                origins[name] = None
            else:
                origins.update(dict.fromkeys(self._arrow_origins(before)))
        return list(origins)

    def _arriving(self, step: Step) -> TableSchema:
        return self._gives(step.inputs[0])

    def _gives(self, node: str) -> TableSchema:
        return self.program.schemas[0] if node == self.program.source_name else self._step(node).schemas[0]

    def _step(self, name: str) -> Step:
        return next(step for step in self.program.steps if step.name == name)


def reaches_sink(program: Program, node: str) -> bool:
    """Whether rows of a node reach a sink through Arrow transforms only."""
    nodes: tuple[Step | Target, ...] = (*program.steps, *program.targets)
    for consumer in (one for one in nodes if node in one.inputs):
        if isinstance(consumer, Target):
            return True
        if isinstance(consumer.transform, Transform) and reaches_sink(program, consumer.name):
            return True
    return False


def both_parts(framed: UnitResult, direct: UnitResult) -> UnitResult:
    """One result of a unit whose sinks stand partly behind DataFrame transforms and partly not."""
    return evolve(
        direct,
        failure=framed.failure or direct.failure,
        wall_ms=framed.wall_ms + direct.wall_ms,
        committables={} if framed.failure or direct.failure else {**direct.committables, **framed.committables},
    )


def spark_schema(schema: TableSchema) -> "StructType":
    """The Spark types of a table. Raises ``TransformError`` for a column that Spark has no type for."""
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
    """The Arrow columns of a Spark schema: every column may be null, moments are in UTC."""
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
def _told_by_us() -> Iterator[None]:
    """PySpark prints each query that it cannot plan, with the stack of the JVM, before it raises. In a session of the
    application's own that goes on for everybody else's queries."""
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
        with _told_by_us():
            return source.frame(spark)
    except SeaTunnelError:
        raise
    except Exception as error:
        raise SourceError(f"{source.identifier}: {spark_says(error)}") from error


def _applied(transform: DataFrameTransform, frame: "DataFrame", schema: TableSchema) -> "DataFrame":
    try:
        with _told_by_us():
            made = transform.apply(frame, schema)
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
    """An accumulator of dictionaries by (job, step, partition): a repeated task overwrites its own entry."""
    from pyspark import AccumulatorParam

    class Union(AccumulatorParam):  # type: ignore[misc]  # pyspark is not typed for us
        def zero(self, value: dict[Any, Any]) -> dict[Any, Any]:
            return {}

        def addInPlace(self, value1: dict[Any, Any], value2: dict[Any, Any]) -> dict[Any, Any]:  # noqa: N802
            value1.update(value2)
            return value1

    return spark.sparkContext.accumulator({}, Union())
