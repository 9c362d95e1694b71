"""A job at work in this process: the public, synchronous face of the runtime.

Its methods may be called from any thread; the work is done by a ``JobThreads``.
"""

import logging
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from seatunnel_core.claiming.alone import require_alone
from seatunnel_core.claiming.claim import Claim, claim_again, claim_new
from seatunnel_core.claiming.handover import ForeignSavepoint, claim_with_savepoint
from seatunnel_core.claiming.increments import IncrementalRun, note_end
from seatunnel_core.clock import wall_clock
from seatunnel_core.config.engine import EngineConfig, override_storage
from seatunnel_core.config.job_file import RawJob
from seatunnel_core.config.problem import Problems
from seatunnel_core.control.server import ControlServer
from seatunnel_core.errors import UsageError
from seatunnel_core.inspector.reference import title
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.restoring import Restore
from seatunnel_core.job.savepoint import JobSavepoint
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.planning.planner import Registry, plan_job
from seatunnel_core.planning.settings import spark_settings
from seatunnel_core.reporting.counters import Figures
from seatunnel_core.reporting.metrics import STATES, JobMetrics
from seatunnel_core.reporting.recent_checkpoints import RecentCheckpoint
from seatunnel_core.reporting.report import JobProgress, JobReport
from seatunnel_core.reporting.series import POINTS, JobSeries
from seatunnel_core.runtime.control_requests import answers
from seatunnel_core.runtime.job_threads import JobThreads
from seatunnel_core.runtime.slots import SLOTS, Reservation
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.starting.log_folder import log_folder
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.secret import resolved
from seatunnel_storage_api.state import CheckpointInfo
from seatunnel_storage_api.storage import CheckpointStorage

logger = logging.getLogger("seatunnel.job")


