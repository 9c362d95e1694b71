"""Vertex in the driver that combines the splits of one source into work units and runs them on Spark."""

from bisect import insort
from typing import assert_never

from attrs import evolve

from seatunnel_core.checkpoint.commands import RunUnit
from seatunnel_core.checkpoint.errors import IllegalEventError
from seatunnel_core.checkpoint.events import UnitFailed, UnitFinished
from seatunnel_core.checkpoint.state.topology import SourceSpec
from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.checkpoint.state.vertex_state import HeldUnit, TaskState
from seatunnel_core.checkpoint.vertices.in_flight import HalfBuiltUnit, UnitInFlight
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.checkpoint.vertices.messages import (
    Acknowledge,
    Barrier,
    Begin,
    Broken,
    CommittableSent,
    Correction,
    Credit,
    Drained,
    FactsAbsorbed,
    FactsReported,
    RestoreTask,
    SinkPressure,
    SourceEnded,
    SplitSent,
    ToTask,
)
from seatunnel_core.checkpoint.vertices.turns import fits_keys, in_turn
from seatunnel_core.checkpoint.vertices.wiring import Channel, Wiring
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.fact import Fact
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import AttemptId, UnitAttempt


class TaskVertex:
    """Vertex between a source and its sinks. Its units in flight are the channel state (R2).

    A barrier is recorded and forwarded at once, even while units are running: the description of a unit takes a few
    hundred bytes, and a checkpoint never waits for a unit. Back pressure is credit-based (R3): a split keeps its credit
    until the result of its unit is forwarded, while a finished unit releases its slot at once.
    """

    def __init__(self, spec: SourceSpec, limits: Limits, wiring: Wiring) -> None:
        self.spec = spec
        self.units_done = 0
        self.splits_done = 0
        self.rows_read = 0
        self.rows_written = 0
        self.bytes_read = 0
        self.rows_skipped = 0
        self.units_running = 0
        self._epoch = 0
        self._limits = limits
        self._wiring = wiring
        most = max(spec.parallelism, limits.max_units_in_flight) if spec.splits_apart else limits.max_units_in_flight
        self._slots = min(spec.parallelism * spec.units_per_slot, most)
        self._separates_keys = spec.keyed and spec.parallelism > 1
        self._limited = spec.rows_per_second is not None or spec.bytes_per_second is not None
        self._next_unit = 1
        self._unit_bytes = limits.target_unit_bytes
        self._unit_splits = limits.credits_per_source
        self._flights: dict[int, UnitInFlight] = {}
        self._half_built: HalfBuiltUnit | None = None
        self._queue: list[int] = []
        self._lent = 0
        self._unspent = 0
        self._full_sinks: set[str] = set()
        self._facts: tuple[Fact, ...] = ()
        """Facts of forwarded units that the cursor of the source does not contain yet (R17)."""
        self._begun = False
        self._stopped = False
        self._source_ended = False
        self._drained = False

    def connect(self, *, source: Channel, sinks: dict[str, Channel], coordinator: Channel) -> None:
        """Set the channels to the source, to the sinks by name, and to the coordinator."""
        self._source = source
        self._sinks = sinks
        self._coordinator = coordinator

    def receive(self, message: ToTask) -> None:
        """Handle a message from the source, a sink or the coordinator."""
        match message:
            case SplitSent(split=split):
                self._take(split)
            case Barrier():
                self._pass_barrier(message)
            case SourceEnded():
                self._source_ended = True
                self._close_half_built()
                self._report_when_drained()
            case FactsAbsorbed(number=number):
                self._facts = self._facts[number:]
            case SinkPressure(sink=sink, full=full):
                (self._full_sinks.add if full else self._full_sinks.discard)(sink)
                self._lend()
            case RestoreTask(state=state, epoch=epoch):
                self._restore(state, epoch)
            case Begin(to_come_bytes=to_come_bytes, to_come_splits=to_come_splits):
                self._begun = True
                self._unit_bytes = self._limits.unit_bytes(to_come_bytes, self.spec.parallelism)
                if self.spec.splits_apart:
                    self._unit_splits = self._limits.unit_splits(to_come_splits, self.spec.parallelism)
                self._charge_restored()
                self._admit()
                if self._facts:
                    self._source.send(FactsReported(self._facts))
                self._hand_on_restored()
                self._lend()
            case _:
                assert_never(message)

    @property
    def units_in_flight(self) -> int:
        """Number of work units in flight, including the one that still receives splits."""
        return len(self._flights) + (self._half_built is not None)

    @property
    def held(self) -> tuple[tuple[str, Committable], ...]:
        """Staged output of finished units held back for order, as (sink, committable) pairs. Thread-safe to read."""
        flights = tuple(self._flights.values())
        finished = (flight.finished for flight in flights if flight.finished is not None)
        return tuple(each for committables in finished for each in committables.items())

    def doing(self) -> tuple[str, int]:
        """Return the current activity of the task, and its start in milliseconds."""
        running = [flight for flight in self._flights.values() if flight.running]
        if not running:
            return f"has {self.units_in_flight} units in flight, but none of them is running", self._wiring.now_ms
        oldest = min(running, key=lambda flight: flight.since_ms)
        return f"runs {len(running)} units; the oldest is unit {oldest.unit.number}", oldest.since_ms

    # Splits become units.

    def _take(self, split: Split) -> None:
        self._unspent -= 1
        half_built = self._half_built
        if half_built is not None and (
            half_built.bytes + split.weight_bytes > self._unit_bytes
            or half_built.rows + split.rows > self._limits.target_unit_rows
            or (self._separates_keys and not fits_keys(half_built, split, self._limits.smallest_unit_bytes))
        ):
            self._close_half_built()
            half_built = None
        if half_built is None:
            half_built = self._open_unit()
        half_built.add(split)
        full = half_built.bytes >= self._unit_bytes or half_built.rows >= self._limits.target_unit_rows
        full = full or len(half_built.splits) >= self._unit_splits
        if full or self._unspent == 0:
            self._close_half_built()

    def _open_unit(self) -> HalfBuiltUnit:
        """Create a work unit. Unit numbers are part of the state, so a number never identifies two units (R8)."""
        self._half_built = HalfBuiltUnit(number=self._next_unit)
        self._next_unit += 1
        at_ms = self._wiring.now_ms + self._limits.close_unit_after_ms
        self._wiring.set_timer(f"close:{self.spec.name}", at_ms, self._close_half_built)
        return self._half_built

    def _close_half_built(self) -> None:
        if self._half_built is None:
            return
        self._wiring.cancel_timer(f"close:{self.spec.name}")
        unit = self._half_built.as_unit()
        self._half_built = None
        self._flights[unit.number] = UnitInFlight(unit)
        insort(self._queue, unit.number)
        self._admit()

    # Units run.

    def _admit(self) -> None:
        """Submit queued units to Spark, oldest first."""
        while self._begun and not self._stopped:
            number = self._next_in_turn()
            if number is None or not self._has_slot(number):
                return
            self._queue.remove(number)
            self._run(self._flights[number])

    def _next_in_turn(self) -> int | None:
        """Return the oldest queued unit that waits for no older unit (R13); ``None`` if there is none."""
        if not self.spec.serial:
            return self._queue[0] if self._queue else None
        flights = in_turn(self._flights.values(), keyed=self.spec.keyed)
        return next((flight.unit.number for flight in flights if flight.unit.number in self._queue), None)

    def _has_slot(self, number: int) -> bool:
        """Return True if a unit has a slot.

        The oldest unit in flight of an ordered source needs none, because all other units wait for it (R3).
        """
        oldest = self.spec.ordered and number == next(iter(self._flights))
        return oldest or self.units_running < self._slots

    def _run(self, flight: UnitInFlight) -> None:
        flight.attempts += 1
        flight.running = True
        flight.since_ms = self._wiring.now_ms
        self.units_running += 1
        self._wiring.do(
            RunUnit(
                task=self.spec.name,
                attempt=UnitAttempt(unit=flight.unit, epoch=self._epoch, number=flight.attempts),
                restored=flight.restored,
            ),
        )

    def _claimed(self, attempt: AttemptId) -> UnitInFlight | None:
        """Return the unit of a running attempt; ``None`` if no result of this attempt is expected (R14)."""
        flight = self._flights.get(attempt.unit)
        if flight is None or self._stopped or attempt.epoch != self._epoch:
            return None
        return flight if flight.running and flight.attempts == attempt.number else None

    def _charge_restored(self) -> None:
        """Charge the rate limit for units that are read again, before new splits are emitted."""
        again = [flight.unit for flight in self._flights.values() if flight.finished is None]
        if self._limited and again:
            rows, weight_bytes = sum(unit.rows for unit in again), sum(unit.weight_bytes for unit in again)
            self._source.send(Correction(rows, weight_bytes))

    def require_sound(self, event: UnitFinished) -> None:
        """Raise ``IllegalEventError`` if an expected result has wrong sinks, units or epochs."""
        if self._claimed(event.attempt) is None:
            return
        if event.facts and self.spec.bounded:
            raise IllegalEventError(f"source {self.spec.name!r} is not polled, so it cannot receive facts")
        for sink, committable in event.committables.items():
            if sink not in self._sinks:
                raise IllegalEventError(f"source {self.spec.name!r} does not feed sink {sink!r}")
            said = (committable.source, committable.unit, committable.epoch)
            expected = (event.task, event.attempt.unit, event.attempt.epoch)
            if said != expected:
                raise IllegalEventError(
                    f"committable {committable.id!r} belongs to (source, unit, epoch) = {said}; expected {expected}"
                )

    def finished(self, event: UnitFinished) -> None:
        """Accept the result of an attempt and forward it; ignore an unexpected result (R14)."""
        flight = self._claimed(event.attempt)
        if flight is None:
            return
        self._stop_running(flight)
        flight.finished = event.committables
        flight.facts = event.facts
        self.units_done += 1
        self.splits_done += len(flight.unit.splits)
        self.rows_read += event.rows_read
        self.rows_written += sum(committable.rows for committable in event.committables.values())
        self.bytes_read += event.bytes_read
        self.rows_skipped += event.rows_skipped
        if self._limited:
            unit = flight.unit
            self._source.send(Correction(event.rows_read - unit.rows, event.bytes_read - unit.weight_bytes))
        if self.spec.ordered and not self.spec.keyed:
            self._hand_on_in_order()
        else:  # each older unit of a keyed source that is still in flight commutes with this one
            self._hand_on(flight)
        self._admit()
        self._lend()
        self._report_when_drained()

    def failed(self, event: UnitFailed) -> None:
        """Run the unit again after a pause, or fail the pipeline; ignore an unexpected result (R14)."""
        flight = self._claimed(event.attempt)
        if flight is None:
            return
        self._stop_running(flight)
        hopeless = not event.failure.retryable or event.failure.kind is FailureKind.RESTART
        if hopeless or flight.attempts > self._limits.unit_retries:
            self._coordinator.send(Broken(self._last_word(flight, event)))
            return
        number = flight.unit.number
        at_ms = self._wiring.now_ms + self._limits.pause_before_retry(flight.attempts)
        self._wiring.set_timer(f"retry:{self.spec.name}:{number}", at_ms, lambda: self._requeue(number))
        self._admit()

    def _last_word(self, flight: UnitInFlight, event: UnitFailed) -> Failure:
        """Return the failure that ends the pipeline; after several attempts, its message contains the unit's input."""
        if flight.attempts == 1:
            return event.failure
        unit = f"work unit {flight.unit.number} of source {self.spec.name!r}"
        poison = f"{unit} failed on each of its {flight.attempts} attempts. It reads {event.reading or 'nothing'}"
        return evolve(event.failure, message=f"{event.failure.message}; {poison}")

    def _requeue(self, number: int) -> None:
        insort(self._queue, number)
        self._admit()

    def _stop_running(self, flight: UnitInFlight) -> None:
        flight.running = False
        self.units_running -= 1

    # Forwarding of results.

    def _hand_on_in_order(self) -> None:
        """Forward finished units in ascending order of their numbers, up to the first unfinished one (R13)."""
        while self._flights:
            oldest = next(iter(self._flights.values()))
            if oldest.finished is None:
                return
            self._hand_on(oldest)

    def _hand_on_restored(self) -> None:
        """Forward units that were held back in the previous epoch: in order, or all if order no longer matters."""
        if self.spec.ordered:
            self._hand_on_in_order()
            return
        for flight in [flight for flight in self._flights.values() if flight.finished is not None]:
            self._hand_on(flight)

    def _hand_on(self, flight: UnitInFlight) -> None:
        assert flight.finished is not None
        del self._flights[flight.unit.number]
        for sink, committable in flight.finished.items():
            self._sinks[sink].send(CommittableSent(committable))
        if flight.facts:
            self._facts += flight.facts
            self._source.send(FactsReported(flight.facts))
        self._lent -= len(flight.unit.splits)

    def _lend(self) -> None:
        """Grant all free credits to the source; grant none while a sink is full (R1)."""
        free = self._limits.credits_per_source - self._lent
        if not self._begun or self._full_sinks or self._source_ended or free <= 0:
            return
        self._lent += free
        self._unspent += free
        self._source.send(Credit(free))

    def _report_when_drained(self) -> None:
        if self._source_ended and not self._flights and not self._drained:
            self._drained = True
            self._coordinator.send(Drained(self.spec.name))

    # Checkpoints.

    def _pass_barrier(self, barrier: Barrier) -> None:
        """Record the units in flight and forward the barrier at once, even while units are running (R2, R3)."""
        self._coordinator.send(Acknowledge(VertexId.task(self.spec.name), barrier.checkpoint_id, self.snapshot()))
        for channel in self._sinks.values():
            channel.send(barrier)
        self._stopped = barrier.last

    def snapshot(self) -> TaskState:
        """Return the state: every unit in flight, including the one that still receives splits (R2)."""
        held = [
            HeldUnit(unit=flight.unit, committables=flight.finished, facts=flight.facts)
            for flight in self._flights.values()
        ]
        if self._half_built is not None:
            held.append(HeldUnit(unit=self._half_built.as_unit()))
        return TaskState(
            next_unit=self._next_unit,
            units=tuple(held),
            units_done=self.units_done,
            splits_done=self.splits_done,
            rows_read=self.rows_read,
            rows_written=self.rows_written,
            bytes_read=self.bytes_read,
            rows_skipped=self.rows_skipped,
            facts=self._facts,
        )

    def _restore(self, state: TaskState, epoch: int) -> None:
        self._epoch = epoch
        self._next_unit = state.next_unit
        self.units_done = state.units_done
        self.splits_done = state.splits_done
        self.rows_read = state.rows_read
        self.rows_written = state.rows_written
        self.bytes_read = state.bytes_read
        self.rows_skipped = state.rows_skipped
        self._facts = state.facts
        for held in state.units:
            flight = UnitInFlight(held.unit, restored=True)
            if held.committables is not None and not self.spec.serial:  # a serial source writes it again, in order
                flight = UnitInFlight(held.unit, finished=dict(held.committables), facts=held.facts)
            self._flights[held.unit.number] = flight
            self._lent += len(held.unit.splits)
            if flight.finished is None:
                insort(self._queue, held.unit.number)
