"""The progress of a source that a running job shows."""

from seatunnel_core.connector_api.source_progress import SourceProgress
from seatunnel_core.runtime.job_run import JobRun


def shown(run: JobRun) -> SourceProgress:
    """Return the progress of the only source as metrics have it, an empty one until its pipeline has reported."""
    sources = [progress for pipeline in run.metrics().pipelines for progress in pipeline.sources.values()]
    return sources[0] if sources else SourceProgress()
