"""Frames of one work unit: the output of each source and DataFrame transform, and the staged output."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from seatunnel_core.connector_api.source import FrameSource
from seatunnel_core.connector_api.transform import DataFrameTransform, Transform
from seatunnel_core.errors import SeaTunnelError, SourceChangedError, SourceError, TransformError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.frames.schema import arrow_columns, spark_schema
from seatunnel_core.spark.frames.task import FrameWork, Note, counted, pass_on, read_to, stage_from
from seatunnel_core.spark.operator_chain import OperatorChain, Reader, Step, Target
from seatunnel_core.spark.spark_errors import spark_says
from seatunnel_core.spark.starting.gateway import QUERY_LOGGERS
from seatunnel_core.spark.work import UnitWork
from seatunnel_core.work.names import repeated
from seatunnel_core.work.unit import UnitAttempt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@frozen
class UnitFrames:
    """Frames of one work unit."""

    spark: "SparkSession"
    chain: OperatorChain
    work: FrameWork
    slots: int
    note_for: Callable[[str, str], Note]
    """Function that returns the callback for row counts of a source (empty if there is none) and a step."""

    kept: "dict[str, DataFrame]" = field(factory=dict)
    """Cached frames of a query with several output tables. Computing them again might sample or limit differently."""

    def staging_nodes(self) -> list[str]:
        """Return DataFrame transforms and sources read by Spark that feed a sink through Arrow transforms only."""
        sources = [reader.name for reader in self.chain.readers if isinstance(reader.source, FrameSource)]
        frames = [step.name for step in self.chain.steps if isinstance(step.transform, DataFrameTransform)]
        return [name for name in (*sources, *frames) if reaches_sink(self.chain, name)]

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Release the cached frames on exit."""
        try:
            yield
        finally:
            for frame in self.kept.values():
                frame.unpersist()

    def staged(self, node: str) -> "DataFrame":
        """Return a frame that stages the output of a vertex: one row per partition, with the staged output."""
        table = self._gives(node)
        return self.after(node).mapInArrow(stage_from(self.work, node, table.table, table.columns), "report string")

    def after(self, node: str) -> "DataFrame":
        """Return the output of a DataFrame transform, or of a source that Spark reads, for this unit."""
        from pyspark import StorageLevel

        reader = self.chain.reader(node)
        if reader is not None:
            return self._source_frame(reader)
        if node in self.kept:
            return self.kept[node]
        step = self._step(node)
        assert isinstance(step.transform, DataFrameTransform)
        frame = applied(step.transform, self._before(step), self._gives(step.inputs[0]))
        if self.chain.splits is not None and self._takers(node) > 1:
            self.kept[node] = frame.persist(StorageLevel.DISK_ONLY)
        return frame

    def _takers(self, node: str) -> int:
        """Return the number of consumers of a vertex: inputs of DataFrame transforms, plus one for all its sinks."""
        frames = [step for step in self.chain.steps if isinstance(step.transform, DataFrameTransform)]
        inputs = [origin for step in frames for name in step.inputs for origin in self._origins(name)]
        return inputs.count(node) + reaches_sink(self.chain, node)

    def _source_frame(self, reader: Reader) -> "DataFrame":
        """Return the rows of a source that Spark reads, and count them. Raise an error if its columns have changed."""
        source, schema = reader.source, reader.schemas[0]
        assert isinstance(source, FrameSource)
        frame = frame_of(source, self.spark)
        if arrow_columns(frame.schema) != schema.columns:
            raise SourceChangedError(
                f"{source.identifier}: {schema.table} has different columns than when the job started: "
                f"{frame.schema.simpleString()}"
            )
        return frame.mapInArrow(counted(schema.columns, self.note_for(reader.name, reader.name)), frame.schema)

    def _before(self, step: Step) -> "dict[str, DataFrame]":
        return {view: self._input(step, name) for name, view in zip(step.inputs, step.views, strict=True)}

    def _input(self, step: Step, name: str) -> "DataFrame":
        schema = spark_schema(self._gives(name))
        columns = arrow_columns(schema)
        frames = []
        for origin in self._origins(name):
            reader = self.chain.reader(origin)
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
        """Return a frame of split indexes of a source, with a partition for each task that reads them.

        A work unit has few splits. A query has all splits; the source's maximum number of concurrent tasks applies.
        """
        if self.chain.splits is None:
            splits, tasks = len(self.work.attempt.unit.splits), 2 * self.slots
        else:
            splits, tasks = len(self.chain.splits[reader.name]), reader.parallelism or 2 * self.slots
        return self.spark.range(0, splits, 1, max(1, min(splits, tasks)))

    def _origins(self, name: str) -> list[str]:
        """Return the nearest upstream sources and DataFrame transforms, or the vertex itself if it is one of these."""
        if self.chain.reader(name) is not None or isinstance(self._step(name).transform, DataFrameTransform):
            return [name]
        origins: dict[str, None] = {}
        for before in self._step(name).inputs:
            origins.update(dict.fromkeys(self._origins(before)))
        return list(origins)

    def _gives(self, node: str) -> TableSchema:
        reader = self.chain.reader(node)
        return (reader or self._step(node)).schemas[0]

    def _step(self, name: str) -> Step:
        return next(step for step in self.chain.steps if step.name == name)


def direct_works(chain: OperatorChain, key: str, attempt: UnitAttempt, slots: int) -> Iterator[UnitWork]:
    """Yield the fused part of a work unit: rows that reach sinks without a DataFrame transform.

    Each source is read by one task, or in a query by up to the source's maximum number of concurrent tasks. ``key`` is
    the key of the chain in a batch, and ``slots`` is the number of tasks that Spark runs concurrently.
    """
    for reader in chain.readers:
        if isinstance(reader.source, FrameSource) or not reaches_sink(chain, reader.name):
            continue
        splits = attempt.unit.splits if chain.splits is None else chain.splits[reader.name]
        tasks = 1 if chain.splits is None else min(len(splits), reader.parallelism or 2 * slots)
        for first in range(tasks):
            share = evolve(attempt, unit=evolve(attempt.unit, splits=splits[first::tasks]))
            yield UnitWork(chain=key, attempt=share, reads=reader.name)


def reaches_sink(chain: OperatorChain, node: str) -> bool:
    """Return True if rows of a vertex reach a sink through Arrow transforms only."""
    nodes: tuple[Step | Target, ...] = (*chain.steps, *chain.targets)
    for consumer in (one for one in nodes if node in one.inputs):
        if isinstance(consumer, Target):
            return True
        if isinstance(consumer.transform, Transform) and reaches_sink(chain, consumer.name):
            return True
    return False


@contextmanager
def _without_query_logs() -> Iterator[None]:
    """Prevent PySpark from printing each query that it cannot plan, with the JVM's stack, before it raises.

    Printing is restored afterwards, because the application's session may also run other queries.
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


def frame_of(source: FrameSource, spark: "SparkSession") -> "DataFrame":
    """Return the rows of a source that Spark reads. Raise SourceError if Spark rejects it."""
    try:
        with _without_query_logs():
            return source.frame(spark)
    except SeaTunnelError:
        raise
    except Exception as error:
        raise SourceError(f"{source.identifier}: {spark_says(error)}") from error


def applied(transform: DataFrameTransform, frames: "Mapping[str, DataFrame]", schema: TableSchema) -> "DataFrame":
    """Return the output of a transform; ``schema`` is the schema of the first input."""
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
        twice = repeated(names)
        raise TransformError(f"{transform.identifier} returns several columns named {', '.join(twice)}: rename them")
    return made
