"""One run of a job: processes that come and go, and everything that outlives them."""

import logging
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seatunnel_core.checkpoint import commands
from seatunnel_core.checkpoint.commands import Command
from seatunnel_core.config.engine import EngineConfig, StorageConfig
from seatunnel_core.config.engine_options import ENGINE
from seatunnel_core.config.job_file import RawJob, job_from_code
from seatunnel_core.config.option import Options
from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.restoring import Restore
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.spark.work import UnitWork
from seatunnel_storage_api import layout
from seatunnel_storage_api.state import PipelineState
from tests.checkpoint.simulation.invariants.invariant import ViolationError
from tests.checkpoint.simulation.jobs.backend import SimulatedBackend, Task
from tests.checkpoint.simulation.jobs.blobs import manifest_of
from tests.checkpoint.simulation.jobs.connectors import Plugins, numbers
from tests.checkpoint.simulation.jobs.job_file import JobFile
from tests.checkpoint.simulation.jobs.judged import observe
from tests.checkpoint.simulation.jobs.people import People
from tests.checkpoint.simulation.jobs.process import Process, staged
from tests.checkpoint.simulation.jobs.rules import JobInvariant, job_invariants
from tests.checkpoint.simulation.jobs.scenario import JobScenario, draw_job
from tests.checkpoint.simulation.jobs.sight import Shape, Sight
from tests.checkpoint.simulation.jobs.stage import Stage
from tests.checkpoint.simulation.jobs.tables import Tables

PATIENCE_MS = 600_000
"""With nothing broken any more, a job of this size ends long before."""

MOST_STEPS = 150_000


