"""Jobs of users: submit, stop, how they stand."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core.claiming.job_id import new_job_id
from seatunnel_core.clock import wall_clock
from seatunnel_core.server.agent import answers
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.peers import ORDERS_BYTES, order_bytes
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Request, Route, json_block
from seatunnel_core.server.state.records import JobRecord, Wanted
from seatunnel_core.server.submitted_job import FORMATS, SubmittedJob
from seatunnel_storage_api.layout import require_job_id


async def _running_jobs(agent: Agent, _request: Request, _body: bytes) -> Any:
    jobs = agent.require_state().snapshot().jobs.values()
    return [_running(agent, job) for job in sorted(jobs, key=lambda job: (job.submitted_at, job.job_id))]


def _running(agent: Agent, job: JobRecord) -> dict[str, Any]:
    answer = answers.running_job(job, agent.users.metrics_of(job))
    waits_for = agent.users.waits_for(job)
    pending = {"pendingReason": waits_for} if waits_for else {}
    return {**answer, "jobStatus": agent.users.state_of(job).value, **pending}


async def _job_info(agent: Agent, request: Request, _body: bytes) -> Any:
    state, job_id = agent.require_state(), str(request.path_params["job_id"])
    job, ended = state.job(job_id), state.ended(job_id)
    if job is not None:
        pipelines = agent.users.pipelines_of(job)
        return {**_running(agent, job), **({"pipelines": pipelines} if pipelines else {})}
    return {"jobId": job_id} if ended is None else answers.ended_job(ended)


async def _finished_jobs(agent: Agent, request: Request, _body: bytes) -> Any:
    state = str(request.path_params.get("state", ""))
    return answers.finished_jobs(agent.require_state().snapshot().history.values(), state)


async def _submit_job(agent: Agent, request: Request, body: bytes) -> Any:
    parameters: Mapping[str, str] = request.query_params
    if not body.strip():
        raise RequestError("Request body is empty.")
    restore = parameters.get("isStartWithSavePoint", "false").lower() == "true"
    if restore and not parameters.get("jobId"):
        raise RequestError("Please provide jobId when start with save point.")
    format = parameters.get("format", "json").lower()
    if format not in FORMATS:
        raise RequestError(f"format is {format!r}: write one of {', '.join(FORMATS)}")
    return await accept(
        agent,
        job_id=parameters.get("jobId") or new_job_id(),
        name=parameters.get("jobName", ""),
        text=_decoded(body),
        format=format,
        variables={},
        restore=restore,
    )


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise RequestError(f"the job is not UTF-8 text: {error}") from error


async def accept(
    agent: Agent, *, job_id: str, name: str, text: str, format: str, variables: Mapping[str, str], restore: bool
) -> dict[str, Any]:
    """Accept a job, durably, and return its id and name.

    Raises:
        RequestError: it is too large, ended before, or this node does not lead.
        InvalidIdError: its id cannot be one.
        SeaTunnelError: it cannot be read.
    """
    require_job_id(job_id)
    own_name = SubmittedJob(text, format, tuple(variables.items())).accepted_name()
    now = wall_clock()
    record = JobRecord(
        job_id=job_id,
        name=name or own_name,
        text=text,
        format=format,
        variables=variables,
        restore=restore,
        submitted_at=now,
        since=now,
    )
    if order_bytes(record) > ORDERS_BYTES:  # it would be accepted, and no member could be told to run it
        raise RequestError(f"the job is too large: written as JSON it has more than {ORDERS_BYTES} bytes", status=413)
    await agent.users.submit(record)
    return {"jobId": job_id, "jobName": record.name}


async def _stop_job(agent: Agent, _request: Request, body: bytes) -> Any:
    block = json_block(body)
    if block.get("jobId") in (None, ""):
        raise RequestError("jobId cannot be empty.")
    job_id = str(block["jobId"])
    wanted = Wanted.SAVEPOINT if block.get("isStopWithSavePoint") else Wanted.CANCEL
    await agent.users.want(job_id, Wanted.CANCEL_AT_ONCE if block.get("force") else wanted)
    return {"jobId": job_id}


ROUTES = (
    Route("GET", "/running-jobs", _running_jobs),
    Route("GET", "/job-info/{job_id}", _job_info),
    Route("GET", "/running-job/{job_id}", _job_info),
    Route("GET", "/finished-jobs", _finished_jobs),
    Route("GET", "/finished-jobs/", _finished_jobs),
    Route("GET", "/finished-jobs/{state}", _finished_jobs),
    Route("POST", "/submit-job", _submit_job),
    Route("POST", "/stop-job", _stop_job),
)
