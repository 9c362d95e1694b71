"""What the driver knows of the batches that Spark has: which units have begun, are over, or began again."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from attrs import define, field, frozen

from seatunnel_core.errors import PacketLostError, TransformError
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.spark.packing import LIGHT_BYTES, LIGHT_ROWS, Candidate, Pace
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.unit import UnitAttempt, WorkUnit
from seatunnel_core.work.vertex_work import VertexWork

PipelineKey = tuple[str, int]
"""Job id and pipeline id."""

OnResult = Callable[[UnitResult], object]
"""Called once per submitted unit, from a thread of the dispatcher, unless its pipeline was cancelled before; for a unit
that is refused, from ``submit`` itself."""

OnProgress = Callable[[Mapping[str, VertexWork]], object]


@frozen(eq=False)
class Order:
    """One submitted work unit."""

    chain: OperatorChain
    attempt: UnitAttempt
    on_result: OnResult = field(repr=False)
    restored: bool = False
    """Whether it may have begun in an earlier process."""

    on_again: Callable[[], object] | None = field(default=None, repr=False)
    """Called when the unit begins once more, so that a sink may have its rows twice."""

    on_progress: OnProgress | None = field(default=None, repr=False)
    """Called with what the unit has done so far, by vertex, while it runs for long."""

    @property
    def pipeline(self) -> PipelineKey:
        """The pipeline of the unit."""
        return self.chain.job_id, self.chain.pipeline_id

    def failed(self, failure: Failure) -> UnitResult:
        """Return a result of the unit without rows, for a failure."""
        return UnitResult(
            job_id=self.chain.job_id,
            pipeline_id=self.chain.pipeline_id,
            source=self.chain.source_name,
            attempt=self.attempt.id,
            failure=failure,
        )

    def lost(self, lost: PacketLostError) -> Failure:
        """Return the failure of a unit whose Spark task was lost."""
        unit = f"source {self.chain.source_name!r}, work unit {self.attempt.unit.number}"
        where = f"pipeline {self.chain.pipeline_id}, {unit}"
        if not lost.retryable:
            return Failure(kind=FailureKind.DATA, message=f"{where}: {lost}", code=TransformError.code)
        message = f"{where}: the Spark task that ran it was lost: {lost}"
        return Failure(kind=FailureKind.TRANSIENT, message=message, code=lost.code)


@define(eq=False)
class RunningBatch:
    """A batch that Spark has. Hold the dispatcher's lock to read or change it."""

    number: int
    """From 1. Spark runs batches about in this order."""

    tag: str
    units: list[Candidate[Order]]
    reader_threads: Mapping[OperatorChain, int] = field(factory=dict)
    """How many units of a chain are read at once. Empty: one after the other."""

    dropped: set[Hashable] = field(factory=set)
    """The pipelines that were cancelled since; their results are discarded."""

    reached: bool = False
    """Whether its task has connected to the driver. If not, it is not known what has begun."""

    began_ms: float = 0.0
    """When its task connected or, after that, when the latest results arrived, by ``time.perf_counter``: the time of
    the units that are reported next counts from here."""

    begun: set[int] = field(factory=set)
    """The indices of the units that have begun."""

    over: set[int] = field(factory=set)
    """The indices of the units that have a result, were given away, or were dropped before they began."""

    @property
    def writes_at_once(self) -> bool:
        """Whether a unit's chain writes into a target itself (``OperatorChain.writes_at_once``)."""
        return any(unit.load.chain.writes_at_once for unit in self.units)

    def left(self) -> list[int]:
        """Return the indices of the units that are not over."""
        return [number for number in range(len(self.units)) if number not in self.over]

    def left_unbegun(self) -> list[int]:
        """Return the indices of the units that are neither over nor begun."""
        return [number for number in self.left() if number not in self.begun]

    def readers(self) -> Counter[OperatorChain]:
        """Return how many units of each chain are read at once, or will be."""
        counts = Counter(self.units[number].load.chain for number in self.left())
        return Counter({chain: min(count, self.reader_threads.get(chain, 1)) for chain, count in counts.items()})

    def progress(self, number: int, work: Mapping[str, VertexWork]) -> None:
        """Pass on what a unit has done so far. Needs no lock."""
        on_progress = self.units[number].load.on_progress
        if on_progress is not None:
            on_progress(work)

    def may_still_write(self, pipeline: Hashable) -> bool:
        """Return whether a unit of a cancelled pipeline that is written at once may not have ended yet."""
        if pipeline not in self.dropped:
            return False
        running = (self.units[number] for number in self.left() if number in self.begun or not self.reached)
        return any(unit.pipeline == pipeline and unit.load.chain.writes_at_once for unit in running)


@define
class _Begun:
    """A set of numbers that come about in order, most of them from 1 on."""

    below: int = 1
    more: set[int] = field(factory=set)

    def add(self, number: int) -> bool:
        """Add a number, and return whether it is new."""
        if number < self.below or number in self.more:
            return False
        self.more.add(number)
        while self.below in self.more:
            self.more.remove(self.below)
            self.below += 1
        return True


class Ledger:
    """The units that have begun in this process, of chains whose repeated units have rows twice. Not thread-safe."""

    def __init__(self) -> None:
        self._begun: dict[tuple[Any, ...], _Begun] = {}
        self._epochs: dict[tuple[Any, ...], int] = {}
        """The first epoch of each source in this process: only what that one restores may have begun in an earlier
        process."""

    def begins_again(self, order: Order) -> bool:
        """Record that a unit begins, and return whether it may have begun before."""
        source = (*order.pipeline, order.chain.source_name)
        first = self._epochs.setdefault(source, order.attempt.epoch)
        fresh = self._begun.setdefault(source, _Begun()).add(order.attempt.unit.number)
        return not fresh or (order.restored and order.attempt.epoch == first)


def waits(chain: OperatorChain, pace: Pace, unit: WorkUnit) -> bool:
    """Return whether a unit is read in a thread beside others.

    If its source does not declare whether it waits, its measured units decide; before any is measured, light units are
    taken for waiting ones. Chains that take the DataFrame path never are.
    """
    if chain.on_frames or chain.source.waits is not None:
        return bool(chain.source.waits) and not chain.on_frames
    if pace.measured:
        return pace.waits
    return unit.weight_bytes <= LIGHT_BYTES and unit.rows <= LIGHT_ROWS


def speculating(chain: OperatorChain) -> Failure:
    """Return the failure of a chain that writes at once where Spark may run two attempts of a task side by side."""
    message = (
        f"pipeline {chain.pipeline_id}, source {chain.source_name!r}: a sink writes its rows at once, and with "
        "spark.speculation and spark.speculation.task.duration.threshold Spark would write them twice without any "
        "failure; leave the threshold out, or choose a sink that is exactly-once"
    )
    return Failure(kind=FailureKind.USAGE, message=message)
