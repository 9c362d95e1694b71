"""Driver's record of the task batches on Spark: the units that have begun, ended, or begun again."""

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

OnResult = Callable[[UnitResult], object]
"""Callback for the result of a unit. A dispatcher thread calls it once, unless the pipeline was cancelled. If a unit is
rejected, ``submit`` calls it directly.
"""

OnProgress = Callable[[Mapping[str, VertexWork]], object]


@frozen(eq=False)
class Order:
    """A submitted work unit."""

    chain: OperatorChain
    attempt: UnitAttempt
    on_result: OnResult = field(repr=False)
    restored: bool = False
    """True if the unit may have begun in an earlier process."""

    on_again: Callable[[], object] | None = field(default=None, repr=False)
    """Callback for a unit that begins again. A sink may then receive its rows twice."""

    on_progress: OnProgress | None = field(default=None, repr=False)
    """Callback for the progress of a long-running unit by vertex. It is called repeatedly."""

    @property
    def pipeline(self) -> PipelineKey:
        """Pipeline of the unit."""
        return self.chain.job_id, self.chain.pipeline_id

    def failed(self, failure: Failure) -> UnitResult:
        """Return a failed result for the unit; it has no rows."""
        return UnitResult(
            job_id=self.chain.job_id,
            pipeline_id=self.chain.pipeline_id,
            source=self.chain.source_name,
            attempt=self.attempt.id,
            failure=failure,
        )

    def lost(self, lost: PacketLostError) -> Failure:
        """Return the failure of a unit after its Spark task was lost."""
        unit = f"source {self.chain.source_name!r}, work unit {self.attempt.unit.number}"
        where = f"pipeline {self.chain.pipeline_id}, {unit}"
        if not lost.retryable:
            return Failure(kind=FailureKind.DATA, message=f"{where}: {lost}", code=TransformError.code)
        message = f"{where}: the Spark task that ran this unit was lost: {lost}"
        return Failure(kind=FailureKind.TRANSIENT, message=message, code=lost.code)


@define(eq=False)
class RunningBatch:
    """Task batch on Spark. Hold the dispatcher's lock to read or change it."""

    number: int
    """Number of the batch, from 1. Spark runs batches approximately in this order."""

    tag: str
    units: list[Candidate[Order]]
    reader_threads: Mapping[OperatorChain, int] = field(factory=dict)
    """Reader threads by chain. If empty, units run one after the other."""

    dropped: set[Hashable] = field(factory=set)
    """Pipelines that were cancelled after the batch was submitted. Their results are discarded."""

    reached: bool = False
    """True after the batch's task has connected to the driver. Before that, it is unknown which units have begun."""

    began_ms: float = 0.0
    """Time when the batch's task connected or the latest results arrived, as returned by ``time.perf_counter``."""

    begun: set[int] = field(factory=set)
    over: set[int] = field(factory=set)
    """Indices of the units that have a result, were requeued, or were dropped before they began."""

    @property
    def writes_at_once(self) -> bool:
        """True if a unit's chain writes directly to a target (``OperatorChain.writes_at_once``)."""
        return any(unit.load.chain.writes_at_once for unit in self.units)

    def left(self) -> list[int]:
        """Return the indices of the units that have not ended."""
        return [number for number in range(len(self.units)) if number not in self.over]

    def left_unbegun(self) -> list[int]:
        """Return the indices of the units that have neither ended nor begun."""
        return [number for number in self.left() if number not in self.begun]

    def readers(self) -> Counter[OperatorChain]:
        """Return the number of units of each chain that are or will be read concurrently."""
        counts = Counter(self.units[number].load.chain for number in self.left())
        return Counter({chain: min(count, self.reader_threads.get(chain, 1)) for chain, count in counts.items()})

    def progress(self, number: int, work: Mapping[str, VertexWork]) -> None:
        """Forward the progress of a unit. No lock is needed."""
        on_progress = self.units[number].load.on_progress
        if on_progress is not None:
            on_progress(work)

    def may_still_write(self, pipeline: Hashable) -> bool:
        """Return True if a unit of a cancelled pipeline that writes at once may still be running."""
        if pipeline not in self.dropped:
            return False
        running = (self.units[number] for number in self.left() if number in self.begun or not self.reached)
        return any(unit.pipeline == pipeline and unit.load.chain.writes_at_once for unit in running)


@define
class _Begun:
    """Set of numbers, optimized for additions in ascending order from 1."""

    below: int = 1
    more: set[int] = field(factory=set)

    def add(self, number: int) -> bool:
        """Add a number. Return True if it is new."""
        if number < self.below or number in self.more:
            return False
        self.more.add(number)
        while self.below in self.more:
            self.more.remove(self.below)
            self.below += 1
        return True


class Ledger:
    """Units that have begun in this process, for chains in which repeated units duplicate rows. Not thread-safe."""

    def __init__(self) -> None:
        self._begun: dict[tuple[Any, ...], _Begun] = {}
        self._epochs: dict[tuple[Any, ...], int] = {}
        """First epoch of each source in this process. Only restored units may have begun in an earlier process."""

    def begins_again(self, order: Order) -> bool:
        """Record that a unit begins. Return True if it may have begun before."""
        source = (*order.pipeline, order.chain.source_name)
        first = self._epochs.setdefault(source, order.attempt.epoch)
        fresh = self._begun.setdefault(source, _Begun()).add(order.attempt.unit.number)
        return not fresh or (order.restored and order.attempt.epoch == first)


def waits(chain: OperatorChain, pace: Pace, unit: WorkUnit) -> bool:
    """Return True if a unit is I/O-bound and therefore read in a thread, concurrently with others.

    If the source does not declare this, measurements decide. Before any measurement, light units count as I/O-bound.
    Units on the DataFrame path are never I/O-bound.
    """
    if chain.on_frames or chain.source.waits is not None:
        return bool(chain.source.waits) and not chain.on_frames
    if pace.measured:
        return pace.waits
    return unit.weight_bytes <= LIGHT_BYTES and unit.rows <= LIGHT_ROWS


def speculating(chain: OperatorChain) -> Failure:
    """Return the failure of a chain that writes directly while Spark may run two attempts of a task concurrently."""
    message = (
        f"pipeline {chain.pipeline_id}, source {chain.source_name!r}: a sink writes directly, so with "
        "spark.speculation and spark.speculation.task.duration.threshold Spark would write rows twice even without "
        "a failure; remove the threshold, or choose an exactly-once sink"
    )
    return Failure(kind=FailureKind.USAGE, message=message)
