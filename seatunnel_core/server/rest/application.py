"""The ASGI application of a node. Every node answers: one that does not lead forwards to the one that does.

Starlette is imported when an application is made, so that nothing else of the engine needs it.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from seatunnel_core.control.signing import BOOT
from seatunnel_core.errors import SeaTunnelError, StoredValueError, UsageError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.peers import LARGEST_BODY
from seatunnel_core.server.discovery.joining import Joining
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest import access, forwarding, internal, jobs, nodes, page
from seatunnel_core.server.rest.route import Request, Route
from seatunnel_storage_api.errors import InvalidIdError

logger = logging.getLogger("seatunnel.cluster")

USER_ROUTES = (*nodes.ROUTES, *jobs.ROUTES, *page.ROUTES)
"""REST v2, and the page that is made on it, on both ports."""

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_REALM = 'Basic realm="SeaTunnel Web UI"'


def application(agent: Agent, *, signed: bool, joining: Joining | None = None) -> Any:
    """Return the ASGI application of a node.

    Args:
        agent: answers.
        signed: whether requests need the cluster's signature: on the member port. REST v2 on its own port is asked by
            programs that have none, and listens on loopback.
        joining: answers nodes that join, where requests are signed; ``None``: nobody does.
    """
    from starlette import routing
    from starlette.applications import Starlette

    meetings = internal.meetings(joining) if joining is not None else ()
    answered = (*USER_ROUTES, *((*internal.ROUTES, *meetings) if signed else ()))
    everything_else = (Route(method, "/{path:path}", _unknown, to_leader=False) for method in _METHODS)
    routes = (*answered, *everything_else)
    return Starlette(
        routes=[
            routing.Route(each.path, _endpoint(agent, each, signed=signed), methods=[each.method]) for each in routes
        ]
    )


def _endpoint(agent: Agent, route: Route, *, signed: bool) -> Callable[[Request], Awaitable[Any]]:
    async def answered(request: Request) -> Any:
        from starlette.responses import JSONResponse, Response

        try:
            refused = access.refusal(agent, request, signed=signed)  # a stranger's body is not received
            body = b"" if refused is not None else await _body(request)
            if refused is None and signed and not agent.doorkeeper.owns(request.headers, body):
                refused = "the body is another one than was signed"
            if refused is not None:
                block = {"status": "fail", "message": refused}
                headers = {BOOT: agent.doorkeeper.boot} if signed else {"WWW-Authenticate": _REALM}
                return JSONResponse(block, status_code=401, headers=headers)
            if route.to_leader and agent.state is None:
                status, forwarded, kind = await forwarding.forwarded(agent, request, body)
                return Response(forwarded, status_code=status, media_type=kind)
            value = await route.handler(agent, request, body)
            return value if isinstance(value, Response) else JSONResponse(value)
        except RequestError as error:
            return JSONResponse({"status": "fail", "message": str(error)}, status_code=error.status)
        except (UsageError, InvalidIdError, StoredValueError) as error:
            return JSONResponse({"status": "fail", "message": str(error)}, status_code=400)
        except SeaTunnelError as error:
            return JSONResponse({"status": "fail", "message": str(error)}, status_code=500)
        except Exception as error:
            logger.exception("a bug of ours: %s %s failed", request.method, request.url.path)
            return JSONResponse({"status": "fail", "message": f"{type(error).__name__}: {error}"}, status_code=500)

    async def endpoint(request: Request) -> Any:
        answer = await answered(request)
        if signed:
            answer.headers.update(agent.doorkeeper.answered(request.headers, answer.status_code, answer.body))
        return answer

    return endpoint


async def _body(request: Request) -> bytes:
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > LARGEST_BODY:
            raise RequestError(f"the body is larger than {LARGEST_BODY} bytes", status=413)
    return bytes(received)


async def _unknown(_agent: Agent, request: Request, _body: bytes) -> Any:
    raise RequestError(f"this node answers no {request.method} {request.url.path}", status=404)
