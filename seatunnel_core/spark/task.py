"""What runs on an executor: a packet of works, one after the other or side by side, each with a result of its own.

Nothing here needs Spark to be imported: a test calls these functions as a task does. An error inside a work is caught
and becomes that work's result, so it hurts nobody else in the packet (protocol rule R15). What cannot be caught — the
process is killed, memory runs out — fails the packet; the driver knows what had begun, and runs it again apart.
"""

import pickle
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from contextvars import Context
from typing import Any

from attrs import evolve

from seatunnel_core.connectors.sink import Sink, SinkContext, SinkWriter, Staged, WriterContext
from seatunnel_core.connectors.source import Item, Planning, ReadContext, Source
from seatunnel_core.connectors.within_extent import writer_of
from seatunnel_core.errors import RowError, SourceError
from seatunnel_core.rows.batch import Batch
from seatunnel_core.spark.bad_rows import OnBadRow, Refused, write_around
from seatunnel_core.spark.failure import reading, task_failure
from seatunnel_core.spark.line import Line
from seatunnel_core.spark.program import Program, Step, Target
from seatunnel_core.spark.work import (
    InspectResult,
    InspectWork,
    Packet,
    ProbeResult,
    Result,
    UnitResult,
    UnitWork,
    Work,
)
from seatunnel_core.transforms.transform import Transform
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import UnitAttempt, WorkUnit


def run_packets(packets: Sequence[Packet], task: int, partition: Iterable[object]) -> Iterator[tuple[int, Result]]:
    """The function that Spark calls in every task of a job: each task has its packet, the partition means nothing."""
    for _ in partition:  # read to its end: Spark throws away a worker that leaves some of its input unread
        pass
    packet, (attempt, again) = packets[task], task_attempt()
    with closing(Line(packet.line, once=packet.writes_at_once, again=again)) as line:
        yield from run_packet(packet, attempt, line)


def run_packet(packet: Packet, task_attempt: int, line: Line | None = None) -> Iterator[tuple[int, Result]]:
    """Run the works, and yield the results that ``line`` could not tell, each with the number of its work.

    Without lanes the works are done one after the other. Making staged rows durable is mostly waiting for the disk, so
    it goes on in threads while the next unit is read: only ``SinkWriter.finish`` of one unit overlaps with another
    unit, never two reads or two transforms.
    """
    line = line or Line(None)
    if packet.lanes:
        yield from _side_by_side(packet, task_attempt, line)
        return
    with ThreadPoolExecutor(_FINISHING) as pool:
        ending: deque[tuple[int, Future[Result | None]]] = deque()
        for number, work in enumerate(packet.works):
            if isinstance(work, UnitWork) and not line.may_begin(number):
                continue
            ending.append((number, _begin(number, work, packet.parcels, task_attempt, pool, line)))
            while len(ending) > _FINISHING or (ending and ending[0][1].done()):
                yield from _untold(*ending.popleft())
        for each in ending:
            yield from _untold(*each)


def _begin(
    number: int, work: Work, parcels: Mapping[str, Any], task_attempt: int, pool: ThreadPoolExecutor, line: Line
) -> "Future[Result | None]":
    thing = unwrapped(_the_key(work), parcels)
    if isinstance(work, UnitWork):
        run = UnitRun(thing, work.attempt, task_attempt, work.reads)
        own = Context()
        own.run(run.stage)
        return pool.submit(own.run, _ended, number, run, line)
    done: Future[Result | None] = Future()
    if isinstance(work, InspectWork):
        done.set_result(inspect_items(thing, work.items, work.planning))
    else:
        done.set_result(probe_sink(thing, work.context, work.token))
    return done


