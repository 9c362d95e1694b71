"""Answers in the shapes of SeaTunnel's REST v2. Pure functions from records to JSON values."""

import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from seatunnel_core.config.document import Block, Items, Scalar
from seatunnel_core.config.job_file import Kind, RawBlock, RawJob
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.server.scheduling.placing import Slots
from seatunnel_core.server.state.cluster_state import Snapshot
from seatunnel_core.server.state.records import EndedJob, JobRecord, JobState
from seatunnel_core.server.submitted_job import SubmittedJob

_INPUTS = ("plugin_input", "source_table_name")
_OUTPUTS = ("plugin_output", "result_table_name")


def overview(found: Snapshot, *, workers: int, slots: Slots) -> dict[str, str]:
    """Return the numbers of the cluster, all as texts. Slots that are dynamic are "0", as SeaTunnel has it.

    Args:
        found: all jobs.
        workers: on how many nodes rows move, of those that were asked about.
        slots: of these nodes.
    """
    ends = [each.state for each in found.history.values()]
    states = [each.state for each in found.jobs.values()]
    pending = sum(1 for state in states if state in (JobState.PENDING, JobState.SCHEDULED))
    return {
        "projectVersion": project_version(),
        "gitCommitAbbrev": "",
        "totalSlot": str(slots.total),
        "unassignedSlot": str(max(0, slots.free)),
        "workers": str(workers),
        "works": str(workers),
        "runningJobs": str(len(states) - pending),
        "pendingJobs": str(pending),
        "finishedJobs": str(ends.count(JobState.FINISHED)),
        "failedJobs": str(ends.count(JobState.FAILED)),
        "cancelledJobs": str(ends.count(JobState.CANCELED)),
    }


def running_job(job: JobRecord, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job that has not ended."""
    described = _described(SubmittedJob.of(job))
    return {
        "jobId": job.job_id,
        "jobName": job.name,
        "jobStatus": job.state.value,
        "envOptions": described["env"],
        "createTime": moment(job.submitted_at),
        "jobDag": {"jobId": job.job_id, **described["dag"], "envOptions": described["env"]},
        "pluginJarsUrls": [],
        "isStartWithSavePoint": job.restore,
        "metrics": texts(metrics),
    }


def ended_job(job: EndedJob) -> dict[str, Any]:
    """Return a job that has ended."""
    return {
        "jobId": job.job_id,
        "jobName": job.name,
        "jobStatus": job.state.value,
        "errorMsg": job.error or None,
        "createTime": moment(job.submitted_at),
        "finishTime": moment(job.ended_at),
        "finishedTime": moment(job.ended_at),
        "envOptions": texts(job.env),
        "jobDag": {},
        "pluginJarsUrls": [],
        "metrics": texts(job.metrics),
    }


def finished_jobs(history: Iterable[EndedJob], state: str) -> list[dict[str, Any]]:
    """Return the ended jobs of a state, or of all when it is empty, the one that ended first first."""
    wanted = [job for job in history if not state or job.state.value == state.upper()]
    return [ended_job(job) for job in sorted(wanted, key=lambda job: job.ended_at)]


def env_of(job: JobRecord) -> Mapping[str, str]:
    """Return the options of a job's ``env`` that are no secrets, as texts; none when the job cannot be read."""
    env: Mapping[str, str] = _described(SubmittedJob.of(job))["env"]
    return env


@lru_cache(maxsize=1_000)
def _described(job: SubmittedJob) -> dict[str, Any]:
    try:
        raw = job.read()
    except SeaTunnelError:  # it was accepted by a version that could
        return {"env": {}, "dag": {"pipelineEdges": {}, "vertexInfoMap": []}}
    env = {
        option.key: text_of(raw.env[option])
        for option in raw.env.declared
        if raw.env.is_set(option) and not option.secret and raw.env[option] is not None
    }
    return {"env": env, "dag": _dag(raw)}


def _dag(raw: RawJob) -> dict[str, Any]:
    """Return vertices and edges as the file names them; a job without names is a chain."""
    numbered = list(enumerate(raw.blocks, 1))
    gives: dict[str, int] = {name: number for number, block in numbered for name in _names(block, _OUTPUTS)}
    edges = []
    before: int | None = None
    for number, block in numbered:
        inputs = [gives[name] for name in _names(block, _INPUTS) if name in gives]
        if not inputs and block.kind is not Kind.SOURCE and before is not None:
            inputs = [before]
        edges += [{"inputVertexId": each, "targetVertexId": number} for each in inputs]
        before = number if block.kind is not Kind.SINK else before
    counts: dict[Kind, int] = {}
    vertices: list[dict[str, Any]] = []
    for number, block in numbered:
        place = counts[block.kind] = counts.get(block.kind, -1) + 1
        name = f"{block.kind.value.capitalize()}[{place}]-{block.identifier}"
        vertices.append({"vertexId": number, "type": block.kind.value, "vertexName": name, "tablePaths": []})
    return {"pipelineEdges": {"1": edges}, "vertexInfoMap": vertices}


def _names(block: RawBlock, keys: Iterable[str]) -> list[str]:
    found: list[str] = []
    for key in keys:
        value = block.block.get(key)
        values = value.values if isinstance(value, Items) else (value,)
        found += [each.text for each in values if isinstance(each, Scalar) and not isinstance(each, Block)]
    return found


def texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the values as SeaTunnel writes them: all of them are texts."""
    return {key: text_of(value) for key, value in values.items()}


def text_of(value: Any) -> str:
    """Return a value as SeaTunnel writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def moment(seconds: float) -> str:
    """Return a time as ``yyyy-MM-dd HH:mm:ss`` of this machine."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def project_version() -> str:
    """Return the version of this engine."""
    try:
        return version("seatunnel-core")
    except PackageNotFoundError:  # from a folder that was never installed
        return "unknown"
