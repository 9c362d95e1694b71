"""Exactly-once data integration on Spark.

``import seatunnel_core as st`` offers what an application needs: ``st.Job`` builds and runs a job, ``st.JobHandle`` is
one that runs, ``st.JobReport`` what became of it, ``st.SeaTunnelError`` the root of everything that it raises. Each is
imported when it is first used, so that importing the package costs nothing.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seatunnel_core.application.handle import JobHandle
    from seatunnel_core.application.job import Job, Rows
    from seatunnel_core.errors import ConfigError, JobFailedError, SeaTunnelError, UsageError
    from seatunnel_core.runtime.report import JobOutcome, JobProgress, JobReport, PipelineView

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
    "JobOutcome": "runtime.report",
    "JobProgress": "runtime.report",
    "JobReport": "runtime.report",
    "PipelineView": "runtime.report",
    "ConfigError": "errors",
    "JobFailedError": "errors",
    "SeaTunnelError": "errors",
    "UsageError": "errors",
}

logging.getLogger("seatunnel").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