class JobRun:
    """One run of a job in this process, from its claim to its closing table.

    ``start`` returns once the job is claimed; Spark and the pipelines start behind it. ``wait`` returns the report.
    ``close`` gives back Spark, pools and storage and must be called in the end; a ``with`` block does.
    """

    def __init__(
        self,
        raw: RawJob,
        engine: EngineConfig,
        *,
        registry: Registry,
        job_id: str,
        restore: Restore | None = None,
        begin_with: ForeignSavepoint | None = None,
        master: str | None = None,
        name: str | None = None,
        jvm_options: Sequence[str] = (),
        log_file: Path | None = None,
        on_begun: Callable[[], None] | None = None,
        backend: SparkBackend | None = None,
    ) -> None:
        """Prepare the run; ``start`` begins it.

        Args:
            raw: The job, as it is written.
            engine: The engine's options.
            registry: Finds the job's plugins.
            job_id: The id of the job, new or stored.
            restore: From what a job that exists goes on; ``None`` for a new one.
            begin_with: The savepoint of another job that a new one begins with.
            master: Where Spark runs, instead of the job's own ``spark.master``.
            name: The name of the job, instead of its own.
            jvm_options: Further options for Java.
            log_file: Takes Spark's and Java's output; by default a file of the job's id in the log folder.
            on_begun: Called, from the runtime's thread, when the first restore point is durable: from then on the job
                can be resumed by its id.
            backend: An open backend to run on. It stays open, so several jobs may share it. The job's own ``spark.*``
                options have no effect then. ``None`` starts Spark for this job.
        """
        self.job_id = job_id
        self.job: PlannedJob | None = None
        self._raw = raw
        self._engine = engine
        self._registry = registry
        self._restore = restore
        self._begin_with = begin_with
        self._master = master
        self._name = name
        self._jvm_options = jvm_options
        self._log_file = log_file or log_folder(os.environ) / f"{job_id}.log"
        self._on_begun = on_begun
        self._backend = backend
        self._report: JobReport | None = None
        self._done = threading.Event()
        self._storage: CheckpointStorage | None = None
        self._threads: JobThreads | None = None
        self._slots: Reservation | None = None
        self._control = ControlServer(job_id, answers(self))
        self.version = 0
        """The version of the manifest by which this process claimed the job."""

        self.notes: tuple[str, ...] = ()
        """What a restore does, a sentence each; known after ``start``."""

        self.started_at = wall_clock()
        self.storage_title = ""
        """Where its checkpoints lie, as the inspector calls it; known after ``start``."""

    def start(self) -> None:
        """Claim the job and set it to work.

        Raises:
            ConfigError, JobError, UsageError: What was asked for is not possible; nothing has started.
            CheckpointStorageError: The checkpoint storage cannot be used.
            PlatformError: The backend that was given is not open.
        """
        if self._backend is not None:
            self._backend.require_open()
        config = override_storage(self._engine, self._raw.storage, Problems())
        is_new = self._restore is None and self._begin_with is None
        plan = self._plan(None) if is_new else None
        resolved(config.plugin_config)  # of keys without effect too: a missing secret is reported, as by --check
        self._storage = open_storage(config.type, config.effective)
        self.storage_title = title(self._storage)
        increments = IncrementalRun(self._storage, self.job_id, self._raw, self._name)
        if self._restore is not None and not self._restore.take_over:
            require_alone(self._storage, self.job_id)

        def planned(manifest: Manifest | None) -> PlannedJob:
            job = increments.planned(plan if plan is not None else self._plan(manifest), manifest)
            self._slots = self._slots or SLOTS.reserve(job, self.job_id, self._engine.options)
            return job  # a job that finds no slot is refused before it is claimed, and leaves nothing behind

        claim = self._claim(planned)
        if isinstance(claim, JobReport):
            note_end(self._storage, self.job_id)  # the process that recorded the end may have been killed before
            self._end(claim)
            return
        increments.begin()
        self.job, self.version, self.notes = claim.job, claim.version, (*claim.notes, *increments.notes)
        self._work(claim, self._storage)

    def _work(self, claim: Claim, storage: CheckpointStorage) -> None:
        settings = spark_settings(
            claim.job, master=self._master, jvm_options=self._jvm_options, log_file=self._log_file
        )
        self._threads = JobThreads(
            job_id=self.job_id,
            claim=claim,
            engine=self._engine,
            storage=storage,
            backend=self._backend or SparkBackend(settings),
            owns_backend=self._backend is None,
            on_begun=self._on_begun,
            on_end=self._end,
            restored=self._restore is not None,
            slots=self._slots,
        )
        self._threads.start()
        self._control.start()

    def _claim(self, planned: Callable[[Manifest | None], PlannedJob]) -> Claim | JobReport:
        assert self._storage is not None
        if self._restore is not None:
            return claim_again(self._storage, self.job_id, planned, self._restore)
        if self._begin_with is not None:
            return claim_with_savepoint(self._storage, self.job_id, planned, self._begin_with)
        return claim_new(self._storage, self.job_id, planned)

    def _plan(self, manifest: Manifest | None) -> PlannedJob:
        return plan_job(
            self._raw, self._registry, self._engine, manifest=manifest, name=self._name, master=self._master
        )

    def _end(self, report: JobReport) -> None:
        self._report = self._report or report
        self._give_slots_back()
        self._done.set()

    def _give_slots_back(self) -> None:
        if self._slots is not None:
            self._slots.release()

    def wait(self, timeout: float | None = None) -> JobReport | None:
        """Return the report, or ``None`` when the job has not ended within ``timeout`` seconds."""
        self._done.wait(timeout)
        return self._report

    def progress(self) -> JobProgress:
        """Return how the job stands now."""
        if self._report is not None:
            return JobProgress(job_id=self.job_id, name=self._report.name, pipelines=self._report.pipelines)
        if self._threads is None or self.job is None:
            return JobProgress(job_id=self.job_id, name=self._name or "", pipelines=())
        return JobProgress(job_id=self.job_id, name=self.job.name, pipelines=self._threads.views())

    def metrics(self) -> JobMetrics:
        """Return all that is measured of the job.

        Of a job that an earlier process ended this is what its closing table keeps.
        """
        report = self._report
        if self._threads is not None and self.job is not None:
            name, pipelines = self.job.name, self._threads.metrics()
        else:
            progress = self.progress()
            name, pipelines = progress.name, tuple(Figures().metrics(view, None) for view in progress.pipelines)
        return JobMetrics(
            job_id=self.job_id,
            name=name,
            started_at=self.started_at,
            state="running" if report is None else STATES[report.outcome],
            pipelines=pipelines,
        )

    def checkpoints(self) -> tuple[CheckpointInfo, ...]:
        """Return all stored checkpoints of all pipelines, the oldest of each pipeline first.

        Raises:
            UsageError: The run is closed, or not started yet.
            CheckpointStorageError: The storage cannot be read.
        """
        if self._storage is None:
            raise UsageError("the job's checkpoint storage is closed; ask before the job is closed")
        listings = self._storage.scan_job(self.job_id)
        return tuple(info for number in sorted(listings) for info in listings[number].checkpoints)

    def recent_checkpoints(self) -> dict[int, tuple[RecentCheckpoint, ...]]:
        """Return the last checkpoints that this process has taken or given up, by pipeline, the oldest first."""
        return {} if self._threads is None else self._threads.recent_checkpoints()

    def series(self, pipeline: int = 0, since_s: float = 0.0, most: int = POINTS) -> dict[str, Any]:
        """Return metrics over time of a pipeline, or of the whole job for 0, as ``JobSeries.record``."""
        series = JobSeries() if self._threads is None else self._threads.series
        return series.record(pipeline, since_s, most)

    def savepoint(
        self, name: str | None = None, *, stop: bool = False, drain: bool = False, timeout: float | None = None
    ) -> JobSavepoint:
        """Take a savepoint of the whole job and wait until it is complete.

        Args:
            name: By default the next number.
            stop: The job ends with it; what runs on Spark then is read again by whatever goes on from it.
            drain: The job stops reading, ends with it, and everything that was read is committed.
            timeout: In seconds, for the wait alone.

        Raises:
            UsageError: The job does not run, or the name is taken or is none.
            SavepointError: A pipeline could not take its part, or the storage could not keep it.
            TimeoutError: The time is over; the savepoint may still complete.
        """
        if self._threads is None or self._done.is_set():
            raise UsageError(f"the job {self.job_id} does not run, so no savepoint can be taken of it")
        return self._threads.savepoint(name, stop=stop, drain=drain).result(timeout)

    def stop(self) -> None:
        """Stop cleanly: each pipeline takes a last checkpoint, and ``wait`` then returns the report.

        A job that has ended stays as it is.
        """
        if self._threads is not None and not self._done.is_set():
            self._threads.stop()

    def kill(self) -> None:
        """Stop at once, as a crash would, but in order: what is in no checkpoint is read again on a restore."""
        if self._threads is not None and not self._done.is_set():
            self._threads.kill()

    def close(self, *, last: bool = False) -> None:
        """Stop what still runs and give back everything. May be called twice.

        Args:
            last: Whether the process ends behind it, so that a Spark with nothing left to do ends by itself.
        """
        self._give_slots_back()  # first: from here on, nothing can begin
        if self._threads is not None:
            self._threads.close(last=last)
        self._done.set()  # nothing is left to wait for
        self._control.close()
        if self._storage is not None:
            self._storage.close()
            self._storage = None

    def __enter__(self) -> "JobRun":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
