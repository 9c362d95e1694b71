"""Which waiting work units go to Spark next: those that may be read now, and how many of them in one packet."""

from collections import Counter
from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from attrs import evolve

from seatunnel_core.spark.packing import Candidate, Pace, ShareMode, choose_lanes, choose_packet
from seatunnel_core.spark.plane import SparkPlane
from seatunnel_core.spark.program import Program
from seatunnel_core.spark.running import Order, RunningPacket, waits
from seatunnel_core.spark.work import UnitResult

SATURATED = 0.8
"""A share of a processor. If the threads of a task together need more, they count as busy: they wait for each other."""


class Paces:
    """How long units take, by program, as measured so far. Not thread-safe."""

    def __init__(self) -> None:
        self._paces: WeakKeyDictionary[Program, Pace] = WeakKeyDictionary()

    def of(self, program: Program) -> Pace:
        """Return the pace of a program; of one that has not run, an assumed one."""
        return self._paces.get(program, Pace())

    def predicted(self, waiting: Candidate[Order]) -> Candidate[Order]:
        """Return the unit with a prediction from what was measured since it was submitted.

        All units of a source may have been submitted before the first of them ran.
        """
        order = waiting.load
        pace = self._paces.get(order.program)
        if pace is None or (waiting.measured and order.program.source.waits is not None):
            return waiting
        beside = waits(order.program, pace, order.attempt.unit)
        return evolve(waiting, predicted_ms=pace.predict_ms(order.attempt.unit), measured=True, waits=beside)

    def learn(self, packet: RunningPacket, order: Order, result: UnitResult, cost_ms: float) -> None:
        """Take in how long a unit took; ``cost_ms`` is its share of its task's time."""
        busy = result.busy_ms / max(result.wall_ms, 0.001)
        if len(packet.lanes) and busy * sum(packet.lanes.values()) > SATURATED:
            busy = 1.0  # its threads wait for each other
        self._paces[order.program] = self.of(order.program).after(order.attempt.unit, cost_ms, busy)


class PacketChoice:
    """The choice of the next packet. It changes nothing; hold the dispatcher's lock, whose units it looks through."""

    def __init__(self, plane: SparkPlane, mode: ShareMode, slots: int | None, longest_ms: float) -> None:
        """Choose for a plane; the other arguments are those of ``UnitDispatcher``."""
        self._plane = plane
        self._mode = mode
        self._longest_ms = longest_ms
        self._most_units = slots
        """How many units are read at once at most; ``None`` when only the sources bound that."""

    @property
    def _slots(self) -> int:
        """How many packets keep all slots busy. Executors of a cluster come and go, and the plane's slots with them."""
        return min(self._most_units or self._plane.slots, self._plane.slots)

    def choose(
        self, waiting: list[Candidate[Order]], running: Sequence[RunningPacket]
    ) -> tuple[list[Candidate[Order]], dict[Program, int]]:
        """Return the units of the next packet and, if they wait, how many of each program are read at once.

        There are none when none of them may be read yet.

        Args:
            waiting: The units that wait, the first submitted first.
            running: The packets that Spark has.
        """
        readers = sum((packet.readers() for packet in running), Counter[Program]())
        eligible = self._eligible(waiting, running, readers)
        if not eligible:
            return [], {}
        idle, slots = self._shares(eligible, readers)
        idle = min(self._slots - len(running), idle)
        if not eligible[0].waits:
            return choose_packet(eligible, self._mode, idle, slots, self._longest_ms), {}
        programs = {unit.load.program for unit in eligible if unit.waits}
        whole = {program: self._most_tasks(program) for program in programs}
        free = {program: most - readers[program] for program, most in whole.items()}
        most = (self._most_units or sum(free.values()) + readers.total()) - readers.total()
        working = any(not unit.waits for unit in eligible)  # has the other slots
        tasks = 1 if working else max(1, self._slots - len(running))
        return choose_lanes(eligible, self._mode, free, whole, most, tasks, lambda unit: unit.load.program)

    def _eligible(
        self, waiting: list[Candidate[Order]], running: Sequence[RunningPacket], readers: Counter[Program]
    ) -> list[Candidate[Order]]:
        """Return the waiting units that may be read now.

        Units of programs without a reader go before all others, however many of those came earlier, so that a small
        table does not wait for a large one.
        """
        if not running:
            return waiting
        if self._most_units is not None and readers.total() >= self._most_units:
            return []
        full = {program for program, count in readers.items() if count >= self._most_tasks(program)}
        # A further packet would be fixed to the few readers that are free now; when Spark runs it, more may be free.
        is_enough = sum(bool(packet.lanes) for packet in running) >= self._slots
        free = [
            unit
            for unit in waiting
            if unit.load.program not in full and not (is_enough and unit.waits) and not self._must_wait(unit, running)
        ]
        return [unit for unit in free if unit.load.program not in readers] or free

    def _must_wait(self, unit: Candidate[Order], running: Sequence[RunningPacket]) -> bool:
        """Return whether a unit writes at once, and a cancelled unit of its pipeline may still write (rule R15)."""
        return unit.load.program.writes_at_once and any(packet.may_still_write(unit.pipeline) for packet in running)

    def _most_tasks(self, program: Program) -> int:
        """Return how many tasks may read a source at the same time.

        It is one more than the slots for a source that does not wait, if it may have as many tasks as there are slots
        and Spark runs no more than those: Spark holds the additional one back, and has it at hand when another ends.
        """
        most = program.parallelism or self._slots
        if program.source.waits is not False:
            return most
        return self._slots + 1 if most >= self._slots and self._plane.holds_back else most

    def _shares(self, eligible: list[Candidate[Order]], tasks: Mapping[Program, int]) -> tuple[int, int]:
        """Return over how many tasks, at most one per slot, these units can be spread: now, and when no task runs."""
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