def _side_by_side(packet: Packet, task_attempt: int, line: Line) -> Iterator[tuple[int, Result]]:
    """So many units of each program at once as it has lanes, each in a thread with a program of its own: sources that
    wait have nothing to share. Transforms take turns."""
    parcels = {key: _body(parcel) for key, parcel in packet.parcels.items()}

    def whole(number: int, work: UnitWork) -> Result | None:
        if not line.may_begin(number):
            return None
        thing = unwrapped(work.program, parcels)
        run = UnitRun(thing, work.attempt, task_attempt, work.reads)
        run.stage()
        return _ended(number, run, line)

    with ExitStack() as stack:
        pools = {key: stack.enter_context(ThreadPoolExecutor(lanes)) for key, lanes in packet.lanes.items()}
        units = [(number, work) for number, work in enumerate(packet.works) if isinstance(work, UnitWork)]
        running = [(number, pools[work.program].submit(Context().run, whole, number, work)) for number, work in units]
        for each in running:
            yield from _untold(*each)


def _ended(number: int, run: "UnitRun", line: Line) -> Result | None:
    """The result of a unit, unless the driver has been told it."""
    result = run.result()
    return None if line.tell(number, result) else result


def _untold(number: int, ending: "Future[Result | None]") -> Iterator[tuple[int, Result]]:
    result = ending.result()
    if result is not None:
        yield number, result


def run_unit(program: Program, attempt: UnitAttempt, task_attempt: int) -> UnitResult:
    """Read, transform and stage one work unit. Never raises for an ``Exception``: it becomes the result's failure."""
    run = UnitRun(program, attempt, task_attempt)
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


def shown(staged: Mapping[str, Staged]) -> dict[str, tuple[str, ...]]:
    """What the sinks of a unit want to show."""
    return {name: one.shown for name, one in staged.items() if one.shown}


def inspect_items(source: Source, items: Iterable[Item], planning: Planning) -> InspectResult:
    """Look inside some items of one source, in order."""
    try:
        return InspectResult(items=tuple(source.inspect(item, planning) for item in items))
    except Exception as error:
        return InspectResult(failure=task_failure(error, f"source {source.identifier}"))


def probe_sink(sink: Sink, context: SinkContext, token: str) -> ProbeResult:
    try:
        sink.probe(context, token)
    except Exception as error:
        return ProbeResult(failure=task_failure(error, f"pipeline {context.pipeline_id}, sink {sink.identifier}"))
    return ProbeResult()


