"""Packing of work units into task batches, as pure functions (R15, `docs/design/decisions/task-batches.md`).

A Spark job costs about 15 ms and a small unit less than 1 ms; between two tasks, a slot waits 50 to 90 ms for the disk
and the JVM. So units are packed into batches of about a second, and one task runs the units of a batch in sequence. The
waiting units are spread over the slots, so batches get smaller towards the end and the slots finish together (C. D.
Polychronopoulos and D. J. Kuck, "Guided Self-Scheduling", 1987). The duration of a unit is predicted from its size and
from the durations of earlier units of the same chain.
"""

import enum
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from attrs import evolve, field, frozen

from seatunnel_core.work.unit import WorkUnit

T = TypeVar("T")
S = TypeVar("S", bound=Hashable)
"""Key type that identifies the source of a unit."""


class ShareMode(enum.Enum):
    """Values of the option ``task_execution_thread_share_mode``: which units may share a Spark job."""

    ALL = "ALL"
    """Units of all pipelines, regardless of duration."""

    OFF = "OFF"
    """Only units of the same pipeline."""

    PART = "PART"
    """Short units of all pipelines. A longer unit shares a Spark job only with units of the same pipeline."""


SHORT_MS = 300.0
"""Maximum predicted duration of a short unit in mode ``PART``."""

TARGET_MS = 1000.0

SMALLEST_MS = 50.0
"""Minimum target duration of a batch. Shorter batches are not worth a Spark job."""

TINY_MS = 10.0
"""Maximum predicted duration of a tiny unit. Without measurements, a longer unit may belong to a much slower source, so
a batch contains at most one of them per pipeline.
"""

MOST_UNITS = 128
"""Maximum number of units in a batch, regardless of predictions. In measurements with a thousand small tables, a limit
of 256 was a tenth slower, and a limit of 64 was not faster.
"""

MOST_READER_THREADS = 64
"""Maximum number of reader threads in a task. Each reader needs a thread and memory for its rows."""

LIGHT_BYTES = 1 << 20
LIGHT_ROWS = 100_000
"""Maximum number of rows of a unit that may be read concurrently before it is known whether its source is I/O-bound."""

_FIRST_GUESS_MS = 3.0
_BYTES_PER_MS = 100_000.0
_ROWS_PER_MS = 500.0
WAITING_SHARE = 0.25
"""Share of processor time in a unit's duration below which its source counts as I/O-bound."""

_NEW_WEIGHT = 0.5
"""Weight of the latest measurement in the moving average."""


@frozen(kw_only=True)
class Pace:
    """Measured speed of a chain's units, relative to the first estimate."""

    factor: float = 1.0
    """Duration of a unit, divided by the first estimate."""

    measured: int = 0
    busy: float = 1.0
    """Share of processor time in a unit's duration."""

    @property
    def waits(self) -> bool:
        """True if units have been measured and are I/O-bound."""
        return self.measured > 0 and self.busy < WAITING_SHARE

    def predict_ms(self, unit: WorkUnit) -> float:
        """Return the predicted duration of a unit, in milliseconds."""
        return first_guess_ms(unit) * self.factor

    def after(self, unit: WorkUnit, wall_ms: float, busy: float = 1.0) -> "Pace":
        """Return the pace after measuring another unit."""
        seen = wall_ms / first_guess_ms(unit)
        if self.measured:
            seen = self.factor + _NEW_WEIGHT * (seen - self.factor)
            busy = self.busy + _NEW_WEIGHT * (busy - self.busy)
        return evolve(self, factor=max(seen, 0.01), measured=self.measured + 1, busy=busy)


def first_guess_ms(unit: WorkUnit) -> float:
    """Return the duration of a unit, estimated from its size alone for CSV to Parquet on one slow processor."""
    return _FIRST_GUESS_MS + max(unit.weight_bytes / _BYTES_PER_MS, unit.rows / _ROWS_PER_MS)


@frozen(kw_only=True)
class Candidate(Generic[T]):
    """Unit that waits for a Spark job."""

    load: T = field(repr=False)
    pipeline: Hashable
    predicted_ms: float
    measured: bool = True
    """True if the prediction is based on measured units of the same chain."""

    apart: bool = False
    """True if the unit shares a batch only with its own pipeline's units: its previous batch was lost or overdue."""

    alone: bool = False
    """True if the unit runs alone: on the DataFrame path, or after a lost or overdue batch of only its pipeline."""

    waits: bool = False
    """True if the unit is read in a thread, concurrently with other units."""

    @property
    def is_guess(self) -> bool:
        """True if the unit may take much longer than predicted: its chain was not measured, and it is not tiny."""
        return not self.measured and self.predicted_ms > TINY_MS


def longest_batch_ms(interval_ms: int | None) -> float:
    """Return the maximum duration of a batch for this checkpoint interval; ``None`` means no interval.

    Tasks that cannot reach the driver deliver their results when the batch ends, and a checkpoint only commits results
    that have arrived.
    """
    return TARGET_MS if interval_ms is None else min(TARGET_MS, max(SMALLEST_MS, float(interval_ms)))


