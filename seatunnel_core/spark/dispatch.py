"""Takes work units from all pipelines, has Spark run them in packets, and hands each result to whom it belongs."""

import itertools
import logging
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from weakref import WeakKeyDictionary

from attrs import define, evolve, field, frozen

from seatunnel_core.checkpoint.events import Failure, FailureKind
from seatunnel_core.checkpoint.split import WorkUnit
from seatunnel_core.errors import PacketLostError, PlatformError
from seatunnel_core.spark.packing import MOST_UNITS, TARGET_MS, Candidate, Pace, ShareMode, choose_packet, overdue_ms
from seatunnel_core.spark.plane import SparkPlane, packet_of
from seatunnel_core.spark.program import Program
from seatunnel_core.spark.task import UnitResult, UnitWork

logger = logging.getLogger("seatunnel.spark")

PipelineKey = tuple[str, int]
"""Job id and pipeline id."""

OnResult = Callable[[UnitResult], object]
"""Called once per submitted unit, from a thread of the dispatcher, unless its pipeline was cancelled before."""


@frozen(eq=False)
class Order:
    """One submitted unit."""

    program: Program
    unit: WorkUnit
    epoch: int
    attempt: int
    on_result: OnResult = field(repr=False)

    @property
    def pipeline(self) -> PipelineKey:
        return self.program.job_id, self.program.pipeline_id


@define(eq=False)
class _Running:
    """A packet that Spark has."""

    number: int
    """Spark runs them about in this order."""

    tag: str
    units: list[Candidate[Order]]
    dropped: set[Hashable] = field(factory=set)
    """Pipelines that were cancelled since: their results go nowhere."""

    overdue: bool = False