class UnitRun(ReadContext):
    """One attempt on its way: who takes the rows of whom, which writers are open, and what was counted."""

    def __init__(
        self,
        program: Program,
        attempt: UnitAttempt,
        task_attempt: int,
        reads: str | None = None,
    ) -> None:
        self.rows_read = 0
        self.rows_skipped = 0
        self.bytes_read = 0
        self.reader = next(each for each in program.readers if each.name == (reads or program.source_name))
        self.at = f"source {self.reader.name!r}"
        """Where the rows are just now; a failure names it."""

        self._splits = attempt.unit.splits
        """Where they come from: the split that is read, or all of the unit when no single one can be told."""

        self._rows = (0, 0)
        """Which rows of that split they are: how many came before them, and the last; nothing if that is not known."""

        self._notes: dict[tuple[str, str], list[Any]] = {}
        """How many rows of each kind there are, and where the first one stands."""

        self._of_query = reads is None and program.splits is not None
        """Whether rows come out of a query, and can come from anywhere in its sources."""

        self.unit = attempt.unit
        self._program = program
        self._attempt = attempt
        self._task_attempt = task_attempt
        self._started = time.perf_counter()
        self._busy_ms = 0.0
        self._failure: Failure | None = None
        self._writers: dict[str, SinkWriter] = {}
        self._consumers: dict[str, list[Step | Target]] = {}
        nodes: tuple[Step | Target, ...] = (*program.steps, *program.targets)
        for node in nodes:
            for name in node.inputs:
                self._consumers.setdefault(name, []).append(node)

    def skip(self, error: Exception, rows: int = 1) -> None:
        if not self.reader.skip_bad_rows:
            raise error
        self.rows_skipped += rows

    def note(self, what: str, example: str, rows: int = 1) -> None:
        noted = self._notes.setdefault((self.at, what), [0, example])
        noted[0] += rows

    @property
    def notes(self) -> tuple[str, ...]:
        """One for each kind."""
        return tuple(
            f"{where}: {count} rows {what}; such as {example}"
            for (where, what), (count, example) in self._notes.items()
        )

    def read(self) -> Iterator[Batch]:
        """The rows of the unit's splits, counted."""
        for split in self.unit.splits:
            yield from self.read_split(split)

    def read_split(self, split: Split) -> Iterator[Batch]:
        read_before = self.bytes_read
        self._splits, self._rows = (split,), (0, 0)
        for batch in self.reader.source.read(split, self):
            self.rows_read += batch.rows.num_rows
            self._rows = (self._rows[1], self._rows[1] + batch.rows.num_rows)
            if not split.weight_bytes:
                self.bytes_read += batch.rows.nbytes
            yield batch
            self.at = f"source {self.reader.name!r}"
        self.bytes_read = max(self.bytes_read, read_before + split.weight_bytes)

    def push(self, node: str, batch: Batch) -> None:
        """Hand a batch that comes out of ``node`` to everything behind it, down to the sinks.

        What only a DataFrame transform leads to is left out: it has tasks of its own (``frame_task``).
        """
        for consumer in self._consumers.get(node, ()):
            if isinstance(consumer, Target):
                self.write(consumer, batch, as_read=node == self._program.source_name)
            elif isinstance(consumer.transform, Transform):
                for changed in self._applied(consumer, consumer.transform, batch):
                    self.push(consumer.name, changed)

    def flow(self, node: str, batch: Batch, end: str, through: str) -> Iterator[Batch]:
        """The batches that reach ``end`` through its input ``through`` when a batch comes out of ``node``."""
        for consumer in self._consumers.get(node, ()):
            if consumer.name == end:
                if node == through:
                    yield batch
            elif isinstance(consumer, Step) and isinstance(consumer.transform, Transform):
                for changed in self._applied(consumer, consumer.transform, batch):
                    yield from self.flow(consumer.name, changed, end, through)

    def _applied(self, step: Step, transform: Transform, batch: Batch) -> Iterator[Batch]:
        self.at = f"transform {step.name!r}"
        for changed in _in_turn(transform.apply(batch)):
            self.rows_skipped += changed.left_out
            yield evolve(changed, left_out=0) if changed.left_out else changed
            self.at = f"transform {step.name!r}"

    def write(self, target: Target, batch: Batch, *, as_read: bool = False) -> None:
        """``as_read`` says that the batch is the last one that was read."""
        if not batch.rows.num_rows:
            return
        self.at = f"sink {target.name!r}"
        writer = self._writers.get(target.name)
        if writer is None:
            writer = self._writers[target.name] = writer_of(target.sink, target.schemas, self._context(target))
        try:
            writer.write(batch)
        except RowError:
            if not target.sink.tells_rows_apart:
                raise
            for refused in write_around(writer, batch, nulls=target.on_bad_row is OnBadRow.NULL):
                self._refused(target, refused, as_read=as_read)

    def _refused(self, target: Target, refused: Refused, *, as_read: bool) -> None:
        if target.on_bad_row is OnBadRow.FAIL:
            if as_read and self._rows[1]:
                row = self._rows[0] + refused.place
                self._rows = (row, row + 1)
            raise refused.error
        if refused.written:
            self.note("have null where there was a value that the sink cannot write", str(refused.error))
        else:
            self.rows_skipped += 1
            self.note("are left out, as the sink cannot write them", str(refused.error))

    def stage(self) -> None:
        """Read the unit and hand its rows to the writers. What goes wrong is kept for the result."""
        before_ms = _busy_ms()
        try:
            for batch in self.read():
                self.push(self.reader.name, batch)
        except Exception as error:
            self._fail(error)
        self._busy_ms = _busy_ms() - before_ms

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
            attempt=self._attempt.id,
            failure=self._failure,
            rows_read=self.rows_read,
            rows_skipped=self.rows_skipped,
            bytes_read=self.bytes_read,
            wall_ms=(time.perf_counter() - self._started) * 1000,
            busy_ms=self._busy_ms,
            committables={
                name: committable(self._program, self.unit, self._attempt.epoch, one)
                for name, one in staged.items()
                if self._failure is None
            },
            shown=shown(staged),
            notes=self.notes,
        )

    def _fail(self, error: Exception) -> None:
        self.abort()
        self._failure = self.failure(error)

    def failure(self, error: Exception) -> Failure:
        """Why the attempt failed, and where. For a row that a transform or a sink cannot take also where it came from;
        sources say that themselves, and what is no fault of the rows happens anywhere."""
        failure = task_failure(error, f"pipeline {self._program.pipeline_id}, {self.at}")
        if failure.kind not in (FailureKind.DATA, FailureKind.BUG) or self.at.startswith("source "):
            return failure
        try:
            return evolve(failure, message=f"{failure.message.rstrip('.')}. Read from {self._origin()}")
        except Exception:  # a source that cannot tell its place must not hide what is wrong
            return failure

    def _origin(self) -> str:
        if self._of_query:
            return f"all of {', '.join(each.name for each in self._program.readers)}"
        first, last = self._rows
        rows = f"its row {last:,}" if first + 1 == last else f"among its rows {first + 1:,} to {last:,}"
        among = f", {rows}" if last and not self.reader.skip_bad_rows else ""
        return reading(self.reader.source, self._splits) + among

    def finish_writers(self) -> dict[str, Staged]:
        """Make everything staged durable; by sink, for the sinks that got a row."""
        staged = {}
        self._splits, self._rows = self.unit.splits, (0, 0)
        for name, writer in self._writers.items():
            self.at = f"sink {name!r}"
            staged[name] = writer.finish()
        return staged

    def abort(self) -> None:
        for writer in self._writers.values():
            writer.abort()

    def _context(self, target: Target) -> WriterContext:
        return WriterContext(
            job_id=self._program.job_id,
            pipeline_id=self._program.pipeline_id,
            sink_ordinal=target.ordinal,
            source_ordinal=self._program.source_ordinal,
            epoch=self._attempt.epoch,
            unit=self.unit.number,
            attempt=f"{self._attempt.number}-{self._task_attempt}",
        )


