"""The checkpoints of jobs: what the checkpoint storage holds of them, and what running jobs tell of theirs."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Body, Parameter, Request, Route, json_block, number
from seatunnel_core.server.rest.shapes import FLAG, TEXT, WHOLE, WHOLE_OR_NULL, block, by_name, either, items, nullable
from seatunnel_core.server.rest.submitting import job_id_of
from seatunnel_core.server.state.records import JobRecord
from seatunnel_storage_api.layout import require_job_id

MOST_HISTORY = 32
"""So many checkpoints of a pipeline are shown in the overview, as SeaTunnel does."""


async def _stored(agent: Agent, job_id: str) -> tuple[list[dict[str, Any]], JobRecord | None]:
    """Return the pipelines of a job with their stored checkpoints, and its record while it runs.

    Raises:
        RequestError: nobody knows the job, or its storage does not answer.
    """
    state = agent.require_state()
    require_job_id(job_id)
    job = state.job(job_id)
    pipelines = await agent.storage.pipelines(job_id, job)
    if pipelines is None and job is None and state.ended(job_id) is None:
        raise RequestError(f"there is no job {job_id} here, and none in the checkpoint storage", status=404)
    return pipelines or [], job


async def _overview(agent: Agent, request: Request, _body: bytes) -> Any:
    job_id = str(request.path_params["job_id"])
    found, job = await _stored(agent, job_id)
    live = {} if job is None else {each["id"]: each for each in agent.users.pipelines_of(job)}
    numbers = dict.fromkeys((*(each["pipeline"] for each in found), *live))
    by_number = {each["pipeline"]: each for each in found}
    return {
        "jobId": job_id,
        "updatedAt": agent.storage.now_ms(),
        "pipelines": [_pipeline(each, by_number.get(each, {}), live.get(each, {})) for each in sorted(numbers)],
    }


def _pipeline(number: int, stored: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
    checkpoints = [_checkpoint(each) for each in stored.get("checkpoints", ())][::-1]
    told = live.get("checkpoints", {})
    savepoints = [each for each in checkpoints if "SAVEPOINT" in each["checkpointType"]]
    count = len(checkpoints)
    return {
        "pipelineId": number,
        "title": stored.get("title") or live.get("name", ""),
        "counts": {
            "triggered": told.get("triggered", count),
            "completed": told.get("completed", count),
            "failed": told.get("failed", 0),
            "inProgress": told.get("pending", 0),
            "restored": live.get("restores", 0),
        },
        "stored": count,
        "latestCompleted": checkpoints[0] if checkpoints else None,
        "latestFailed": None,
        "latestSavepoint": savepoints[0] if savepoints else None,
        "inProgress": [],
        "history": [{"pipelineId": number, "checkpoint": each} for each in checkpoints[:MOST_HISTORY]],
        "problems": list(stored.get("problems", ())),
    }


def _checkpoint(found: Mapping[str, Any]) -> dict[str, Any]:
    at = None if found["stored_at"] is None else int(found["stored_at"] * 1000)
    return {
        "checkpointId": found["checkpoint_id"],
        "checkpoint": found["checkpoint"],
        "checkpointType": found["type"],
        "status": "COMPLETED",
        "triggerTimestamp": at,
        "completedTimestamp": at,
        "durationMillis": None,
        "stateSize": found["size_bytes"],
        "live": found["live"],
    }


async def _history(agent: Agent, request: Request, _body: bytes) -> Any:
    limit = number(request, "limit", 20, least=1, most=10_000)
    pipeline = number(request, "pipelineId", 0, least=0, most=10**9)
    status = request.query_params.get("status", "").upper()
    found, _ = await _stored(agent, str(request.path_params["job_id"]))
    all_of_them = [
        {"pipelineId": each["pipeline"], "checkpoint": _checkpoint(checkpoint)}
        for each in found
        if pipeline in (0, each["pipeline"])
        for checkpoint in each["checkpoints"]
    ]
    all_of_them.sort(key=lambda each: each["checkpoint"]["completedTimestamp"] or 0, reverse=True)
    return [each for each in all_of_them if status in ("", each["checkpoint"]["status"])][:limit]


async def _savepoint(agent: Agent, _request: Request, body: bytes) -> Any:
    entry = json_block(body)
    job_id, name = job_id_of(entry), str(entry.get("name") or "")
    job = agent.require_state().job(job_id)
    if job is None or not job.host:
        raise RequestError(f"the job {job_id} does not run, so no savepoint can be taken of it", reason="not_running")
    taken = await agent.savepoints.take(job.host, job_id, name)
    parts = {number: f"{epoch}-{id}" for number, (epoch, id) in taken["pipelines"].items()}
    return {"jobId": job_id, "name": taken["name"], "pipelines": parts}


_CHECKPOINT = block(
    {
        "checkpointId": WHOLE,
        "checkpoint": TEXT,
        "checkpointType": TEXT,
        "status": {"enum": ["COMPLETED"]},
        "triggerTimestamp": WHOLE_OR_NULL,
        "completedTimestamp": WHOLE_OR_NULL,
        "durationMillis": WHOLE_OR_NULL,
        "stateSize": WHOLE_OR_NULL,
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
        "latestFailed": {"type": "null"},
        "latestSavepoint": nullable(_CHECKPOINT),
        "inProgress": items({}),
        "history": items(_ENTRY),
        "problems": items(TEXT),
    }
)

ROUTES = (
    Route(
        "POST",
        "/savepoint",
        _savepoint,
        summary="Take a savepoint of a job that goes on. The answer comes when it is complete.",
        bodies=(Body(block({"jobId": either(TEXT, WHOLE)}, {"name": TEXT})),),
        answer=block({"jobId": TEXT, "name": TEXT, "pipelines": by_name(TEXT)}),
    ),
    Route(
        "GET",
        "/jobs/checkpoints/{job_id}",
        _overview,
        summary="The checkpoints of each pipeline of a job: how many, the latest, and the last 32 that are stored.",
        answer=block({"jobId": TEXT, "updatedAt": WHOLE, "pipelines": items(_PIPELINE)}),
    ),
    Route(
        "GET",
        "/jobs/checkpoints/history/{job_id}",
        _history,
        summary="The checkpoints of a job that are stored, the newest first.",
        parameters=(
            Parameter("pipelineId", "Only those of this pipeline.", WHOLE),
            Parameter("limit", "At most so many; 20 if it is not said.", WHOLE),
            Parameter("status", "Only those of this status; all that are stored are `COMPLETED`."),
        ),
        answer=items(_ENTRY),
    ),
)
