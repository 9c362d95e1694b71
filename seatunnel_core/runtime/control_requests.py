"""Handlers of requests from other processes to a running job (see ``seatunnel_core.control``)."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from attrs import asdict

from seatunnel_core import stored
from seatunnel_core.control.server import Verb
from seatunnel_core.job.savepoint import JobSavepoint
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.planning.plan_record import plan_record
from seatunnel_core.reporting.metrics import JobMetrics
from seatunnel_core.reporting.open_metrics import samples, totals
from seatunnel_core.reporting.recent import RecentCheckpoint
from seatunnel_core.reporting.report import JobProgress, JobReport
from seatunnel_core.reporting.series import MOST_POINTS


class Shown(Protocol):
    """Methods of ``JobRun`` that the web page of a job uses."""

    job_id: str
    job: PlannedJob | None

    def metrics(self) -> JobMetrics:
        """Return the job's metrics."""

    def series(self, pipeline: int, since_s: float, most: int) -> Mapping[str, Any]:
        """Return metrics over time of a pipeline, or of the whole job if ``pipeline`` is 0."""

    def stop(self) -> None:
        """Stop the job after a final checkpoint."""

    def kill(self) -> None:
        """Stop the job immediately."""

    def savepoint(
        self, name: str | None = None, *, stop: bool = False, drain: bool = False, timeout: float | None = None
    ) -> JobSavepoint:
        """Take a savepoint and return it once it is complete; raise ``TimeoutError`` after ``timeout`` seconds."""


class Controlled(Shown, Protocol):
    """Methods of ``JobRun`` that the control requests use."""

    version: int
    started_at: float
    storage_title: str

    def wait(self, timeout: float | None = None) -> JobReport | None:
        """Return the report; ``None`` if the job has not ended within ``timeout`` seconds."""

    def progress(self) -> JobProgress:
        """Return the job's current progress."""

    def recent_checkpoints(self) -> Mapping[int, Sequence[RecentCheckpoint]]:
        """Return the last checkpoints of each pipeline."""

    def reread_table(self, table: str, timeout: float | None = None) -> None:
        """Request that a captured table is read again; return once checkpoints contain the request."""


def answers(run: Controlled) -> Mapping[str, Verb]:
    """Return the request handlers of a job, keyed by request name."""
    return {
        "status": partial(_status, run),
        "metrics": partial(_metrics, run),
        "open-metrics": partial(_open_metrics, run),
        "checkpoints": partial(_checkpoints, run),
        "series": partial(_series, run),
        "plan": partial(_plan, run),
        "savepoint": partial(_savepoint, run),
        "reread": partial(_reread, run),
        "stop": partial(_stop, run),
    }


def _status(run: Controlled, _request: Mapping[str, Any]) -> Any:
    """Return the job's ID, name, process, start, manifest version, storage and end, and its pipelines."""
    progress = run.progress()
    return {
        "job_id": run.job_id,
        "name": progress.name,
        "pid": os.getpid(),
        "started_at": run.started_at,
        "manifest_version": run.version,
        "storage": run.storage_title,
        "ended": run.wait(0) is not None,
        "pipelines": [asdict(view) for view in progress.pipelines],
    }


def _metrics(run: Controlled, _request: Mapping[str, Any]) -> Any:
    """Return ``JobMetrics`` with ``pid``; ``metrics`` contains sums over all pipelines, keyed by SeaTunnel's names."""
    measured = run.metrics()
    return {"pid": os.getpid(), **asdict(measured), "metrics": totals(measured)}


def _open_metrics(run: Controlled, _request: Mapping[str, Any]) -> Any:
    """Return ``pid``, ``state`` and the metric ``samples`` of the job."""
    measured = run.metrics()
    found = [sample.record() for sample in samples(measured)]
    return {"pid": os.getpid(), "state": measured.state, "samples": found}


def _checkpoints(run: Controlled, _request: Mapping[str, Any]) -> Any:
    """Return the last checkpoints as ``RecentCheckpoint`` records, keyed by pipeline number, oldest first."""
    return {str(number): [each.record() for each in found] for number, found in run.recent_checkpoints().items()}


def _series(run: Controlled, request: Mapping[str, Any]) -> Any:
    """Return metrics over time for ``pipeline`` (0: the job) from ``since_s`` on, with at most ``most`` points."""
    most = min(MOST_POINTS, stored.number(request, "most"))
    return run.series(stored.number(request, "pipeline"), stored.seconds(request, "since_s"), most)


def _plan(run: Controlled, _request: Mapping[str, Any]) -> Any:
    """Return the ``plan_record`` of the job, or null before planning."""
    return None if run.job is None else plan_record(run.job)


def _savepoint(run: Controlled, request: Mapping[str, Any]) -> Any:
    """Take a savepoint with ``name`` (or null), ``stop`` and ``drain``; return it once it is complete.

    ``timeout_s`` limits the wait, which is unlimited by default.
    """
    name = None if stored.member(request, "name") is None else stored.text(request, "name")
    stop, drain = stored.flag(request, "stop"), stored.flag(request, "drain")
    taken = run.savepoint(name, stop=stop, drain=drain, timeout=_timeout_s(request))
    return {"name": taken.name, **taken.record()}


def _reread(run: Controlled, request: Mapping[str, Any]) -> Any:
    """Read the ``table`` again. Respond with its name once a checkpoint contains the request.

    ``timeout_s`` limits the wait, which is unlimited by default.
    """
    table = stored.text(request, "table")
    run.reread_table(table, _timeout_s(request))
    return {"table": table}


def _timeout_s(request: Mapping[str, Any]) -> float | None:
    return stored.seconds(request, "timeout_s") if "timeout_s" in request else None


def _stop(run: Controlled, request: Mapping[str, Any]) -> Any:
    """Stop the job, after a final checkpoint unless ``at_once``; return the outcome once it has ended."""
    (run.kill if stored.flag(request, "at_once") else run.stop)()
    report = run.wait()
    return {"outcome": "" if report is None else report.outcome.value}
