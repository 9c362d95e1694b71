"""Which work units share a Spark job: pure policy, no Spark, no clock (architecture §5, protocol rule R15).

A Spark job costs some 15 ms, a small unit less than one; and between two tasks a slot waits for the disk and for the
JVM, 50 to 90 ms. So units are put together into packets of about a second, each of which is one task that runs them one
after the other. What waits is spread over the slots, so packets get smaller towards the end, and the slots end together
(C. D. Polychronopoulos and D. J. Kuck, "Guided Self-Scheduling", 1987). How long a unit will take is predicted from its
size and from what its program's earlier units took.
"""

import enum
from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from attrs import evolve, field, frozen

from seatunnel_core.checkpoint.split import WorkUnit

T = TypeVar("T")


class ShareMode(enum.Enum):
    """``task_execution_thread_share_mode``: whose units may share a Spark job."""

    ALL = "ALL"
    """Units of all pipelines, however long."""

    OFF = "OFF"
    """Every pipeline has its own jobs."""

    PART = "PART"
    """Units of all pipelines that are predicted to be short; a longer one gets a job of its own."""


SHORT_MS = 300.0
"""In ``PART``, what is predicted to take longer shares with nobody."""

TARGET_MS = 1000.0
"""How long a packet should take."""

SMALLEST_MS = 50.0
"""Below this a packet is not worth the job that it saves; a packet for an idle slot may be as small."""

TINY_MS = 10.0
"""What is guessed to take longer stands once in a packet for each pipeline: its source may be far slower."""

MOST_UNITS = 128
"""In one packet, whatever the prediction says: results are handed on when the packet ends, and what is done with them
goes on beside the next packet. With 256 a thousand small tables took a tenth longer; with 64 they took no less."""

_FIRST_GUESS_MS = 3.0
_BYTES_PER_MS = 100_000.0
_ROWS_PER_MS = 500.0
_NEW_WEIGHT = 0.5
"""How much the latest measurement counts against all before it."""


@frozen(kw_only=True)
class Pace:
    """How fast the units of one program are, compared with the first guess."""

    factor: float = 1.0
    measured: int = 0
    """How many units the factor comes from."""

    def predict_ms(self, unit: WorkUnit) -> float:
        return first_guess_ms(unit) * self.factor

    def after(self, unit: WorkUnit, wall_ms: float) -> "Pace":
        """The pace, with one more unit measured."""
        seen = wall_ms / first_guess_ms(unit)
        factor = seen if not self.measured else self.factor + _NEW_WEIGHT * (seen - self.factor)
        return evolve(self, factor=max(factor, 0.01), measured=self.measured + 1)


def first_guess_ms(unit: WorkUnit) -> float:
    """What a unit takes as far as its size tells: CSV to Parquet on one slow processor."""
    return _FIRST_GUESS_MS + max(unit.weight_bytes / _BYTES_PER_MS, unit.rows / _ROWS_PER_MS)


@frozen(kw_only=True)
class Candidate(Generic[T]):
    """One unit that waits for a job."""

    load: T = field(repr=False)
    pipeline: Hashable
    predicted_ms: float
    measured: bool = True
    """Whether the prediction comes from a unit of the same program."""

    apart: bool = False
    """It was in a packet that failed as a whole: it shares with its own pipeline only."""

    alone: bool = False
    """It failed even so: it shares with nobody."""

    @property
    def is_guess(self) -> bool:
        """Whether it may take far longer than is thought, and is not tiny."""
        return not self.measured and self.predicted_ms > TINY_MS


def longest_packet_ms(interval_ms: int | None) -> float:
    """How long a packet may be in a job that takes a checkpoint every so many milliseconds: its units are told of when
    it ends, and a checkpoint commits what has been told of."""
    return TARGET_MS if interval_ms is None else min(TARGET_MS, max(SMALLEST_MS, float(interval_ms)))


def choose_packet(
    waiting: Sequence[Candidate[T]],
    mode: ShareMode,
    idle_slots: int,
    slots: int = 1,
    longest_ms: float = TARGET_MS,
) -> list[Candidate[T]]:
    """The units for the next Spark job, in their order; the first that waits is always among them.

    ``idle_slots`` counts the slots without work that these units may have, that of this packet included; without one,
    the packet waits in Spark for the next of all ``slots`` that they may have.
    """
    if not waiting:
        return []
    first = waiting[0]
    budget_ms = packet_ms(
        sum(unit.predicted_ms for unit in waiting), idle_slots if idle_slots > 0 else slots, longest_ms
    )
    if idle_slots > 0 and not first.measured and first.predicted_ms > SMALLEST_MS:
        budget_ms = SMALLEST_MS  # something is committed soon, and from then on it is known how long they take
    packet, filled_ms = [first], first.predicted_ms
    guessed = {first.pipeline} if first.is_guess else set()
    for unit in waiting[1:]:
        if filled_ms >= budget_ms or len(packet) >= MOST_UNITS:
            break
        if unit.is_guess and unit.pipeline in guessed:
            continue
        if may_share(first, unit, mode) and filled_ms + unit.predicted_ms / 2 <= max(budget_ms, SMALLEST_MS):
            packet.append(unit)
            filled_ms += unit.predicted_ms
            if unit.is_guess:
                guessed.add(unit.pipeline)
    return packet


def packet_ms(waiting_ms: float, slots: int, longest_ms: float = TARGET_MS) -> float:
    """How long the next packet should take, so that what waits is spread over the slots."""
    return min(longest_ms, max(SMALLEST_MS, waiting_ms / slots))


def may_share(one: Candidate[T], other: Candidate[T], mode: ShareMode) -> bool:
    if one.alone or other.alone:
        return False
    if one.pipeline == other.pipeline:
        return one.apart == other.apart
    if one.apart or other.apart or mode is ShareMode.OFF:
        return False
    return mode is ShareMode.ALL or max(one.predicted_ms, other.predicted_ms) <= SHORT_MS


def overdue_ms(packet: Iterable[Candidate[T]]) -> float | None:
    """After how long a packet counts as failed as a whole; ``None`` for a unit by itself.

    Units of one pipeline are coupled, too: one that sleeps keeps the results of its neighbours, and so their slots.
    """
    units = list(packet)
    if len(units) < 2:
        return None
    return 5000.0 + 10.0 * sum(unit.predicted_ms for unit in units)
