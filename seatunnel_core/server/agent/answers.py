"""REST responses about jobs in SeaTunnel's format, as pure functions of stored records."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from seatunnel_core.reporting.rest_text import milliseconds, moment, project_version, text_of
from seatunnel_core.server.agent.table_figures import by_table
from seatunnel_core.server.description import Description
from seatunnel_core.server.scheduling.placing import Slots
from seatunnel_core.server.state.cluster_state import History
from seatunnel_core.server.state.records import EndedJob, JobRecord, JobState


def overview(jobs: Sequence[JobRecord], history: History, *, workers: int, slots: Slots) -> dict[str, str]:
    """Return the overview of the cluster, with all counts as strings.

    ``workers`` and ``slots`` include only what the request selects.
    """
    pending = sum(1 for job in jobs if job.state in (JobState.PENDING, JobState.SCHEDULED))
    return {
        "projectVersion": project_version(),
        "gitCommitAbbrev": "",
        "totalSlot": str(slots.total),
        "unassignedSlot": str(max(0, slots.free)),
        "workers": str(workers),
        "works": str(workers),
        "runningJobs": str(len(jobs) - pending),
        "pendingJobs": str(pending),
        "finishedJobs": str(len(history.ended_as("FINISHED"))),
        "failedJobs": str(len(history.ended_as("FAILED"))),
        "cancelledJobs": str(len(history.ended_as("CANCELED"))),
    }


def running_job(
    job: JobRecord,
    described: Description,
    *,
    state: JobState,
    waits_for: str,
    metrics: Mapping[str, Any],
    pipelines: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return an active job. ``state`` may be newer than the record. An empty ``waits_for`` is omitted."""
    summary = running_job_summary(job, state=state, waits_for=waits_for, metrics=metrics)
    return {
        **summary,
        "metrics": {**summary["metrics"], **by_table(described, pipelines)},
        **_details(job.job_id, described),
    }


def running_job_summary(
    job: JobRecord, *, state: JobState, waits_for: str, metrics: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an active job without its options and graph."""
    return {
        **_summary(job, state, restored=job.restore, metrics=metrics, attempts=job.attempt),
        **({"pendingReason": waits_for} if waits_for else {}),
    }


def ended_job(job: EndedJob, *, with_pipelines: bool = False) -> dict[str, Any]:
    """Return a job that has ended."""
    described, pipelines = _shown(job)
    summary = _summary(job, job.state, restored=job.restored, metrics=job.metrics, attempts=job.attempts)
    return {
        **summary,
        "errorMsg": job.error or None,
        "finishTime": moment(job.ended_at),
        "finishTimestamp": milliseconds(job.ended_at),
        "finishedTime": moment(job.ended_at),
        **_details(job.job_id, described),
        "metrics": {**summary["metrics"], **by_table(described, pipelines)},
        **({"pipelines": pipelines} if with_pipelines else {}),
    }


def _summary(
    job: JobRecord | EndedJob, state: JobState, *, restored: bool, metrics: Mapping[str, Any], attempts: int
) -> dict[str, Any]:
    return {
        "jobId": job.job_id,
        "jobName": job.name,
        "jobStatus": state.value,
        "createTime": moment(job.submitted_at),
        "createTimestamp": milliseconds(job.submitted_at),
        "isStartWithSavePoint": restored,
        "metrics": texts(metrics),
        "host": job.host,
        "attempts": attempts,
    }


def _details(job_id: str, described: Description) -> dict[str, Any]:
    env = dict(described.env)
    graph = {"pipelineEdges": described.edges, "vertexInfoMap": list(described.vertices)}
    return {"envOptions": env, "jobDag": {"jobId": job_id, **graph, "envOptions": env}, "pluginJarsUrls": []}


def ended_pipelines(job: EndedJob) -> list[dict[str, Any]]:
    """Return the final status of a job's pipelines as in ``measured_record``, without pending checkpoints."""
    return [{**each, "checkpoints": {**each.get("checkpoints", {}), "pending": 0}} for each in _shown(job)[1]]


def _shown(job: EndedJob) -> tuple[Description, list[Any]]:
    env = texts(job.env)
    if not job.shown:
        return Description(env=env), []
    block = json.loads(job.shown)
    return Description(env=env, edges=block["edges"], vertices=tuple(block["vertices"])), block["pipelines"]


def ended_details(job: EndedJob) -> Mapping[str, Any]:
    """Return the stored details of an ended job: ``failures``, ``series`` and ``text``, if known."""
    return json.loads(job.shown) if job.shown else {}


def attempts(job: JobRecord | EndedJob) -> list[dict[str, Any]]:
    """Return the last attempts of a job, oldest first. The last one may still be running."""
    found = [_attempt(each.attempt, each.host, each.started_at, each.ended_at, each.cause) for each in job.past]
    if isinstance(job, JobRecord) and job.host:
        found.append(_attempt(job.attempt, job.host, job.placed_at, None, ""))
    return found


def _attempt(number: int, host: str, started_at: float, ended_at: float | None, cause: str) -> dict[str, Any]:
    return {
        "attempt": number,
        "host": host,
        "startTimestamp": milliseconds(started_at) if started_at else None,
        "endTimestamp": None if ended_at is None else milliseconds(ended_at),
        "cause": cause,
    }


def texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the values as strings, as in SeaTunnel."""
    return {key: text_of(value) for key, value in values.items()}
