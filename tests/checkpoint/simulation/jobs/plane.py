"""Spark: packets that take their time, fail, hang, are lost, are run twice, and go on when nobody wants them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import define, field

from seatunnel_core.checkpoint.events import Failure, FailureKind
from seatunnel_core.checkpoint.split import Committable
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.connectors.source import Item, Planning, Source
from seatunnel_core.errors import PlatformError
from seatunnel_core.spark.plane import PacketLostError, Parcel
from seatunnel_core.spark.program import Program
from seatunnel_core.spark.session import SparkSettings
from seatunnel_core.spark.task import Packet, UnitResult, UnitWork
from tests.checkpoint.simulation.jobs.stage import Waiters
from tests.checkpoint.simulation.target import StagedThing, StagingKey

if TYPE_CHECKING:
    from tests.checkpoint.simulation.jobs.process import Process

OVERDUE_MS = 5_000
"""No packet is overdue before."""


@define(eq=False)
class Task:
    """A packet that runs, or waits for a slot."""

    works: Sequence[tuple[UnitWork, Program]]
    began_ms: int
    over: Waiters
    runs: bool = False
    cancelled: bool = False
    lost: bool = False
    results: dict[int, UnitResult] = field(factory=dict)


class SimulatedPlane:
    """What ``SparkPlane`` is to the runtime."""

    log_file = None
    shares_disk = True

    def __init__(self, process: "Process", settings: SparkSettings) -> None:
        self.settings = settings
        self.slots = process.world.scenario.spark_slots
        self.holds_back = True
        self.running = 0
        self._process = process
        self._world = process.world
        self._stage = process.world.stage
        self._free = Waiters(self._stage)
        self._tasks: dict[str, Task] = {}
        self._gone = False

    def start(self) -> None:
        self._stage.sleep(self._world.rng.choice([5, 500, 4_000]))
        if self._world.chance(self._world.scenario.faults.spark_fails):
            raise PlatformError("the simulated Spark did not start")

    def give_up(self) -> None: ...

    def stop(self) -> None:
        self._gone = True
        for task in self._tasks.values():
            task.lost = True
            task.over.wake()

    def new_tag(self) -> str:
        return f"tag-{next(self._world.numbers)}"

    def pack_program(self, program: Program) -> Parcel:
        return Parcel(f"{id(program)}", program)

    def inspect(self, source: Source, items: Sequence[Item], planning: Planning) -> tuple[Item, ...]:
        self._stage.act(lambda: None, most_ms=300)
        return tuple(items)

    def cancel(self, tag: str) -> None:
        task = self._tasks.get(tag)
        if task is None:
            return
        self._world.require_unwanted(task, self._stage.clock.now_ms - task.began_ms < OVERDUE_MS)
        task.cancelled = True
        task.over.wake()

    def run(self, packets: Sequence[Packet], tag: str) -> list[UnitResult]:
        """One Spark job. Its task goes on when the job is cancelled, for a while or to its end."""
        works = [(work, packet.parcels[work.program]) for packet in packets for work in packet.works]  # type: ignore[union-attr]
        task = self._tasks[tag] = Task(works, self._stage.clock.now_ms, Waiters(self._stage))
        while self.running >= self.slots and not task.cancelled and not self._gone:
            self._free.wait()
        if task.cancelled or self._gone:
            raise self._lost("was cancelled before it began")
        self.running += 1
        task.runs = True
        self._world.require_slots(self, works)
        self._begin(task)
        while len(task.results) < len(works) and not task.cancelled and not task.lost:
            task.over.wait()
        del self._tasks[tag]
        if self._gone:
            raise PlatformError("the simulated Spark is gone")
        if task.cancelled or task.lost:
            raise self._lost("was cancelled" if task.cancelled else "its worker died")
        return [task.results[number] for number in range(len(works))]

    @property
    def wanted(self) -> int:
        """How many packets run that nobody has given up: a task that was told to stop keeps its slot for a while."""
        return sum(task.runs and not task.cancelled and not task.lost for task in self._tasks.values())

    def _lost(self, why: str) -> PacketLostError:
        return PacketLostError(f"the job {why}")

    def _begin(self, task: Task) -> None:
        """Every unit in turn. A worker that dies takes with it what comes after; Spark may run all of it again."""
        world, faults = self._world, self._world.scenario.faults
        dies_at = world.rng.randrange(len(task.works)) if world.chance(faults.worker_dies) else None
        hangs = world.chance(faults.unit_hangs)
        doubled = world.chance(faults.task_runs_twice)
        at_ms = 0
        for attempt in range(2 if doubled else 1):
            for number, (work, program) in enumerate(task.works):
                slow = world.chance(faults.unit_is_slow)
                at_ms += world.rng.choice([1_000, 4_000]) if slow else world.rng.randint(1, 120)
                at_ms += 30_000 if hangs and number == 0 else 0
                is_last = attempt == int(doubled)
                if number == dies_at and is_last:
                    self._after(at_ms, lambda: self._dies(task))
                    return
                self._after(at_ms, lambda each=(number, work, program, is_last): self._finish(task, *each))  # type: ignore[misc]
        self._after(at_ms + 1, self._gives_slot_back)

    def _after(self, at_ms: int, action: Any) -> None:
        """The JVM and its workers need no driver; they outlive it for a while."""
        self._stage.clock.after(at_ms, action)

    def _gives_slot_back(self) -> None:
        self.running -= 1
        if not self._process.dead:
            self._free.wake()

    def _dies(self, task: Task) -> None:
        task.lost = True
        self._gives_slot_back()
        if not self._process.dead:
            task.over.wake()

    def _finish(self, task: Task, number: int, work: UnitWork, program: Program, counts: bool) -> None:
        unwanted = task.cancelled or self._process.dead or self._gone
        if task.lost or (unwanted and self._world.rng.random() < 0.5):
            return
        result = self._result(work, program)
        if counts and not unwanted:
            task.results[number] = result
            task.over.wake()

    def _result(self, work: UnitWork, program: Program) -> UnitResult:
        faults = self._world.scenario.faults
        failure = None
        staged: dict[str, Committable] = {}
        if self._world.chance(faults.unit_fails_for_good):
            failure = Failure(kind=FailureKind.DATA, message="a row of the simulation is broken")
        elif self._world.chance(faults.unit_fails):
            failure = Failure(kind=FailureKind.TRANSIENT, message="the simulation broke a unit")
        if failure is None or self._world.rng.random() < 0.5:
            staged = self._stage_rows(work, program)
        return UnitResult(
            job_id=program.job_id,
            pipeline_id=program.pipeline_id,
            source=program.source_name,
            unit=work.unit.number,
            epoch=work.epoch,
            attempt=work.attempt,
            failure=failure,
            rows_read=len(work.unit.splits),
            bytes_read=work.unit.weight_bytes,
            wall_ms=5.0,
            committables=staged if failure is None else {},
        )

    def _stage_rows(self, work: UnitWork, program: Program) -> dict[str, Committable]:
        sight = self._world.sights[program.pipeline_id]
        attempt = f"{work.attempt}-{next(self._world.numbers)}"
        staged: dict[str, Committable] = {}
        for target in program.targets:
            rows = tuple(
                sight.row_of(program.source_name, split)
                for split in work.unit.splits
                if target.name not in split.body["filtered"]
            )
            if not rows:
                continue
            identity = f"{program.source_ordinal}-{work.epoch}-{work.unit.number}"
            key = StagingKey(target.name, program.source_name, work.epoch, work.unit.number, attempt)
            sight.stage(key, StagedThing(identity, rows, self._stage.clock.now_ms))
            staged[target.name] = Committable(
                id=identity,
                epoch=work.epoch,
                unit=work.unit.number,
                source=program.source_name,
                rows=len(rows),
                bytes=work.unit.weight_bytes,
                body={"attempt": attempt},
            )
        return staged


def acting(phase: Phase) -> bool:
    """Whether a pipeline in this phase wants the results of its units."""
    return phase is Phase.RUNNING
