"""Dispatcher: runs the work units of all pipelines in task batches on Spark, and forwards their results."""

import itertools
import logging
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial

from attrs import evolve

from seatunnel_core.errors import PacketLostError, PlatformError
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.choosing import BatchChoice, Paces
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.spark.packing import MOST_UNITS, TARGET_MS, Candidate, ShareMode, overdue_ms
from seatunnel_core.spark.report_channel import Numbered
from seatunnel_core.spark.running import Ledger, OnProgress, OnResult, Order, RunningBatch, speculating, waits
from seatunnel_core.spark.task_batch import batch_of
from seatunnel_core.spark.watch import Watch
from seatunnel_core.spark.work import UnitResult, UnitWork
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.unit import UnitAttempt

logger = logging.getLogger("seatunnel.spark")

GATHERING_S = 0.01
"""Time to wait for more units of an I/O-bound source, in seconds, so that they share a task batch."""


class UnitDispatcher:
    """Dispatches submitted work units to the backend's slots. Thread-safe. Only ``close`` waits for Spark."""

    def __init__(
        self,
        backend: SparkBackend,
        share_mode: ShareMode = ShareMode.PART,
        slots: int | None = None,
        longest_ms: float = TARGET_MS,
    ) -> None:
        """Create a dispatcher for ``slots`` concurrent units, by default one per Spark slot. Threads start later."""
        self._backend = backend
        self._most_units = slots
        self._choice = BatchChoice(backend, share_mode, slots, longest_ms)
        self._changed = threading.Condition()
        self._waiting: list[Candidate[Order]] = []
        self._running: dict[RunningBatch, None] = {}
        """Batches submitted to Spark, in submission order, so that simulations are reproducible."""

        self._ledger = Ledger()
        self._is_reached = False
        """True once any task has connected to the driver."""

        self._numbers = itertools.count(1)
        self._paces = Paces()
        self._threads: list[threading.Thread] = []
        self._closed = False
        self.lost_batches = 0
        """Number of lost batches; their tasks may have continued for a while and staged rows."""

    @property
    def _most_jobs(self) -> int:
        """Maximum number of concurrent Spark jobs. Some jobs keep the slots busy while others start and end."""
        return min(self._most_units or 2 * self._backend.slots, 2 * self._backend.slots)

    def submit(
        self,
        chain: OperatorChain,
        attempt: UnitAttempt,
        on_result: OnResult,
        *,
        restored: bool = False,
        on_again: Callable[[], object] | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        """Queue an attempt at a work unit.

        ``on_result`` is called once, unless the pipeline is cancelled. ``on_again`` is called when the unit begins
        again, because a sink may then receive its rows twice. ``on_progress`` is called repeatedly. ``restored`` is
        True if an earlier process may have begun the unit.
        """
        order = Order(chain, attempt, on_result, restored, on_again, on_progress)
        if chain.writes_at_once and self._backend.speculates:
            on_result(order.failed(speculating(chain)))
            return
        with self._changed:
            pace = self._paces.of(chain)
            self._waiting.append(
                Candidate(
                    load=order,
                    pipeline=order.pipeline,
                    predicted_ms=pace.predict_ms(attempt.unit),
                    measured=pace.measured > 0,
                    alone=chain.on_frames,
                    waits=waits(chain, pace, attempt.unit),
                )
            )
            self._add_thread()
            self._changed.notify()

    def cancel(self, job_id: str, pipeline_id: int) -> None:
        """Remove the waiting units of a pipeline, and stop its running ones unless other pipelines share their job.

        After this returns, results of earlier units are not forwarded, unless their callback is already running.
        """
        pipeline = (job_id, pipeline_id)
        with self._changed:
            self._waiting = [unit for unit in self._waiting if unit.pipeline != pipeline]
            stopped = []
            for batch in self._running:
                batch.dropped.add(pipeline)
                if all(unit.pipeline in batch.dropped for unit in batch.units):
                    stopped.append(batch.tag)
        for tag in stopped:
            self._backend.cancel(tag)

    def close(self) -> None:
        """Stop all work without forwarding further results, and wait up to 30 seconds for each thread."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            tags = [batch.tag for batch in self._running if batch.left()]
            for batch in self._running:
                batch.dropped.update(unit.pipeline for unit in batch.units)
            self._changed.notify_all()
        for tag in tags:
            self._backend.cancel(tag)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout=30)

    # -- the threads ----------------------------------------------------------------------------------------------

    def _add_thread(self) -> None:
        """Start another thread if there may be work for it. Each thread runs one Spark job at a time."""
        if len(self._threads) < self._most_jobs and len(self._threads) < len(self._waiting) + len(self._running):
            thread = threading.Thread(target=self._serve, name=f"seatunnel-units-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._gather()
                while not self._closed and (batch := self._take()) is None:
                    self._changed.wait()
                    self._gather()
                if self._closed or batch is None:
                    return
                if self._waiting:
                    self._changed.notify()
            try:
                self._run(batch)
            finally:
                with self._changed:
                    self._running.pop(batch, None)
                    if self._waiting:  # possibly for this task's source
                        self._changed.notify()

    def _gather(self) -> None:
        """Wait for further units of an I/O-bound source while they keep arriving, so that they share a task."""
        seen = -1
        while not self._closed and len(self._waiting) != seen and self._waiting and self._waiting[0].waits:
            seen = len(self._waiting)
            self._changed.wait(GATHERING_S)

    def _take(self) -> RunningBatch | None:
        """Take the next batch from the waiting units. Return ``None`` if no waiting unit may be read yet."""
        self._waiting[:MOST_UNITS] = map(self._paces.predicted, self._waiting[:MOST_UNITS])
        units, reader_threads = self._choice.choose(self._waiting, tuple(self._running))
        if not units:
            return None
        taken = set(map(id, units))
        self._waiting = [unit for unit in self._waiting if id(unit) not in taken]
        batch = RunningBatch(
            number=next(self._numbers), tag=self._backend.new_tag(), units=units, reader_threads=reader_threads
        )
        self._running[batch] = None
        return batch

    def _run(self, batch: RunningBatch) -> None:
        watch, batch.began_ms = self._watch(batch), time.perf_counter() * 1000
        try:
            unreported = self._on_spark(batch)
        except PacketLostError as lost:
            self._note_unasked(batch)
            self._again(batch, lost)
        except PlatformError as error:
            self._fail(batch, Failure(kind=FailureKind.USAGE, message=str(error), code=error.code))
        except Exception as error:
            logger.exception("a batch of work units could not be run")
            detail = traceback.format_exc()
            self._fail(batch, Failure(kind=FailureKind.BUG, message=f"{type(error).__name__}: {error}", detail=detail))
        else:
            self._note_unasked(batch)
            self._reported(batch, unreported)
            if batch.left():
                self._again(batch, PacketLostError("its worker died, or its executor was lost"))
        finally:
            if watch is not None:
                watch.cancel()

    def _on_spark(self, batch: RunningBatch) -> list[tuple[int, UnitResult]]:
        first = batch.units[0].load
        if first.chain.on_frames:
            if not self._begins(batch, 0):
                return []
            return [(0, self._backend.run_on_frames(first.chain, first.attempt, batch.tag))]
        works, reader_threads = [], {}
        for order in (unit.load for unit in batch.units):
            packed = self._backend.pack_chain(order.chain)
            work = UnitWork(chain=packed.key, attempt=order.attempt)
            works.append((work, packed))
            if batch.reader_threads:
                reader_threads[packed.key] = batch.reader_threads[order.chain]
        task = evolve(batch_of(works), reader_threads=reader_threads, writes_at_once=batch.writes_at_once)
        return self._backend.run_units(task, batch.tag, _BatchListener(self, batch))

    # -- while its task runs ---------------------------------------------------------------------------------------

    def _reached(self, batch: RunningBatch) -> None:
        with self._changed:
            batch.reached = self._is_reached = True
            batch.began_ms = time.perf_counter() * 1000

    def _begins(self, batch: RunningBatch, number: int) -> bool:
        """Return True if a unit may begin, and record it as begun.

        A repeated task begins the unit again unless the unit writes directly to a target (rule R15).
        """
        candidate = batch.units[number]
        order = candidate.load
        with self._changed:
            if number in batch.over or self._closed:
                return False
            if candidate.pipeline in batch.dropped:
                batch.over.add(number)
                return False
            if number in batch.begun and order.chain.writes_at_once:
                return False
            batch.begun.add(number)
        self._note_begun(order)
        return True

    def _note_unasked(self, batch: RunningBatch) -> None:
        """Record all units of a task that never connected to the driver as begun, because each of them may have begun.

        If other tasks connect to the driver, batches with cancelled pipelines are skipped: Spark had not started them.
        """
        if not batch.reached and not (batch.dropped and self._is_reached):
            for unit in batch.units:
                self._note_begun(unit.load)

    def _note_begun(self, order: Order) -> None:
        if not order.chain.doubling:
            return
        with self._changed:
            again = self._ledger.begins_again(order)
        if again and order.on_again is not None:
            order.on_again()

    def _reported(self, batch: RunningBatch, results: Sequence[Numbered]) -> None:
        """Record results that arrived together.

        Units of a batch overlap while they wait for the disk. The cost of each unit is its share of the time since the
        previous results.
        """
        now_ms = time.perf_counter() * 1000
        with self._changed:
            took_ms, batch.began_ms = now_ms - batch.began_ms, now_ms
        walls_ms = sum(result.wall_ms for _, result in results)
        share = 1.0 if batch.reader_threads else min(1.0, took_ms / max(walls_ms, 0.001))
        for number, result in results:
            self._ended(batch, number, result, result.wall_ms * share)

    def _ended(self, batch: RunningBatch, number: int, result: UnitResult, cost_ms: float) -> None:
        with self._changed:
            if number in batch.over:
                return
            batch.over.add(number)
            if self._waiting:  # a reader of the source may be free
                self._changed.notify()
        if result.failure is None:
            with self._changed:
                self._paces.learn(batch, batch.units[number].load, result, cost_ms)
        self._forward(batch, batch.units[number], result)

    # -- failures of a whole batch --------------------------------------------------------------------------------

    def _watch(self, batch: RunningBatch) -> Watch | None:
        """Start a timer that requeues unbegun units of an overdue batch (R15); return ``None`` for a single unit.

        A batch is overdue if it takes much longer than predicted, excluding possible waiting time in Spark.
        """
        limit_ms = overdue_ms(batch.units)
        if limit_ms is None:
            return None
        watch = Watch(limit_ms / 1000)

        def requeue_or_wait() -> None:
            if self._may_wait(batch) or not self._give_away(batch):
                watch.start(requeue_or_wait)

        watch.start(requeue_or_wait)
        return watch

    def _may_wait(self, batch: RunningBatch) -> bool:
        """Return True if batches submitted earlier or at about the same time may occupy all of Spark's slots."""
        with self._changed:
            others = (other.number - batch.number for other in self._running if other is not batch)
            return sum(later < self._backend.slots for later in others) >= self._backend.slots

    def _give_away(self, batch: RunningBatch) -> bool:
        """Requeue the units that an overdue batch has not begun. Return False if they are unknown.

        Units that have begun continue, because they must not be read, and perhaps written, twice.
        """
        with self._changed:
            if batch.reached:
                self._requeue(batch, batch.left_unbegun(), "takes much longer than predicted")
            return batch.reached

    def _requeue(self, batch: RunningBatch, numbers: list[int], reason: str) -> None:
        """Queue units again: first in one Spark job per pipeline, and if that job is lost, in one Spark job per unit.

        The caller must hold the lock; otherwise a pipeline that is cancelled in the meantime would continue.
        """
        batch.over.update(numbers)
        if numbers:
            logger.info(
                "a Spark task with %d work units %s; the remaining %d are run separately",
                len(batch.units),
                reason,
                len(numbers),
            )
        shared = len({unit.pipeline for unit in batch.units}) > 1
        units = [unit for unit in (batch.units[number] for number in numbers) if unit.pipeline not in batch.dropped]
        if not units or self._closed:
            return
        self._waiting[:0] = [evolve(unit, apart=True, alone=not shared) for unit in units]
        self._changed.notify(len(units))

    def _again(self, batch: RunningBatch, lost: PacketLostError) -> None:
        """Requeue the units that have no result. A unit that was alone in its batch fails instead."""
        with self._changed:
            if not batch.left():
                return
            self.lost_batches += 1
            if len(batch.units) > 1:
                self._requeue(batch, batch.left(), f"was lost: {lost}")
                return
        self._fail(batch, batch.units[0].load.lost(lost))

    def _fail(self, batch: RunningBatch, failure: Failure) -> None:
        with self._changed:
            left = batch.left()
            batch.over.update(left)
        for number in left:
            self._forward(batch, batch.units[number], batch.units[number].load.failed(failure))

    # -- results --------------------------------------------------------------------------------------------------

    def _forward(self, batch: RunningBatch, candidate: Candidate[Order], result: UnitResult) -> None:
        with self._changed:
            if candidate.pipeline in batch.dropped:
                return
        try:
            candidate.load.on_result(result)
        except Exception:
            logger.exception("the result of work unit %d could not be forwarded", result.attempt.unit)


class _BatchListener:
    def __init__(self, dispatcher: UnitDispatcher, batch: RunningBatch) -> None:
        self.reached = partial(dispatcher._reached, batch)
        self.begins = partial(dispatcher._begins, batch)
        self.ended = partial(dispatcher._reported, batch)
        self.progress = batch.progress
