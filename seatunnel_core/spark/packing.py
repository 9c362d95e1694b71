"""The policy of which work units share a Spark job: no Spark, no clock (R15, `docs/design/decisions/task-batches.md`).

A Spark job costs some 15 ms, a small unit less than one; and between two tasks a slot waits for the disk and for the
JVM, 50 to 90 ms. So units are put together into batches of about a second, each of which is one task that runs them one
after the other. The waiting units are spread over the slots, so batches get smaller towards the end, and the slots end
together (C. D. Polychronopoulos and D. J. Kuck, "Guided Self-Scheduling", 1987). How long a unit will take is predicted
from its size and from how long earlier units of its chain took.
"""

import enum
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from attrs import evolve, field, frozen

from seatunnel_core.work.unit import WorkUnit

T = TypeVar("T")
S = TypeVar("S", bound=Hashable)
"""The type that stands for the source of a unit."""


class ShareMode(enum.Enum):
    """The values of the option ``task_execution_thread_share_mode``: whose units may share a Spark job."""

    ALL = "ALL"
    """Units of all pipelines, however long."""

    OFF = "OFF"
    """Every pipeline has its own jobs."""

    PART = "PART"
    """Units of all pipelines that are predicted to be short; a longer one shares with its own pipeline only."""


SHORT_MS = 300.0
"""In ``PART``, a unit that is predicted to take longer shares with its own pipeline only."""

TARGET_MS = 1000.0
"""How long a batch should take."""

SMALLEST_MS = 50.0
"""The shortest batch that is aimed at: a shorter one is not worth a Spark job."""

TINY_MS = 10.0
"""A batch has at most one unit of each pipeline that is guessed, not measured, to take longer: its source may be far
slower."""

MOST_UNITS = 128
"""How many units a batch has at most, whatever the prediction. With 256 a thousand small tables took a tenth longer;
with 64 they took no less."""

MOST_READER_THREADS = 64
"""How many units of sources that wait are read at once in one task at most: each costs a thread, and memory for its
rows."""

LIGHT_BYTES = 1 << 20
LIGHT_ROWS = 100_000
"""A unit with at most so many bytes and rows may be read beside others before it is known whether its source waits."""

_FIRST_GUESS_MS = 3.0
_BYTES_PER_MS = 100_000.0
_ROWS_PER_MS = 500.0
WAITING_SHARE = 0.25
"""A source waits, whatever it waits for, if its units need a processor for less than this share of their time."""

_NEW_WEIGHT = 0.5
"""The weight of the latest measurement, against all before it."""


@frozen(kw_only=True)
class Pace:
    """The measured speed of the units of one chain, compared with the first guess."""

    factor: float = 1.0
    """The time of a unit, divided by the first guess."""

    measured: int = 0
    """How many units were measured."""

    busy: float = 1.0
    """For which share of its time a unit needs a processor."""

    @property
    def waits(self) -> bool:
        """Whether the units were measured, and mostly wait."""
        return self.measured > 0 and self.busy < WAITING_SHARE

    def predict_ms(self, unit: WorkUnit) -> float:
        """Return how long a unit is expected to take."""
        return first_guess_ms(unit) * self.factor

    def after(self, unit: WorkUnit, wall_ms: float, busy: float = 1.0) -> "Pace":
        """Return the pace with one more unit measured."""
        seen = wall_ms / first_guess_ms(unit)
        if self.measured:
            seen = self.factor + _NEW_WEIGHT * (seen - self.factor)
            busy = self.busy + _NEW_WEIGHT * (busy - self.busy)
        return evolve(self, factor=max(seen, 0.01), measured=self.measured + 1, busy=busy)


def first_guess_ms(unit: WorkUnit) -> float:
    """Return how long a unit takes judged by its size alone: CSV to Parquet on one slow processor."""
    return _FIRST_GUESS_MS + max(unit.weight_bytes / _BYTES_PER_MS, unit.rows / _ROWS_PER_MS)


