"""Exactly-once data integration on Spark.

``import seatunnel_core as st`` offers what an application needs: ``st.Job`` builds and runs a job, ``st.JobHandle`` is
one that runs, ``st.JobReport`` what became of it, ``st.SeaTunnelError`` the root of everything that it raises. Each is
imported when it is first used, so that importing the package costs nothing.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from seatunnel_core.moved import keep_moved_modules

if TYPE_CHECKING:
    from seatunnel_core.application.handle import JobHandle
    from seatunnel_core.application.job import Job, Rows
    from seatunnel_core.errors import ConfigError, JobFailedError, SeaTunnelError, UsageError
    from seatunnel_core.reporting.report import JobOutcome, JobProgress, JobReport, PipelineView

__all__ = [
    "ConfigError",
    "Job",
    "JobFailedError",
    "JobHandle",
    "JobOutcome",
    "JobProgress",
    "JobReport",
    "PipelineView",
    "Rows",
    "SeaTunnelError",
    "UsageError",
]

_HOMES = {
    "Job": "application.job",
    "Rows": "application.job",
    "JobHandle": "application.handle",
    "JobOutcome": "reporting.report",
    "JobProgress": "reporting.report",
    "JobReport": "reporting.report",
    "PipelineView": "reporting.report",
    "ConfigError": "errors",
    "JobFailedError": "errors",
    "SeaTunnelError": "errors",
    "UsageError": "errors",
}

logging.getLogger("seatunnel").addHandler(logging.NullHandler())
keep_moved_modules()


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
