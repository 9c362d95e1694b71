"""What another process may ask of a running job; the names and keys of ``seatunnel_core.control``'s requests."""

import os
from collections.abc import Mapping
from typing import Any, Protocol

from attrs import asdict

from seatunnel_core import stored
from seatunnel_core.control.server import Verb
from seatunnel_core.job.savepoint import JobSavepoint
from seatunnel_core.reporting.metrics import JobMetrics
from seatunnel_core.reporting.open_metrics import samples, totals
from seatunnel_core.reporting.report import JobProgress, JobReport


class Controlled(Protocol):
    """What is controlled: ``seatunnel_core.runtime.job_run.JobRun``."""

    job_id: str
    version: int
    started_at: float
    storage_title: str

    def wait(self, timeout: float | None = None) -> JobReport | None: ...
    def progress(self) -> JobProgress: ...
    def metrics(self) -> JobMetrics: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...
    def savepoint(self, name: str | None = None, *, stop: bool = False, drain: bool = False) -> JobSavepoint: ...


def verbs(run: Controlled) -> Mapping[str, Verb]:
    """By what is asked for."""

    def status(_request: Mapping[str, Any]) -> Any:
        """``job_id name pid started_at manifest_version storage ended`` and of each pipeline what ``PipelineView``
        says."""
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

    def metrics(_request: Mapping[str, Any]) -> Any:
        """What ``JobMetrics`` says, with ``pid``; as ``metrics``, the sums of all pipelines by SeaTunnel's names."""
        measured = run.metrics()
        return {"pid": os.getpid(), **asdict(measured), "metrics": totals(measured)}

    def open_metrics(_request: Mapping[str, Any]) -> Any:
        """``pid``, ``state``, and the job's ``samples`` for a page of metrics."""
        measured = run.metrics()
        found = [sample.record() for sample in samples(measured)]
        return {"pid": os.getpid(), "state": measured.state, "samples": found}

    def savepoint(request: Mapping[str, Any]) -> Any:
        """``name`` (or null), ``stop`` and ``drain``; answered when it is complete."""
        name = None if stored.member(request, "name") is None else stored.text(request, "name")
        taken = run.savepoint(name, stop=stored.flag(request, "stop"), drain=stored.flag(request, "drain"))
        return {"name": taken.name, **taken.record()}

    def stop(request: Mapping[str, Any]) -> Any:
        """``at_once``, or after a last checkpoint; answered with the outcome when the job has ended."""
        (run.kill if stored.flag(request, "at_once") else run.stop)()
        report = run.wait()
        return {"outcome": "" if report is None else report.outcome.value}

    return {
        "status": status,
        "metrics": metrics,
        "open-metrics": open_metrics,
        "savepoint": savepoint,
        "stop": stop,
    }