def choose_batch(
    waiting: Sequence[Candidate[T]],
    mode: ShareMode,
    idle_slots: int,
    slots: int = 1,
    longest_ms: float = TARGET_MS,
) -> list[Candidate[T]]:
    """Return the units for the next Spark job, in order, always including the first unit in ``waiting``.

    ``idle_slots`` is the number of idle slots for these units, including the slot of this batch; if 0, the batch waits
    in Spark. ``longest_ms`` is the maximum predicted duration of a batch.
    """
    if not waiting:
        return []
    first = waiting[0]
    waiting_ms = sum(unit.predicted_ms for unit in waiting if not unit.waits)
    budget_ms = batch_ms(waiting_ms, idle_slots if idle_slots > 0 else slots, longest_ms)
    if idle_slots > 0 and not first.measured and first.predicted_ms > SMALLEST_MS:
        budget_ms = SMALLEST_MS  # commits results soon, and yields a measurement
    batch, filled_ms = [first], first.predicted_ms
    guessed = {first.pipeline} if first.is_guess else set()
    for unit in (unit for unit in waiting[1:] if not unit.waits):
        if filled_ms >= budget_ms or len(batch) >= MOST_UNITS:
            break
        if unit.is_guess and unit.pipeline in guessed:
            continue
        if may_share(first, unit, mode) and filled_ms + unit.predicted_ms / 2 <= max(budget_ms, SMALLEST_MS):
            batch.append(unit)
            filled_ms += unit.predicted_ms
            if unit.is_guess:
                guessed.add(unit.pipeline)
    return batch


def choose_reader_threads(
    waiting: Sequence[Candidate[T]],
    mode: ShareMode,
    free: Mapping[S, int],
    all_readers: Mapping[S, int],
    most: int,
    tasks: int,
    reader: Callable[[Candidate[T]], S],
) -> tuple[list[Candidate[T]], dict[S, int]]:
    """Return the units for a task that reads them concurrently, and the number of reader threads for each source.

    The first unit in ``waiting`` is always included. The units are spread over ``tasks`` tasks, and ``reader`` returns
    the source of a unit. ``free`` is the number of further units of each source that may be read concurrently, and
    ``most`` is the number for all sources together. ``all_readers`` is the maximum number of reader threads of each
    source. A task takes an even share of the units for each of its threads, and leaves the rest to threads that become
    free.
    """
    first = waiting[0]
    mine = [unit for unit in waiting if unit is first or (unit.waits and may_wait_beside(first, unit, mode))]
    reader_threads: dict[S, int] = {}
    shares: dict[S, int] = {}
    for source, count in Counter(map(reader, mine)).items():
        left = min(most, MOST_READER_THREADS) - sum(reader_threads.values())
        reader_threads[source] = max(0, min(-(-free[source] // tasks), -(-count // tasks), left))
        rounds = -(-count // all_readers[source])
        shares[source] = reader_threads[source] * rounds
    batch: list[Candidate[T]] = []
    taken: Counter[S] = Counter()
    for unit in mine:
        if reader_threads[reader(unit)] and taken[reader(unit)] < shares[reader(unit)] and len(batch) < MOST_UNITS:
            batch.append(unit)
            taken[reader(unit)] += 1
    return batch, {source: reader_threads[source] for source in taken}


def may_wait_beside(one: Candidate[T], other: Candidate[T], mode: ShareMode) -> bool:
    """Return True if two I/O-bound units may share a task, because neither delays the other."""
    if one.alone or other.alone:
        return False
    same = one.pipeline == other.pipeline
    return one.apart == other.apart if same else not (one.apart or other.apart or mode is ShareMode.OFF)


def batch_ms(waiting_ms: float, slots: int, longest_ms: float = TARGET_MS) -> float:
    """Return the target duration of the next batch that spreads the waiting units over the slots."""
    return min(longest_ms, max(SMALLEST_MS, waiting_ms / slots))


def may_share(one: Candidate[T], other: Candidate[T], mode: ShareMode) -> bool:
    """Return True if two units may share a batch that runs them in sequence."""
    if one.alone or other.alone:
        return False
    if one.pipeline == other.pipeline:
        return one.apart == other.apart
    if one.apart or other.apart or mode is ShareMode.OFF:
        return False
    return mode is ShareMode.ALL or max(one.predicted_ms, other.predicted_ms) <= SHORT_MS


def overdue_ms(batch: Iterable[Candidate[T]]) -> float | None:
    """Return the time after which the unbegun units of a batch are requeued; ``None`` for a single unit."""
    units = list(batch)
    if len(units) < 2:
        return None
    if units[0].waits:
        return 30_000.0 + 10.0 * max(unit.predicted_ms for unit in units)
    return 5000.0 + 10.0 * sum(unit.predicted_ms for unit in units)
