"""The dispatcher: it takes work units from all pipelines, has Spark run them in packets, and hands results on."""

import itertools
import logging
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial

from attrs import evolve

from seatunnel_core.errors import PacketLostError, PlatformError
from seatunnel_core.spark.choosing import Paces, PacketChoice
from seatunnel_core.spark.line import Numbered
from seatunnel_core.spark.packet import packet_of
from seatunnel_core.spark.packing import MOST_UNITS, TARGET_MS, Candidate, ShareMode, overdue_ms
from seatunnel_core.spark.plane import SparkPlane
from seatunnel_core.spark.program import Program
from seatunnel_core.spark.running import Ledger, OnProgress, OnResult, Order, RunningPacket, speculating, waits
from seatunnel_core.spark.watch import Watch
from seatunnel_core.spark.work import UnitResult, UnitWork
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.unit import UnitAttempt

logger = logging.getLogger("seatunnel.spark")

GATHERING_S = 0.01
"""How long the dispatcher waits for the next unit of a source that waits, so that both come into one packet."""


class UnitDispatcher:
    """A dispatcher of submitted work units to the plane's slots. Thread-safe; only ``close`` waits for Spark."""

    def __init__(
        self,
        plane: SparkPlane,
        share_mode: ShareMode = ShareMode.PART,
        slots: int | None = None,
        longest_ms: float = TARGET_MS,
    ) -> None:
        """Create a dispatcher; it starts threads when units are submitted.

        Spark is given up to twice as many jobs as it has slots: while it starts and ends some, others keep the slots
        busy.

        Args:
            plane: runs the packets.
            share_mode: whose units may share a packet.
            slots: bounds the units that run at once; without it Spark's own slots do.
            longest_ms: no packet should take longer.
        """
        self._plane = plane
        self._most_units = slots
        self._choice = PacketChoice(plane, share_mode, slots, longest_ms)
        self._changed = threading.Condition()
        self._waiting: list[Candidate[Order]] = []
        self._running: dict[RunningPacket, None] = {}
        """The packets that Spark has, in the order in which they began, so that a simulation can be repeated."""

        self._ledger = Ledger()
        self._is_reached = False
        """Whether any task has ever connected to the driver."""
        self._numbers = itertools.count(1)
        self._paces = Paces()
        self._threads: list[threading.Thread] = []
        self._closed = False
        self.lost_packets = 0
        """How many packets were lost; their tasks may have run on for a while, and staged rows."""

    @property
    def _most_jobs(self) -> int:
        """How many Spark jobs there are at once at most."""
        return min(self._most_units or 2 * self._plane.slots, 2 * self._plane.slots)

    def submit(
        self,
        program: Program,
        attempt: UnitAttempt,
        on_result: OnResult,
        *,
        restored: bool = False,
        on_again: Callable[[], object] | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        """Queue one attempt at a work unit. Its result, failures included, goes to ``on_result``.

        Args:
            program: the chain that the unit's rows pass.
            attempt: the attempt to run.
            on_result: called once with the result, unless the pipeline is cancelled.
            restored: whether the unit may have begun in an earlier process.
            on_again: called when the unit begins once more, so that a sink may have its rows twice.
            on_progress: called with what the unit has done so far, while it runs for long.
        """
        order = Order(program, attempt, on_result, restored, on_again, on_progress)
        if program.writes_at_once and self._plane.speculates:
            on_result(order.failed(speculating(program)))
            return
        with self._changed:
            pace = self._paces.of(program)
            self._waiting.append(
                Candidate(
                    load=order,
                    pipeline=order.pipeline,
                    predicted_ms=pace.predict_ms(attempt.unit),
                    measured=pace.measured > 0,
                    alone=program.on_frames,
                    waits=waits(program, pace, attempt.unit),
                )
            )
            self._add_thread()
            self._changed.notify()

    def cancel(self, job_id: str, pipeline_id: int) -> None:
        """Forget the units of one pipeline: drop those that wait, stop those that run unless others share their job.

        After this returns, no result of a unit submitted before is handed on, unless its callback is already running.
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
        """Stop everything, and wait up to 30 seconds for each thread; no result is handed on any more."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            tags = [packet.tag for packet in self._running if packet.left()]
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
        """Start one more thread if there may be work for it; each thread has one Spark job at a time."""
        if len(self._threads) < self._most_jobs and len(self._threads) < len(self._waiting) + len(self._running):
            thread = threading.Thread(target=self._serve, name=f"seatunnel-units-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._gather()
                while not self._closed and (packet := self._take()) is None:
                    self._changed.wait()
                    self._gather()
                if self._closed or packet is None:
                    return
                if self._waiting:
                    self._changed.notify()
            try:
                self._run(packet)
            finally:
                with self._changed:
                    self._running.pop(packet, None)
                    if self._waiting:  # for the end of a task of their source, perhaps
                        self._changed.notify()

    def _gather(self) -> None:
        """Wait for further units of a source that waits, as long as they keep coming.

        They are submitted one by one, and a packet for the first of them alone would keep a task from all others.
        """
        seen = -1
        while not self._closed and len(self._waiting) != seen and self._waiting and self._waiting[0].waits:
            seen = len(self._waiting)
            self._changed.wait(GATHERING_S)

    def _take(self) -> RunningPacket | None:
        """Take the next packet from the waiting units; return ``None`` when none of them may be read yet."""
        self._waiting[:MOST_UNITS] = map(self._paces.predicted, self._waiting[:MOST_UNITS])
        units, lanes = self._choice.choose(self._waiting, tuple(self._running))
        if not units:
            return None
        taken = set(map(id, units))
        self._waiting = [unit for unit in self._waiting if id(unit) not in taken]
        packet = RunningPacket(number=next(self._numbers), tag=self._plane.new_tag(), units=units, lanes=lanes)
        self._running[packet] = None
        return packet

    def _run(self, packet: RunningPacket) -> None:
        watch, packet.began_ms = self._watch(packet), time.perf_counter() * 1000
        try:
            unreported = self._on_spark(packet)
        except PacketLostError as lost:
            self._note_unasked(packet)
            self._again(packet, lost)
        except PlatformError as error:
            self._fail(packet, Failure(kind=FailureKind.USAGE, message=str(error), code=error.code))
        except Exception as error:
            logger.exception("a packet of work units could not be run")
            detail = traceback.format_exc()
            self._fail(packet, Failure(kind=FailureKind.BUG, message=f"{type(error).__name__}: {error}", detail=detail))
        else:
            self._note_unasked(packet)
            self._reported(packet, unreported)
            if packet.left():
                self._again(packet, PacketLostError("its worker died, or its executor was lost"))
        finally:
            if watch is not None:
                watch.cancel()

    def _on_spark(self, packet: RunningPacket) -> list[tuple[int, UnitResult]]:
        first = packet.units[0].load
        if first.program.on_frames:
            if not self._begins(packet, 0):
                return []
            return [(0, self._plane.run_on_frames(first.program, first.attempt, packet.tag))]
        works, lanes = [], {}
        for order in (unit.load for unit in packet.units):
            packed = self._plane.pack_program(order.program)
            work = UnitWork(program=packed.key, attempt=order.attempt)
            works.append((work, packed))
            if packet.lanes:
                lanes[packed.key] = packet.lanes[order.program]
        task = evolve(packet_of(works), lanes=lanes, writes_at_once=packet.writes_at_once)
        return self._plane.run_units(task, packet.tag, _PacketListener(self, packet))

    # -- while its task runs ---------------------------------------------------------------------------------------

    def _reached(self, packet: RunningPacket) -> None:
        with self._changed:
            packet.reached = self._is_reached = True
            packet.began_ms = time.perf_counter() * 1000

    def _begins(self, packet: RunningPacket, number: int) -> bool:
        """Return whether a unit may begin; if so, it counts as begun.

        Another attempt of its task begins it again only if nothing is written at once (rule R15). Spark makes such an
        attempt when the one before has ended, or its executor was lost.
        """
        candidate = packet.units[number]
        order = candidate.load
        with self._changed:
            if number in packet.over or self._closed:
                return False
            if candidate.pipeline in packet.dropped:
                packet.over.add(number)
                return False
            if number in packet.begun and order.program.writes_at_once:
                return False
            packet.begun.add(number)
        self._note_begun(order)
        return True

    def _note_unasked(self, packet: RunningPacket) -> None:
        """Note the units of a task that never connected to the driver as begun: each of them may have.

        If other tasks do connect, a packet with cancelled pipelines that never did had no task yet, and nothing is
        noted.
        """
        if not packet.reached and not (packet.dropped and self._is_reached):
            for unit in packet.units:
                self._note_begun(unit.load)

    def _note_begun(self, order: Order) -> None:
        if not order.program.doubling:
            return
        with self._changed:
            again = self._ledger.begins_again(order)
        if again and order.on_again is not None:
            order.on_again()

    def _reported(self, packet: RunningPacket, results: Sequence[Numbered]) -> None:
        """Take results that came together.

        Units of a packet overlap while they wait for the disk: what each of them cost is its share of the time since
        the results before.
        """
        now_ms = time.perf_counter() * 1000
        with self._changed:
            took_ms, packet.began_ms = now_ms - packet.began_ms, now_ms
        walls_ms = sum(result.wall_ms for _, result in results)
        share = 1.0 if packet.lanes else min(1.0, took_ms / max(walls_ms, 0.001))
        for number, result in results:
            self._ended(packet, number, result, result.wall_ms * share)

    def _ended(self, packet: RunningPacket, number: int, result: UnitResult, cost_ms: float) -> None:
        with self._changed:
            if number in packet.over:
                return
            packet.over.add(number)
            if self._waiting:  # for a reader of its source, perhaps
                self._changed.notify()
        if result.failure is None:
            with self._changed:
                self._paces.learn(packet, packet.units[number].load, result, cost_ms)
        self._hand_on(packet, packet.units[number], result)

    # -- what went wrong with a packet as a whole ------------------------------------------------------------------

    def _watch(self, packet: RunningPacket) -> Watch | None:
        """Start a watch that has an overdue packet give away what it has not begun (rule R15).

        A packet is overdue when it far outlives its prediction; time in which it may wait in Spark for others does not
        count. Return ``None`` for a packet of one unit.
        """
        limit_ms = overdue_ms(packet.units)
        if limit_ms is None:
            return None
        watch = Watch(limit_ms / 1000)

        def look() -> None:
            if self._may_wait(packet) or not self._give_away(packet):
                watch.start(look)

        watch.start(look)
        return watch

    def _may_wait(self, packet: RunningPacket) -> bool:
        """Return whether as many other packets as Spark runs at once may be before this one.

        Those are the packets that were given to Spark earlier, or about at the same time.
        """
        with self._changed:
            others = (other.number - packet.number for other in self._running if other is not packet)
            return sum(later < self._plane.slots for later in others) >= self._plane.slots

    def _give_away(self, packet: RunningPacket) -> bool:
        """Requeue what an overdue packet has not begun; return false when it is not known what that is.

        What has begun goes on: a second run beside it would read it, and perhaps write it, twice.
        """
        with self._changed:
            if packet.reached:
                self._requeue(packet, packet.left_unbegun(), "takes far longer than predicted")
            return packet.reached

    def _requeue(self, packet: RunningPacket, numbers: list[int], reason: str) -> None:
        """Queue units again: each pipeline in a job of its own, and after that each unit in a job of its own.

        The caller holds the lock; otherwise a pipeline that is cancelled in between would run on.
        """
        packet.over.update(numbers)
        if numbers:
            logger.info("a Spark task with %d work units %s; %d run apart", len(packet.units), reason, len(numbers))
        shared = len({unit.pipeline for unit in packet.units}) > 1
        units = [unit for unit in (packet.units[number] for number in numbers) if unit.pipeline not in packet.dropped]
        if not units or self._closed:
            return
        self._waiting[:0] = [evolve(unit, apart=True, alone=not shared) for unit in units]
        self._changed.notify(len(units))

    def _again(self, packet: RunningPacket, lost: PacketLostError) -> None:
        """Queue the units without a result again; a unit that was alone in its packet has failed.

        Nothing is lost with a packet whose units are all over: only the end of its task was not waited for.
        """
        with self._changed:
            if not packet.left():
                return
            self.lost_packets += 1
            if len(packet.units) > 1:
                self._requeue(packet, packet.left(), f"was lost: {lost}")
                return
        self._fail(packet, packet.units[0].load.lost(lost))

    def _fail(self, packet: RunningPacket, failure: Failure) -> None:
        with self._changed:
            left = packet.left()
            packet.over.update(left)
        for number in left:
            self._hand_on(packet, packet.units[number], packet.units[number].load.failed(failure))

    # -- results --------------------------------------------------------------------------------------------------

    def _hand_on(self, packet: RunningPacket, candidate: Candidate[Order], result: UnitResult) -> None:
        with self._changed:
            if candidate.pipeline in packet.dropped:
                return
        try:
            candidate.load.on_result(result)
        except Exception:
            logger.exception("the result of work unit %d could not be handed on", result.attempt.unit)


class _PacketListener:
    """The dispatcher's side of the line to the task of one packet: a ``TaskListener``."""

    def __init__(self, dispatcher: UnitDispatcher, packet: RunningPacket) -> None:
        self.reached = partial(dispatcher._reached, packet)
        self.begins = partial(dispatcher._begins, packet)
        self.ended = partial(dispatcher._reported, packet)
        self.progress = packet.progress