class _Watch:
    """Calls once in so many seconds, and may be started again from that call."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._cancelled = False

    def start(self, call: Callable[[], object]) -> None:
        with self._lock:
            if self._cancelled:
                return
            self._timer = threading.Timer(self._seconds, call)
            self._timer.daemon = True
            self._timer.start()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._timer is not None:
                self._timer.cancel()


class UnitDispatcher:
    """Runs submitted units on the plane's slots. Thread-safe; nothing here blocks the caller on Spark."""

    def __init__(
        self,
        plane: SparkPlane,
        share_mode: ShareMode = ShareMode.PART,
        slots: int | None = None,
        longest_ms: float = TARGET_MS,
    ) -> None:
        """``slots`` bounds the units that run at once; without it Spark's own slots do. No packet should take longer
        than ``longest_ms``.

        Spark is given twice as many jobs as it has slots: while it starts and ends some, others keep the slots busy.
        """
        self._plane = plane
        self._mode = share_mode
        self._longest_ms = longest_ms
        self._slots = min(slots or plane.slots, plane.slots)
        self._most_jobs = min(slots or 2 * plane.slots, 2 * plane.slots)
        self._changed = threading.Condition()
        self._waiting: list[Candidate[Order]] = []
        self._running: set[_Running] = set()
        self._numbers = itertools.count(1)
        self._paces: WeakKeyDictionary[Program, Pace] = WeakKeyDictionary()
        self._threads: list[threading.Thread] = []
        self._closed = False
        self.lost_packets = 0
        """How many packets were given up; their tasks may have gone on for a while, and staged."""

    def submit(
        self,
        program: Program,
        unit: WorkUnit,
        epoch: int,
        attempt: int,
        on_result: OnResult,
    ) -> None:
        """Have one attempt of a work unit run. Its result, failures included, goes to ``on_result``."""
        order = Order(program, unit, epoch, attempt, on_result)
        with self._changed:
            pace = self._paces.get(program, Pace())
            self._waiting.append(
                Candidate(
                    load=order,
                    pipeline=order.pipeline,
                    predicted_ms=pace.predict_ms(unit),
                    measured=pace.measured > 0,
                    alone=program.on_frames,
                )
            )
            self._add_thread()
            self._changed.notify()

    def cancel(self, job_id: str, pipeline_id: int) -> None:
        """Forget the units of one pipeline: what waits is dropped, what runs is stopped unless others share its job.

        No result of a unit submitted before is handed on after this returns, unless its callback is already running.
        """
        pipeline = (job_id, pipeline_id)
        with self._changed:
            self._waiting = [unit for unit in self._waiting if unit.pipeline != pipeline]
            stopped = []
            for packet in self._running:
                packet.dropped.add(pipeline)
                if all(unit.pipeline in packet.dropped for unit in packet.units):
                    stopped.append(packet.tag)
        for tag in stopped:
            self._plane.cancel(tag)

    def close(self) -> None:
        """Stop everything and wait for the threads; no result is handed on any more."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            tags = [packet.tag for packet in self._running]
            for packet in self._running:
                packet.dropped.update(unit.pipeline for unit in packet.units)
            self._changed.notify_all()
        for tag in tags:
            self._plane.cancel(tag)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout=30)

    # -- the threads ----------------------------------------------------------------------------------------------

    def _add_thread(self) -> None:
        """Each has one job at a time."""
        if len(self._threads) < self._most_jobs and len(self._threads) < len(self._waiting) + len(self._running):
            thread = threading.Thread(target=self._serve, name=f"seatunnel-units-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._closed and (packet := self._take()) is None:
                    self._changed.wait()
                if self._closed or packet is None:
                    return
                if self._waiting:
                    self._changed.notify()
            try:
                self._run(packet)
            finally:
                with self._changed:
                    self._running.discard(packet)
                    if self._waiting:  # for the end of a task of their source, perhaps
                        self._changed.notify()

    def _take(self) -> _Running | None:
        """The next packet; ``None`` when all that waits is of sources that have as many tasks as they may."""
        self._waiting[:MOST_UNITS] = map(self._predicted, self._waiting[:MOST_UNITS])
        tasks = Counter(program for packet in self._running for program in {unit.load.program for unit in packet.units})
        eligible = self._eligible(tasks)
        if not eligible:
            return None
        idle, slots = self._shares(eligible, tasks)
        units = choose_packet(
            eligible, self._mode, min(self._slots - len(self._running), idle), slots, self._longest_ms
        )
        taken = set(map(id, units))
        self._waiting = [unit for unit in self._waiting if id(unit) not in taken]
        packet = _Running(number=next(self._numbers), tag=self._plane.new_tag(), units=units)
        self._running.add(packet)
        return packet

    def _eligible(self, tasks: Mapping[Program, int]) -> list[Candidate[Order]]:
        """What may have a task now. Who has none goes before all others, however many of their units came earlier: so a
        small table does not wait for a large one."""
        if not tasks:
            return self._waiting
        full = {program for program, count in tasks.items() if count >= self._most_tasks(program)}
        free = [unit for unit in self._waiting if unit.load.program not in full]
        return [unit for unit in free if unit.load.program not in tasks] or free

    def _most_tasks(self, program: Program) -> int:
        """Of a source, at the same time. Where it may have as many as there are slots, and Spark has no more than
        those, Spark itself holds back one that is too many, and has it at hand when another ends."""
        most = program.parallelism or self._slots
        return self._slots + 1 if most >= self._slots and self._plane.holds_back else most

    def _shares(self, eligible: list[Candidate[Order]], tasks: Mapping[Program, int]) -> tuple[int, int]:
        """Among how many tasks, at most one for each slot, these units can be shared out: now, and when none runs."""
        now = later = 0
        seen = set[Program]()
        for program in (unit.load.program for unit in eligible):
            if program not in seen:
                seen.add(program)
                now += self._most_tasks(program) - tasks.get(program, 0)
                later += program.parallelism or self._slots
                if min(now, later) >= self._slots:
                    break
        return min(now, self._slots), min(later, self._slots)

    def _predicted(self, waiting: Candidate[Order]) -> Candidate[Order]:
        """With what was measured since it was submitted: all units of a source may have been, before its first ran."""
        pace = None if waiting.measured else self._paces.get(waiting.load.program)
        if pace is None:
            return waiting
        return evolve(waiting, predicted_ms=pace.predict_ms(waiting.load.unit), measured=True)

    def _run(self, packet: _Running) -> None:
        watch, started = self._watch(packet), time.perf_counter()
        try:
            results = self._on_spark(packet)
        except PacketLostError as lost:
            self._again(packet, lost)
        except PlatformError as error:
            self._fail(packet, Failure(kind=FailureKind.USAGE, message=str(error), code=error.code))
        except Exception as error:
            logger.exception("a packet of work units could not be run")
            detail = traceback.format_exc()
            self._fail(packet, Failure(kind=FailureKind.BUG, message=f"{type(error).__name__}: {error}", detail=detail))
        else:
            # Units of a packet overlap while they wait for the disk: what they cost is their share of the task's time.
            walls_ms = sum(result.wall_ms for result in results)
            share = min(1.0, (time.perf_counter() - started) * 1000 / max(walls_ms, 0.001))
            for candidate, result in zip(packet.units, results, strict=True):
                self._learn(candidate.load, result, result.wall_ms * share)
                self._hand_on(packet, candidate, result)
        finally:
            if watch is not None:
                watch.cancel()

    def _on_spark(self, packet: _Running) -> list[UnitResult]:
        first = packet.units[0].load
        if first.program.on_frames:
            return [self._plane.run_on_frames(first.program, first.unit, first.epoch, first.attempt, packet.tag)]
        works = []
        for order in (unit.load for unit in packet.units):
            parcel = self._plane.pack_program(order.program)
            work = UnitWork(program=parcel.key, unit=order.unit, epoch=order.epoch, attempt=order.attempt)
            works.append((work, parcel))
        return [result for result in self._plane.run([packet_of(works)], packet.tag) if isinstance(result, UnitResult)]

    # -- what went wrong with a packet as a whole ------------------------------------------------------------------

    def _watch(self, packet: _Running) -> "_Watch | None":
        """A packet that couples units and far outlives its prediction counts as failed as a whole (R15). The time that
        it waits in Spark for others is not its own."""
        limit_ms = overdue_ms(packet.units)
        if limit_ms is None:
            return None
        watch = _Watch(limit_ms / 1000)

        def stop() -> None:
            if self._may_wait(packet):
                watch.start(stop)
                return
            packet.overdue = True
            self._plane.cancel(packet.tag)

        watch.start(stop)
        return watch

    def _may_wait(self, packet: _Running) -> bool:
        """Whether as many others as Spark runs at once may be before it: those that were given to Spark earlier, and
        about at the same time."""
        with self._changed:
            others = (other.number - packet.number for other in self._running if other is not packet)
            return sum(later < self._plane.slots for later in others) >= self._plane.slots

    def _again(self, packet: _Running, lost: PacketLostError) -> None:
        """Run the units again, each pipeline in a job of its own; then each unit; then it is the unit's failure."""
        with self._changed:
            self.lost_packets += 1
        if len(packet.units) == 1:
            return self._fail(packet, _lost(packet.units[0].load, lost))
        reason = "took far longer than predicted" if packet.overdue else f"was lost: {lost}"
        logger.info("a Spark task with %d work units %s; they run again apart", len(packet.units), reason)
        shared = len({unit.pipeline for unit in packet.units}) > 1
        with self._changed:  # looked at and put back in one: a pipeline that is cancelled between would run on
            units = [unit for unit in packet.units if unit.pipeline not in packet.dropped]
            again = [evolve(unit, apart=True, alone=not shared) for unit in units]
            self._waiting[:0] = again if not self._closed else []
            self._changed.notify(len(again))
        return None

    def _fail(self, packet: _Running, failure: Failure) -> None:
        for candidate in packet.units:
            order = candidate.load
            result = UnitResult(
                job_id=order.program.job_id,
                pipeline_id=order.program.pipeline_id,
                source=order.program.source_name,
                unit=order.unit.number,
                epoch=order.epoch,
                attempt=order.attempt,
                failure=failure,
            )
            self._hand_on(packet, candidate, result)

    # -- results --------------------------------------------------------------------------------------------------

    def _learn(self, order: Order, result: UnitResult, cost_ms: float) -> None:
        if result.failure is None:
            with self._changed:
                pace = self._paces.get(order.program, Pace())
                self._paces[order.program] = pace.after(order.unit, cost_ms)

    def _hand_on(self, packet: _Running, candidate: Candidate[Order], result: UnitResult) -> None:
        with self._changed:
            if candidate.pipeline in packet.dropped:
                return
        try:
            candidate.load.on_result(result)
        except Exception:
            logger.exception("the result of work unit %d could not be handed on", result.unit)


def _lost(order: Order, lost: PacketLostError) -> Failure:
    where = f"pipeline {order.program.pipeline_id}, source {order.program.source_name!r}, work unit {order.unit.number}"
    message = f"{where}: the Spark task that ran it was lost: {lost}"
    return Failure(kind=FailureKind.TRANSIENT, message=message, code=lost.code)
