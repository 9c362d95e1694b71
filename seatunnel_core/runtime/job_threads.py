"""Threads of a job, and the pipelines that run on its event loop."""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from seatunnel_core.checkpoint.commands import Outcome
from seatunnel_core.claiming.claim import Claim
from seatunnel_core.claiming.increments import note_end
from seatunnel_core.clock import wall_clock
from seatunnel_core.config.engine import EngineConfig
from seatunnel_core.config.engine_options import PRINT_EXECUTION_INFO, THREAD_SHARE_MODE
from seatunnel_core.errors import UsageError
from seatunnel_core.job.savepoint import JobSavepoint
from seatunnel_core.reporting.execution_info import execution_info
from seatunnel_core.reporting.metrics import PipelineMetrics
from seatunnel_core.reporting.recent import RecentCheckpoint
from seatunnel_core.reporting.report import JobOutcome, JobReport, PipelineView, warnings_of
from seatunnel_core.reporting.report_record import report_record
from seatunnel_core.runtime.job_pipelines import JobPipelines
from seatunnel_core.runtime.job_recorder import JobRecorder
from seatunnel_core.runtime.pipeline_run import PipelineRun
from seatunnel_core.runtime.rereads import request_reread
from seatunnel_core.runtime.savepoints import JobSavepoints, ManifestWriter
from seatunnel_core.runtime.shared import SharedResources
from seatunnel_core.runtime.slots import Reservation
from seatunnel_core.runtime.thread_pool import ThreadPool
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.dispatch import UnitDispatcher
from seatunnel_core.spark.failure import failure_of
from seatunnel_core.spark.packing import ShareMode, longest_batch_ms
from seatunnel_core.spark.starting.settings import runs_on_this_machine
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_storage_api.storage import CheckpointStorage

logger = logging.getLogger("seatunnel.job")

STORAGE_THREADS = 16
CONNECTOR_THREADS = 16
"""Number of threads that wait for disks and servers. With sixteen parallel requests, a disk needs a tenth of the time
per request: a job with a thousand small tables took 18 s instead of 23 s."""


