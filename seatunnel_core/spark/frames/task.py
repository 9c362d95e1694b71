"""Functions of the DataFrame path that Spark maps over Arrow batches on executors.

They use the same ``UnitRun`` as the fused path, so both paths read and stage in the same way.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from attrs import asdict, evolve, frozen

from seatunnel_core.connector_api.sink import Staged
from seatunnel_core.errors import TransformError
from seatunnel_core.rows.batch import Batch
from seatunnel_core.rows.columns import require_arrived
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.spark.task import task_attempt_number, unwrapped
from seatunnel_core.spark.unit_run import UnitRun
from seatunnel_core.work.failure import Failure
from seatunnel_core.work.unit import UnitAttempt

Batches = Iterator[pa.RecordBatch]


@frozen(kw_only=True)
class Noted:
    """Report of a task in addition to the rows that it passes to Spark.

    A data error must not become a Spark error. Otherwise Spark would repeat the task three times and report the cause
    as text only.
    """

    rows: int = 0
    skipped: int = 0
    bytes: int = 0
    failure: Failure | None = None
    notes: tuple[str, ...] = ()
    """Notes as in ``UnitResult``."""


Note = Callable[[Noted, "int | None"], None]
"""Callback for a task's report on a piece of input. It receives the number of the piece, so that a piece that is read
twice is counted once. Without a number, the piece is the partition of the task.
"""


@frozen(kw_only=True)
class FrameWork:
    """Work unit attempt for which the functions run."""

    chain: str
    carrier: Any
    """Pickle of the chain, or a Spark broadcast of the pickle."""

    attempt: UnitAttempt

    def run(self, reads: str | None = None) -> UnitRun:
        """Return the run of the attempt that reads a source of the chain."""
        chain: OperatorChain = unwrapped(self.chain, {self.chain: self.carrier})
        attempt = self.attempt
        if chain.splits is not None:
            unit = evolve(attempt.unit, splits=chain.splits[reads or chain.source_name])
            attempt = evolve(attempt, unit=unit)
        return UnitRun(chain, attempt, task_attempt_number(), reads)


def read_to(
    work: FrameWork, source: str, step: str, through: str, columns: pa.Schema, note: Note
) -> Callable[[Batches], Batches]:
    """Return a function from split indexes of a source to the rows that reach an input of a DataFrame transform."""

    def read(numbers: Batches) -> Batches:
        run = work.run(source)
        failure = first = None
        try:
            for number in (number for batch in numbers for number in batch.column(0).to_pylist()):
                first = number if first is None else first
                for batch in run.read_split(run.unit.splits[number]):
                    for arriving in run.flow(source, batch, step, through):
                        yield _rows_for_spark(arriving, columns)
        except Exception as error:
            failure = run.failure(error)
            _drain(numbers)
        said = Noted(
            rows=run.rows_read, skipped=run.rows_skipped, bytes=run.bytes_read, failure=failure, notes=run.notes
        )
        note(said, first)

    return read


def counted(columns: pa.Schema, note: Note) -> Callable[[Batches], Batches]:
    """Return a function that counts and forwards rows that Spark has read."""

    def count(batches: Batches) -> Batches:
        rows = size = 0
        for batch in batches:
            rows, size = rows + batch.num_rows, size + batch.nbytes
            yield batch.cast(columns)
        note(Noted(rows=rows, bytes=size), None)

    return count


def pass_on(
    work: FrameWork, node: str, table: str, step: str, through: str, columns: pa.Schema, note: Note
) -> Callable[[Batches], Batches]:
    """Return a function that applies the Arrow transforms between two DataFrame transforms."""

    def between(batches: Batches) -> Batches:
        run = work.run()
        failure = None
        try:
            for rows in batches:
                for arriving in run.flow(node, Batch(table=table, rows=rows), step, through):
                    yield _rows_for_spark(arriving, columns)
        except Exception as error:
            failure = run.failure(error)
            _drain(batches)
        note(Noted(skipped=run.rows_skipped, failure=failure), None)

    return between


def stage_from(work: FrameWork, node: str, table: str, columns: pa.Schema) -> Callable[[Batches], Batches]:
    """Return a function that stages the output of a vertex and yields one row: the staged output or the failure."""

    def stage(batches: Batches) -> Batches:
        run = work.run()
        try:
            for rows in batches:
                run.push(node, Batch(table=table, rows=rows.cast(columns)))
            staged = {name: asdict(staged) for name, staged in run.finish_writers().items()}
            report: dict[str, Any] = {"staged": staged, "skipped": run.rows_skipped}
        except Exception as error:
            run.abort()
            _drain(batches)
            report = {"failure": run.failure(error).record()}
        yield pa.record_batch([[json.dumps(report)]], names=["report"])

    return stage


def staged_parts(reports: Sequence[str]) -> tuple[dict[str, list[Staged]], int, Failure | None]:
    """Return the results in the rows of ``stage_from``: parts by sink, number of skipped rows, first failure."""
    parts: dict[str, list[Staged]] = {}
    skipped = 0
    for row in map(json.loads, reports):
        if "failure" in row:
            return {}, 0, Failure.from_record(row["failure"])
        skipped += row["skipped"]
        for name, staged in row["staged"].items():
            parts.setdefault(name, []).append(Staged(**{**staged, "shown": tuple(staged["shown"])}))
    return parts, skipped, None


def _drain(batches: Batches) -> None:
    """Read the remaining input, because Spark discards a worker that leaves input unread."""
    for _ in batches:
        pass


def _rows_for_spark(batch: Batch, columns: pa.Schema) -> pa.RecordBatch:
    if not batch.inserts_only:
        raise TransformError(
            "a DataFrame transform accepts inserted rows only, but this table contains updates or deletes: use "
            "transforms that keep the row kind, or a source that emits only inserted rows"
        )
    if batch.absent:
        require_arrived(batch, "a DataFrame transform")
    return batch.rows.cast(columns)
