"""What must hold of a whole job, beside what holds of each of its pipelines: one object per rule."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from seatunnel_core.claiming.claim import EPOCHS_PER_VERSION
from seatunnel_core.job.manifest import Manifest, Seat
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.spark.work import UnitWork
from seatunnel_core.work.failure import FailureKind
from seatunnel_core.work.unit import WorkUnit
from seatunnel_storage_api.state import CheckpointRef, CheckpointType
from tests.checkpoint.simulation.invariants.invariant import ViolationError

if TYPE_CHECKING:
    from tests.checkpoint.simulation.jobs.backend import SimulatedBackend, Task
    from tests.checkpoint.simulation.jobs.process import Process
    from tests.checkpoint.simulation.jobs.world import JobWorld

Works = Sequence[tuple[UnitWork, OperatorChain]]


class JobInvariant:
    """Watches a job. The default for everything is to look away."""

    rule: str

    def __init__(self, world: "JobWorld") -> None:
        self.world = world

    def manifest_put(self, process: "Process", version: int, manifest: Manifest) -> None: ...

    def claimed(self, process: "Process", pipeline_id: int, epoch: int) -> None: ...

    def runs(self, backend: "SimulatedBackend", works: Works) -> None: ...

    def cancelled(self, task: "Task", early: bool) -> None: ...

    def unit_begins(self, process: "Process", task: "Task", work: UnitWork, chain: OperatorChain) -> None: ...

    def unit_ends(self, process: "Process", work: UnitWork, chain: OperatorChain) -> None: ...

    def over(self, process: "Process") -> None: ...

    def at_end(self) -> None: ...

    def require(self, holds: bool, message: str) -> None:
        if not holds:
            raise ViolationError(self.rule, message)


class SeatsStay(JobInvariant):
    """R7: manifests are written version after version; a vertex keeps its place, and no place is given twice."""

    rule = "R7 manifest"

    def __init__(self, world: "JobWorld") -> None:
        super().__init__(world)
        self._version: int | None = None
        self._seats: dict[str, tuple[int, object, int]] = {}

    def manifest_put(self, process: "Process", version: int, manifest: Manifest) -> None:
        self.require(self._version in (None, version - 1), f"version {version} of the manifest follows {self._version}")
        self._version = version
        for name, seat in manifest.seats.items():
            known = self._seats.setdefault(name, _place(seat))
            self.require(known == _place(seat), f"{name!r} had the place {known} and has {_place(seat)}")
        self.require(set(self._seats) == set(manifest.seats), f"version {version} has forgotten a vertex")
        places = Counter(self._seats.values())
        self.require(max(places.values(), default=1) == 1, f"two vertices have one place: {places}")


def _place(seat: Seat) -> tuple[int, object, int]:
    return seat.pipeline, seat.kind, seat.ordinal


class OneProcessWins(JobInvariant):
    """R7: a process claims only epochs of the version by which it claimed the job, and only who claimed later can take
    a pipeline from it."""

    rule = "R7 claim"

    def claimed(self, process: "Process", pipeline_id: int, epoch: int) -> None:
        version = epoch // EPOCHS_PER_VERSION
        self.require(
            version == process.version,
            f"{process.name} has version {process.version} of the manifest, and claims epoch {epoch} of pipeline "
            f"{pipeline_id}",
        )

    def over(self, process: "Process") -> None:
        fenced = [view for view in process.report.pipelines if view.phase == "fenced"] if process.report else []
        later = [other for other in self.world.processes if other.version > process.version]
        self.require(not fenced or bool(later), f"{process.name} lost its job, and nobody has claimed it since")


class EndedIsEnded(JobInvariant):
    """R7: the manifest says that the job has ended when every pipeline's last checkpoint is final, all rows are
    published and nothing is staged that a sweep had seen; and who is told that it finished, is told after that."""

    rule = "R7 end"

    def manifest_put(self, process: "Process", version: int, manifest: Manifest) -> None:
        if manifest.ended is None:
            return
        for number in {seat.pipeline for seat in manifest.seats.values()}:
            sight = self.world.sights[number]
            stored = sight.storage.checkpoints
            latest = stored[max(stored)]
            if latest.checkpoint_type is CheckpointType.SAVEPOINT:  # it rode on the final one
                latest = stored[CheckpointRef(latest.epoch, latest.checkpoint_id - 1)]
            final = latest.checkpoint_type is CheckpointType.COMPLETED_POINT
            self.require(final, f"the job has ended, and the last of pipeline {number} is {latest.ref}")
            missing = sight.expected_rows() - Counter(sight.published_rows())
            self.require(not missing, f"the job has ended without {sorted(missing)}")

    def over(self, process: "Process") -> None:
        if process.report is not None and process.report.outcome is JobOutcome.FINISHED:
            manifest = self.world.manifest
            self.require(manifest is not None, "a job without a manifest has finished")


class SavepointsAreWhole(JobInvariant):
    """A savepoint of a job stands in the manifest when each of its pipelines has stored its part; no part of it is
    ever pruned, and one that stopped the job has nothing of its process after it."""

    rule = "savepoints of jobs"

    def __init__(self, world: "JobWorld") -> None:
        super().__init__(world)
        self._parts: dict[str, dict[int, CheckpointRef]] = {}
        self._kept: dict[tuple[int, CheckpointRef], bool] = {}
        """Whether a part stays whatever comes: a final checkpoint gives way to the one of a later start."""

    def manifest_put(self, process: "Process", version: int, manifest: Manifest) -> None:
        numbers = {seat.pipeline for seat in manifest.seats.values()}
        for savepoint in manifest.savepoints:
            if savepoint.name in self._parts:
                continue
            self._parts[savepoint.name] = dict(savepoint.pipelines)
            self.require(set(savepoint.pipelines) == numbers, f"savepoint {savepoint.name} has {savepoint.pipelines}")
            for number, ref in savepoint.pipelines.items():
                stored = self.world.sights[number].storage.checkpoints
                self.require(ref in stored, f"savepoint {savepoint.name} names {ref} of pipeline {number}: not stored")
                kind = stored[ref].checkpoint_type
                self._kept[number, ref] = kind is CheckpointType.SAVEPOINT
                kept = kind in (CheckpointType.SAVEPOINT, CheckpointType.COMPLETED_POINT)
                self.require(kept, f"savepoint {savepoint.name} names {ref} of pipeline {number}, a {kind.value}")
                later = [each for each in stored if each > ref and each.epoch == ref.epoch]
                if kind is CheckpointType.COMPLETED_POINT:  # a savepoint that was asked for before rode on it
                    later = [each for each in later if stored[each].checkpoint_type is not CheckpointType.SAVEPOINT]
                self.require(
                    not (savepoint.stopped and later), f"savepoint {savepoint.name} stopped the job before {later}"
                )

    def at_end(self) -> None:
        for name, parts in self._parts.items():
            for number, ref in parts.items():
                stored = self.world.sights[number].storage.checkpoints
                final = any(each.checkpoint_type is CheckpointType.COMPLETED_POINT for each in stored.values())
                there = ref in stored or (final and not self._kept[number, ref])
                self.require(there, f"part {ref} of pipeline {number} of savepoint {name} is gone")


class ReportsAreTrue(JobInvariant):
    """What a person is told at the end: a job finished if and only if it is recorded as such, with as many rows as the
    targets hold; and a pipeline that failed leaves the others to their end."""

    rule = "reports"

    def over(self, process: "Process") -> None:
        report = process.report
        if report is None:
            return
        self.require("a bug in the engine" not in report.failure, f"{process.name} was broken: {report.failure}")
        if report.outcome is JobOutcome.FINISHED and not report.ended_before:
            manifest = self.world.manifest
            self.require(manifest is not None, "a job without a manifest has finished")
            for view in report.pipelines:
                held = sum(1 for _ in self.world.sights[view.id].published_rows())
                same = (
                    view.rows_committed == held
                    or self.world.doubles_are_accepted()
                    or self.world.job_file.has_lost_some
                )
                self.require(same, f"pipeline {view.id} tells of {view.rows_committed} rows, and {held} are there")
        phases = {view.phase for view in report.pipelines}
        if not process.asked and "fenced" not in phases and not report.ended_before:
            self.require("stopped" not in phases, f"nobody stopped {process.name}, and {report.pipelines} stopped")


class NothingIsABug(JobInvariant):
    """No exception outside the error trees, whatever goes wrong around the engine."""

    rule = "bugs"

    def over(self, process: "Process") -> None:
        started = process.run._threads if process.run is not None else None
        for run in started._runs if started is not None else ():
            kind = run.failure.kind if run.failure is not None else None
            self.require(kind is not FailureKind.BUG, f"pipeline {run.id} of {process.name}: {run.failure}")


class SlotsBound(JobInvariant):
    """Work units that run at once are no more than the job has slots; and each process gives its slots back."""

    rule = "slots"

    def runs(self, backend: "SimulatedBackend", works: Works) -> None:
        engine = self.world.engine.options
        if engine["slot-service.dynamic-slot"]:
            return
        most = engine["slot-service.slot-num"]
        self.require(backend.wanted <= most, f"{backend.wanted} batches run, and the job has {most} slots at most")

    def unit_begins(self, process: "Process", task: "Task", work: UnitWork, chain: OperatorChain) -> None:
        engine = self.world.engine.options
        if not engine["slot-service.dynamic-slot"] and not task.is_unwanted:
            most = engine["slot-service.slot-num"]
            self.require(len(task.running) <= most, f"{len(task.running)} units run, and the job has {most} slots")

    def over(self, process: "Process") -> None:
        self.require(not process.slots._holding, f"{process.name} has ended and still has slots")


class BatchesKeepApart(JobInvariant):
    """R15: a batch holds units of one pipeline where the mode says so, and is not cancelled while one of its
    pipelines wants its results, unless it is overdue."""

    rule = "R15 batches"

    def runs(self, backend: "SimulatedBackend", works: Works) -> None:
        pipelines = {chain.pipeline_id for _, chain in works}
        off = self.world.engine.options["task_execution_thread_share_mode"] == "OFF"
        self.require(not off or len(pipelines) == 1, f"units of the pipelines {pipelines} share a Spark job")

    def cancelled(self, task: "Task", early: bool) -> None:
        process = self.world.stage.process
        if not early or process is None or process.dead:
            return
        for work, chain in task.works:
            self.require(
                not process.wants(chain.pipeline_id, work.attempt.epoch),
                f"a job with unit {work.attempt.unit.number} of pipeline {chain.pipeline_id} is cancelled",
            )


class BegunRunsAlone(JobInvariant):
    """R15: where rows are written at once, a unit never runs beside itself in one process, nor beside another one of an
    ordered source unless the two commute (R13), and who is told how often one began again is told the truth."""

    rule = "R15 begun"

    def __init__(self, world: "JobWorld") -> None:
        super().__init__(world)
        self._running: dict[tuple[object, ...], WorkUnit] = {}
        self._begun: Counter[tuple[object, ...]] = Counter()
        self._unheard: set[str] = set()

    def unit_begins(self, process: "Process", task: "Task", work: UnitWork, chain: OperatorChain) -> None:
        if not chain.writes_at_once:
            return
        unit = _unit(process, work, chain)
        self.require(unit not in self._running, f"{unit} runs, and begins again beside itself")
        beside = {other for other in self._running if chain.source.ordered and other[:3] == unit[:3]}
        self.world.counts["units beside others"] += bool(beside)
        beside = {other for other in beside if not _commute(self._running[other], work.attempt.unit)}
        self.require(not beside, f"{unit} begins while older ones of its ordered source write: {beside}")
        self._running[unit] = work.attempt.unit
        self._begun[unit] += 1
        self.world.counts["units at once"] += 1
        self.world.counts["repeated"] += self._begun[unit] > 1
        if task.unheard:
            self._unheard.add(process.name)

    def unit_ends(self, process: "Process", work: UnitWork, chain: OperatorChain) -> None:
        self._running.pop(_unit(process, work, chain), None)

    def over(self, process: "Process") -> None:
        report = process.report
        if report is None or report.outcome is not JobOutcome.FINISHED or report.ended_before:
            return
        for view in report.pipelines:
            mine = [times for unit, times in self._begun.items() if unit[:2] == (process.name, view.id)]
            again, said = sum(times - 1 for times in mine), view.units_repeated
            exact = process.restore is None and process.name not in self._unheard
            true = said == again if exact else said >= again
            self.require(true, f"{again} units of pipeline {view.id} began again, and the report says {said}")


def _commute(one: WorkUnit, other: WorkUnit) -> bool:
    keys = [{split.ordering_key for split in unit.splits} for unit in (one, other)]
    return keys[0].isdisjoint(keys[1]) and None not in keys[0] | keys[1]


def _unit(process: "Process", work: UnitWork, chain: OperatorChain) -> tuple[object, ...]:
    return process.name, chain.pipeline_id, chain.source_name, work.attempt.unit.number


class NoThreadStays(JobInvariant):
    """Who has ended has no thread left, and nobody waits for an answer for ever."""

    rule = "threads"

    def at_end(self) -> None:
        for process in self.world.processes:
            waiting = [actor for actor in process.actors if not actor.ended]
            self.require(process.dead or not waiting, f"{process.name} has ended, and {len(waiting)} threads wait")


def job_invariants(world: "JobWorld") -> tuple[JobInvariant, ...]:
    """One object per rule."""
    return tuple(
        rule(world)
        for rule in (
            SeatsStay,
            OneProcessWins,
            EndedIsEnded,
            SavepointsAreWhole,
            ReportsAreTrue,
            NothingIsABug,
            SlotsBound,
            BatchesKeepApart,
            BegunRunsAlone,
            NoThreadStays,
        )
    )
