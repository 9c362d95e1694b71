"""Filtering and sorting of job lists."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Parameter, Request
from seatunnel_core.server.state.records import EndedJob, JobRecord

Job = TypeVar("Job", JobRecord, EndedJob)

LONGEST_SEARCH = 200

_ENDS = ("finishTime", "duration")
_ORDERS = ("asc", "desc")

_KEYS: Mapping[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "jobName": lambda job, _: (job.name.lower(), job.job_id),
    "jobId": lambda job, _: job.job_id,
    "jobStatus": lambda job, _: (job.state.value, job.submitted_at),
    "createTime": lambda job, _: job.submitted_at,
    "finishTime": lambda job, _: job.ended_at,
    "duration": lambda job, _: job.ended_at - job.submitted_at,
    "rowsRead": lambda _, metrics: float(metrics.get("SourceReceivedCount", 0)),
    "rowsCommitted": lambda _, metrics: float(metrics.get("SinkCommittedCount", 0)),
}

CHOICE = (
    Parameter("search", "Only jobs whose name or id contains this text, ignoring case."),
    Parameter("sort", f"Sort by {', '.join(f'`{key}`' for key in _KEYS)}.", {"enum": list(_KEYS)}),
    Parameter("order", "`asc`, the default, or `desc`.", {"enum": list(_ORDERS)}),
)


async def chosen(
    request: Request, jobs: Sequence[Job], metrics_of: Callable[[Job], Mapping[str, Any]]
) -> Sequence[Job]:
    """Return the jobs that match a request, in the requested order.

    Args:
        request: Request with the parameters of ``CHOICE``.
        jobs: All jobs.
        metrics_of: Returns the metrics of a job, by SeaTunnel's names.

    Raises:
        RequestError: A parameter has an invalid value.
    """
    query = request.query_params
    search, sort, order = query.get("search", "").lower(), query.get("sort", ""), query.get("order", "") or "asc"
    if len(search) > LONGEST_SEARCH:
        raise RequestError(f"search has {len(search)} characters: write at most {LONGEST_SEARCH}")
    if order not in _ORDERS:
        raise RequestError(f"order is {order[:40]!r}: write asc or desc")
    known = [key for key in _KEYS if key not in _ENDS or not jobs or isinstance(jobs[0], EndedJob)]
    if sort and sort not in known:
        raise RequestError(f"sort is {sort[:40]!r}: write one of {', '.join(known)}")
    if not search and not sort:
        return jobs

    def choose() -> Sequence[Job]:
        found = [job for job in jobs if search in job.name.lower() or search in job.job_id.lower()] if search else jobs
        if not sort:
            return found
        return sorted(found, key=lambda job: _KEYS[sort](job, metrics_of(job)), reverse=order == "desc")

    return await asyncio.to_thread(choose)  # ten thousand jobs would block the event loop