class JobWorld:
    """Plays a scenario to its end: faults come first, then everything works and the job has to finish."""

    job_id = "job"
    log_file = Path("/nowhere/job.log")
    broken: ViolationError | None = None
    _visited_again = False

    def __init__(self, scenario: JobScenario) -> None:
        self.scenario = scenario
        self.rng = random.Random(scenario.seed * 7 + 1)
        self.stage = Stage(self.rng)
        self.numbers = numbers()
        self.plugins = Plugins(self)
        self.engine = EngineConfig(
            options=Options(dict(scenario.engine), ENGINE),
            storage=StorageConfig(type="simulated", max_retained=scenario.retained, plugin_config={}, origin="here"),
            file=None,
        )
        self.blobs: dict[str, bytes] = {}
        self.states: dict[str, PipelineState] = {}
        """By key: what was to be stored there."""

        self._unseen: dict[str, Process] = {}
        """By key: who stored a checkpoint of a pipeline that no process has started yet."""

        self.shares_target = scenario.seed % 3 == 0
        """Whether all sinks write into one target, which their save modes empty."""

        self.fences: dict[str, set[SinkContext]] = {}
        """By target: who may empty it."""

        self.tables = Tables(self.rng)
        self.torn: set[str] = set()
        self.epochs: defaultdict[int, set[int]] = defaultdict(set)
        """Of each pipeline, also of one that has not been started yet."""

        self.sights: dict[int, Sight] = {}
        self.processes: list[Process] = []
        self.last_writer: Process | None = None
        """Of the job's manifest."""

        self.trace: list[tuple[int, str, Any]] = []
        self.counts: Counter[str] = Counter()
        self.job_file = JobFile(random.Random(scenario.seed * 13 + 5), [*scenario.nodes])
        self.known_as = self.job_file.known_as
        self.rules: tuple[JobInvariant, ...] = job_invariants(self)
        self._people = People(self)

    # -- the run

    def run(self) -> None:
        """Play to the end.

        Raises:
            ViolationError: an invariant does not hold, or the job does not end.
        """
        with quiet(), staged(self):
            try:
                self.start(None)
                while not self._is_done():
                    self._step()
                self._let_threads_end()
                for sight in self.sights.values():
                    sight.at_end()
                for rule in self.rules:
                    rule.at_end()
            finally:
                self._clear_away()

    def _step(self) -> None:
        self._people.disturb()
        if not self.stage.clock.step():
            raise ViolationError("liveness", "nothing happens any more, and the job has not ended")
        if self.broken is not None:
            raise self.broken
        late = self.stage.clock.now_ms > self.scenario.faults.until_ms + PATIENCE_MS
        if late or self.stage.clock.steps > MOST_STEPS:
            raise ViolationError("liveness", f"the job has not ended after {self.stage.clock.now_ms} ms")
        self._people.replace_the_dead()

    def _is_done(self) -> bool:
        """The job is recorded as ended, and every process has ended too."""
        if not all(process.gone for process in self.processes):
            return False
        manifest = self.manifest
        if manifest is None or manifest.ended is None:
            return False
        if not self._visited_again:
            self._visited_again = True
            mode = self.scenario.rewind_at_the_end
            if mode is not None or self.scenario.seed % 4 == 0:
                self.start(self._people.going_back(mode) if mode is not None else Restore())
                return False
        return True

    def _let_threads_end(self) -> None:
        """Those that are about to; who waits for somebody else stays."""
        while any(not (actor.ended or actor.parked) for process in self.processes for actor in process.actors):
            self.stage.clock.step()

    def empties(self, target: str) -> None:
        """R4: a save mode acts before anything of the job is published there, and a job never deletes its own rows."""
        if target in self.tables.written:
            self.broken = ViolationError("R4 target", f"a save mode empties {target}, where the job has published")

    def create_table(self, table: str, plugin: str, sight: Sight) -> None:
        """R8: a table that was lost with rows of the job is not created again, except by a sink of another plugin, or
        when its pipeline has gone back.

        In the first case, its user has chosen a new target, and the job starts to load it. In the second, its rows are
        read again: a state from before the first of them does not name the table.
        """
        if table in self.tables.lost and self.tables.filled[table] == plugin and not sight.rewinds:
            self.broken = ViolationError("R8 table", f"{table} is created again, without the rows that it had")
        self.tables.create(table)

    def lose_table(self) -> None:
        """Drop a table with rows, where nobody has gone back: what that takes away need not be in a table."""
        if not any(sight.rewinds for sight in self.sights.values()):
            self.counts["tables lost"] += self.tables.lose()

    def may_fall_asleep(self, before: str) -> None:
        """Who is about to do something may be stopped for a while; then somebody else goes on with the job."""
        process = self.stage.process
        if process is not None and not process.dead:
            self._people.disturb_before(before, process)

    @property
    def faults_are_on(self) -> bool:
        return self.stage.clock.now_ms < self.scenario.faults.until_ms

    def chance(self, probability: float) -> bool:
        return probability > 0 and self.faults_are_on and self.rng.random() < probability

    @property
    def manifest(self) -> Manifest | None:
        """The newest version."""
        versions = [key for key in self.blobs if layout.manifest_version(key) is not None]
        return Manifest.from_bytes(manifest_of(self.blobs[max(versions)])) if versions else None

    # -- processes, and the people behind them

    def start(self, restore: Restore | None) -> Process:
        process = Process(self, f"process {len(self.processes) + 1}", restore)
        self.processes.append(process)
        self.note(process.name, f"starts, {restore or 'with a new job'}")
        self.stage.start(process, process.main)
        return process

    def kill(self, process: Process) -> None:
        self.counts["crashes"] += 1
        self.note(process.name, "--- crash ---")
        process.dead = True
        self.stage.bury(process)

    def is_recorded_as_ended(self) -> bool:
        manifest = self.manifest
        return manifest is not None and manifest.ended is not None

    def process_over(self, process: Process) -> None:
        outcome = "refused" if process.report is None else process.report.outcome.value
        self.counts[outcome] += 1
        self.note(process.name, f"ends: {process.report or process.refusal}")
        self._people.ended(process)
        self._watch(lambda rule: rule.over(process))

    def _clear_away(self) -> None:
        """No thread stays behind."""
        for process in self.processes:
            process.dead = True
            self.stage.bury(process)
        while any(not actor.ended for process in self.processes for actor in process.actors):
            if not self.stage.clock.step():
                break

    # -- what processes do to the world

    def sight(self, pipeline_id: int, shape: Shape) -> Sight:
        if pipeline_id not in self.sights:
            sight = self.sights[pipeline_id] = Sight(self, pipeline_id, shape)
            for key in sorted(self._unseen.keys() & self.blobs.keys()):
                if self.states[key].pipeline_id == pipeline_id:
                    self._put_checkpoint(self._unseen[key], key, self.states[key])
                    sight.looked_clean(self.states[key])
        return self.sights[pipeline_id]

    def put(self, process: Process, key: str, body: bytes) -> bool:
        """One atomic step of the storage."""
        if key in self.blobs:
            return False
        state = self.states.get(key)
        torn = state is not None and process.dead and self.rng.random() < self.scenario.faults.storage_tears
        self.blobs[key] = body[: len(body) // 2] if torn else body
        self.note(process.name, f"puts {key}{' (torn)' if torn else ''}")
        if torn:
            self.counts["torn"] += 1
            self.torn.add(key)
        owner = key.split("/")
        if state is not None:
            self._put_checkpoint(process, key, state)
        elif key.endswith(".epoch"):
            number, epoch = int(owner[1]), int(owner[2].removesuffix(".epoch"))
            self.epochs[number].add(epoch)
            process.has_epoch = True
            self.counts["epochs"] += 1
            self._watch(lambda rule: rule.claimed(process, number, epoch))
        elif layout.manifest_version(key) is not None:
            self.last_writer = process
            process.version = process.version or layout.manifest_version(key) or 0
            manifest = Manifest.from_bytes(manifest_of(body))
            self._watch(lambda rule: rule.manifest_put(process, layout.manifest_version(key) or 0, manifest))
        return True

    def _put_checkpoint(self, process: Process, key: str, state: PipelineState) -> None:
        sight = self.sights.get(state.pipeline_id)
        if sight is None:  # of a pipeline that no process has started yet
            self._unseen[key] = process
            return
        if state.epoch not in sight.starts:
            observe(sight, process, state)
        sight.put(state)

    def remove(self, key: str) -> None:
        if self.blobs.pop(key, None) is None:
            return
        self.note("storage", f"removes {key}")
        state = self.states.get(key)
        if state is not None and state.pipeline_id in self.sights:
            self.sights[state.pipeline_id].removed(state.ref)
        elif key.endswith(".epoch"):
            _, number, name = key.split("/")
            self.epochs[int(number)].discard(int(name.removesuffix(".epoch")))

    def require_unwanted(self, task: Task, early: bool) -> None:
        self._watch(lambda rule: rule.cancelled(task, early))

    def require_slots(self, backend: SimulatedBackend, works: Any) -> None:
        self._watch(lambda rule: rule.runs(backend, works))

    def unit_begins(self, process: Process, task: Task, work: UnitWork, chain: OperatorChain) -> None:
        self._watch(lambda rule: rule.unit_begins(process, task, work, chain))

    def unit_ends(self, process: Process, work: UnitWork, chain: OperatorChain) -> None:
        self._watch(lambda rule: rule.unit_ends(process, work, chain))

    def thread_failed(self, process: Process, error: BaseException) -> None:
        if isinstance(error, ViolationError):
            self.broken = self.broken or error
        elif "Event loop is closed" not in str(error):
            self.broken_by(
                ViolationError("threads", f"a thread of {process.name} ended by {type(error).__name__}: {error}")
            )

    def broken_by(self, error: ViolationError) -> ViolationError:
        """The runtime catches what its parts raise: the first violation counts, whatever becomes of it."""
        self.broken = self.broken or error
        return error

    def _watch(self, tell: Callable[[JobInvariant], None]) -> None:
        try:
            for rule in self.rules:
                tell(rule)
        except ViolationError as error:
            raise self.broken_by(error) from None

    # -- the job

    def raw_job(self) -> RawJob:
        """The job file as it is now: people put its nodes in another order, and add tables, between two starts."""
        nodes = [*self.job_file.nodes]
        if len(self.processes) > 1:
            self.rng.shuffle(nodes)
        return job_from_code(self.scenario.env, nodes)

    def sinks_of(self, source: str) -> list[str]:
        """The sinks that the rows of a source reach."""
        reached = {source}
        for _, _, options in (*self.scenario.nodes, *self.scenario.added):
            if reached & set(options.get("plugin_input", ())):
                reached.add(options.get("plugin_output") or options["name"])
        return sorted(name for name in reached if name.startswith("out"))

    def doubles_are_accepted(self) -> bool:
        return any("accepted" in {mode.value for mode in sight.rewinds.values()} for sight in self.sights.values())

    # -- for people

    def count(self, command: Command) -> None:
        self.counts["checkpoints"] += isinstance(command, commands.CheckpointTriggered)

    def note(self, who: str, what: Any) -> None:
        self.trace.append((self.stage.clock.now_ms, who, what))

    def story(self, most: int = 300) -> str:
        """The last steps of the run, readable."""
        return "\n".join(f"{at_ms:>8} ms  {who:<24} {what}" for at_ms, who, what in self.trace[-most:])


@contextmanager
def quiet() -> Iterator[None]:
    """What the runtime logs is not asked for here, and would cost more than all else."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def play_job(seed: int) -> JobWorld:
    """Play one seed.

    Raises:
        ViolationError: with the seed, the scenario, the story and how to play it again.
    """
    world = JobWorld(draw_job(seed))
    try:
        world.run()
    except Exception as error:
        rule = error.rule if isinstance(error, ViolationError) else type(error).__name__
        raise ViolationError(
            rule,
            f"{error}\n\n{world.scenario}\n{world.scenario.faults}\n\n{world.story()}\n\njob seed {seed}: {error}\n"
            f"play it again: python -m tests.checkpoint.simulation.jobs --seed {seed}",
        ) from error
    finally:
        for process in world.processes:
            process.dead = True
    return world
