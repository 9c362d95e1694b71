"""A job in a worker process: the thread that starts it, waits for its end and releases its resources."""

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from seatunnel_core.claiming.claim import exists_already
from seatunnel_core.config.engine import EngineConfig, override_storage
from seatunnel_core.config.job_file import RawJob
from seatunnel_core.config.problem import Problems
from seatunnel_core.errors import SeaTunnelError, UsageError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.restoring import Restore
from seatunnel_core.registry import lookup
from seatunnel_core.reporting.metrics import JobMetrics
from seatunnel_core.reporting.open_metrics import Sample, samples, totals
from seatunnel_core.reporting.pipeline_record import measured_record
from seatunnel_core.reporting.recent import latest
from seatunnel_core.reporting.report import JobOutcome, JobReport, PipelineView
from seatunnel_core.reporting.series import POINTS_AT_END
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_core.server.host.protocol import HostedJob
from seatunnel_core.server.state.records import DesiredState, JobRecord, JobState
from seatunnel_core.server.submitted_job import SubmittedJob
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import (
    CheckpointStorageError,
    ManifestConflictError,
    StaleEpochError,
    StorageUnavailableError,
)

logger = logging.getLogger("seatunnel.cluster")

_SAVED_S = 10.0
_AGAIN_S = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Delays between attempts to claim a job while its storage does not respond, in seconds. The last delay is repeated."""

MEASURE_S = 1.0
"""Interval between measurements, in seconds. It is the same for all jobs, so that reports change once per interval."""

MOST_SHOWN = 100
"""Maximum number of pipelines to report individually. Reports are sent to the leader four times per second."""


class JobThread:
    """An attempt to run a job on the Spark backend of the process. ``status`` and ``stop`` never block."""

    def __init__(self, record: JobRecord, engine: EngineConfig, backend: SparkBackend) -> None:
        self.record = record
        self._backend = backend
        self._engine = engine
        self._run: JobRun | None = None
        self._wanted = DesiredState.RUN
        self._changing = threading.Lock()
        self._end: JobState | None = None
        self._error = ""
        self._fenced = False
        self._claimed = record.attempt > 1
        """True unless no attempt has claimed the job: an earlier one may have, until the storage shows otherwise."""

        self._cancelled = threading.Event()
        self._saving: threading.Thread | None = None
        self._savepoint_taken = False
        self._measured: JobMetrics | None = None
        self._metrics: dict[str, float] = {}
        self._pipelines: tuple[dict[str, Any], ...] = ()
        self._failures: tuple[dict[str, Any], ...] = ()
        self._series: Mapping[str, Any] = {}
        self._measured_in = 0
        self._shown: tuple[tuple[Any, ...], HostedJob] | None = None
        """Cached status with the values from which it was built, because it rarely changes."""

        self._thread = threading.Thread(target=self._work, name=f"job {record.job_id}", daemon=True)

    def start(self) -> None:
        """Start the job; return at once."""
        self._thread.start()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the job has ended and released its resources; return False on timeout."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def status(self) -> HostedJob:
        """Return the status of the job."""
        run, end, turn = self._run, self._end, int(time.monotonic() / MEASURE_S)
        if end is None and run is not None and turn != self._measured_in:
            self._measured_in = turn
            self._measure(run)
        state, error, fenced, claimed = end or self._running_state(run), self._error, self._fenced, self._claimed
        standing = state, error, fenced, claimed, self._measured_in
        shown = self._shown
        if shown is None or shown[0] != standing:
            hosted = HostedJob(
                job_id=self.record.job_id,
                attempt=self.record.attempt,
                name=self.record.name,
                state=state,
                error=error,
                fenced=fenced,
                claimed=claimed,
                metrics=self._metrics,
                pipelines=self._pipelines,
                failures=self._failures,
                series=self._series,
            )
            shown = self._shown = standing, hosted
        return shown[1]

    def samples(self) -> list[Sample]:
        """Return the latest measurements of each pipeline; none if the job has ended or has very many pipelines."""
        measured = self._measured
        if measured is None or self._end is not None or len(measured.pipelines) > MOST_SHOWN:
            return []
        return samples(measured)

    def _measure(self, run: JobRun) -> None:
        measured = self._measured = run.metrics()
        self._metrics = totals(measured)
        shown = measured.pipelines if len(measured.pipelines) <= MOST_SHOWN else ()
        self._pipelines = tuple(map(measured_record, shown))
        failed = (each for pipeline in measured.pipelines for each in pipeline.recent_failures)
        self._failures = tuple(each.record() for each in latest(failed))

    def _running_state(self, run: JobRun | None) -> JobState:
        if self._wanted in (DesiredState.CANCEL, DesiredState.CANCEL_AT_ONCE):
            return JobState.CANCELING
        if self._wanted is DesiredState.SAVEPOINT:
            return JobState.DOING_SAVEPOINT
        return JobState.SCHEDULED if run is None else JobState.RUNNING

    def stop(self, how: DesiredState) -> None:
        """Stop the job. Idempotent. ``CANCEL_AT_ONCE`` overrides earlier requests to stop."""
        with self._changing:
            if self._wanted is how or self._wanted is DesiredState.CANCEL_AT_ONCE or self._end is not None:
                return
            self._wanted = how
            run = self._run
        if how in (DesiredState.CANCEL, DesiredState.CANCEL_AT_ONCE):
            self._cancelled.set()
        if run is not None:
            self._carry_out(run, how)

    def _carry_out(self, run: JobRun, how: DesiredState) -> None:
        if how is DesiredState.CANCEL:
            run.stop()
        elif how is DesiredState.CANCEL_AT_ONCE:
            run.kill()
        elif how is DesiredState.SAVEPOINT:
            saving = threading.Thread(target=self._take_savepoint, args=(run,), name="savepoint", daemon=True)
            try:
                saving.start()
            except RuntimeError as error:  # no more threads
                self._no_savepoint(error)
            else:
                self._saving = saving

    def _no_savepoint(self, error: Exception) -> None:
        logger.warning("cannot take a savepoint: %s", error, extra={"job": self.record.job_id})
        with self._changing:
            if self._wanted is DesiredState.SAVEPOINT:
                self._wanted = DesiredState.RUN  # the leader repeats the request while the record has it

    def _take_savepoint(self, run: JobRun) -> None:
        try:
            run.savepoint(None, stop=True)
            self._savepoint_taken = True
        except (SeaTunnelError, CheckpointStorageError) as error:
            self._no_savepoint(error)
        except Exception:
            logger.exception("no savepoint", extra={"job": self.record.job_id})

    def _work(self) -> None:
        try:
            report = self._play()
        except StaleEpochError as error:
            self._fenced = True
            self._finish(JobState.FAILED, str(error))
        except StorageUnavailableError as error:
            self._fenced = self._cancelled.is_set()  # not claimed: the leader decides if the job may end
            self._finish(JobState.FAILED, str(error))
        except (SeaTunnelError, CheckpointStorageError) as error:
            self._fenced = self.record.attempt > 1 and isinstance(error.__cause__, ManifestConflictError)
            self._finish(JobState.FAILED, str(error))
        except Exception as error:
            logger.exception("internal error (a bug) ended the job", extra={"job": self.record.job_id})
            self._finish(JobState.FAILED, f"internal error (a bug), see the job's log: {error!r}")
        else:
            self._fenced = any(view.code == StaleEpochError.code for view in report.pipelines)
            self._finish(self._state_of(report), failures(report.failure, report.pipelines))

    def _play(self) -> JobReport:
        raw = SubmittedJob.of(self.record).read()
        try:
            run = self._begun(raw)
        finally:
            for warning in raw.problems.warnings:
                logger.warning("%s", warning, extra={"job": self.record.job_id})
        self._claimed = True
        try:
            with self._changing:
                self._run = run
                wanted = self._wanted
            if wanted is not DesiredState.RUN:
                self._carry_out(run, wanted)
            logger.info("attempt %d is running", self.record.attempt, extra={"job": self.record.job_id})
            report = run.wait()
            assert report is not None, "a wait without a timeout ends with a report"
            if self._saving is not None:
                self._saving.join(_SAVED_S)  # it sets ``_savepoint_taken``
            self._measure(run)
            self._series = run.series(most=POINTS_AT_END)
            return report
        finally:
            run.close()

    def _begun(self, raw: RawJob) -> JobRun:
        """Claim the job and return its run. While the storage does not respond, retry until cancelled."""
        repeated = self.record.attempt > 1
        for pause_s in chain(_AGAIN_S, repeat(_AGAIN_S[-1])):
            try:
                return self._begin(raw, repeated=repeated)
            except StorageUnavailableError as error:
                logger.warning("the job is waiting for its storage: %s", error, extra={"job": self.record.job_id})
                if self._cancelled.wait(pause_s):
                    raise
                repeated = self._claimed = True  # the claim may be stored although it was not acknowledged
        raise AssertionError("the pauses never end")

    def _begin(self, raw: RawJob, *, repeated: bool) -> JobRun:
        restore = Restore(take_over=True) if self._exists(raw, repeated=repeated) else None
        run = JobRun(
            raw,
            self._engine,
            registry=lookup,
            job_id=self.record.job_id,
            restore=restore,
            name=self.record.name or None,
            backend=self._backend,
            submission=self.record.submission,
        )
        try:
            run.start()
        except BaseException:
            run.close()
            raise
        return run

    def _exists(self, raw: RawJob, *, repeated: bool) -> bool:
        """Return True if the attempt resumes an existing job, either restored or claimed by an earlier attempt.

        Raises:
            UsageError: The job to restore does not exist, or the ID belongs to a job of another submission.
        """
        if not repeated and not self.record.restore:
            return False
        config = override_storage(self._engine, raw.storage, Problems())
        storage = open_storage(config.type, config.effective)
        try:
            stored = storage.get_manifest(self.record.job_id)
        finally:
            storage.close()
        found = self._claimed = stored is not None
        if stored is not None and not self.record.restore and self.record.submission:
            self._claimed = Manifest.from_bytes(stored.body).is_of(self.record.submission)
            if not self._claimed:
                raise exists_already(self.record.job_id)
        if self.record.restore and not self.record.fresh and not found:
            raise UsageError(f"there is no job {self.record.job_id} in the checkpoint storage to resume from")
        return found

    def _state_of(self, report: JobReport) -> JobState:
        if report.outcome is JobOutcome.STOPPED:
            return JobState.SAVEPOINT_DONE if self._savepoint_taken else JobState.CANCELED
        return JobState.FINISHED if report.outcome is JobOutcome.FINISHED else JobState.FAILED

    def _finish(self, state: JobState, error: str) -> None:
        if state is JobState.FAILED and not self._backend.is_alive():
            logger.error("Spark has ended, and the job resumes elsewhere: %s", error, extra={"job": self.record.job_id})
            return  # not an end: the process ends, and the job resumes in another one
        with self._changing:
            self._error, self._end = error, state
        level = logging.ERROR if state is JobState.FAILED else logging.INFO
        logger.log(
            level, "attempt %d: %s %s", self.record.attempt, state.value, error, extra={"job": self.record.job_id}
        )


def failures(of_job: str, pipelines: Sequence[PipelineView]) -> str:
    """Return the failures of a job and its pipelines, one per line; empty if there are none."""
    lines = [of_job] if of_job else []
    lines += [f"pipeline {view.id} ({view.name}): {view.failure}" for view in pipelines if view.failure]
    return "\n".join(lines)
