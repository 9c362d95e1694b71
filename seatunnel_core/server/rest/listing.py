"""Job lists as JSON: filtered, sorted and paged. They are encoded in slices, so that other requests run in between."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Parameter, Request, encoded, number
from seatunnel_core.server.rest.shapes import WHOLE
from seatunnel_core.server.state.records import EndedJob, JobRecord

Value = TypeVar("Value")

SLICE_S = 0.002
"""Maximum time for encoding without yielding to the event loop, in seconds."""

LONG = 200
"""Number of entries above which lists are encoded one at a time. This limits the time for which the loop is blocked."""

MOST_ROWS = 10_000
ROWS = 10

PAGING = (
    Parameter("page", "Page number, from 1. Without it, the list is complete.", WHOLE),
    Parameter("rows", f"Entries per page, up to {MOST_ROWS}; {ROWS} by default.", WHOLE),
)


async def listed(agent: Agent, request: Request, values: Sequence[Value], shown: Callable[[Value], Any]) -> Any:
    """Return the response with all values or with one page of them, each converted by ``shown``."""
    from starlette.responses import Response

    paged = request.query_params.get("page")
    some = values if paged is None else _page(request, values)
    if len(some) > LONG:
        async with agent.writing:
            body = await _written(some, shown)
    else:
        body = await _written(some, shown)
    if paged is not None:
        body = b'{"data":' + body + b',"total":%d}' % len(values)
    return Response(body, media_type="application/json")


def _page(request: Request, values: Sequence[Value]) -> Sequence[Value]:
    rows = number(request, "rows", ROWS, least=1, most=MOST_ROWS)
    last = max(1, -(-len(values) // rows))
    page = number(request, "page", 1, least=1, most=10**9)
    if page > last:
        raise RequestError(
            f"page {page} does not exist: with {rows} rows per page, the {len(values)} jobs fill {last} pages"
        )
    return values[(page - 1) * rows : page * rows]


async def _written(values: Sequence[Value], shown: Callable[[Value], Any]) -> bytes:
    parts: list[bytes] = []
    begun = time.monotonic()
    for value in values:
        parts.append(encoded(shown(value)))
        if time.monotonic() - begun > SLICE_S:
            await asyncio.sleep(0)
            begun = time.monotonic()
    return b"[" + b",".join(parts) + b"]"


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
    Parameter("search", "Only jobs with a name or id that contains this text, ignoring case."),
    Parameter("sort", f"Sort by {', '.join(f'`{key}`' for key in _KEYS)}.", {"enum": list(_KEYS)}),
    Parameter("order", "`asc`, the default, or `desc`.", {"enum": list(_ORDERS)}),
)


async def chosen(
    request: Request, jobs: Sequence[Job], metrics_of: Callable[[Job], Mapping[str, Any]]
) -> Sequence[Job]:
    """Return the jobs that match the ``CHOICE`` parameters of a request, in the requested order."""
    query = request.query_params
    search, sort, order = query.get("search", "").lower(), query.get("sort", ""), query.get("order", "") or "asc"
    if len(search) > LONGEST_SEARCH:
        raise RequestError(f"search has {len(search)} characters: use at most {LONGEST_SEARCH}")
    if order not in _ORDERS:
        raise RequestError(f"order is {order[:40]!r}: expected asc or desc")
    known = [key for key in _KEYS if key not in _ENDS or not jobs or isinstance(jobs[0], EndedJob)]
    if sort and sort not in known:
        raise RequestError(f"sort is {sort[:40]!r}: expected one of {', '.join(known)}")
    if not search and not sort:
        return jobs

    def choose() -> Sequence[Job]:
        found = [job for job in jobs if search in job.name.lower() or search in job.job_id.lower()] if search else jobs
        if not sort:
            return found
        return sorted(found, key=lambda job: _KEYS[sort](job, metrics_of(job)), reverse=order == "desc")

    return await asyncio.to_thread(choose)  # ten thousand jobs would block the event loop
