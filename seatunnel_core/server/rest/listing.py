"""Long lists as JSON, complete or paged. They are encoded in slices, so that other requests can run in between."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Parameter, Request, encoded, number
from seatunnel_core.server.rest.shapes import WHOLE

Value = TypeVar("Value")

SLICE_S = 0.002
"""Maximum time for encoding without yielding to the event loop, in seconds."""

LONG = 200
"""Number of entries above which lists are encoded one at a time, so many readers block the loop no longer than one."""

MOST_ROWS = 10_000
ROWS = 10

PAGING = (
    Parameter("page", "Page number, from 1. Without it, the list is complete.", WHOLE),
    Parameter("rows", f"Entries per page, up to {MOST_ROWS}; {ROWS} by default.", WHOLE),
)


async def listed(agent: Agent, request: Request, values: Sequence[Value], shown: Callable[[Value], Any]) -> Any:
    """Return the response with all values or one page of them, each converted by ``shown``.

    Raises:
        RequestError: There is no such page.
    """
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
        raise RequestError(f"there is no page {page}: with {rows} rows each, {len(values)} jobs are {last} pages")
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
