"""Long lists as JSON: whole, or one page. A long one is written in slices, between which others run."""

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
"""So long the event loop may be held by a list that is written."""

LONG = 200
"""Of lists with more entries one is written at a time, so that many readers hold the loop no longer than one does."""

MOST_ROWS = 10_000
ROWS = 10

PAGING = (
    Parameter("page", "The number of a page, from 1. Without it, all are listed.", WHOLE),
    Parameter("rows", f"How many a page has: {ROWS} if it is not said, {MOST_ROWS} at most.", WHOLE),
)


async def listed(agent: Agent, request: Request, values: Sequence[Value], shown: Callable[[Value], Any]) -> Any:
    """Return the answer with the values, or a page of them, each as ``shown`` makes it.

    Raises:
        RequestError: there is no such page.
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