@frozen(kw_only=True)
class Candidate(Generic[T]):
    """One unit that waits for a Spark job."""

    load: T = field(repr=False)
    pipeline: Hashable
    predicted_ms: float
    measured: bool = True
    """Whether the prediction comes from measured units of the same chain."""

    apart: bool = False
    """Whether it shares with its own pipeline only, because it was in a batch that was lost or overdue."""

    alone: bool = False
    """Whether it shares with nobody: such a batch had units of its own pipeline only, or it takes the DataFrame
    path."""

    waits: bool = False
    """Whether it is read in a thread, beside others."""

    @property
    def is_guess(self) -> bool:
        """Whether it may take far longer than predicted: nothing was measured, and it is not tiny."""
        return not self.measured and self.predicted_ms > TINY_MS


def longest_batch_ms(interval_ms: int | None) -> float:
    """Return how long a batch may take in a job with a checkpoint every ``interval_ms``; ``None``: no interval.

    Tasks that cannot reach the driver deliver their results when the batch ends, and a checkpoint commits only results
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
    """Return the units for the next Spark job, in their order; the first of ``waiting`` is always among them.

    Args:
        waiting: the waiting units that may run now, in their order.
        mode: whose units may share.
        idle_slots: how many slots without work these units may have, that of this batch included. Without one, the
            batch waits in Spark for the next slot.
        slots: how many slots these units may have in all.
        longest_ms: no batch should take longer.
    """
    if not waiting:
        return []
    first = waiting[0]
    waiting_ms = sum(unit.predicted_ms for unit in waiting if not unit.waits)
    budget_ms = batch_ms(waiting_ms, idle_slots if idle_slots > 0 else slots, longest_ms)
    if idle_slots > 0 and not first.measured and first.predicted_ms > SMALLEST_MS:
        budget_ms = SMALLEST_MS  # something is committed soon, and from then on it is known how long they take
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
    """Return the units for a task that reads them side by side, and how many of each source are read at once.

    The first of ``waiting`` is among them.

    Args:
        waiting: the waiting units that may run now, in their order.
        mode: whose units may share.
        free: how many more units of each source may be read at once.
        all_readers: maximum concurrent units of each source. For each of its reader threads a task takes an even share
            of the units; the rest is left for readers that become free.
        most: how many more units may be read at once of all sources.
        tasks: over how many tasks the waiting units are spread.
        reader: returns the source of a unit.
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
    """Return whether two units that wait may share a task.

    Their length does not matter, because neither holds the other up.
    """
    if one.alone or other.alone:
        return False
    same = one.pipeline == other.pipeline
    return one.apart == other.apart if same else not (one.apart or other.apart or mode is ShareMode.OFF)


def batch_ms(waiting_ms: float, slots: int, longest_ms: float = TARGET_MS) -> float:
    """Return how long the next batch should take, so that the waiting units are spread over the slots."""
    return min(longest_ms, max(SMALLEST_MS, waiting_ms / slots))


def may_share(one: Candidate[T], other: Candidate[T], mode: ShareMode) -> bool:
    """Return whether two units may share a batch that runs them one after the other."""
    if one.alone or other.alone:
        return False
    if one.pipeline == other.pipeline:
        return one.apart == other.apart
    if one.apart or other.apart or mode is ShareMode.OFF:
        return False
    return mode is ShareMode.ALL or max(one.predicted_ms, other.predicted_ms) <= SHORT_MS


def overdue_ms(batch: Iterable[Candidate[T]]) -> float | None:
    """Return after how long a batch gives away what it has not begun; ``None`` for a unit by itself."""
    units = list(batch)
    if len(units) < 2:
        return None
    if units[0].waits:
        return 30_000.0 + 10.0 * max(unit.predicted_ms for unit in units)
    return 5000.0 + 10.0 * sum(unit.predicted_ms for unit in units)
