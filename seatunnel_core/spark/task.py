"""What runs on an executor: a packet of works, one after the other, each with a result of its own.

Nothing here needs Spark to be imported: a test calls these functions as a task does. An error inside a work is caught
and becomes that work's result, so it hurts nobody else in the packet (protocol rule R15). What cannot be caught — the
process is killed, memory runs out — fails the packet, and the driver runs its works again apart.
"""

import pickle
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core.checkpoint.events import Failure, FailureKind
from seatunnel_core.checkpoint.split import Committable, Split, WorkUnit
from seatunnel_core.connectors.sink import Sink, SinkPlace, SinkWriter, Staged, StagingPlace
from seatunnel_core.connectors.source import Item, Planning, ReadContext, Source
from seatunnel_core.errors import SourceError
from seatunnel_core.rows.batch import Batch
from seatunnel_core.spark.failure import failure_of, reading
from seatunnel_core.spark.program import Program, Step, Target
from seatunnel_core.transforms.transform import Transform


@frozen(kw_only=True)
class UnitWork:
    """One attempt of one work unit."""

    program: str
    """The key of its program among the packet's parcels."""

    unit: WorkUnit
    epoch: int
    attempt: int


@frozen(kw_only=True)
class InspectWork:
    """Look inside some of the items that a source discovered."""

    source: str
    """The key of the source among the packet's parcels."""

    items: tuple[Item, ...] = field(repr=False)
    planning: Planning


@frozen(kw_only=True)
class ProbeWork:
    """Leave a token where the driver must find it."""

    sink: str
    """The key of the sink among the packet's parcels."""

    place: SinkPlace
    token: str


Work = UnitWork | InspectWork | ProbeWork


@frozen(kw_only=True)
class Packet:
    """What one Spark task gets to do."""

    works: tuple[Work, ...]
    parcels: Mapping[str, Any] = field(repr=False)
    """By key: what the works need, pickled; or a Spark broadcast of that, when it is big."""


@frozen(kw_only=True)
class UnitResult:
    """What became of one attempt of one work unit: a claim, until the driver has checked its numbers (R14)."""

    job_id: str
    pipeline_id: int
    source: str
    unit: int
    epoch: int
    attempt: int
    failure: Failure | None
    """Why it failed; everything below counts only what had happened until then."""

    rows_read: int = 0
    rows_skipped: int = 0
    bytes_read: int = 0
    wall_ms: float = 0.0
    committables: Mapping[str, Committable] = field(factory=dict)
    """By sink; a sink that got no row from the unit is absent. Empty after a failure."""


@frozen(kw_only=True)
class InspectResult:
    items: tuple[Item, ...] = field(default=(), repr=False)
    failure: Failure | None = None


@frozen(kw_only=True)
class ProbeResult:
    failure: Failure | None = None


Result = UnitResult | InspectResult | ProbeResult


def run_packets(packets: Sequence[Packet], task: int, partition: Iterable[object]) -> Iterator[Result]:
    """The function that Spark calls in every task of a job: each task has its packet, the partition means nothing."""
    for _ in partition:  # read to its end: Spark throws away a worker that leaves some of its input unread
        pass
    return run_packet(packets[task], task_attempt_number())


def run_packet(packet: Packet, task_attempt: int) -> Iterator[Result]:
    """Run the works one after the other, and yield their results in the same order.

    Making staged rows durable is mostly waiting for the disk, so it goes on in threads while the next unit is read:
    only ``SinkWriter.finish`` of one unit overlaps with another unit, never two reads or two transforms.
    """
    with ThreadPoolExecutor(_FINISHING) as pool:
        ending: deque[Future[Result]] = deque()
        for work in packet.works:
            ending.append(_begin(work, packet.parcels, task_attempt, pool))
            while len(ending) > _FINISHING or (ending and ending[0].done()):
                yield ending.popleft().result()
        for future in ending:
            yield future.result()


def _begin(work: Work, parcels: Mapping[str, Any], task_attempt: int, pool: ThreadPoolExecutor) -> "Future[Result]":
    thing = unwrapped(_the_key(work), parcels)
    if isinstance(work, UnitWork):
        run = UnitRun(thing, work.unit, work.epoch, work.attempt, task_attempt)
        run.stage()
        return pool.submit(run.result)
    done: Future[Result] = Future()
    if isinstance(work, InspectWork):
        done.set_result(inspect_items(thing, work.items, work.planning))
    else:
        done.set_result(probe_sink(thing, work.place, work.token))
    return done


