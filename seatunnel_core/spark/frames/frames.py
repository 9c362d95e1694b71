"""DataFrame path: work units of chains in which Spark itself reads or transforms rows.

A work unit consists of some splits of a source or, if a transform combines rows, is a query over all splits of the
sources.

::

    splits ─ mapInArrow(read, Arrow transforms) ─ DataFrame transforms ─ mapInArrow(Arrow transforms, stage) ─ collect

A work unit runs as one Spark job for each DataFrame transform that leads to sinks, and one job without DataFrames (the
fused path) for the other sinks. Its result has one committable per sink, as on the fused path. If Spark divides the
rows into several partitions, several tasks stage them, and the sink merges the staged output.

Column names, their order, Spark's types and the table's name are kept. The primary key, the order of rows and the row
kind are lost: a DataFrame has inserted rows only, and other row kinds are rejected.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import evolve

from seatunnel_core.connector_api.sink import FrameSink, SinkContext, Staged
from seatunnel_core.connector_api.source import FrameSource
from seatunnel_core.connector_api.transform import ALL, AUTO, UNIT, DataFrameTransform
from seatunnel_core.errors import SeaTunnelError, SinkError, SourceError, TransformError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.failure import task_failure
from seatunnel_core.spark.frames.schema import arrow_columns, spark_schema
from seatunnel_core.spark.frames.scope import asked_for_rows, judge_plan, judging, plan_only
from seatunnel_core.spark.frames.task import FrameWork, Note, Noted, staged_parts
from seatunnel_core.spark.frames.unit import UnitFrames, applied, frame_of
from seatunnel_core.spark.operator_chain import FramePlan, OperatorChain
from seatunnel_core.spark.starting.session import activate
from seatunnel_core.spark.unit_run import committable, shown
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import Failure
from seatunnel_core.work.unit import WorkUnit

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import SparkSession


class SparkFrames:
    """Builds and runs the DataFrames of work units in a Spark session."""

    def __init__(self, spark: "SparkSession", slots: int) -> None:
        self._spark = spark
        self._slots = slots
        self._building = threading.Lock()
        """Lock for building frames, because ``SparkSql`` creates views, which the whole session shares."""

        self._noted = _new_notes(spark)

    @contextmanager
    def _build(self) -> Iterator[None]:
        """Build frames exclusively, with the settings of this session.

        Threads of the engine have no active session. Without one, Spark would use the defaults for
        ``spark.sql.caseSensitive``, the time zone and all other settings.
        """
        with self._building:
            activate(self._spark)
            yield

    def plan(self, transform: DataFrameTransform, arriving: Mapping[str, TableSchema]) -> FramePlan:
        """Return Spark's analysis of a DataFrame transform on frames without rows."""
        for schema in arriving.values():
            self._check_names(transform.identifier, schema)
        schemas = {name: spark_schema(schema) for name, schema in arriving.items()}
        first = next(iter(arriving.values()))
        with self._build():
            frames = {name: plan_only(self._spark, columns) for name, columns in schemas.items()}
            try:
                with judging(f"the function of {transform.identifier}"):
                    made = applied(transform, frames, first)
                looked = judge_plan(made, list(frames.values()))
            except TransformError as error:
                if transform.scope == AUTO or not asked_for_rows(error.__context__):
                    raise
                empty = {name: self._spark.createDataFrame([], columns) for name, columns in schemas.items()}
                made, looked = applied(transform, empty, first), None
        if looked is not None and looked.unread and len(arriving) > 1:
            names = ", ".join(repr(name) for number, name in enumerate(arriving) if number in looked.unread)
            raise TransformError(
                f"{transform.identifier} does not read its input {names}: remove it from plugin_input, or use "
                "UNION ALL to read the rows of all inputs"
            )
        clauses = " and ".join(looked.clauses) if looked is not None else ""
        across = {UNIT: "", ALL: clauses or "scope = all"}.get(transform.scope, clauses)
        return FramePlan(schema=TableSchema(table=first.table, columns=arrow_columns(made.schema)), across=across)

    def _check_names(self, identifier: str, schema: TableSchema) -> None:
        """Raise TransformError if two column names differ only in case and Spark cannot distinguish them."""
        if str(self._spark.conf.get("spark.sql.caseSensitive")).lower() == "true":
            return
        seen: dict[str, str] = {}
        for name in schema.columns.names:
            if name.lower() in seen:
                raise TransformError(
                    f"{identifier}: table {schema.table!r} has the columns {seen[name.lower()]!r} and {name!r}, "
                    "which Spark treats as the same name; set spark.sql.caseSensitive = true, or rename one of "
                    "them before this transform"
                )
            seen[name.lower()] = name

    def source_schema(self, source: FrameSource) -> TableSchema:
        """Return the schema of a source that Spark reads."""
        with self._build():
            frame = frame_of(source, self._spark)
        try:
            return TableSchema(table=source.table, columns=arrow_columns(frame.schema))
        except TransformError as error:
            raise SourceError(f"{source.identifier}: {error}") from error

    def begin(self, sink: FrameSink, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        """Make a sink prepare its target with a frame without rows. Spark's exceptions are not wrapped."""
        try:
            columns = spark_schema(schemas[0])
        except TransformError as error:
            raise SinkError(f"pipeline {context.pipeline_id}, sink {sink.identifier}: {error}") from error
        with self._build():
            sink.begin(self._spark.createDataFrame([], columns), schemas, context)

    def publish(
        self, sink: FrameSink, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool
    ) -> None:
        """Make a sink publish its staged output. Spark's exceptions are not wrapped."""
        activate(self._spark)
        sink.publish(self._spark, committables, context, may_be_committed=may_be_committed)

    def run_unit(self, chain: OperatorChain, work: FrameWork, tag: str, pool: str) -> UnitResult:
        """Run the part of a work unit that uses DataFrames. A data error is returned as the failure in the result.

        Spark's exceptions for a failure of the whole job are not wrapped.
        """
        started = time.perf_counter()
        activate(self._spark)
        self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
        failure: Failure | None = None
        staged: dict[str, Staged] = {}
        skipped = 0
        try:
            staged, skipped, failure = self._stage(chain, work, tag)
        except SeaTunnelError as error:
            failure = task_failure(error, f"pipeline {chain.pipeline_id}")
        finally:
            noted = self._noted_for(tag, forget=True)
            counts = _counts(noted)
            self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", None)
        return UnitResult(
            job_id=chain.job_id,
            pipeline_id=chain.pipeline_id,
            source=chain.source_name,
            attempt=work.attempt.id,
            failure=failure,
            rows_read=counts["rows"],
            rows_skipped=counts["skipped"] + skipped,
            bytes_read=counts["bytes"],
            wall_ms=(time.perf_counter() - started) * 1000,
            committables={
                name: committable(chain, work.attempt.unit, work.attempt.epoch, one) for name, one in staged.items()
            },
            shown=shown(staged),
            notes=tuple(dict.fromkeys(note for one in noted.values() for note in one.notes)),
        )

    def _stage(self, chain: OperatorChain, work: FrameWork, tag: str) -> tuple[dict[str, Staged], int, Failure | None]:
        """Run the frames of a unit. Return staged output by sink, the number of skipped rows, and the first failure."""
        build = UnitFrames(self._spark, chain, work, self._slots, self._note_for(tag))
        reports: list[str] = []
        with build.keeping():
            for node in build.staging_nodes():
                with self._build():
                    frame = build.staged(node)
                reports += [row[0] for row in frame.collect()]
        parts, skipped, failure = staged_parts(reports)
        noted = self._noted_for(tag)
        failure = next((one.failure for one in noted.values() if one.failure is not None), failure)
        if failure is not None:
            return {}, skipped, failure
        sinks = {target.name: target.sink for target in chain.targets}
        return {name: sinks[name].merge(some) for name, some in parts.items()}, skipped, None

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
    """Return the number of rows read, bytes read and rows skipped for a job. Repeated tasks and reads count once.

    Steps between DataFrame transforms have no source. They read no rows, but may skip rows.
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


def both_parts(chain: OperatorChain, unit: WorkUnit, framed: UnitResult, direct: Sequence[UnitResult]) -> UnitResult:
    """Merge the results of a unit from the DataFrame path and from the fused path.

    Rows read on both paths are counted once. ``direct`` contains the results of the fused path, each for some splits of
    a source.
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
            merged = {name: _merged(chain, unit, framed.attempt.epoch, name, some) for name, some in parts.items()}
        except SeaTunnelError as error:
            failure = task_failure(error, f"pipeline {chain.pipeline_id}")
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


def _merged(chain: OperatorChain, unit: WorkUnit, epoch: int, sink: str, parts: Iterable[Committable]) -> Committable:
    staged = [
        Staged(body=part.body, rows=part.rows, bytes=part.bytes, table_rows=part.table_rows, tables=part.tables)
        for part in parts
    ]
    target = next(target for target in chain.targets if target.name == sink)
    return committable(chain, unit, epoch, target.sink.merge(staged) if len(staged) > 1 else staged[0])


def _new_notes(spark: "SparkSession") -> "Accumulator[dict[Any, Any]]":
    """Return an accumulator of dictionaries by (job, source, step, partition). A repeated task overwrites its entry."""
    from pyspark import AccumulatorParam

    class Union(AccumulatorParam):  # type: ignore[misc]  # pyspark is not typed for us
        def zero(self, value: dict[Any, Any]) -> dict[Any, Any]:
            return {}

        def addInPlace(self, value1: dict[Any, Any], value2: dict[Any, Any]) -> dict[Any, Any]:  # noqa: N802
            value1.update(value2)
            return value1

    return spark.sparkContext.accumulator({}, Union())
