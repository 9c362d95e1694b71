"""Run of a job in this process: the public interface of the runtime, synchronous and thread-safe."""

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
from seatunnel_core.reporting.counters import Metrics
from seatunnel_core.reporting.metrics import STATES, JobMetrics
from seatunnel_core.reporting.recent import RecentCheckpoint
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
    """Run of a job in this process, from its claim to its final report.

    ``start`` returns once the job is claimed; Spark and the pipelines start in the background. ``wait`` returns the
    report. ``close`` releases Spark, pools and storage and must be called at the end, as a ``with`` block does.
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
        submission: str = "",
    ) -> None:
        """Create the run; ``start`` begins it.

        ``on_begun`` is called from the runtime's thread when the first restore point is durable, so that the job can be
        resumed by its ID. ``backend`` is an open backend that several jobs may share: it stays open, and the job's
        ``spark.*`` options have no effect. The default ``log_file`` is named after the job ID. ``submission`` is the ID
        of the submission to a cluster that a new job stores in its manifest.
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
        self._submission = submission
        self._report: JobReport | None = None
        self._done = threading.Event()
        self._storage: CheckpointStorage | None = None
        self._threads: JobThreads | None = None
        self._slots: Reservation | None = None
        self._control = ControlServer(job_id, answers(self))
        self.version = 0
        """Version of the manifest with which this process claimed the job."""

        self.notes: tuple[str, ...] = ()
        """Effects of a restore, one sentence each; available after ``start``."""

        self.started_at = wall_clock()
        self.storage_title = ""
        """Location of the checkpoints, as shown by the inspector; available after ``start``."""

    def start(self) -> None:
        """Claim the job and start it. If this raises an exception, nothing has started."""
        if self._backend is not None:
            self._backend.require_open()
        config = override_storage(self._engine, self._raw.storage, Problems())
        is_new = self._restore is None and self._begin_with is None
        plan = self._plan(None) if is_new else None
        resolved(config.plugin_config)  # also for keys without effect: a missing secret is reported, as by --check
        self._storage = open_storage(config.type, config.effective)
        self.storage_title = title(self._storage)
        increments = IncrementalRun(self._storage, self.job_id, self._raw, self._name)
        if self._restore is not None and not self._restore.take_over:
            require_alone(self._storage, self.job_id)

        def planned(manifest: Manifest | None) -> PlannedJob:
            job = increments.planned(plan if plan is not None else self._plan(manifest), manifest)
            self._slots = self._slots or SLOTS.reserve(job, self.job_id, self._engine.options)
            return job  # a job without a slot is rejected before it is claimed, and leaves nothing behind

        claim = self._claim(planned)
        if isinstance(claim, JobReport):
            note_end(self._storage, self.job_id)  # the process that recorded the end may have been killed then
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
        return claim_new(self._storage, self.job_id, planned, submission=self._submission)

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
        """Return the report; ``None`` if the job has not ended within ``timeout`` seconds."""
        self._done.wait(timeout)
        return self._report

    def progress(self) -> JobProgress:
        """Return the job's current progress."""
        if self._report is not None:
            return JobProgress(job_id=self.job_id, name=self._report.name, pipelines=self._report.pipelines)
        if self._threads is None or self.job is None:
            return JobProgress(job_id=self.job_id, name=self._name or "", pipelines=())
        return JobProgress(job_id=self.job_id, name=self.job.name, pipelines=self._threads.views())

    def metrics(self) -> JobMetrics:
        """Return the metrics of the job; if it ended in an earlier process, those in its final report."""
        report = self._report
        if self._threads is not None and self.job is not None:
            name, pipelines = self.job.name, self._threads.metrics()
        else:
            progress = self.progress()
            name, pipelines = progress.name, tuple(Metrics().measured(view, None) for view in progress.pipelines)
        return JobMetrics(
            job_id=self.job_id,
            name=name,
            started_at=self.started_at,
            state="running" if report is None else STATES[report.outcome],
            pipelines=pipelines,
        )

    def checkpoints(self) -> tuple[CheckpointInfo, ...]:
        """Return all stored checkpoints, sorted by pipeline and then by age, oldest first."""
        if self._storage is None:
            raise UsageError("the job's checkpoint storage is closed; call checkpoints() before closing the job")
        listings = self._storage.scan_job(self.job_id)
        return tuple(info for number in sorted(listings) for info in listings[number].checkpoints)

    def recent_checkpoints(self) -> dict[int, tuple[RecentCheckpoint, ...]]:
        """Return the last checkpoints of this process, completed or aborted, keyed by pipeline, oldest first."""
        return {} if self._threads is None else self._threads.recent_checkpoints()

    def series(self, pipeline: int = 0, since_s: float = 0.0, most: int = POINTS) -> dict[str, Any]:
        """Return the metrics over time of a pipeline, or of the whole job if ``pipeline`` is 0."""
        series = JobSeries() if self._threads is None else self._threads.series
        return series.record(pipeline, since_s, most)

    def savepoint(
        self, name: str | None = None, *, stop: bool = False, drain: bool = False, timeout: float | None = None
    ) -> JobSavepoint:
        """Take a savepoint of the whole job and wait until it is complete.

        Raises:
            UsageError: The job is not running, or the name is taken or invalid.
            SavepointError: A pipeline or the storage failed.
            TimeoutError: The savepoint did not complete in time; it may still complete.
        """
        if self._threads is None or self._done.is_set():
            raise UsageError(f"the job {self.job_id} is not running, so no savepoint can be taken")
        return self._threads.savepoint(name, stop=stop, drain=drain).result(timeout)

    def reread_table(self, table: str, timeout: float | None = None) -> None:
        """Request that the sources read a captured table again; return once checkpoints contain the request.

        Raises:
            UsageError: The job is not running, the table is unknown or is being read again already, or its source
                does not support this.
            TimeoutError: No checkpoint was completed in time; the table may still be read again.
        """
        if self._threads is None or self._done.is_set():
            raise UsageError(f"the job {self.job_id} is not running, so no table can be read again")
        self._threads.reread(table).result(timeout)

    def stop(self) -> None:
        """Stop each pipeline after a final checkpoint. ``wait`` then returns the report."""
        if self._threads is not None and not self._done.is_set():
            self._threads.stop()

    def kill(self) -> None:
        """Stop immediately. As after a crash, a restore then repeats all reads that no checkpoint contains."""
        if self._threads is not None and not self._done.is_set():
            self._threads.kill()

    def close(self, *, last: bool = False) -> None:
        """Stop everything that is still running, and release all resources. Idempotent.

        Set ``last`` if the process exits afterwards: the method then does not wait for an idle Spark to stop.
        """
        self._give_slots_back()  # first: no work can start from now on
        if self._threads is not None:
            self._threads.close(last=last)
        self._done.set()  # nothing remains to wait for
        self._control.close()
        if self._storage is not None:
            self._storage.close()
            self._storage = None

    def __enter__(self) -> "JobRun":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
