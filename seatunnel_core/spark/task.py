"""Code of a Spark task: runs a batch of work items in sequence or concurrently. Each item has its own result.

Importing this module does not import Spark, so tests can call its functions directly. An error in a work item becomes
the item's result, so that the other items of the batch continue (protocol rule R15). A failure that cannot be caught,
such as a killed process, fails the batch. The driver knows which units had begun, and runs them again separately.
"""

import pickle
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from contextvars import Context
from functools import partial
from typing import Any

from seatunnel_core.connector_api.capabilities import SupportsProbe
from seatunnel_core.connector_api.sink import Sink, SinkContext
from seatunnel_core.connector_api.source import DiscoveredObject, PlanningContext, Source
from seatunnel_core.errors import SourceError
from seatunnel_core.spark.failure import retried, task_failure
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.spark.report_channel import ReportChannel
from seatunnel_core.spark.reports import Reports
from seatunnel_core.spark.unit_run import UnitRun
from seatunnel_core.spark.work import (
    InspectResult,
    InspectWork,
    ProbeResult,
    ProbeWork,
    Result,
    TaskBatch,
    UnitResult,
    UnitWork,
)
from seatunnel_core.work.unit import UnitAttempt


def run_batches(batches: Sequence[TaskBatch], task: int, partition: Iterable[object]) -> Iterator[tuple[int, Result]]:
    """Run the batch of a task, and yield the unreported results with the indexes of their work items.

    Spark calls this in every task of a job: ``task`` is the index of the task and of its batch.
    """
    for _ in partition:  # Spark discards a worker that leaves input unread
        pass
    batch, (attempt, again) = batches[task], task_attempt()
    with closing(ReportChannel(batch.channel, once=batch.writes_at_once, again=again)) as channel:
        yield from run_batch(batch, attempt, channel, again=again)


def run_batch(
    batch: TaskBatch, task_attempt: int, channel: ReportChannel | None = None, *, again: bool = False
) -> Iterator[tuple[int, Result]]:
    """Run the work items, and yield the results that ``channel`` could not report, with the indexes of their items.

    Without reader threads, the items run in sequence. Making staged rows durable mostly waits for the disk, so it
    continues in threads while the next unit is read. Only ``SinkWriter.finish`` overlaps with other units; two reads or
    two transforms never overlap.
    """
    at_once = batch.writes_at_once or bool(batch.reader_threads)
    reports = Reports(channel or ReportChannel(None), at_once=at_once, again=again)
    with reports.periodic():
        if batch.reader_threads:
            _side_by_side(batch, task_attempt, reports)
        else:
            yield from _in_turn(batch, task_attempt, reports)
    yield from reports.unreceived()


def _in_turn(batch: TaskBatch, task_attempt: int, reports: Reports) -> Iterator[tuple[int, Result]]:
    """Run the work items in sequence, and yield the results of all items except units."""
    with ThreadPoolExecutor(_FINISHING) as pool:
        ending: deque[Future[None]] = deque()
        for number, work in enumerate(batch.works):
            if not isinstance(work, UnitWork):
                yield number, _answer(work, batch.carriers)
            elif reports.may_begin(number):
                run = UnitRun(unwrapped(work.chain, batch.carriers), work.attempt, task_attempt, work.reads)
                reports.runs(number, run.work)
                own = Context()
                own.run(run.stage)
                ending.append(pool.submit(own.run, _end, number, run, reports))
                while len(ending) > _FINISHING or (ending and ending[0].done()):
                    ending.popleft().result()
        for each in ending:
            each.result()


def _side_by_side(batch: TaskBatch, task_attempt: int, reports: Reports) -> None:
    """Run the units of each chain in the chain's reader threads.

    Each thread has its own copy of the chain, so that sources need not be thread-safe. Transforms run one at a time.
    """
    carriers = {key: _body(carrier) for key, carrier in batch.carriers.items()}

    def whole(number: int, work: UnitWork) -> None:
        if reports.may_begin(number):
            run = UnitRun(unwrapped(work.chain, carriers), work.attempt, task_attempt, work.reads)
            reports.runs(number, run.work)
            run.stage()
            _end(number, run, reports)

    with ExitStack() as stack:
        pools = {
            key: stack.enter_context(ThreadPoolExecutor(reader_threads))
            for key, reader_threads in batch.reader_threads.items()
        }
        units = [(number, work) for number, work in enumerate(batch.works) if isinstance(work, UnitWork)]
        for each in [pools[work.chain].submit(Context().run, whole, number, work) for number, work in units]:
            each.result()


def _answer(work: InspectWork | ProbeWork, carriers: Mapping[str, Any]) -> Result:
    if isinstance(work, InspectWork):
        return inspect_items(unwrapped(work.source, carriers), work.items, work.planning)
    return probe_sink(unwrapped(work.sink, carriers), work.context, work.token)


def _end(number: int, run: UnitRun, reports: Reports) -> None:
    reports.ended(number, run.result())


def run_unit(chain: OperatorChain, attempt: UnitAttempt, task_attempt: int) -> UnitResult:
    """Read, transform and stage a work unit; an ``Exception`` becomes the result's failure."""
    run = UnitRun(chain, attempt, task_attempt)
    run.stage()
    return run.result()


def inspect_items(source: Source, items: Iterable[DiscoveredObject], planning: PlanningContext) -> InspectResult:
    """Inspect discovered objects of a source, in order; an ``Exception`` becomes the result's failure."""
    try:
        return InspectResult(items=tuple(retried(partial(source.inspect, item, planning)) for item in items))
    except Exception as error:
        return InspectResult(failure=task_failure(error, f"source {source.identifier}"))


def probe_sink(sink: Sink, context: SinkContext, token: str) -> ProbeResult:
    """Write a token into the target of a sink; an ``Exception`` becomes the result's failure."""
    try:
        if isinstance(sink, SupportsProbe):
            sink.probe(context, token)
    except Exception as error:
        return ProbeResult(failure=task_failure(error, f"pipeline {context.pipeline_id}, sink {sink.identifier}"))
    return ProbeResult()


_FINISHING = 8
"""Maximum number of units in a batch that wait for the disk while the next one is read."""

_KEPT_THINGS = 64


class _Things(threading.local):
    """LRU cache of unpickled objects, one for each thread, so that plugins need not be thread-safe."""

    def __init__(self) -> None:
        self.kept: OrderedDict[str, Any] = OrderedDict()


_things = _Things()


def unwrapped(key: str, carriers: Mapping[str, Any]) -> Any:
    """Return the object in a carrier, unpickled once per thread and cached for a while."""
    kept = _things.kept
    if key not in kept:
        kept[key] = pickle.loads(_body(carriers[key]))  # noqa: S301  Spark itself ships the driver's objects like this
        while len(kept) > _KEPT_THINGS:
            kept.popitem(last=False)
    kept.move_to_end(key)
    return kept[key]


def _body(carrier: Any) -> bytes:
    body: bytes = carrier if isinstance(carrier, bytes) else carrier.value
    return body


def task_attempt_number() -> int:
    """Return Spark's number of this task attempt, unique in the application."""
    return task_attempt()[0]


def task_attempt() -> tuple[int, bool]:
    """Return Spark's number of this task attempt, and whether the task was attempted before."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise SourceError("a task batch runs only in a Spark task")
    return int(context.taskAttemptId()), context.attemptNumber() > 0
