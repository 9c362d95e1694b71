"""Exactly-once data integration on Spark.

``import seatunnel_core as st`` has the names that an application needs: ``st.Job`` builds and runs a job,
``st.JobHandle`` controls a running one, ``st.JobReport`` is its result, and ``st.SeaTunnelError`` is the base class of
all errors. Each name is imported on first use, so importing the package is cheap; ``dir(st)`` lists all of them.
"""

import logging
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seatunnel_core.application.handle import JobHandle
    from seatunnel_core.application.job import Job, Rows
    from seatunnel_core.connectors.source_function import source
    from seatunnel_core.errors import ConfigError, JobError, JobFailedError, SavepointError, SeaTunnelError, UsageError
    from seatunnel_core.job.restoring import Restore
    from seatunnel_core.job.savepoint import JobSavepoint
    from seatunnel_core.reporting.metrics import JobMetrics, PipelineMetrics
    from seatunnel_core.reporting.report import JobOutcome, JobReport, PipelineView
    from seatunnel_core.transforms.row_function import transform
    from seatunnel_storage_api.errors import CheckpointStorageError
    from seatunnel_storage_api.state import CheckpointInfo

__all__ = [
    "CheckpointInfo",
    "CheckpointStorageError",
    "ConfigError",
    "Job",
    "JobError",
    "JobFailedError",
    "JobHandle",
    "JobMetrics",
    "JobOutcome",
    "JobReport",
    "JobSavepoint",
    "PipelineMetrics",
    "PipelineView",
    "Restore",
    "Rows",
    "SavepointError",
    "SeaTunnelError",
    "UsageError",
    "source",
    "transform",
]

_HOMES = {
    "Job": "seatunnel_core.application.job",
    "JobHandle": "seatunnel_core.application.handle",
    "Rows": "seatunnel_core.application.job",
    "Restore": "seatunnel_core.job.restoring",
    "JobSavepoint": "seatunnel_core.job.savepoint",
    "source": "seatunnel_core.connectors.source_function",
    "transform": "seatunnel_core.transforms.row_function",
    "JobMetrics": "seatunnel_core.reporting.metrics",
    "PipelineMetrics": "seatunnel_core.reporting.metrics",
    "JobOutcome": "seatunnel_core.reporting.report",
    "JobReport": "seatunnel_core.reporting.report",
    "PipelineView": "seatunnel_core.reporting.report",
    "ConfigError": "seatunnel_core.errors",
    "JobError": "seatunnel_core.errors",
    "JobFailedError": "seatunnel_core.errors",
    "SavepointError": "seatunnel_core.errors",
    "SeaTunnelError": "seatunnel_core.errors",
    "UsageError": "seatunnel_core.errors",
    "CheckpointInfo": "seatunnel_storage_api.state",
    "CheckpointStorageError": "seatunnel_storage_api.errors",
}

logging.getLogger("seatunnel").addHandler(logging.NullHandler())


def __dir__() -> list[str]:
    return sorted((*__all__, *(name for name in globals() if name.startswith("__"))))


if not TYPE_CHECKING:  # otherwise a type checker accepts any name

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            # With name and object, Python suggests a similar name.
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        return getattr(import_module(home), name)
