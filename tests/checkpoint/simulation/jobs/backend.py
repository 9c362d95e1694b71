"""Spark: batches that take their time, fail, hang, are lost, are run twice, and go on when nobody wants them."""

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, field

from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.connector_api.source import DiscoveredObject, PlanningContext, Source
from seatunnel_core.errors import PacketLostError, PlatformError
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.spark.report_channel import TaskListener
from seatunnel_core.spark.starting.settings import SparkSettings
from seatunnel_core.spark.task_batch import PackedObject
from seatunnel_core.spark.work import TaskBatch, UnitResult, UnitWork
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import Failure, FailureKind
from tests.checkpoint.simulation.jobs.stage import Waiters
from tests.checkpoint.simulation.target import StagedThing, StagingKey

if TYPE_CHECKING:
    from tests.checkpoint.simulation.jobs.process import Process

OVERDUE_MS = 5_000
"""No batch is overdue before."""

PAUSE_MS = 50
"""How often a task reports that asks for nothing."""


@define(eq=False)
class Task:
    """A batch that runs, or waits for a slot."""

    works: Sequence[tuple[UnitWork, OperatorChain]]
    writes_at_once: bool
    began_ms: int
    over: Waiters
    runs: bool = False
    cancelled: bool = False
    lost: bool = False
    ended: bool = False
    """Whether no process of it is left."""

    attempt: int = 0
    unheard: bool = False
    """Whether it cannot reach the driver."""

    asking: deque[tuple[int, "ReaderThread"]] = field(factory=deque)
    """Units that want to begin."""

    asks: bool = True
    """Whether each unit waits for the driver's leave; if not, what began and what ended is reported now and then."""

    begun: int | None = None
    """The unit that began last, if that was not reported."""

    held: list[tuple[int, UnitResult]] = field(factory=list)
    """Results that were not reported."""

    announcing: deque[int] = field(factory=deque)
    telling: list[tuple[int, UnitResult]] = field(factory=list)
    running: set[int] = field(factory=set)
    unreported: dict[int, UnitResult] = field(factory=dict)

    @property
    def is_unwanted(self) -> bool:
        return self.cancelled or self.lost


@define(eq=False)
class ReaderThread:
    """A thread of a task's worker process."""

    queue: deque[int]
    attempt: int


