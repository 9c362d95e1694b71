"""Attempt at a work unit in a task: read, transform, stage and count rows."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.capabilities import SupportsFacts
from seatunnel_core.connector_api.sink import SinkWriter, Staged, WriterContext
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.connector_api.within_extent import writer_of
from seatunnel_core.errors import RowError, SourceError
from seatunnel_core.rows.batch import Batch
from seatunnel_core.rows.columns import require_arrived
from seatunnel_core.spark.bad_rows import OnBadRow, Refused, write_around
from seatunnel_core.spark.failure import reading, task_failure
from seatunnel_core.spark.operator_chain import OperatorChain, Step, Target
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.fact import Fact
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.row_order import OrderGroup
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import UnitAttempt, WorkUnit
from seatunnel_core.work.vertex_meter import VertexMeter
from seatunnel_core.work.vertex_work import VertexWork

_turn = threading.Lock()
"""Lock held while a transform runs. User functions then need no locks, even if units are read concurrently."""


def committable(chain: OperatorChain, unit: WorkUnit, epoch: int, staged: Staged) -> Committable:
    """Return the committable of a unit's staged output for a sink."""
    return Committable(
        id=f"{chain.source_ordinal}-{epoch}-{unit.number}",
        epoch=epoch,
        unit=unit.number,
        source=chain.source_name,
        rows=staged.rows,
        bytes=staged.bytes,
        body=staged.body,
        table_rows=staged.table_rows,
        tables=staged.tables,
    )


def shown(staged: Mapping[str, Staged]) -> dict[str, tuple[str, ...]]:
    """Return the values to display for the sinks of a unit, keyed by sink."""
    return {name: one.shown for name, one in staged.items() if one.shown}


