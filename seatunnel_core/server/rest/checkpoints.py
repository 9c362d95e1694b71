"""Endpoints for checkpoints, from the checkpoint storage and from running jobs."""

from typing import Any

from seatunnel_core.config.http_options import Permission
from seatunnel_core.server.agent import answers, checkpoint_answers
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Body, Parameter, Request, Routes, json_block, needing, number
from seatunnel_core.server.rest.shapes import FLAG, TEXT, WHOLE, WHOLE_OR_NULL, block, by_name, either, items, nullable
from seatunnel_core.server.rest.submitting import job_id_of
from seatunnel_storage_api.layout import require_job_id


async def _told(agent: Agent, job_id: str) -> tuple[list[Any], dict[str, list[Any]], list[Any]]:
    """Return a job's stored pipelines, its recent checkpoints if it is running, and the status of its pipelines."""
    state = agent.require_state()
    require_job_id(job_id)
    job = state.job(job_id)
    stored = await agent.storage.pipelines(job_id, job)
    ended = state.ended(job_id)
    if stored is None and job is None and ended is None:
        raise RequestError(f"no job {job_id} in this cluster or in the checkpoint storage", status=404)
    if job is None:
        return stored or [], {}, [] if ended is None else answers.ended_pipelines(ended)
    recent = await agent.running.checkpoints(job.host, job_id) if job.host else {}
    return stored or [], recent, agent.users.pipelines_of(job)


_CHECKPOINT = block(
    {
        "checkpointId": WHOLE,
        "checkpoint": TEXT,
        "checkpointType": TEXT,
        "status": {"enum": ["COMPLETED", "FAILED", "CANCELED"]},
        "triggerTimestamp": WHOLE_OR_NULL,
        "completedTimestamp": WHOLE_OR_NULL,
        "durationMillis": WHOLE_OR_NULL,
        "stateSize": WHOLE_OR_NULL,
        "failureReason": TEXT,
        "stored": FLAG,
        "live": FLAG,
    }
)
_ENTRY = block({"pipelineId": WHOLE, "checkpoint": _CHECKPOINT})
_COUNTS = block(dict.fromkeys(("triggered", "completed", "failed", "inProgress", "restored"), WHOLE))
_PIPELINE = block(
    {
        "pipelineId": WHOLE,
        "title": TEXT,
        "counts": _COUNTS,
        "stored": WHOLE,
        "latestCompleted": nullable(_CHECKPOINT),
        "latestFailed": nullable(_CHECKPOINT),
        "latestSavepoint": nullable(_CHECKPOINT),
        "inProgress": items({}),
        "history": items(_ENTRY),
        "problems": items(TEXT),
    }
)

ROUTES = Routes()


@ROUTES.get(
    "/jobs/checkpoints/{job_id}",
    "Checkpoints of each pipeline of a job: counts, the latest of each kind, and the last 32.",
    answer=block({"jobId": TEXT, "updatedAt": WHOLE, "pipelines": items(_PIPELINE)}),
)
async def _overview(agent: Agent, request: Request, _body: bytes) -> Any:
    job_id = str(request.path_params["job_id"])
    stored, recent, shown = await _told(agent, job_id)
    pipelines = checkpoint_answers.overview(stored, shown, recent)
    return {"jobId": job_id, "updatedAt": agent.storage.now_ms(), "pipelines": pipelines}


@ROUTES.get(
    "/jobs/checkpoints/history/{job_id}",
    "Checkpoints of a job, newest first.",
    parameters=(
        Parameter("pipelineId", "Only checkpoints of this pipeline.", WHOLE),
        Parameter("limit", "Maximum number of checkpoints; 20 by default.", WHOLE),
        Parameter("status", "Only checkpoints with this status: `COMPLETED`, `FAILED` or `CANCELED`."),
    ),
    answer=items(_ENTRY),
)
async def _history(agent: Agent, request: Request, _body: bytes) -> Any:
    limit = number(request, "limit", 20, least=1, most=10_000)
    pipeline = number(request, "pipelineId", 0, least=0, most=10**9)
    status = request.query_params.get("status", "").upper()
    stored, recent, shown = await _told(agent, str(request.path_params["job_id"]))
    return checkpoint_answers.history(stored, shown, recent, pipeline=pipeline, status=status, limit=limit)


@ROUTES.post(
    "/savepoint",
    "Take a savepoint of a running job. Responds when it is complete.",
    needs=needing(Permission.SAVEPOINT),
    bodies=(Body(block({"jobId": either(TEXT, WHOLE)}, {"name": TEXT})),),
    answer=block({"jobId": TEXT, "name": TEXT, "pipelines": by_name(TEXT)}),
)
async def _savepoint(agent: Agent, _request: Request, body: bytes) -> Any:
    entry = json_block(body)
    job_id, name = job_id_of(entry), str(entry.get("name") or "")
    job = agent.require_state().job(job_id)
    if job is None or not job.host:
        raise RequestError(f"job {job_id} is not running, so a savepoint cannot be taken", reason="not_running")
    taken = await agent.running.savepoint(job.host, job_id, name)
    parts = {number: f"{epoch}-{id}" for number, (epoch, id) in taken["pipelines"].items()}
    return {"jobId": job_id, "name": taken["name"], "pipelines": parts}
