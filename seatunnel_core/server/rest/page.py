"""Web page of a node and its help, served by every node."""

from typing import Any

from seatunnel_core.manual.help_page import help_page
from seatunnel_core.page.assets import HEADERS, START, asset
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Request, Routes

ROUTES = Routes(to_leader=False)


@ROUTES.get("/")
async def _start(_agent: Agent, request: Request, _body: bytes) -> Any:
    return _served(request, START)


@ROUTES.get("/page/{name:path}")
async def _asset(_agent: Agent, request: Request, _body: bytes) -> Any:
    return _served(request, str(request.path_params["name"]))


async def with_slash(_agent: Agent, request: Request, _body: bytes) -> Any:
    """Redirect from the path prefix without a slash to the page, which refers to its files by relative names."""
    from starlette.responses import RedirectResponse

    return RedirectResponse(f"{request.url.path}/", status_code=308)


def _served(request: Request, name: str) -> Any:
    from starlette.responses import Response

    found = asset(name)
    if found is None:
        raise RequestError(f"the web page has no file {name[:100]!r}", status=404)
    headers = {**HEADERS, "ETag": found.tag}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    return Response(found.body, media_type=found.kind, headers=headers)


@ROUTES.get("/help/{name}")
async def _help(_agent: Agent, request: Request, _body: bytes) -> Any:
    name = str(request.path_params["name"])
    found = help_page(name)
    if found is None:
        raise RequestError(f"no help for {name[:100]!r}", status=404)
    return found