class UnitRun(ReadContext):
    """State of one attempt: the consumers of each vertex, the open writers, and the counters."""

    def __init__(self, chain: OperatorChain, attempt: UnitAttempt, task_attempt: int, reads: str | None = None) -> None:
        self.rows_read = 0
        self.rows_skipped = 0
        self.bytes_read = 0
        self.reader = next(each for each in chain.readers if each.name == (reads or chain.source_name))
        self.at = f"source {self.reader.name!r}"
        """Vertex that currently processes rows, for failure messages."""

        self._splits = attempt.unit.splits
        """Splits that contain the current rows: the one being read, or all splits of the unit if unknown."""

        self._rows = (0, 0)
        """Range of the current rows in the split: row counts before and after them; (0, 0) if unknown."""

        self._facts: list[Fact] = []
        self._notes: dict[tuple[str, str], list[Any]] = {}
        """Number of rows and location of the first row, keyed by vertex and kind of note."""

        self._of_query = reads is None and chain.splits is not None
        """True if the rows are the result of a query, so that their origin in the sources is unknown."""

        self.unit = attempt.unit
        self._chain = chain
        self._attempt = attempt
        self._task_attempt = task_attempt
        self._started = time.perf_counter()
        self._busy_ms = 0.0
        self._failure: Failure | None = None
        self._meter = VertexMeter()
        self._writers: dict[str, SinkWriter] = {}
        self._table_rows: dict[str, Counter[str]] = {}  # by sink, where there are several tables
        self._consumers: dict[str, list[Step | Target]] = {}
        nodes: tuple[Step | Target, ...] = (*chain.steps, *chain.targets)
        for node in nodes:
            for name in node.inputs:
                self._consumers.setdefault(name, []).append(node)

    def skip(self, error: Exception, rows: int = 1) -> None:
        if not self.reader.skip_bad_rows:
            raise error
        self.rows_skipped += rows

    def leave_out(self, what: str, example: str) -> None:
        self.rows_skipped += 1
        self.note(what, example)

    def note(self, what: str, example: str, rows: int = 1) -> None:
        noted = self._notes.setdefault((self.at, what), [0, example])
        noted[0] += rows

    def order_group(self, table: str) -> OrderGroup:
        return self._chain.order_groups.get(table) or OrderGroup(name=table)

    def report_fact(self, fact: Fact) -> None:
        source = self.reader.source
        if source.bounded or not isinstance(source, SupportsFacts):
            raise SourceError(
                f"{source.identifier} reported a fact, but only an unbounded source that implements absorb receives "
                "facts: this is a bug in the plugin"
            )
        try:
            self._facts.append(json.loads(json.dumps(fact, allow_nan=False)))
        except (TypeError, ValueError) as error:
            raise SourceError(
                f"{source.identifier} reported a fact that is not JSON ({error}): this is a bug in the plugin"
            ) from error

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence for each kind of note, with the vertex, the number of rows, and the location of one of them."""
        return tuple(
            f"{where}: {count} rows {what}; for example, {example}"
            for (where, what), (count, example) in self._notes.items()
        )

    def read(self) -> Iterator[Batch]:
        """Yield the rows of the unit's splits, and count them."""
        for split in self.unit.splits:
            yield from self.read_split(split)

    def read_split(self, split: Split) -> Iterator[Batch]:
        """Yield the rows of one split, and count them."""
        read_before = self.bytes_read
        self._splits, self._rows = (split,), (0, 0)
        for batch in self.reader.source.read(split, self):
            self.rows_read += batch.rows.num_rows
            self._meter.gave(self.reader.name, batch.rows.num_rows)
            self._rows = (self._rows[1], self._rows[1] + batch.rows.num_rows)
            if not split.weight_bytes:
                self.bytes_read += batch.rows.nbytes
            yield batch
            self._enter("source", self.reader.name)
        self.bytes_read = max(self.bytes_read, read_before + split.weight_bytes)

    def push(self, node: str, batch: Batch) -> None:
        """Forward an output batch of ``node`` to all its consumers, down to the sinks.

        Consumers of a DataFrame transform are skipped: they have separate tasks (``frames.task``).
        """
        for consumer in self._consumers.get(node, ()):
            if isinstance(consumer, Target):
                self.write(consumer, batch, as_read=node == self._chain.source_name)
            elif isinstance(consumer.transform, Transform):
                for changed in self._applied(consumer, consumer.transform, batch):
                    self.push(consumer.name, changed)

    def flow(self, node: str, batch: Batch, end: str, through: str) -> Iterator[Batch]:
        """Yield the batches that reach ``end`` through its input ``through`` when ``node`` emits a batch."""
        for consumer in self._consumers.get(node, ()):
            if consumer.name == end:
                if node == through:
                    yield batch
            elif isinstance(consumer, Step) and isinstance(consumer.transform, Transform):
                for changed in self._applied(consumer, consumer.transform, batch):
                    yield from self.flow(consumer.name, changed, end, through)

    def _applied(self, step: Step, transform: Transform, batch: Batch) -> Iterator[Batch]:
        self._enter("transform", step.name)
        self._meter.took(step.name, batch.rows.num_rows)
        if batch.absent and not transform.keeps_absent:
            require_arrived(batch, transform.identifier)
        for changed in _in_turn(transform.apply(batch)):
            self.rows_skipped += changed.left_out
            self._meter.gave(step.name, changed.rows.num_rows)
            yield evolve(changed, left_out=0) if changed.left_out else changed
            self._enter("transform", step.name)

    def _enter(self, kind: str, name: str) -> None:
        """Attribute subsequent time and failures to a vertex."""
        self.at = f"{kind} {name!r}"
        self._meter.enter(name)

    def write(self, target: Target, batch: Batch, *, as_read: bool = False) -> None:
        """Write a batch to a sink, and handle rejected rows according to the sink's option.

        ``as_read`` is True if the batch comes directly from the source, so that the positions of its rows are known.
        """
        if not batch.rows.num_rows:
            return
        self._enter("sink", target.name)
        self._meter.took(target.name, batch.rows.num_rows)
        writer = self._writers.get(target.name)
        if writer is None:
            writer = self._writers[target.name] = writer_of(target.sink, target.schemas, self._context(target))
        left_out = self.rows_skipped
        try:
            writer.write(batch)
        except RowError:
            if not target.sink.isolates_bad_rows:
                raise
            for refused in write_around(writer, batch, nulls=target.on_bad_row is OnBadRow.NULL):
                self._refused(target, refused, as_read=as_read)
        if len(target.schemas) > 1:
            written = batch.rows.num_rows - (self.rows_skipped - left_out)
            self._table_rows.setdefault(target.name, Counter())[batch.table] += written

    def _refused(self, target: Target, refused: Refused, *, as_read: bool) -> None:
        if target.on_bad_row is OnBadRow.FAIL:
            if as_read and self._rows[1]:
                row = self._rows[0] + refused.place
                self._rows = (row, row + refused.rows)
            raise refused.error
        if refused.written:
            self.note("have null instead of a value that the sink cannot write", str(refused.error), refused.rows)
        else:
            self.rows_skipped += refused.rows
            self.note("are skipped, because the sink cannot write them", str(refused.error), refused.rows)

    def stage(self) -> None:
        """Read the unit and pass its rows to the writers. An error is kept for the result."""
        before_ms = _busy_ms()
        self._meter.enter(self.reader.name)
        try:
            for batch in self.read():
                self.push(self.reader.name, batch)
        except Exception as error:
            self._fail(error)
        self._meter.leave()
        self._busy_ms = _busy_ms() - before_ms

    def result(self) -> UnitResult:
        """Make the staged output durable, and return the result of the attempt. Call this once, at the end."""
        staged: dict[str, Staged] = {}
        if self._failure is None:
            try:
                staged = self.finish_writers()
            except Exception as error:
                self._fail(error)
        return UnitResult(
            job_id=self._chain.job_id,
            pipeline_id=self._chain.pipeline_id,
            source=self._chain.source_name,
            attempt=self._attempt.id,
            failure=self._failure,
            rows_read=self.rows_read,
            rows_skipped=self.rows_skipped,
            bytes_read=self.bytes_read,
            wall_ms=(time.perf_counter() - self._started) * 1000,
            busy_ms=self._busy_ms,
            committables={
                name: committable(self._chain, self.unit, self._attempt.epoch, one)
                for name, one in staged.items()
                if self._failure is None
            },
            shown=shown(staged),
            notes=self.notes,
            facts=tuple(self._facts) if self._failure is None else (),
            vertices=self.work(),
        )

    def work(self) -> dict[str, VertexWork]:
        """Return the rows and time of each vertex so far. Thread-safe."""
        return self._meter.work(self._chain.behind)

    def _fail(self, error: Exception) -> None:
        self.abort()
        self._failure = self.failure(error)

    def failure(self, error: Exception) -> Failure:
        """Return the failure of the attempt with its cause and location.

        If a transform or a sink rejects a row, the message also contains the location from which the row was read.
        Sources add this location themselves.
        """
        failure = task_failure(error, f"pipeline {self._chain.pipeline_id}, {self.at}")
        if failure.kind not in (FailureKind.DATA, FailureKind.BUG) or self.at.startswith("source "):
            return failure
        try:
            return evolve(failure, message=f"{failure.message.rstrip('.')}. Read from {self._origin()}")
        except Exception:  # a source that cannot describe its position must not hide the error
            return failure

    def _origin(self) -> str:
        if self._of_query:
            return f"all of {', '.join(each.name for each in self._chain.readers)}"
        first, last = self._rows
        rows = f"its row {last:,}" if first + 1 == last else f"among its rows {first + 1:,} to {last:,}"
        among = f", {rows}" if last and not self.reader.skip_bad_rows else ""
        return reading(self.reader.source, self._splits) + among

    def finish_writers(self) -> dict[str, Staged]:
        """Make the staged output durable, and return it for each sink that received a row."""
        staged = {}
        self._splits, self._rows = self.unit.splits, (0, 0)
        for name, writer in self._writers.items():
            self._enter("sink", name)
            one = writer.finish()
            counted = None if one.table_rows else self._table_rows.get(name)
            staged[name] = evolve(one, table_rows=dict(counted)) if counted else one
        self._meter.leave()
        return staged

    def abort(self) -> None:
        """Abort all open writers."""
        for writer in self._writers.values():
            writer.abort()

    def _context(self, target: Target) -> WriterContext:
        return WriterContext(
            job_id=self._chain.job_id,
            pipeline_id=self._chain.pipeline_id,
            sink_ordinal=target.ordinal,
            source_ordinal=self._chain.source_ordinal,
            epoch=self._attempt.epoch,
            unit=self.unit.number,
            attempt=f"{self._attempt.number}-{self._task_attempt}",
        )


def _in_turn(batches: Iterator[Batch]) -> Iterator[Batch]:
    while True:
        with _turn:
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _busy_ms() -> float:
    """Return the processor time of this thread, plus its time waiting for a processor if the system reports it."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as schedstat:
            return sum(map(int, schedstat.read().split()[:2])) / 1e6
    except (OSError, ValueError):
        return time.thread_time() * 1000