class SimulatedBackend:
    """What ``SparkBackend`` is to the runtime."""

    log_file = None
    shares_disk = True
    speculates = False

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
        self._line_is_down = self._world.chance(self._world.scenario.faults.line_is_down)
        """A firewall keeps its tasks from reaching the driver."""

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

    def pack_chain(self, chain: OperatorChain) -> PackedObject:
        return PackedObject(f"{id(chain)}", chain)

    def inspect(
        self, source: Source, items: Sequence[DiscoveredObject], planning: PlanningContext
    ) -> tuple[DiscoveredObject, ...]:
        self._stage.act(lambda: None, most_ms=300)
        return tuple(items)

    def cancel(self, tag: str) -> None:
        """Its task goes on for a while, or to its end."""
        task = self._tasks.get(tag)
        if task is None or task.cancelled:
            return
        self._world.require_unwanted(task, self._stage.clock.now_ms - task.began_ms < OVERDUE_MS)
        task.cancelled = True
        if task.runs:
            self._after(self._world.rng.choice([0, 4_000, 8_000]), lambda: self._ends(task))
        task.over.wake()

    def run_units(self, batch: TaskBatch, tag: str, listener: TaskListener) -> list[tuple[int, UnitResult]]:
        """One Spark job. This thread is also the one that listens to its task."""
        works = [(work, batch.carriers[work.chain]) for work in batch.works if isinstance(work, UnitWork)]
        task = Task(works, batch.writes_at_once, self._stage.clock.now_ms, Waiters(self._stage))
        self._tasks[tag] = task
        while self.running >= self.slots and not task.cancelled and not self._gone:
            self._free.wait()
        if task.cancelled or self._gone:
            del self._tasks[tag]
            raise self._lost("was cancelled before it began")
        self.running += 1
        task.runs = True
        task.unheard = self._line_is_down
        self._world.require_slots(self, works)
        if not task.unheard:
            listener.reached()
        self._attempt(task, batch.reader_threads)
        self._listen(task, listener)
        del self._tasks[tag]
        if self._gone:
            raise PlatformError("the simulated Spark is gone")
        if task.is_unwanted:
            raise self._lost("was cancelled" if task.cancelled else "its worker died")
        return sorted(task.unreported.items())

    def _listen(self, task: Task, listener: TaskListener) -> None:
        """Until the task has ended; who has cancelled one that writes nothing itself does not wait so long."""
        while not self._gone:
            while task.asking:
                number, thread = task.asking.popleft()
                granted = listener.begins(number)
                if thread.attempt == task.attempt and not task.ended:
                    self._answered(task, number, thread, granted)
            if task.telling:
                results, task.telling = task.telling, []
                listener.ended(results)
            while task.announcing:
                task.asks |= not listener.begins(task.announcing.popleft())
            if (task.ended and not task.asking) or (task.cancelled and not task.writes_at_once):
                return
            task.over.wait()

    @property
    def wanted(self) -> int:
        """How many batches run that nobody has given up: a task that was told to stop keeps its slot for a while."""
        return sum(task.runs and not task.is_unwanted for task in self._tasks.values())

    def _lost(self, why: str) -> PacketLostError:
        return PacketLostError(f"the job {why}")

    def _attempt(self, task: Task, reader_threads: Mapping[str, int]) -> None:
        """Spark makes another attempt when the worker of the one before has died."""
        world, faults = self._world, self._world.scenario.faults
        task.attempt += 1
        task.asks = task.writes_at_once or bool(reader_threads) or task.unheard or task.attempt > 1
        if not task.asks:
            self._after(PAUSE_MS, partial(self._reports, task, task.attempt))
        dies = world.chance(faults.task_runs_twice if task.attempt == 1 else faults.worker_dies)
        if dies:
            attempt = task.attempt
            self._after(world.rng.randint(1, 400), lambda: self._dies(task, attempt, reader_threads))
        queues: dict[str, deque[int]] = {}
        for number, (work, _) in enumerate(task.works):
            queues.setdefault(work.chain if reader_threads else "", deque()).append(number)
        for key, queue in queues.items():
            for _ in range(min(len(queue), reader_threads.get(key, 1))):
                self._after(1, partial(self._goes_on, task, ReaderThread(queue, task.attempt)))

    def _dies(self, task: Task, attempt: int, reader_threads: Mapping[str, int]) -> None:
        if task.ended or task.attempt != attempt:
            return
        self._world.counts["dead workers"] += 1
        self._stopped(task)
        if task.attempt == 1 and not task.is_unwanted:
            self._attempt(task, reader_threads)
        else:
            task.lost = True
            self._ends(task)

    def _goes_on(self, task: Task, thread: ReaderThread) -> None:
        """A thread takes its next unit: it asks whether it may begin."""
        if task.ended or thread.attempt != task.attempt:
            return
        if not thread.queue:
            if not task.running and not task.asking:
                self._brings(task)
                self._ends(task)
            return
        number = thread.queue.popleft()
        if task.unheard:
            self._answered(task, number, thread, not task.writes_at_once or task.attempt == 1)
        elif self._process.dead or self._gone:
            self._answered(task, number, thread, not task.writes_at_once)
        elif not task.asks:
            task.begun = number
            self._answered(task, number, thread, True)
        else:
            task.asking.append((number, thread))
            task.over.wake()

    def _reports(self, task: Task, attempt: int) -> None:
        if task.ended or task.attempt != attempt or self._process.dead:
            return
        if task.begun in task.running:
            task.announcing.append(task.begun)
        task.begun = None
        self._brings(task)
        self._after(PAUSE_MS, partial(self._reports, task, attempt))

    def _brings(self, task: Task) -> None:
        if self._process.dead:
            return
        task.telling += task.held
        task.held = []
        task.over.wake()

    def _answered(self, task: Task, number: int, thread: ReaderThread, granted: bool) -> None:
        if not granted:
            self._after(0, lambda: self._goes_on(task, thread))
            return
        world, faults = self._world, self._world.scenario.faults
        work, chain = task.works[number]
        task.running.add(number)
        world.unit_begins(self._process, task, work, chain)
        slow = world.chance(faults.unit_is_slow)
        lasts_ms = world.rng.choice([1_000, 4_000]) if slow else world.rng.randint(1, 120)
        lasts_ms += 60_000 if world.chance(faults.unit_hangs) else 0
        self._after(lasts_ms, lambda: self._finish(task, number, thread))

    def _after(self, at_ms: int, action: Any) -> None:
        """The JVM and its workers need no driver; they outlive it for a while."""
        self._stage.clock.after(at_ms, action)

    def _stopped(self, task: Task) -> None:
        """What a process was doing ends with it."""
        for number in sorted(task.running):
            self._world.unit_ends(self._process, *task.works[number])
        task.running.clear()
        task.held.clear()
        task.begun = None

    def _ends(self, task: Task) -> None:
        if task.ended:
            return
        self._stopped(task)
        task.ended = True
        self.running -= 1
        if not self._process.dead:
            self._free.wake()
            task.over.wake()

    def _finish(self, task: Task, number: int, thread: ReaderThread) -> None:
        if task.ended or thread.attempt != task.attempt:
            return
        work, chain = task.works[number]
        result = self._result(work, chain)
        task.running.discard(number)
        self._world.unit_ends(self._process, work, chain)
        if task.unheard:
            task.unreported[number] = result
        else:
            task.held.append((number, result))
            if task.asks:
                self._brings(task)
        self._goes_on(task, thread)

    def _result(self, work: UnitWork, chain: OperatorChain) -> UnitResult:
        faults = self._world.scenario.faults
        failure = None
        staged: dict[str, Committable] = {}
        if self._world.chance(faults.unit_fails_for_good):
            failure = Failure(kind=FailureKind.DATA, message="a row of the simulation is broken")
        elif self._world.chance(faults.unit_fails):
            failure = Failure(kind=FailureKind.TRANSIENT, message="the simulation broke a unit")
        if failure is None or self._world.rng.random() < 0.5:
            staged = self._stage_rows(work, chain)
        return UnitResult(
            job_id=chain.job_id,
            pipeline_id=chain.pipeline_id,
            source=chain.source_name,
            attempt=work.attempt.id,
            failure=failure,
            rows_read=len(work.attempt.unit.splits),
            bytes_read=work.attempt.unit.weight_bytes,
            wall_ms=5.0,
            busy_ms=self._world.rng.choice([0.1, 5.0]),
            committables=staged if failure is None else {},
        )

    def _stage_rows(self, work: UnitWork, chain: OperatorChain) -> dict[str, Committable]:
        sight = self._world.sights[chain.pipeline_id]
        attempt = f"{work.attempt.number}-{next(self._world.numbers)}"
        staged: dict[str, Committable] = {}
        for target in chain.targets:
            rows = tuple(
                sight.row_of(chain.source_name, split)
                for split in work.attempt.unit.splits
                if target.name not in split.body["filtered"]
            )
            if not rows:
                continue
            identity = f"{chain.source_ordinal}-{work.attempt.epoch}-{work.attempt.unit.number}"
            key = StagingKey(target.name, chain.source_name, work.attempt.epoch, work.attempt.unit.number, attempt)
            sight.stage(key, StagedThing(identity, rows, self._stage.clock.now_ms, target.sink.destination))  # type: ignore[attr-defined]
            staged[target.name] = Committable(
                id=identity,
                epoch=work.attempt.epoch,
                unit=work.attempt.unit.number,
                source=chain.source_name,
                rows=len(rows),
                bytes=work.attempt.unit.weight_bytes,
                body={"attempt": attempt},
                tables=target.sink.tables,  # type: ignore[attr-defined]
            )
        return staged


def acting(phase: Phase) -> bool:
    """Whether a pipeline in this phase wants the results of its units."""
    return phase is Phase.RUNNING