_FINISHING = 8
"""How many units of a packet may be waiting for the disk while the next one is read."""

_KEPT_THINGS = 64


class _Things(threading.local):
    """Unpickled parcels of this worker process, the latest used last: a long pipeline unpickles its program once. Each
    thread has its own, so that no plugin has to bear several."""

    def __init__(self) -> None:
        self.kept: OrderedDict[str, Any] = OrderedDict()


_things = _Things()
_turn = threading.Lock()
"""Who transforms: a user's function needs no locks, however many units are read at once."""


def _in_turn(batches: Iterator[Batch]) -> Iterator[Batch]:
    while True:
        with _turn:
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _busy_ms() -> float:
    """For how long this thread has had a processor or, where the system tells, has waited for one."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as told:
            return sum(map(int, told.read().split()[:2])) / 1e6
    except (OSError, ValueError):
        return time.thread_time() * 1000


def _the_key(work: Work) -> str:
    if isinstance(work, UnitWork):
        return work.program
    return work.source if isinstance(work, InspectWork) else work.sink


def unwrapped(key: str, parcels: Mapping[str, Any]) -> Any:
    """The thing in a parcel, unpickled once per thread and kept for a while."""
    kept = _things.kept
    if key not in kept:
        kept[key] = pickle.loads(_body(parcels[key]))  # noqa: S301  Spark itself ships the driver's objects like this
        while len(kept) > _KEPT_THINGS:
            kept.popitem(last=False)
    kept.move_to_end(key)
    return kept[key]


def _body(parcel: Any) -> bytes:
    body: bytes = parcel if isinstance(parcel, bytes) else parcel.value
    return body


def task_attempt_number() -> int:
    """Spark's number of this task attempt: unique in the application."""
    return task_attempt()[0]


def task_attempt() -> tuple[int, bool]:
    """That number, and whether the task was attempted before."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise SourceError("a packet runs in a Spark task, and this is none")
    return int(context.taskAttemptId()), context.attemptNumber() > 0
