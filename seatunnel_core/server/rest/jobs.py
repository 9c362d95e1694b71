"""Endpoints for the status of running, pending and finished jobs."""

from collections.abc import Mapping, Sequence
from typing import Any

from seatunnel_core.reporting.rest_text import failure_entry
from seatunnel_core.server.agent import answers
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.pending import pending_jobs
from seatunnel_core.server.rest.listing import CHOICE, PAGING, chosen, listed
from seatunnel_core.server.rest.route import Parameter, Request, Routes, flag, number
from seatunnel_core.server.rest.shapes import (
    ENDED,
    FLAG,
    JOB,
    RUNNING,
    RUNNING_SUMMARY,
    TEXT,
    WHOLE,
    WHOLE_OR_NULL,
    block,
    by_name,
    items,
    paged,
)
from seatunnel_core.server.state.records import EndedJob, JobRecord

_NEWEST = Parameter("newestFirst", "`true` lists the most recently ended job first.", FLAG)


def _running(agent: Agent, job: JobRecord) -> dict[str, Any]:
    users = agent.users
    return answers.running_job(
        job,
        agent.dispatcher.description(job),
        state=users.state_of(job),
        waits_for=users.waits_for(job),
        metrics=users.metrics_of(job),
        pipelines=users.pipelines_of(job),
    )


def _summary(agent: Agent, job: JobRecord) -> dict[str, Any]:
    users = agent.users
    return answers.running_job_summary(
        job, state=users.state_of(job), waits_for=users.waits_for(job), metrics=users.metrics_of(job)
    )


_WORKER = block(
    {"address": TEXT, "tags": by_name(TEXT), "totalSlots": WHOLE, "freeSlots": WHOLE, "dynamicSlot": FLAG,
     "runningJobIds": items(TEXT)}
)  # fmt: skip
_WAITING_SLOT = block(
    {
        "taskGroupLocation": block({"jobId": TEXT, "pipelineId": WHOLE, "taskGroupId": WHOLE}),
        "taskFullName": TEXT,
        "allocated": FLAG,
        "failureReason": TEXT,
        "failureMessage": TEXT,
    }
)
_WAITING_PIPELINE = block(
    {
        "pipelineId": WHOLE,
        "pipelineName": TEXT,
        "totalTaskGroups": WHOLE,
        "allocatedTaskGroups": WHOLE,
        "lackingTaskGroups": WHOLE,
        "taskGroupDiagnostics": items(_WAITING_SLOT),
    }
)
_PENDING = block(
    {
        "queueSummary": block(
            {"size": WHOLE, "scheduleStrategy": TEXT, "lackingTaskGroups": WHOLE},
            {"oldestEnqueueTimestamp": {}, "newestEnqueueTimestamp": {}},
        ),
        "clusterSnapshot": block(
            {"totalSlots": WHOLE, "freeSlots": WHOLE, "assignedSlots": WHOLE, "workerCount": WHOLE,
             "workers": items(_WORKER)}
        ),
        "pendingJobs": items(
            block(
                {
                    "jobId": TEXT,
                    "jobName": TEXT,
                    "pendingSourceState": {"enum": ["SUBMIT", "RESTORE"]},
                    "jobStatus": TEXT,
                    "enqueueTimestamp": {},
                    "checkTime": {},
                    "waitDurationMs": WHOLE,
                    "totalTaskGroups": WHOLE,
                    "allocatedTaskGroups": WHOLE,
                    "lackingTaskGroups": WHOLE,
                    "failureReason": TEXT,
                    "failureMessage": TEXT,
                    "tagFilter": by_name(TEXT),
                    "blockingJobIds": items(TEXT),
                    "pipelines": items(_WAITING_PIPELINE),
                    "lackingTaskGroupDiagnostics": items(_WAITING_SLOT),
                }
            )
        ),
    }
)  # fmt: skip
_WORKERS = block({"available": FLAG, "collectedAt": WHOLE_OR_NULL, "workers": items(_WORKER)})

ROUTES = Routes()


