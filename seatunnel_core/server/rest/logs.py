"""Endpoints for log files: list and read the files of all nodes through any node.

Files are sent as plain text. Clients can request a whole file, a range of at most one piece, or a file with all later
additions until they disconnect. Only one piece is in memory at a time.
"""

import asyncio
import html
import re
from collections.abc import AsyncIterator, Iterable
from typing import Any
from urllib.parse import quote

from attrs import frozen

from seatunnel_core.control.signing import AUTHORIZATION
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.logs.log_reading import PIECE_BYTES, Piece, is_log_name, is_of_job, require_log_name
from seatunnel_core.server.rest.route import Parameter, Request, Routes
from seatunnel_core.server.rest.shapes import TEXT, block, items

FOLLOW_S = 0.5
"""Interval between two reads of a followed file, in seconds."""

MOST_FOLLOWED = 64
"""Maximum number of files that are followed through a node. Further clients have to request ranges."""

_RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))", re.ASCII)
_PLAIN = "text/plain; charset=utf-8"
_PAGE = "<!doctype html><html lang=en><meta charset=utf-8><title>Logs</title><body><ul>{}</ul>"
_PAGE_HEADERS = {"Content-Security-Policy": "default-src 'none'"}


@frozen(kw_only=True)
class _Link:
    node: str
    href: str
    name: str


_FORMAT = Parameter("format", "`html` for a page of links, or `json`.")
_NODE = Parameter("node", "Address of the node, if several nodes have a file of this name.")
_FOLLOW = Parameter("follow", "`true` follows the file as it grows, until the client disconnects.")
_LINKS = items(block({"node": TEXT, "logLink": TEXT, "logName": TEXT}))

ROUTES = Routes(to_leader=False)


@ROUTES.get("/logs", "Log files of all nodes.", parameters=(_FORMAT,), answer=_LINKS, other_kinds=("text/html",))
async def _all_logs(agent: Agent, request: Request, _body: bytes) -> Any:
    return await _list(agent, request, "")


@ROUTES.get(
    "/logs/{name}",
    "Log files of the job with this id, or contents of the file with this name, which ends with `.log`.",
    parameters=(_FORMAT, _NODE, _FOLLOW),
    answer=_LINKS,
    other_kinds=("text/html", "text/plain"),
)
async def _logs_of(agent: Agent, request: Request, body: bytes) -> Any:
    """Return a file if the path ends with a file name; otherwise return the list of a job's files."""
    name = str(request.path_params["name"])
    return await (_log(agent, request, body) if is_log_name(name) else _list(agent, request, name))


async def _list(agent: Agent, request: Request, job_id: str) -> Any:
    """Return the files of all nodes, or the files of a job. A header lists the nodes that do not respond."""
    found = await agent.logs.files()
    silent = [node for node, files in found.items() if files is None]
    path = request.url.path
    base = path[: path.rindex("/logs")]
    links = [
        _Link(node=node, name=each.name, href=f"{base}/logs/{each.name}?node={quote(node, safe='')}")
        for node, files in found.items()
        for each in files or ()
        if not job_id or is_of_job(each.name, job_id)
    ]
    return _listed(request, links, {"X-SeaTunnel-Silent-Nodes": ", ".join(silent)} if silent else {})


@ROUTES.get("/log", "Log files of one node.", parameters=(_FORMAT,), answer=_LINKS, other_kinds=("text/html",))
async def _own_logs(agent: Agent, request: Request, _body: bytes) -> Any:
    base = request.url.path.rstrip("/")
    files = await agent.logs.own_files()
    return _listed(
        request, [_Link(node=agent.address, name=each.name, href=f"{base}/{each.name}") for each in files], {}
    )


@ROUTES.get("/get-all-log-name", "Names of the log files of one node.", answer=items(TEXT))
async def _own_names(agent: Agent, _request: Request, _body: bytes) -> Any:
    return [each.name for each in await agent.logs.own_files()]


