"""Exactly-once data integration on Spark.

``import seatunnel_core as st`` offers what an application needs: ``st.Job`` builds and runs a job, ``st.JobHandle`` is
one that runs, ``st.JobReport`` what became of it, ``st.SeaTunnelError`` the root of everything that it raises. Each is
imported when it is first used, so that importing the package costs nothing; ``dir(st)`` has all names from the start.
"""

import logging
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seatunnel_core.application.handle import JobHandle
    from seatunnel_core.application.job import Job
    from seatunnel_core.application.rows import Rows
    from seatunnel_core.connectors.source_function import source
    from seatunnel_core.errors import ConfigError, JobFailedError, SeaTunnelError, UsageError
    from seatunnel_core.reporting.report import JobOutcome, JobProgress, JobReport, PipelineView
    from seatunnel_core.transforms.row_function import transform

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
    "source",
    "transform",
]

_HOMES = {
    "Job": "application.job",
    "Rows": "application.rows",
    "JobHandle": "application.handle",
    "JobOutcome": "reporting.report",
    "JobProgress": "reporting.report",
    "JobReport": "reporting.report",
    "PipelineView": "reporting.report",
    "ConfigError": "errors",
    "JobFailedError": "errors",
    "SeaTunnelError": "errors",
    "UsageError": "errors",
    "source": "connectors.source_function",
    "transform": "transforms.row_function",
}

logging.getLogger("seatunnel").addHandler(logging.NullHandler())


def __dir__() -> list[str]:
    return sorted((*__all__, *(name for name in globals() if name.startswith("__"))))


if not TYPE_CHECKING:  # a checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            # With name and object, Python itself says which name was probably meant.
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        return getattr(import_module(f"{__name__}.{home}"), name)