def run_unit(program: Program, unit: WorkUnit, epoch: int, attempt: int, task_attempt: int) -> UnitResult:
    """Read, transform and stage one work unit. Never raises for an ``Exception``: it becomes the result's failure."""
    run = UnitRun(program, unit, epoch, attempt, task_attempt)
    run.stage()
    return run.result()


def committable(program: Program, unit: WorkUnit, epoch: int, staged: Staged) -> Committable:
    """What the driver publishes of one unit in one sink."""
    return Committable(
        id=f"{program.source_ordinal}-{epoch}-{unit.number}",
        epoch=epoch,
        unit=unit.number,
        source=program.source_name,
        rows=staged.rows,
        bytes=staged.bytes,
        body=staged.body,
        table_rows=staged.table_rows,
    )


def inspect_items(source: Source, items: Iterable[Item], planning: Planning) -> InspectResult:
    """Look inside some items of one source, in order."""
    try:
        return InspectResult(items=tuple(source.inspect(item, planning) for item in items))
    except Exception as error:
        return InspectResult(failure=failure_of(error, f"source {source.identifier}"))


def probe_sink(sink: Sink, place: SinkPlace, token: str) -> ProbeResult:
    try:
        sink.probe(place, token)
    except Exception as error:
        return ProbeResult(failure=failure_of(error, f"pipeline {place.pipeline_id}, sink {sink.identifier}"))
    return ProbeResult()


