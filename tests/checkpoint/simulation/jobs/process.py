"""A driver process: the job's real run, with its threads on the stage, from its start to its closing table."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from seatunnel_core import clock
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.claiming import claim, published_tables, restoration
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobReport
from seatunnel_core.runtime import (
    job_pipelines,
    job_run,
    job_tables,
    job_threads,
    pipeline_run,
    save_modes,
    savepoints,
    slots,
)
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_core.runtime.slots import SlotService
from seatunnel_core.spark import dispatch, watch
from seatunnel_storage_api import retry
from seatunnel_storage_api.errors import CheckpointStorageError
from tests.checkpoint.simulation.jobs import threads
from tests.checkpoint.simulation.jobs.backend import SimulatedBackend
from tests.checkpoint.simulation.jobs.blobs import SimulatedStorage
from tests.checkpoint.simulation.jobs.sight import Start, WatchedProtocol
from tests.checkpoint.simulation.jobs.stage import Actor, Stage

if TYPE_CHECKING:
    from tests.checkpoint.simulation.jobs.world import JobWorld


class Process:
    """One process on the job's id."""

    def __init__(self, world: "JobWorld", name: str, restore: Restore | None) -> None:
        self.world = world
        self.name = name
        self.restore = restore
        self.dead = False
        self.paused_until_ms = 0
        self.actors: list[Actor] = []
        self.latest: dict[int, Start] = {}
        """The newest start of each pipeline in this process."""

        self.unpruned: set[int] = set()
        """The pipelines whose last prune failed."""

        self.version = 0
        """Of the manifest by which it claimed the job; 0 if it has not."""

        self.has_epoch = False
        """Whether it has claimed an epoch of any pipeline."""

        self.run: JobRun | None = None
        self.report: JobReport | None = None
        self.refusal: Exception | None = None
        self.over = False
        """Whether it has ended by itself."""

        self.closing = False
        self.asked = False
        """Whether a person asked it to stop, or killed its work."""

        self.slots = SlotService()
        self.clock_ms = world.rng.randint(0, 10**9)
        """What its monotonic clock said when the world began."""

        self.wall_s = 1_700_000_000.0

    @property
    def gone(self) -> bool:
        return self.dead or self.over

    def wants(self, pipeline_id: int, epoch: int) -> bool:
        """Whether the results of units of this epoch count."""
        start = self.latest[pipeline_id]
        started = None if self.run is None else self.run._threads
        runs = [] if started is None else [run for run in started._runs if run.id == pipeline_id]
        left = any(run._epoch is None or run._epoch._left for run in runs)
        return start.epoch == epoch and start.protocol.phase is Phase.RUNNING and not left and not self.closing

    def main(self) -> None:
        world = self.world
        self.run = JobRun(
            world.raw_job(),
            world.engine,
            registry=world.plugins,
            job_id=world.job_id,
            restore=self.restore,
            log_file=world.log_file,
        )
        try:
            self.run.start()
            self.report = self.run.wait()
        except (SeaTunnelError, CheckpointStorageError) as error:
            self.refusal = error
        self.closing = True
        self.run.close()
        self.over = True
        world.process_over(self)

    def thread_failed(self, error: BaseException) -> None:
        """A thread ended by an exception that nobody caught. In a pool it would have been lost."""
        if not self.dead:
            self.world.thread_failed(self, error)


class NoControl:
    """Nobody asks through a socket here: what can be asked is asked of the run itself."""

    def __init__(self, *_how: object) -> None: ...
    def start(self) -> None: ...
    def close(self) -> None: ...


@contextmanager
def staged(world: "JobWorld") -> Iterator[None]:
    """The runtime's modules find the stage where they look for threads, clocks, chance and Spark."""
    with ExitStack() as stack:
        for module, name, instead in _replacements(world):
            stack.enter_context(patch.object(module, name, instead))
        yield


def _replacements(world: "JobWorld") -> list[tuple[Any, str, Any]]:
    """The module, the name in it, and what stands there on the stage."""
    stage = world.stage

    def process() -> Process:
        assert stage.process is not None
        return stage.process

    threading = threads_of(stage)
    times = SimpleNamespace(
        monotonic_ns=lambda: (stage.clock.now_ms + process().clock_ms) * 1_000_000,
        time=lambda: process().wall_s + stage.clock.now_ms / 1_000,
        perf_counter=lambda: stage.clock.now_ms / 1_000,
    )
    locking = (job_threads, dispatch, watch, job_tables, save_modes, savepoints, slots, job_run)
    return [
        *((module, "threading", threading) for module in locking),
        *((module, "ThreadPoolExecutor", threads.Inline) for module in (claim, published_tables, restoration)),
        (clock, "time", times),
        (job_threads, "ThreadPool", lambda workers, _name: threads.Pool(stage, workers)),
        (job_threads, "Future", partial(threads.Future, stage)),
        (
            job_threads,
            "asyncio",
            SimpleNamespace(new_event_loop=lambda: threads.Loop(stage), set_event_loop=lambda _loop: None),
        ),
        (job_pipelines, "PipelineProtocol", partial(WatchedProtocol, world)),
        (dispatch, "time", times),
        (job_run, "ControlServer", NoControl),
        (job_run, "SparkBackend", lambda settings: SimulatedBackend(process(), settings)),
        (job_run, "open_storage", lambda _kind, _configuration: SimulatedStorage(process())),
        (job_run, "SLOTS", SimpleNamespace(reserve=lambda *how: process().slots.reserve(*how))),
        (pipeline_run, "random", world.rng),
        (retry, "random", world.rng),
    ]


def threads_of(stage: Stage) -> Any:
    made: dict[str, Callable[..., Any]] = {
        "Thread": partial(threads.Thread, stage),
        "Lock": partial(threads.Lock, stage),
        "Condition": partial(threads.Condition, stage),
        "Event": partial(threads.Event, stage),
        "Timer": partial(threads.Timer, stage),
        "current_thread": lambda: None,
    }
    return SimpleNamespace(**made)
