"""Handlers of requests from other processes to a running job, by the names and keys of ``seatunnel_core.control``."""

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
    """Job that a page shows: ``JobRun``."""

    job_id: str
    job: PlannedJob | None

    def metrics(self) -> JobMetrics:
        """Return the job's metrics."""

    def series(self, pipeline: int, since_s: float, most: int) -> Mapping[str, Any]:
        """Return metrics over time, of a pipeline or, for 0, of the whole job."""

    def stop(self) -> None:
        """Stop the job after a last checkpoint."""

    def kill(self) -> None:
        """Stop the job immediately."""

    def savepoint(self, name: str | None = None, *, stop: bool = False, drain: bool = False) -> JobSavepoint:
        """Take a savepoint and return it once it is complete."""


class Controlled(Shown, Protocol):
    """Job that other processes can control."""

    version: int
    started_at: float
    storage_title: str

    def wait(self, timeout: float | None = None) -> JobReport | None:
        """Return the report; ``None`` if the job has not ended within ``timeout`` seconds."""

    def progress(self) -> JobProgress:
        """Return the job's current progress."""

    def recent_checkpoints(self) -> Mapping[int, Sequence[RecentCheckpoint]]:
        """Return the last checkpoints of each pipeline."""


def answers(run: Controlled) -> Mapping[str, Verb]:
    """Return the request handlers of a job, by request name."""
    return {
        "status": partial(_status, run),
        "metrics": partial(_metrics, run),
        "open-metrics": partial(_open_metrics, run),
        "checkpoints": partial(_checkpoints, run),
        "series": partial(_series, run),
        "plan": partial(_plan, run),
        "savepoint": partial(_savepoint, run),
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
    """Return ``JobMetrics`` with ``pid``, and as ``metrics`` the sums over all pipelines by SeaTunnel's names."""
    measured = run.metrics()
    return {"pid": os.getpid(), **asdict(measured), "metrics": totals(measured)}


def _open_metrics(run: Controlled, _request: Mapping[str, Any]) -> Any:
    """Return ``pid``, ``state``, and the job's ``samples`` for a page of metrics."""
    measured = run.metrics()
    found = [sample.record() for sample in samples(measured)]
    return {"pid": os.getpid(), "state": measured.state, "samples": found}


def _checkpoints(run: Controlled, _request: Mapping[str, Any]) -> Any:
    """Return the last checkpoints as ``RecentCheckpoint``, by pipeline number, oldest first."""
    return {str(number): [each.record() for each in found] for number, found in run.recent_checkpoints().items()}


def _series(run: Controlled, request: Mapping[str, Any]) -> Any:
    """Return metrics over time: ``pipeline`` (0: all), ``since_s``, and at most ``most`` points."""
    most = min(MOST_POINTS, stored.number(request, "most"))
    return run.series(stored.number(request, "pipeline"), stored.seconds(request, "since_s"), most)


def _plan(run: Controlled, _request: Mapping[str, Any]) -> Any:
    """Return the plan as ``plan_record``; null before planning."""
    return None if run.job is None else plan_record(run.job)


def _savepoint(run: Controlled, request: Mapping[str, Any]) -> Any:
    """Take a savepoint: ``name`` (or null), ``stop`` and ``drain``. Respond once it is complete."""
    name = None if stored.member(request, "name") is None else stored.text(request, "name")
    taken = run.savepoint(name, stop=stored.flag(request, "stop"), drain=stored.flag(request, "drain"))
    return {"name": taken.name, **taken.record()}


def _stop(run: Controlled, request: Mapping[str, Any]) -> Any:
    """Stop ``at_once``, or after a last checkpoint. Respond with the outcome once the job has ended."""
    (run.kill if stored.flag(request, "at_once") else run.stop)()
    report = run.wait()
    return {"outcome": "" if report is None else report.outcome.value}