class UnitRun(ReadContext):
    """One attempt on its way: who takes the rows of whom, which writers are open, and what was counted."""

    def __init__(self, program: Program, unit: WorkUnit, epoch: int, attempt: int, task_attempt: int) -> None:
        self.rows_read = 0
        self.rows_skipped = 0
        self.bytes_read = 0
        self.at = f"source {program.source_name!r}"
        """Where the rows are just now; a failure names it."""

        self._splits = unit.splits
        """Where they come from: the split that is read, or all of the unit when no single one can be told."""

        self._rows = (0, 0)
        """Which rows of that split they are: how many came before them, and the last; nothing if that is not known."""

        self._program = program
        self._unit = unit
        self._epoch = epoch
        self._attempt = attempt
        self._task_attempt = task_attempt
        self._started = time.perf_counter()
        self._failure: Failure | None = None
        self._writers: dict[str, SinkWriter] = {}
        self._consumers: dict[str, list[Step | Target]] = {}
        nodes: tuple[Step | Target, ...] = (*program.steps, *program.targets)
        for node in nodes:
            for name in node.inputs:
                self._consumers.setdefault(name, []).append(node)

    def skip(self, error: Exception, rows: int = 1) -> None:
        if not self._program.skip_bad_rows:
            raise error
        self.rows_skipped += rows

    def read(self) -> Iterator[Batch]:
        """The rows of the unit's splits, counted."""
        for split in self._unit.splits:
            yield from self.read_split(split)

    def read_split(self, split: Split) -> Iterator[Batch]:
        read_before = self.bytes_read
        self._splits, self._rows = (split,), (0, 0)
        for batch in self._program.source.read(split, self):
            self.rows_read += batch.rows.num_rows
            self._rows = (self._rows[1], self._rows[1] + batch.rows.num_rows)
            if not split.weight_bytes:
                self.bytes_read += batch.rows.nbytes
            yield batch
            self.at = f"source {self._program.source_name!r}"
        self.bytes_read = max(self.bytes_read, read_before + split.weight_bytes)

    def push(self, node: str, batch: Batch) -> None:
        """Hand a batch that comes out of ``node`` to everything behind it, down to the sinks.

        What only a DataFrame transform leads to is left out: it has tasks of its own (``frame_task``).
        """
        for consumer in self._consumers.get(node, ()):
            if isinstance(consumer, Target):
                self.write(consumer, batch)
            elif isinstance(consumer.transform, Transform):
                for changed in self._applied(consumer, consumer.transform, batch):
                    self.push(consumer.name, changed)

    def flow(self, node: str, batch: Batch, end: str) -> Iterator[Batch]:
        """The batches that reach the input of ``end`` when a batch comes out of ``node``."""
        for consumer in self._consumers.get(node, ()):
            if consumer.name == end:
                yield batch
            elif isinstance(consumer, Step) and isinstance(consumer.transform, Transform):
                for changed in self._applied(consumer, consumer.transform, batch):
                    yield from self.flow(consumer.name, changed, end)

    def _applied(self, step: Step, transform: Transform, batch: Batch) -> Iterator[Batch]:
        self.at = f"transform {step.name!r}"
        for changed in transform.apply(batch):
            self.rows_skipped += changed.left_out
            yield evolve(changed, left_out=0) if changed.left_out else changed
            self.at = f"transform {step.name!r}"

    def write(self, target: Target, batch: Batch) -> None:
        if not batch.rows.num_rows:
            return
        self.at = f"sink {target.name!r}"
        writer = self._writers.get(target.name)
        if writer is None:
            writer = self._writers[target.name] = target.sink.open_writer(target.schemas, self._place(target))
        writer.write(batch)

    def stage(self) -> None:
        """Read the unit and hand its rows to the writers. What goes wrong is kept for the result."""
        try:
            for batch in self.read():
                self.push(self._program.source_name, batch)
        except Exception as error:
            self._fail(error)

    def result(self) -> UnitResult:
        """Make everything staged durable, and say what became of the unit. Called once, last."""
        staged: dict[str, Staged] = {}
        if self._failure is None:
            try:
                staged = self.finish_writers()
            except Exception as error:
                self._fail(error)
        return UnitResult(
            job_id=self._program.job_id,
            pipeline_id=self._program.pipeline_id,
            source=self._program.source_name,
            unit=self._unit.number,
            epoch=self._epoch,
            attempt=self._attempt,
            failure=self._failure,
            rows_read=self.rows_read,
            rows_skipped=self.rows_skipped,
            bytes_read=self.bytes_read,
            wall_ms=(time.perf_counter() - self._started) * 1000,
            committables={
                name: committable(self._program, self._unit, self._epoch, one)
                for name, one in staged.items()
                if self._failure is None
            },
        )

    def _fail(self, error: Exception) -> None:
        self.abort()
        self._failure = self.failure(error)

    def failure(self, error: Exception) -> Failure:
        """Why the attempt failed, and where. For a row that a transform or a sink cannot take also where it came from;
        sources say that themselves, and what is no fault of the rows happens anywhere."""
        failure = failure_of(error, f"pipeline {self._program.pipeline_id}, {self.at}")
        if failure.kind not in (FailureKind.DATA, FailureKind.BUG) or self.at.startswith("source "):
            return failure
        try:
            return evolve(failure, message=f"{failure.message.rstrip('.')}. Read from {self._origin()}")
        except Exception:  # a source that cannot tell its place must not hide what is wrong
            return failure

    def _origin(self) -> str:
        first, last = self._rows
        among = f", among its rows {first + 1:,} to {last:,}" if last and not self._program.skip_bad_rows else ""
        return reading(self._program.source, self._splits) + among

    def finish_writers(self) -> dict[str, Staged]:
        """Make everything staged durable; by sink, for the sinks that got a row."""
        staged = {}
        self._splits, self._rows = self._unit.splits, (0, 0)
        for name, writer in self._writers.items():
            self.at = f"sink {name!r}"
            staged[name] = writer.finish()
        return staged

    def abort(self) -> None:
        for writer in self._writers.values():
            writer.abort()

    def _place(self, target: Target) -> StagingPlace:
        return StagingPlace(
            job_id=self._program.job_id,
            pipeline_id=self._program.pipeline_id,
            sink_ordinal=target.ordinal,
            source_ordinal=self._program.source_ordinal,
            epoch=self._epoch,
            unit=self._unit.number,
            attempt=f"{self._attempt}-{self._task_attempt}",
        )


_FINISHING = 8
"""How many units of a packet may be waiting for the disk while the next one is read."""

_KEPT_THINGS = 64
_things: OrderedDict[str, Any] = OrderedDict()
"""Unpickled parcels of this worker process, the latest used last: a long pipeline unpickles its program once."""


def _the_key(work: Work) -> str:
    if isinstance(work, UnitWork):
        return work.program
    return work.source if isinstance(work, InspectWork) else work.sink


def unwrapped(key: str, parcels: Mapping[str, Any]) -> Any:
    """The thing in a parcel, unpickled once per worker process and kept for a while."""
    if key not in _things:
        parcel = parcels[key]
        body = parcel if isinstance(parcel, bytes) else parcel.value
        _things[key] = pickle.loads(body)  # noqa: S301  Spark itself ships the driver's objects like this
        while len(_things) > _KEPT_THINGS:
            _things.popitem(last=False)
    _things.move_to_end(key)
    return _things[key]


def task_attempt_number() -> int:
    """Spark's number of this task attempt: unique in the application."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise SourceError("a packet runs in a Spark task, and this is none")
    return int(context.taskAttemptId())