class JobThreads:
    """Threads of a job, and the pipelines that run on its event loop."""

    def __init__(
        self,
        *,
        job_id: str,
        claim: Claim,
        engine: EngineConfig,
        storage: CheckpointStorage,
        backend: SparkBackend,
        on_begun: Callable[[], None] | None,
        on_end: Callable[[JobReport], None],
        restored: bool,
        slots: Reservation | None = None,
        owns_backend: bool = True,
    ) -> None:
        """Create the threads; ``start`` starts them.

        ``on_begun`` is called from the loop's thread when the first pipeline can be resumed. ``on_end`` is called with
        the report when the job has ended, from any thread, possibly more than once. ``restored`` is True if an earlier
        process ran the job. ``owns_backend`` is False if the backend is already running and stays open after the job.
        """
        self._job_id = job_id
        self._claim = claim
        self._engine = engine
        self._storage = storage
        self._backend = backend
        self._on_begun = on_begun
        self._on_end = on_end
        self._restored = restored
        self._slots = slots
        self._owns_backend = owns_backend
        self._started_at = wall_clock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name="seatunnel-loop", daemon=True)
        self._spark_starter = threading.Thread(target=self._start_spark, name="seatunnel-spark", daemon=True)
        self._storage_pool = ThreadPool(STORAGE_THREADS, "seatunnel-storage")
        self._connector_pool = ThreadPool(CONNECTOR_THREADS, "seatunnel-connectors")
        self._spark: asyncio.Future[UnitDispatcher] = self._loop.create_future()
        self._pipelines = JobPipelines(
            job_id=job_id,
            claim=claim,
            engine=engine,
            storage=storage,
            backend=backend,
            shares_disk=runs_on_this_machine(backend.settings),
            restored=restored,
        )
        self._manifest = ManifestWriter(storage, job_id, claim)
        self._savepoints = JobSavepoints(self._manifest, self._storage_pool)
        self._runs: list[PipelineRun] = []
        self._recorder = JobRecorder(self._runs, self._log_now)
        self.series = self._recorder.series
        self._ended = 0
        self._begun = False
        self._broken: Failure | None = None
        """Failure of the job itself, as opposed to failures of its pipelines."""
        self._recorded = False
        """True if the manifest records the end of the job."""
        self._closed = False
        self._deaf = False
        """True if the loop is about to end and would not handle further requests."""
        self._asking = threading.Lock()

    def start(self) -> None:
        """Start the loop and create the pipelines, which start once the job has its slots."""
        self._thread.start()
        self._call(self._make_pipelines)
        if self._slots is None:
            self._begin()
        else:
            self._slots.when_granted(self._begin)

    def _begin(self) -> None:
        self._spark_starter.start()
        self._call(self._start_pipelines)

    def _start_pipelines(self) -> None:
        for run in self._runs:
            if run.outcome is None:  # unless it was stopped while it waited for slots
                run.start()

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.set_exception_handler(
            lambda _loop, context: self._break(context.get("exception") or RuntimeError(context["message"]))
        )
        self._loop.run_forever()

    def _start_spark(self) -> None:
        try:
            if self._owns_backend:
                self._backend.start()
            mode = ShareMode(self._engine.options[THREAD_SHARE_MODE])
            slots = None if self._slots is None else self._slots.slots
            dispatcher = UnitDispatcher(
                self._backend, mode, slots, longest_batch_ms(self._pipelines.checkpoints.interval_ms)
            )
        except Exception as error:
            self._call(self._spark.set_exception, error)
        else:
            logger.debug("Spark runs %d tasks at a time", self._backend.slots, extra={"job": self._job_id})
            self._call(self._spark.set_result, dispatcher)

    def _make_pipelines(self) -> None:
        shared = SharedResources(
            loop=self._loop, storage_pool=self._storage_pool, connector_pool=self._connector_pool, spark=self._spark
        )
        self._runs += self._pipelines.make(shared, owner=self)
        self._recorder.start(self._loop, self._engine.options[PRINT_EXECUTION_INFO])

    def _log_now(self) -> None:
        slots = self._backend.slots if self._spark.done() and self._spark.exception() is None else None
        logger.info("%s", execution_info(self.metrics(), slots), extra={"job": self._job_id})

    # -- reports of pipelines ---------------------------------------------------------------------------------------

    def pipeline_begun(self, _run: PipelineRun) -> None:
        """Call ``on_begun`` for the first pipeline that can be resumed."""
        if not self._begun:
            self._begun = True
            if self._on_begun is not None:
                self._on_begun()

    def pipeline_ended(self, run: PipelineRun) -> None:
        """End the job once its last pipeline has ended.

        If another engine has taken over a pipeline, the others end immediately. A failure of the whole job stops them
        with a final checkpoint.
        """
        self._ended += 1
        if run.outcome is Outcome.FENCED:
            for other in self._runs:
                other.abandon()
        elif run.failure is not None and run.failure.kind is FailureKind.JOB:
            for other in self._runs:
                other.stop()
        if self._ended == len(self._runs):
            self._recorder.record()
            self._storage_pool.submit(self._conclude)

    def _conclude(self) -> None:
        try:
            self._savepoints.conclude()
            report = self._report()
            if report.outcome is not JobOutcome.FINISHED:
                self._on_end(report)
                return
            self._manifest.write(lambda manifest: manifest.closed(report_record(report)))
            self._recorded = True
            if self._manifest.manifest.windows:
                note_end(self._storage, self._job_id)
            self._call(self._clear, report)
        except Exception as error:
            self._break(error)

    def _clear(self, report: JobReport) -> None:
        """Clean up after the pipelines, in parallel, and then report the end of the job."""
        left = len(self._runs)

        def cleared() -> None:
            nonlocal left
            left -= 1
            if not left:
                self._on_end(report)

        def clear(run: PipelineRun) -> None:
            try:
                run.clear()
            except Exception as error:
                self._break(error)
            else:
                self._call(cleared)

        for run in self._runs:
            self._connector_pool.submit(clear, run)

    def _break(self, error: BaseException) -> None:
        """End the job after an unexpected error, so that callers do not wait forever."""
        failure = failure_of(error)
        logger.error("%s", failure.message, extra={"job": self._job_id, "code": failure.code})
        logger.debug("%s", failure.detail, extra={"job": self._job_id})
        self._broken = failure = self._broken or failure  # before the last pipeline ends and the job is concluded
        for run in self._runs:
            run.abandon()
        try:
            report = self._report()
        except Exception:  # the report itself may have failed
            now = wall_clock()
            report = JobReport(
                job_id=self._job_id,
                name=self._claim.job.name,
                outcome=JobOutcome.FAILED,
                pipelines=(),
                started_at=now,
                ended_at=now,
                failure=failure.message,
                code=failure.code,
            )
        self._on_end(report)

    def _report(self) -> JobReport:
        outcomes = {run.outcome for run in self._runs}
        if self._broken or outcomes & {Outcome.FAILED, Outcome.FENCED}:
            outcome = JobOutcome.FAILED
        else:
            outcome = JobOutcome.STOPPED if Outcome.STOPPED in outcomes else JobOutcome.FINISHED
        log_file = self._backend.log_file
        return JobReport(
            job_id=self._job_id,
            name=self._claim.job.name,
            outcome=outcome,
            pipelines=(pipelines := tuple(run.view() for run in self._runs)),
            started_at=self._started_at,
            ended_at=wall_clock(),
            failure=self._broken.message if self._broken else "",
            code=self._broken.code if self._broken else "",
            warnings=(*map(str, self._claim.job.warnings), *warnings_of(pipelines)),
            log_file=Path(log_file) if log_file else None,
            resumed=self._restored,
        )

    # -- requests of callers ----------------------------------------------------------------------------------------

    def views(self) -> tuple[PipelineView, ...]:
        """Return the current state of each pipeline."""
        return tuple(run.view() for run in tuple(self._runs))

    def metrics(self) -> tuple[PipelineMetrics, ...]:
        """Return the current metrics of each pipeline."""
        return tuple(run.metrics() for run in tuple(self._runs))

    def recent_checkpoints(self) -> dict[int, tuple[RecentCheckpoint, ...]]:
        """Return the last checkpoints, keyed by pipeline number."""
        return {run.view().id: run.recent_checkpoints() for run in tuple(self._runs)}

    def stop(self) -> None:
        """Stop every pipeline after a final checkpoint."""
        self._call(self._on_each, PipelineRun.stop)

    def savepoint(self, name: str | None, *, stop: bool, drain: bool) -> "Future[JobSavepoint]":
        """Request a savepoint of every pipeline. The default ``name`` is the next number."""
        taken: Future[JobSavepoint] = Future()

        def take() -> None:
            self._savepoints.take(name, stop=stop, drain=drain, pipelines=self._runs, taken=taken)

        self._request(take, "no savepoint can be taken")
        return taken

    def reread(self, table: str) -> "Future[None]":
        """Make the sources of a captured table read it again.

        The future completes once checkpoints contain the requests.
        """
        accepted: Future[None] = Future()
        self._request(lambda: request_reread(self._runs, table, accepted), "no table can be read again")
        return accepted

    def _request(self, action: Callable[[], None], consequence: str) -> None:
        with self._asking:
            if self._deaf:
                raise UsageError(f"the job {self._job_id} has ended, so {consequence}")
            self._call(action)

    def kill(self) -> None:
        """Stop every pipeline immediately, as a crash would."""
        self._call(self._on_each, PipelineRun.abandon)

    def _on_each(self, action: Callable[[PipelineRun], None]) -> None:
        for run in self._runs:
            action(run)

    def close(self, *, last: bool = False) -> None:
        """Stop everything that is still running, and end the threads. Idempotent.

        Set ``last`` if the process exits with the job: if all rows are committed, this does not wait for Spark.
        """
        if self._closed:
            return
        self._closed = True
        self._kill_and_wait()
        self._connector_pool.close()
        for run in self._runs:
            run.close_sources()
        self._storage_pool.close()
        if self._owns_backend:
            self._backend.give_up()
        if self._spark_starter.ident is not None:
            self._spark_starter.join()  # a Spark that is still starting cannot be stopped
        started = self._spark.done() and self._spark.exception() is None
        if started:
            self._spark.result().close()
        late = self._recorded and started and self._spark.result().lost_batches
        done = self._recorded and not late and all(run.outcome is Outcome.FINISHED for run in self._runs)
        if self._owns_backend and last and done:
            self._backend.leave()
        elif self._owns_backend:
            self._backend.stop()
        if late or self._ended_elsewhere():
            self._clear_late_staging()
        with self._asking:
            self._deaf = True
            self._call(self._loop.stop)
        self._thread.join(timeout=30)
        self._loop.close()
        self._savepoints.close()

    def _kill_and_wait(self) -> None:
        """Stop every pipeline immediately, and wait until none of them uses the pools, which are closed next."""
        killed: Future[None] = Future()

        def kill() -> None:
            try:
                for run in self._runs:
                    run.abandon()
            finally:
                killed.set_result(None)

        self._call(kill)
        if self._thread.is_alive():
            killed.result()

    def _ended_elsewhere(self) -> bool:
        """Return True if another process has taken over the job and recorded its end."""
        if all(run.outcome is not Outcome.FENCED for run in self._runs):
            return False
        try:
            return self._manifest.job_has_ended()
        except Exception as error:
            logger.debug("output staged by this process could not be removed: %s", error, extra={"job": self._job_id})
            return False

    def _clear_late_staging(self) -> None:
        """Remove output that tasks staged after the last sweep (R9).

        A cancelled task may stage output for a few more seconds. No task does so after Spark has stopped.
        """
        for run in self._runs:
            try:
                run.clear()
            except Exception as error:  # the job is done; `gc` removes the rest
                logger.debug("output staged by late tasks could not be removed: %s", error, extra={"job": self._job_id})

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        self._loop.call_soon_threadsafe(function, *arguments)
