"""What is known of the packets that Spark has: which units have begun, which are over, and how often one began."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from attrs import define, field, frozen

from seatunnel_core.errors import PacketLostError
from seatunnel_core.spark.packing import LIGHT_BYTES, LIGHT_ROWS, Candidate, Pace
from seatunnel_core.spark.program import Program
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.unit import UnitAttempt, WorkUnit

PipelineKey = tuple[str, int]
"""Job id and pipeline id."""

OnResult = Callable[[UnitResult], object]
"""Called once per submitted unit, from a thread of the dispatcher, unless its pipeline was cancelled before."""


@frozen(eq=False)
class Order:
    """One submitted unit."""

    program: Program
    attempt: UnitAttempt
    on_result: OnResult = field(repr=False)
    restored: bool = False
    """Whether it may have begun in an earlier process."""

    on_again: Callable[[], object] | None = field(default=None, repr=False)
    """Called when it begins once more, where its rows are written at once."""

    @property
    def pipeline(self) -> PipelineKey:
        return self.program.job_id, self.program.pipeline_id

    def failed(self, failure: Failure) -> UnitResult:
        return UnitResult(
            job_id=self.program.job_id,
            pipeline_id=self.program.pipeline_id,
            source=self.program.source_name,
            attempt=self.attempt.id,
            failure=failure,
        )

    def lost(self, lost: PacketLostError) -> Failure:
        unit = f"source {self.program.source_name!r}, work unit {self.attempt.unit.number}"
        where = f"pipeline {self.program.pipeline_id}, {unit}"
        message = f"{where}: the Spark task that ran it was lost: {lost}"
        return Failure(kind=FailureKind.TRANSIENT, message=message, code=lost.code)


@define(eq=False)
class RunningPacket:
    """A packet that Spark has. Whoever looks or changes holds the dispatcher's lock."""

    number: int
    """Spark runs them about in this order."""

    tag: str
    units: list[Candidate[Order]]
    lanes: Mapping[Program, int] = field(factory=dict)
    """How many units of a program are read at once; without any, one after the other."""

    dropped: set[Hashable] = field(factory=set)
    """Pipelines that were cancelled since: their results go nowhere."""

    reached: bool = False
    """Whether its task has asked: else nobody knows what it has begun."""

    began_ms: float = 0.0
    """When its last unit began that was alone, or ended."""

    begun: set[int] = field(factory=set)
    """By their places among the units."""

    over: set[int] = field(factory=set)
    """Those of which a result is known, and those that were given away."""

    @property
    def writes_at_once(self) -> bool:
        return any(unit.load.program.writes_at_once for unit in self.units)

    def left(self) -> list[int]:
        """The units that are not over."""
        return [number for number in range(len(self.units)) if number not in self.over]

    def left_unbegun(self) -> list[int]:
        return [number for number in self.left() if number not in self.begun]

    def readers(self) -> Counter[Program]:
        """How many of each program are read at once, or will be."""
        counts = Counter(self.units[number].load.program for number in self.left())
        return Counter({program: min(count, self.lanes.get(program, 1)) for program, count in counts.items()})

    def may_still_write(self, pipeline: Hashable) -> bool:
        """Whether a unit of a pipeline that was cancelled is written at once, and may not have ended."""
        if pipeline not in self.dropped:
            return False
        running = (self.units[number] for number in self.left() if number in self.begun or not self.reached)
        return any(unit.pipeline == pipeline and unit.load.program.writes_at_once for unit in running)


@define
class _Begun:
    """Numbers that come about in order, most of them from 1 on."""

    below: int = 1
    more: set[int] = field(factory=set)

    def add(self, number: int) -> bool:
        """False if it was there."""
        if number < self.below or number in self.more:
            return False
        self.more.add(number)
        while self.below in self.more:
            self.more.remove(self.below)
            self.below += 1
        return True


class Ledger:
    """Which units have begun in this process whose rows are written at once. Not thread-safe."""

    def __init__(self) -> None:
        self._begun: dict[tuple[Any, ...], _Begun] = {}
        self._epochs: dict[tuple[Any, ...], int] = {}
        """The first of each source: what it restores is from an earlier process."""

    def begins_again(self, order: Order) -> bool:
        """Write down that a unit begins, and say whether it had begun before."""
        source = (*order.pipeline, order.program.source_name)
        first = self._epochs.setdefault(source, order.attempt.epoch)
        fresh = self._begun.setdefault(source, _Begun()).add(order.attempt.unit.number)
        return not fresh or (order.restored and order.attempt.epoch == first)


def waits(program: Program, pace: Pace, unit: WorkUnit) -> bool:
    """Whether a unit is read in a thread beside others: its source says so, or was seen to wait, or may wait and the
    unit is light."""
    if program.on_frames or program.source.waits is not None:
        return bool(program.source.waits) and not program.on_frames
    if pace.measured:
        return pace.waits
    return unit.weight_bytes <= LIGHT_BYTES and unit.rows <= LIGHT_ROWS


def speculating(program: Program) -> Failure:
    """Why a program that writes at once is refused where Spark may attempt a task beside itself."""
    message = (
        f"pipeline {program.pipeline_id}, source {program.source_name!r}: a sink writes its rows at once, and with "
        "spark.speculation and spark.speculation.task.duration.threshold Spark would write them twice without any "
        "failure; leave the threshold out, or choose a sink that is exactly-once"
    )
    return Failure(kind=FailureKind.USAGE, message=message)
