"""Responses for the page of a single job, in the REST format of a cluster node with only this job."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from seatunnel_core.manual.help_page import help_page
from seatunnel_core.planning.plan import PlannedJob, PlannedPipeline
from seatunnel_core.planning.plan_record import plan_record
from seatunnel_core.reporting.metrics import JobMetrics, PipelineMetrics
from seatunnel_core.reporting.open_metrics import totals
from seatunnel_core.reporting.pipeline_record import measured_record
from seatunnel_core.reporting.recent import latest
from seatunnel_core.reporting.rest_text import env_in_texts, failure_entry, milliseconds, moment, project_version
from seatunnel_core.reporting.series import MOST_POINTS, POINTS

_STATES = {"running": "RUNNING", "finished": "FINISHED", "failed": "FAILED", "canceled": "CANCELED"}
"""SeaTunnel's names for the states of a job."""


Series = Callable[[int, float, int], Mapping[str, Any]]
"""Function that returns metrics over time for a pipeline (0: the job), a start in seconds and a maximum of points."""


def answer(path: str, query: Mapping[str, str], job: PlannedJob, measured: JobMetrics, series: Series) -> Any:
    """Return the response to GET for a path without prefix and query; ``None`` for an unknown path."""
    match path.strip("/").split("/"):
        case ["overview"]:
            return _overview(measured)
        case ["running-jobs"]:
            return _listed([job_info(job, measured)] if measured.state == "running" else [], query)
        case ["finished-jobs", *_]:
            return _listed([], query)
        case ["pending-jobs"]:
            return {"pendingJobs": []}
        case ["job-info", job_id]:
            job_id = unquote(job_id)
            return job_info(job, measured) if job_id == measured.job_id else {"jobId": job_id}
        case ["jobs", "checkpoints", job_id] if unquote(job_id) == measured.job_id:
            now_ms = int(time.time() * 1000)
            pipelines = [_checkpoints(each, now_ms) for each in measured.pipelines]
            return {"jobId": measured.job_id, "updatedAt": now_ms, "pipelines": pipelines}
        case ["jobs", "metrics", job_id] if unquote(job_id) == measured.job_id:
            return _series(query, measured.job_id, series)
        case ["jobs", "text", job_id] if unquote(job_id) == measured.job_id:
            return {"jobId": measured.job_id, "text": None}
        case ["jobs", "plan", job_id] if unquote(job_id) == measured.job_id:
            return {"jobId": measured.job_id, "plan": plan_record(job)}
        case ["logs", job_id] if unquote(job_id) == measured.job_id:
            return []
        case ["help", name]:
            return help_page(name)
    return None


def _series(query: Mapping[str, str], job_id: str, series: Series) -> dict[str, Any]:
    """Return metrics over time. Parameters that are not numbers are ignored."""

    def number(name: str, default: int) -> int:
        text = query.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else default

    pipeline, since_ms = number("pipelineId", 0), number("since", 0)
    found = series(pipeline, since_ms / 1000, max(1, min(MOST_POINTS, number("points", POINTS))))
    return {"jobId": job_id, "pipelineId": pipeline, **found}


def _overview(measured: JobMetrics) -> dict[str, Any]:
    state = _STATES[measured.state]
    ends = {"finishedJobs": "FINISHED", "failedJobs": "FAILED", "cancelledJobs": "CANCELED"}
    return {
        "projectVersion": project_version(),
        "singleJob": measured.job_id,
        "runningJobs": str(int(state == "RUNNING")),
        "pendingJobs": "0",
        **{name: str(int(state == end)) for name, end in ends.items()},
    }


def _listed(jobs: Sequence[Any], query: Mapping[str, str]) -> Any:
    return {"data": jobs, "total": len(jobs)} if "page" in query else jobs


def job_info(job: PlannedJob, measured: JobMetrics) -> dict[str, Any]:
    """Return the job in the REST format of a running job."""
    env = env_in_texts(job.env)
    failed = (each for pipeline in measured.pipelines for each in pipeline.recent_failures)
    return {
        "jobId": measured.job_id,
        "jobName": measured.name,
        "jobStatus": _STATES[measured.state],
        "envOptions": env,
        "createTime": moment(measured.started_at),
        "createTimestamp": milliseconds(measured.started_at),
        "jobDag": {"jobId": measured.job_id, **_dag(job), "envOptions": env},
        "pluginJarsUrls": [],
        "isStartWithSavePoint": False,
        "host": "",
        "attempts": 1,
        "metrics": {name: str(value) for name, value in totals(measured).items()},
        "pipelines": list(map(measured_record, measured.pipelines)),
        "attemptHistory": [],
        "failures": [failure_entry(each.record()) for each in latest(failed)],
    }


def _checkpoints(measured: PipelineMetrics, now_ms: int) -> dict[str, Any]:
    age_ms, last = measured.last_checkpoint_age_ms, measured.last_checkpoint_id
    at = None if age_ms is None else now_ms - age_ms
    return {
        "pipelineId": measured.id,
        "counts": {
            "triggered": measured.checkpoints_triggered,
            "completed": measured.checkpoints_completed,
            "failed": measured.checkpoints_failed,
            "inProgress": measured.checkpoints_pending,
            "restored": measured.restores,
        },
        "latestCompleted": None if last is None else {"checkpointId": last, "completedTimestamp": at},
    }


def _dag(job: PlannedJob) -> dict[str, Any]:
    """Return the vertices of all pipelines, numbered consecutively, and the edges of each pipeline."""
    vertices: list[dict[str, Any]] = []
    edges = {}
    for pipeline in job.pipelines:
        numbers: dict[str, int] = {}
        for kind, name, plugin, _ in _nodes(pipeline):
            numbers[name] = len(vertices) + 1
            vertex = {"vertexId": numbers[name], "type": kind, "vertexName": plugin, "name": name, "tablePaths": []}
            vertices.append(vertex)
        edges[str(pipeline.id)] = [
            {"inputVertexId": numbers[each], "targetVertexId": numbers[name]}
            for _, name, _, inputs in _nodes(pipeline)
            for each in inputs
        ]
    return {"pipelineEdges": edges, "vertexInfoMap": vertices}


def _nodes(pipeline: PlannedPipeline) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [
        *(("source", node.name, node.source.identifier, ()) for node in pipeline.sources),
        *(("transform", node.name, node.transform.identifier, node.inputs) for node in pipeline.transforms),
        *(("sink", node.name, node.sink.identifier, node.inputs) for node in pipeline.sinks),
    ]
