"""A submitted job in the hands of the application."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self, TypeVar

from seatunnel_core.claiming.handover import ForeignSavepoint
from seatunnel_core.claiming.job_id import new_job_id
from seatunnel_core.config.engine import EngineConfig
from seatunnel_core.config.job_file import RawJob
from seatunnel_core.errors import JobFailedError, UsageError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.job.savepoint import JobSavepoint
from seatunnel_core.registry import lookup
from seatunnel_core.reporting.metrics import JobMetrics
from seatunnel_core.reporting.open_metrics import own_page
from seatunnel_core.reporting.report import JobOutcome, JobReport
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_storage_api.state import CheckpointInfo

if TYPE_CHECKING:
    import pyarrow as pa

    from seatunnel_core.connectors.memory.sink import MemorySink

T = TypeVar("T")


class JobHandle:
    """A running job. Leaving the ``with`` block, or ``close``, stops what still runs and gives back Spark."""

    def __init__(self, job_run: JobRun) -> None:
        self._run = job_run

    @classmethod
    def start(
        cls,
        raw: RawJob,
        engine: EngineConfig,
        *,
        job_id: str | None,
        restore: Restore | None,
        begin_with: ForeignSavepoint | None,
        master: str | None,
    ) -> "JobHandle":
        """Claim the job and set it to work; what it raises is described at ``Job.submit``."""
        job_run = JobRun(
            raw,
            engine,
            registry=lookup,
            job_id=job_id or new_job_id(),
            restore=restore,
            begin_with=begin_with,
            master=master,
        )
        try:
            job_run.start()
        except BaseException:
            job_run.close()
            raise
        return cls(job_run)

    @property
    def job_id(self) -> str:
        """What ``submit(restore=…)`` and ``seatunnel -r`` take."""
        return self._run.job_id

    def wait(self, timeout: float | None = None) -> JobReport | None:
        """The report, or ``None`` when the job has not ended within ``timeout`` seconds."""
        return self._run.wait(timeout)

    def result(self) -> JobReport:
        """Wait for the end; an interrupt meanwhile stops the job after a last checkpoint.

        Raises:
            JobFailedError: a pipeline failed; names each with its error.
            KeyboardInterrupt: after an interrupt, once the job has stopped.
        """
        try:
            report = self._run.wait()
        except KeyboardInterrupt:
            self.cancel()
            raise
        assert report is not None, "a wait without a timeout ends with a report"
        if report.outcome is JobOutcome.FAILED:
            raise JobFailedError(_what_failed(report))
        return report

    def cancel(self, *, checkpoint: bool = True, timeout: float | None = 60) -> JobReport | None:
        """Stop the job, after a last checkpoint unless told otherwise, and wait for it."""
        if checkpoint:
            self._run.stop()
        else:
            self._run.kill()
        return self._run.wait(timeout)

    def savepoint(
        self, name: str | None = None, *, stop: bool = False, drain: bool = False, timeout: float | None = None
    ) -> JobSavepoint:
        """Take a savepoint of the whole job, which is never pruned, and wait until it is complete.

        Args:
            name: the next number when it is ``None``.
            stop: the job ends with it. What ran on Spark then is read again by whoever goes on from it.
            drain: the job stops reading, commits all that was read, and ends with it.
            timeout: in seconds, for the wait alone.

        Raises:
            UsageError: the job does not run, or the name is taken or none.
            SavepointError: a pipeline could not take its part, or the storage not keep it.
            TimeoutError: it may still come.
        """
        return self._run.savepoint(name, stop=stop, drain=drain, timeout=timeout)

    def collected(self, name: str = "", *, table: str = "") -> "pa.Table":
        """The rows that reached a sink ``Memory`` (``Rows.collect``) and whose checkpoint is complete, in no order; all
        of them once the job has ended. The result has the Arrow PyCapsule interface: ``polars.from_arrow`` takes it,
        and so do pandas and DuckDB.

        Args:
            name: of the sink; may be left out when there is one.
            table: which one, of a sink with several.

        Raises:
            UsageError: there is no such sink or table, or some of its rows went to an earlier process and are gone.
        """
        return _one(_one(self._memory_sinks(), name, "sink Memory").collected(), table, "table")

    def _memory_sinks(self) -> "dict[str, MemorySink]":
        from seatunnel_core.connectors.memory.sink import MemorySink

        job = self._run.job
        sinks = [sink for pipeline in job.pipelines for sink in pipeline.sinks] if job is not None else []
        return {sink.name: sink.sink for sink in sinks if isinstance(sink.sink, MemorySink)}

    def metrics(self) -> JobMetrics:
        """All that is measured of the job and of each pipeline, now; after the end, as it stood then."""
        return self._run.metrics()

    def open_metrics(self) -> str:
        """The same as the page of text that Prometheus reads."""
        return own_page(self._run.metrics())

    def checkpoints(self) -> tuple[CheckpointInfo, ...]:
        """What is stored of the job: all checkpoints of all pipelines, the oldest of each pipeline first."""
        return self._run.checkpoints()

    def close(self) -> None:
        self._run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _one(found: "Mapping[str, T]", name: str, what: str) -> T:
    """The one of this name, or the only one when no name is given."""
    if not name and len(found) == 1:
        return next(iter(found.values()))
    if name not in found:
        known = ", ".join(map(repr, found)) or "none so far"
        raise UsageError(f"the job has no {what} {name!r}; it has {known}" if name else f"which {what}? It has {known}")
    return found[name]


def _what_failed(report: JobReport) -> str:
    failures = [f"pipeline {view.id} ({view.name}): {view.failure}" for view in report.pipelines if view.failure]
    if report.failure:
        failures.insert(0, report.failure)
    return f"the job {report.name!r} ({report.job_id}) failed\n" + "\n".join(f"  {failure}" for failure in failures)
