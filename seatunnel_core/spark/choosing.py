"""Selection of the next task batch from the waiting work units."""

from collections import Counter
from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from attrs import evolve

from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.spark.packing import Candidate, Pace, ShareMode, choose_batch, choose_reader_threads
from seatunnel_core.spark.running import Order, RunningBatch, waits
from seatunnel_core.spark.work import UnitResult

SATURATED = 0.8
"""Fraction of one processor that a task's threads must use for their chain to count as CPU-bound."""


class Paces:
    """Measured speed of units by operator chain. Not thread-safe."""

    def __init__(self) -> None:
        self._paces: WeakKeyDictionary[OperatorChain, Pace] = WeakKeyDictionary()

    def of(self, chain: OperatorChain) -> Pace:
        """Return the pace of a chain, or the default one if it has not run yet."""
        return self._paces.get(chain, Pace())

    def predicted(self, waiting: Candidate[Order]) -> Candidate[Order]:
        """Return the unit with a new prediction of its duration; the old prediction may precede all measurements."""
        order = waiting.load
        pace = self._paces.get(order.chain)
        if pace is None or (waiting.measured and order.chain.source.waits is not None):
            return waiting
        beside = waits(order.chain, pace, order.attempt.unit)
        return evolve(waiting, predicted_ms=pace.predict_ms(order.attempt.unit), measured=True, waits=beside)

    def learn(self, batch: RunningBatch, order: Order, result: UnitResult, cost_ms: float) -> None:
        """Record the duration of a unit; ``cost_ms`` is the unit's share of the task's time."""
        busy = result.busy_ms / max(result.wall_ms, 0.001)
        if len(batch.reader_threads) and busy * sum(batch.reader_threads.values()) > SATURATED:
            busy = 1.0  # its threads wait for each other
        self._paces[order.chain] = self.of(order.chain).after(order.attempt.unit, cost_ms, busy)


class BatchChoice:
    """Selection of the next batch, without side effects. The caller holds the dispatcher's lock."""

    def __init__(self, backend: SparkBackend, mode: ShareMode, slots: int | None, longest_ms: float) -> None:
        """Create the selection for a backend. See ``UnitDispatcher`` for the other arguments."""
        self._backend = backend
        self._mode = mode
        self._longest_ms = longest_ms
        self._most_units = slots
        """Maximum number of units read concurrently; ``None`` if only the sources limit it."""

    @property
    def _slots(self) -> int:
        """Number of batches that keep all slots busy. It varies with the executors of a cluster."""
        return min(self._most_units or self._backend.slots, self._backend.slots)

    def choose(
        self, waiting: list[Candidate[Order]], running: Sequence[RunningBatch]
    ) -> tuple[list[Candidate[Order]], dict[OperatorChain, int]]:
        """Return the units of the next batch and, if they are I/O-bound, the reader threads of each chain.

        Both are empty if no unit may be read yet. ``waiting`` is in order of submission.
        """
        readers = sum((batch.readers() for batch in running), Counter[OperatorChain]())
        eligible = self._eligible(waiting, running, readers)
        if not eligible:
            return [], {}
        idle, slots = self._shares(eligible, readers)
        idle = min(self._slots - len(running), idle)
        if not eligible[0].waits:
            return choose_batch(eligible, self._mode, idle, slots, self._longest_ms), {}
        chains = {unit.load.chain for unit in eligible if unit.waits}
        whole = {chain: self._most_tasks(chain) for chain in chains}
        free = {chain: most - readers[chain] for chain, most in whole.items()}
        most = (self._most_units or sum(free.values()) + readers.total()) - readers.total()
        working = any(not unit.waits for unit in eligible)  # busy units use the other slots
        tasks = 1 if working else max(1, self._slots - len(running))
        return choose_reader_threads(eligible, self._mode, free, whole, most, tasks, lambda unit: unit.load.chain)

    def _eligible(
        self, waiting: list[Candidate[Order]], running: Sequence[RunningBatch], readers: Counter[OperatorChain]
    ) -> list[Candidate[Order]]:
        """Return the units that may be read now. Chains without a running task come first: they may be small tables."""
        if not running:
            return waiting
        if self._most_units is not None and readers.total() >= self._most_units:
            return []
        full = {chain for chain, count in readers.items() if count >= self._most_tasks(chain)}
        # A further batch would get only the readers that are free now; more may be free when Spark runs it.
        is_enough = sum(bool(batch.reader_threads) for batch in running) >= self._slots
        free = [
            unit
            for unit in waiting
            if unit.load.chain not in full and not (is_enough and unit.waits) and not self._must_wait(unit, running)
        ]
        return [unit for unit in free if unit.load.chain not in readers] or free

    def _must_wait(self, unit: Candidate[Order], running: Sequence[RunningBatch]) -> bool:
        """Return True if a unit writes directly while a cancelled unit of its pipeline may still write (rule R15)."""
        return unit.load.chain.writes_at_once and any(batch.may_still_write(unit.pipeline) for batch in running)

    def _most_tasks(self, chain: OperatorChain) -> int:
        """Return the maximum number of concurrent tasks of a source.

        A CPU-bound source may have one more task than slots. This task waits in Spark and starts as soon as another one
        ends.
        """
        most = chain.parallelism or self._slots
        if chain.source.waits is not False:
            return most
        return self._slots + 1 if most >= self._slots and self._backend.holds_back else most

    def _shares(self, eligible: list[Candidate[Order]], tasks: Mapping[OperatorChain, int]) -> tuple[int, int]:
        """Return two task counts for these units, at most one task per slot: now, and if no other task were running."""
        now = later = 0
        seen = set[OperatorChain]()
        for chain in (unit.load.chain for unit in eligible):
            if chain not in seen:
                seen.add(chain)
                now += self._most_tasks(chain) - tasks.get(chain, 0)
                later += chain.parallelism or self._slots
                if min(now, later) >= self._slots:
                    break
        return min(now, self._slots), min(later, self._slots)
