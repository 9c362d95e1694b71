"""Handle of a submitted job."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self, TypeVar

from seatunnel_core.application import notebook
from seatunnel_core.errors import JobFailedError, UsageError
from seatunnel_core.job.savepoint import JobSavepoint
from seatunnel_core.reporting import html
from seatunnel_core.reporting.metrics import JobMetrics
from seatunnel_core.reporting.open_metrics import own_page
from seatunnel_core.reporting.report import JobOutcome, JobReport, sums
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_storage_api.state import CheckpointInfo

if TYPE_CHECKING:
    import pyarrow as pa

    from seatunnel_core.connectors.memory.sink import MemorySink

T = TypeVar("T")

SHOWN_EVERY_S = 0.5
"""Seconds between two updates of the progress display."""


class JobHandle:
    """A submitted job. ``close``, or leaving the ``with`` block, stops the job if it is running and releases Spark."""

    def __init__(self, job_run: JobRun) -> None:
        self._run = job_run

    def __repr__(self) -> str:
        metrics = self.metrics()
        return f"<JobHandle {metrics.name!r} ({self.job_id}) {metrics.state}: {sums(metrics.pipelines)}>"

    def _repr_html_(self) -> str:
        report = self._run.wait(0)
        return html.metrics_html(self.metrics()) if report is None else html.report_html(report)

    @property
    def job_id(self) -> str:
        """ID of the job, for ``submit(restore=…)`` and ``seatunnel -r``."""
        return self._run.job_id

    def wait(self, timeout: float | None = None) -> JobReport | None:
        """Wait up to ``timeout`` seconds for the job to end; return its report, or ``None`` if it is still running."""
        return self._run.wait(timeout)

    def result(self, *, progress: bool = False) -> JobReport:
        """Wait for the job and return its report. An interrupt stops the job after a final checkpoint.

        Args:
            progress: True to show the progress in a notebook, updated in place. Outside notebooks nothing is shown.

        Raises:
            JobFailedError: A pipeline failed; the message lists each failed pipeline with its error.
            KeyboardInterrupt: After an interrupt, once the job has stopped.
        """
        output = notebook.Output(wanted=progress)
        try:
            while (report := self._run.wait(SHOWN_EVERY_S)) is None:
                output.show(self)
        except KeyboardInterrupt:
            self.cancel()
            output.show(self)
            raise
        output.show(html.InShort(report))
        output.stands_for(report)
        if report.outcome is JobOutcome.FAILED:
            raise JobFailedError(_what_failed(report))
        return report

    def cancel(self, *, checkpoint: bool = True, timeout: float | None = 60) -> JobReport | None:
        """Stop the job and wait for it; return its report, or ``None`` if it has not stopped in time.

        Args:
            checkpoint: True to take a final checkpoint first.
            timeout: Maximum wait, in seconds; ``None`` for no limit.
        """
        if checkpoint:
            self._run.stop()
        else:
            self._run.kill()
        return self._run.wait(timeout)

    def savepoint(
        self, name: str | None = None, *, stop: bool = False, drain: bool = False, timeout: float | None = None
    ) -> JobSavepoint:
        """Take a savepoint of the whole job and wait until it is complete. Savepoints never expire.

        Args:
            name: Name of the savepoint; ``None`` for the next number.
            stop: True to stop the job with the savepoint. Work units that are still running on Spark are read again
                after a restore.
            drain: True to stop reading, commit everything that was read, and end the job.
            timeout: Maximum wait, in seconds; ``None`` for no limit.

        Raises:
            UsageError: The job is not running, or the name is taken or invalid.
            SavepointError: A pipeline could not take its savepoint, or the storage could not store it.
            TimeoutError: The savepoint did not complete in time; it may still complete later.
        """
        return self._run.savepoint(name, stop=stop, drain=drain, timeout=timeout)

    def reread_table(self, table: str, *, timeout: float | None = None) -> None:
        """Read a captured table again while the job runs, for example because the target lost rows.

        Return once a checkpoint contains the request. From then on it survives restarts; ``metrics`` shows the
        progress.

        Args:
            table: Name of the table, such as ``shop.public.orders``.
            timeout: Maximum wait, in seconds; ``None`` for no limit.

        Raises:
            UsageError: The job is not running, the table is unknown or is being read again already, or its source
                does not support this.
            TimeoutError: No checkpoint was completed in time; the table may still be read again.
        """
        self._run.reread_table(table, timeout)

    def collect(self, name: str = "", *, table: str = "") -> "pa.Table":
        """Return the rows that a ``Memory`` sink (``Rows.collect``) has received, in no particular order.

        While the job runs, these are the rows of completed checkpoints; after its end, all rows. The table supports the
        Arrow PyCapsule interface, so Polars (``polars.from_arrow``), pandas and DuckDB accept it.

        Args:
            name: The sink's name; optional if the job has only one such sink.
            table: The table's name; optional if the sink has only one table.

        Raises:
            UsageError: No sink or table has this name, or an earlier process received some of its rows, which are lost.
        """
        return _one(_one(self._memory_sinks(), name, "sink Memory").collected(), table, "table")

    collected = collect

    def _memory_sinks(self) -> "dict[str, MemorySink]":
        from seatunnel_core.connectors.memory.sink import MemorySink

        job = self._run.job
        sinks = [sink for pipeline in job.pipelines for sink in pipeline.sinks] if job is not None else []
        return {sink.name: sink.sink for sink in sinks if isinstance(sink.sink, MemorySink)}

    def metrics(self) -> JobMetrics:
        """Return the metrics of the job and of each pipeline; after the job has ended, the final metrics."""
        return self._run.metrics()

    def open_metrics(self) -> str:
        """Return ``metrics`` as text in the OpenMetrics format, which Prometheus reads."""
        return own_page(self._run.metrics())

    def checkpoints(self) -> tuple[CheckpointInfo, ...]:
        """Return all stored checkpoints, sorted by pipeline and then from the oldest to the latest."""
        return self._run.checkpoints()

    def close(self) -> None:
        """Stop the job if it is running, and release Spark."""
        self._run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _one(found: "Mapping[str, T]", name: str, what: str) -> T:
    """Return the entry with this name, or the only entry if no name is given."""
    if not name and len(found) == 1:
        return next(iter(found.values()))
    if name not in found:
        known = ", ".join(map(repr, found)) or "none so far"
        wrong = f"the job has no {what} {name!r}; it has {known}" if name else f"specify a {what}: the job has {known}"
        raise UsageError(wrong)
    return found[name]


def _what_failed(report: JobReport) -> str:
    failures = [f"pipeline {view.id} ({view.name}): {view.failure}" for view in report.pipelines if view.failure]
    if report.failure:
        failures.insert(0, report.failure)
    return f"the job {report.name!r} ({report.job_id}) failed\n" + "\n".join(f"  {failure}" for failure in failures)