@ROUTES.get(
    "/running-jobs",
    "Jobs that have not ended, in submission order.",
    parameters=(*PAGING, *CHOICE),
    answer=paged(RUNNING),
)
async def _running_jobs(agent: Agent, request: Request, _body: bytes) -> Any:
    jobs = await chosen(request, agent.require_state().running(), agent.users.metrics_of)
    return await listed(agent, request, jobs, lambda job: _running(agent, job))


@ROUTES.get(
    "/running-jobs/summary",
    "Jobs that have not ended, without their options and graphs.",
    parameters=(*PAGING, *CHOICE),
    answer=paged(RUNNING_SUMMARY),
)
async def _running_jobs_summary(agent: Agent, request: Request, _body: bytes) -> Any:
    jobs = await chosen(request, agent.require_state().running(), agent.users.metrics_of)
    return await listed(agent, request, jobs, lambda job: _summary(agent, job))


@ROUTES.get(
    "/pending-jobs",
    "Pending jobs, and the reasons why they wait.",
    parameters=(
        Parameter("jobId", "Only this job."),
        Parameter("limit", "Maximum number of jobs.", WHOLE),
        Parameter("pretty", "`true` returns times as `yyyy-MM-dd HH:mm:ss` instead of milliseconds.", FLAG),
    ),
    answer=_PENDING,
)
async def _pending_jobs(agent: Agent, request: Request, _body: bytes) -> Any:
    limit = number(request, "limit", 1_000, least=1, most=10_000)
    jobs = agent.require_state().running()
    return pending_jobs(
        agent.dispatcher.view,
        [job for job in jobs if not job.host],
        agent.dispatcher.reasons,
        waits=agent.config.waits,
        job_id=request.query_params.get("jobId", ""),
        limit=limit,
        pretty=flag(request, "pretty"),
    )


@ROUTES.get("/running-job/{job_id}", "Older name of `/job-info`.", answer=JOB)
@ROUTES.get("/job-info/{job_id}", "A running or finished job.", answer=JOB)
async def _job_info(agent: Agent, request: Request, _body: bytes) -> Any:
    state, job_id = agent.require_state(), str(request.path_params["job_id"])
    job, ended = state.job(job_id), state.ended(job_id)
    if job is not None:
        failures, pipelines = agent.users.failures_of(job), agent.users.pipelines_of(job)
        return {**_running(agent, job), "pipelines": pipelines, **_history(job, failures)}
    if ended is None:
        return {"jobId": job_id}
    failures = answers.ended_details(ended).get("failures", [])
    return {**answers.ended_job(ended, with_pipelines=True), **_history(ended, failures)}


def _history(job: JobRecord | EndedJob, failures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"attemptHistory": answers.attempts(job), "failures": list(map(failure_entry, failures))}


@ROUTES.get(
    "/finished-jobs/{state}",
    "Jobs that ended as `FINISHED`, `CANCELED`, `FAILED` or `SAVEPOINT_DONE`; empty for other values.",
    parameters=(*PAGING, *CHOICE, _NEWEST),
    answer=paged(ENDED),
)
@ROUTES.get("/finished-jobs/", "Same as /finished-jobs.", parameters=(*PAGING, *CHOICE, _NEWEST), answer=paged(ENDED))
@ROUTES.get(
    "/finished-jobs",
    "Jobs that have ended, by end time.",
    parameters=(*PAGING, *CHOICE, _NEWEST),
    answer=paged(ENDED),
)
async def _finished_jobs(agent: Agent, request: Request, _body: bytes) -> Any:
    ended = agent.require_state().history().ended_as(str(request.path_params.get("state", "")))
    if flag(request, "newestFirst"):
        ended = ended[::-1]
    found = await chosen(request, ended, lambda job: job.metrics)
    return await listed(agent, request, found, answers.ended_job)


@ROUTES.get("/resource/workers", "Nodes that run tasks, with their slots and jobs.", answer=_WORKERS)
async def _workers(agent: Agent, _request: Request, _body: bytes) -> Any:
    agent.require_state()
    return agent.users.workers()
