"""Compare a job file with the manifest of the job: it must be the same job, and its sources must read the same data."""

from collections.abc import Iterator

from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.connector_api.capabilities import SupportsRestoreCheck
from seatunnel_core.connector_api.errors import ConnectorError
from seatunnel_core.errors import UsageError
from seatunnel_core.job.binding import differences
from seatunnel_core.job.columns import column_options
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.planning.plan import PlannedJob, PlannedPipeline, PlannedSource


def require_same_job(job: PlannedJob, stored: Manifest, job_id: str) -> None:
    """Reject a changed job file for a job that has ended: the job's report would wrongly cover the changed work."""
    new = [name for name in job.vertices if name not in stored.seats]
    differing = [
        *(["it adds " + ", ".join(map(repr, new))] if new else []),
        *(["it lacks " + ", ".join(map(repr, job.dropped))] if job.dropped else []),
        *(_other_place(job, stored) if not new and not job.dropped else ()),
    ]
    if differing:
        raise UsageError(
            f"the job {job_id} ({stored.job_name}) has ended, but this job file differs from the job file of its "
            f"last run: {'; '.join(differing)}. Leave out -r (in Python, restore) to run it as a new job"
        )


def _other_place(job: PlannedJob, stored: Manifest) -> Iterator[str]:
    for pipeline in job.pipelines:
        for source in pipeline.sources:
            before, now = stored.seats[source.name].reads, source.source.read_path
            if before is not None and before != now:
                yield f"{source.name!r} reads {now}; it previously read {before}"
        for sink in pipeline.sinks:
            targets, folder = stored.seats[sink.name].targets, sink.sink.target_folder
            if targets and targets[-1] != folder:
                yield f"{sink.name!r} writes to {folder}; it previously wrote to {targets[-1]}"


def other_columns(job: PlannedJob, stored: Manifest) -> list[str]:
    """Return a sentence for each source with declared columns that have changed since its first start."""
    found: list[str] = []
    for source in (source for pipeline in job.pipelines for source in pipeline.sources):
        seat = stored.seats.get(source.name)
        now = column_options(source.source.options)
        if seat is not None and seat.columns not in (None, now):
            found.append(
                f"the source {source.name!r} has different columns than when it was first read: its "
                f"{'; its '.join(differences(seat.columns, now))}. Undo that change; or rename the source to read "
                "it from the beginning; or run the job under a new id"
            )
    return found


def other_inputs(job: PlannedJob, stored: Manifest) -> list[str]:
    """Return a sentence for each source with an input that has changed since its first start (R12)."""
    sources = [source for pipeline in job.pipelines for source in pipeline.sources]
    before = {name: seat.reads for name, seat in stored.seats.items()}
    return [
        _other_input(source, before[source.name])
        for source in sources
        if before.get(source.name) not in (None, source.source.read_path)
    ]


def _other_input(source: PlannedSource, before: str | None) -> str:
    now = source.source.read_path
    if source.source.bounded:
        return (
            f"The source {source.name!r} continues with the files that were found at {before} when it was first "
            f"read; {now} is not searched. To read the new path, give the source another name"
        )
    return (
        f"The source {source.name!r} no longer watches {before}, and reads all files at {now}, including any that "
        "were already read under a different path"
    )


def unreadable(pipeline: PlannedPipeline, states: VertexStates) -> Iterator[str]:
    """Yield a sentence for each source that no longer has the data that a state refers to."""
    for planned in pipeline.sources:
        state = states.sources.get(planned.name)
        if state is None or not state.memory or not isinstance(planned.source, SupportsRestoreCheck):
            continue
        try:
            planned.source.require_readable(state.memory, state.waiting)
        except ConnectorError as error:
            yield f"the source {planned.name!r}: {error}"