def _listed(request: Request, links: Iterable[_Link], headers: dict[str, str]) -> Any:
    from starlette.responses import HTMLResponse, JSONResponse

    format = request.query_params.get("format", "html").lower()
    if format == "json":
        site = f"{request.url.scheme}://{request.headers.get('host', '')}"
        block = [{"node": each.node, "logLink": site + each.href, "logName": each.name} for each in links]
        return JSONResponse(block, headers=headers)
    if format != "html":
        raise RequestError(f"format is {format[:200]!a}: expected json or html")
    items = "".join(
        f'<li><a href="{html.escape(each.href)}">{html.escape(each.name)}</a> {html.escape(each.node)}</li>'
        for each in links
    )
    return HTMLResponse(_PAGE.format(items), headers={**_PAGE_HEADERS, **headers})


async def _log(agent: Agent, request: Request, _body: bytes) -> Any:
    """Return a file of the given node, or of the node that wrote to it last."""
    name = require_log_name(str(request.path_params["name"]))
    named = request.query_params.get("node", "")
    node = agent.logs.require_node(named) if named else await agent.logs.where(name)
    return await _content(agent, request, node, name)


@ROUTES.get("/log/{name}", "Contents of a node's log file.", parameters=(_FOLLOW,), answer=TEXT, kind="text/plain")
async def _own_log(agent: Agent, request: Request, _body: bytes) -> Any:
    return await _content(agent, request, agent.address, require_log_name(str(request.path_params["name"])))


async def _content(agent: Agent, request: Request, node: str, name: str) -> Any:
    from starlette.responses import PlainTextResponse, StreamingResponse

    headers = {"Accept-Ranges": "bytes", "X-SeaTunnel-Node": node}
    wanted = _RANGE.fullmatch(request.headers.get("range", ""))
    if wanted is not None:
        return await _range(agent, node, name, wanted, headers)
    follow = request.method == "GET" and request.query_params.get("follow", "").lower() == "true"
    first = await agent.logs.piece(node, name, 0, PIECE_BYTES)
    if not follow and first.end >= first.size_bytes:
        return PlainTextResponse(first.content, headers=headers)
    if AUTHORIZATION in request.headers:  # a response is signed as a whole, before it is sent
        raise RequestError(
            f"{name} has {first.size_bytes} bytes: request ranges of at most {PIECE_BYTES} bytes", status=413
        )
    if not follow:
        return StreamingResponse(_rest(agent, node, name, first), media_type=_PLAIN, headers=headers)
    if agent.logs.followed >= MOST_FOLLOWED:
        raise RequestError(
            f"the limit of {MOST_FOLLOWED} followed logs is reached: request ranges, or try again later", status=503
        )
    return StreamingResponse(_followed(agent, node, name, first), media_type=_PLAIN, headers=headers)


async def _range(agent: Agent, node: str, name: str, wanted: re.Match[str], headers: dict[str, str]) -> Any:
    """Return a range of a file. If the range exceeds a piece, only its beginning is returned; see the headers."""
    from starlette.responses import Response

    if wanted[3] is not None:
        piece = await agent.logs.piece(node, name, -int(wanted[3]), int(wanted[3]))
    else:
        first, last = int(wanted[1]), int(wanted[2] or 10**18)
        piece = await agent.logs.piece(node, name, first, max(0, last + 1 - first))
    if not piece.content:
        return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{piece.size_bytes}"})
    size = max(piece.size_bytes, piece.end)
    headers["Content-Range"] = f"bytes {piece.offset}-{piece.end - 1}/{size}"
    return Response(piece.content, status_code=206, media_type=_PLAIN, headers=headers)


async def _rest(agent: Agent, node: str, name: str, piece: Piece) -> AsyncIterator[bytes]:
    """Yield a file up to its size at the time of the request; less if it was rotated in the meantime."""
    size = piece.size_bytes
    while piece.content:
        yield piece.content
        piece = await agent.logs.piece(node, name, piece.end, min(PIECE_BYTES, max(0, size - piece.end)))


async def _followed(agent: Agent, node: str, name: str, piece: Piece) -> AsyncIterator[bytes]:
    """Yield a file and additions to it. After a rotation, continue with the beginning of the new file."""
    agent.logs.followed += 1
    try:
        while True:
            if piece.content:
                yield piece.content
            else:
                await asyncio.sleep(FOLLOW_S)
            at = 0 if piece.size_bytes < piece.offset else piece.end
            try:
                piece = await agent.logs.piece(node, name, at, PIECE_BYTES)
            except RequestError as error:
                yield f"\n[stopped following the log: {error}]\n".encode()
                return
    finally:
        agent.logs.followed -= 1
