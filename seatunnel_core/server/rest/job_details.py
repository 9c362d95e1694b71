"""Endpoints for the details of one job: metrics over time, job text and plan."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core.reporting.series import COLUMNS, MOST_POINTS, POINTS
from seatunnel_core.server.agent import answers
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Parameter, Request, Routes, number
from seatunnel_core.server.rest.shapes import ANY, FLAG, TEXT, WHOLE, block, items, nullable
from seatunnel_core.server.state.records import EndedJob, JobRecord


def _found(agent: Agent, job_id: str) -> JobRecord | EndedJob:
    state = agent.require_state()
    found = state.job(job_id) or state.ended(job_id)
    if found is None:
        raise RequestError(f"no job {job_id[:100]} in this cluster", status=404)
    return found


_OPTION = block({"key": TEXT, "value": TEXT, "isSet": FLAG})
_VERTEX = block(
    {
        "type": {"enum": ["source", "transform", "sink"]},
        "name": TEXT,
        "plugin": TEXT,
        "inputs": items(TEXT),
        "options": items(_OPTION),
    },
    {"parallelism": WHOLE, "guarantee": TEXT},
)
_PIPELINE = block({"id": WHOLE, "title": TEXT, "guarantee": TEXT, "because": TEXT, "vertices": items(_VERTEX)})
_PLAN = block({"name": TEXT, "mode": TEXT, "storage": TEXT, "warnings": items(TEXT), "pipelines": items(_PIPELINE)})

ROUTES = Routes()


@ROUTES.get(
    "/jobs/metrics/{job_id}",
    "Metrics of a job over time.",
    parameters=(
        Parameter(
            "pipelineId",
            "Only metrics of this pipeline, one of the first 20; by default the sum over all pipelines.",
            WHOLE,
        ),
        Parameter("since", "Only points since this time, in milliseconds since 1970.", WHOLE),
        Parameter("points", f"Maximum number of points, up to {MOST_POINTS}; {POINTS} by default.", WHOLE),
    ),
    answer=block(
        {
            "jobId": TEXT,
            "pipelineId": WHOLE,
            "columns": items(TEXT),
            "points": items(items(ANY)),
            "pipelines": items(WHOLE),
        }
    ),
)
async def _metrics(agent: Agent, request: Request, _body: bytes) -> Any:
    job = _found(agent, str(request.path_params["job_id"]))
    pipeline = number(request, "pipelineId", 0, least=0, most=10**9)
    since_ms = number(request, "since", 0, least=0, most=10**15)
    points = number(request, "points", POINTS, least=1, most=MOST_POINTS)
    series: Mapping[str, Any] = {}
    if isinstance(job, EndedJob):
        kept = answers.ended_details(job).get("series") or {}
        series = kept if pipeline == 0 else {}
    elif job.host:
        series = await agent.running.series(job.host, job.job_id, pipeline, since_ms / 1000, points)
    return {
        "jobId": job.job_id,
        "pipelineId": pipeline,
        "columns": list(series.get("columns", COLUMNS)),
        "points": [each for each in series.get("points", ()) if each[0] >= since_ms],
        "pipelines": list(series.get("pipelines", ())),
    }


@ROUTES.get(
    "/jobs/text/{job_id}",
    "Text of a job, without comments and secrets; `null` if it is not stored.",
    answer=block({"jobId": TEXT, "text": {"type": ["string", "null"]}}),
)
async def _text(agent: Agent, request: Request, _body: bytes) -> Any:
    job = _found(agent, str(request.path_params["job_id"]))
    if isinstance(job, EndedJob):
        return {"jobId": job.job_id, "text": answers.ended_details(job).get("text")}
    return {"jobId": job.job_id, "text": agent.dispatcher.description(job).text or None}


@ROUTES.get(
    "/jobs/plan/{job_id}",
    "Plan of a running job: all vertices with their options, secrets masked; `null` if there is no plan.",
    answer=block({"jobId": TEXT, "plan": nullable(_PLAN)}),
)
async def _plan(agent: Agent, request: Request, _body: bytes) -> Any:
    job = _found(agent, str(request.path_params["job_id"]))
    runs = isinstance(job, JobRecord) and bool(job.host)
    return {"jobId": job.job_id, "plan": await agent.running.plan(job.host, job.job_id) if runs else None}
