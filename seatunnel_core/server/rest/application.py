"""The ASGI application of a node. Every node answers: one that does not lead forwards to the one that does.

Starlette is imported when an application is made, so that nothing else of the engine needs it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from attrs import evolve

from seatunnel_core.control.signing import AUTHORIZATION, BOOT
from seatunnel_core.errors import SeaTunnelError, StoredValueError, UsageError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.peers import LARGEST_BODY
from seatunnel_core.server.discovery.joining import Joining
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest import access, forwarding, internal, jobs, loggers, logs, metrics, nodes, page
from seatunnel_core.server.rest.access import Door
from seatunnel_core.server.rest.route import Request, Route
from seatunnel_storage_api.errors import InvalidIdError

logger = logging.getLogger("seatunnel.cluster")

_BOTH = (*nodes.ROUTES, *jobs.ROUTES, *logs.ROUTES, *loggers.ROUTES)

USER_ROUTES = (*_BOTH, *metrics.ROUTES, *page.ROUTES)
"""REST v2, and the page that is made on it, on all ports."""

V1_ROUTES = (
    *(evolve(each, path=f"{access.V1}maps{each.path}") for each in _BOTH),
    *(evolve(each, path=f"{access.V1}instance{each.path}") for each in metrics.ROUTES),
)
"""REST v1, on the member port."""

V1_OPTION = "network.rest-api.enabled"

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_REALM = 'Basic realm="SeaTunnel Web UI"'


BODY_S = 60.0
"""For so long the body of a request may take to arrive."""

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of all answers that do not say it otherwise: no browser takes one for what it is not, nor shows it to other sites."""


def application(agent: Agent, *, signed: bool, door: Door = access.LOCAL, joining: Joining | None = None) -> Any:
    """Return the ASGI application of one port of a node.

    Args:
        agent: answers.
        signed: whether requests need the cluster's signature: on the member port. REST v2 on its own ports is asked by
            programs that have none.
        door: the port.
        joining: answers nodes that join, where requests are signed; ``None``: nobody does.
    """
    from starlette import routing
    from starlette.applications import Starlette

    meetings = internal.meetings(joining) if joining is not None else ()
    answered = (*USER_ROUTES, *((*V1_ROUTES, *internal.ROUTES, *loggers.OF_NODES, *meetings) if signed else ()))
    everything_else = (Route(method, "/{path:path}", _unknown, to_leader=False) for method in _METHODS)
    prefixed = (evolve(each, path=door.prefix + each.path) for each in answered)
    return Starlette(
        routes=[
            routing.Route(each.path, _endpoint(agent, each, signed=signed, door=door), methods=[each.method])
            for each in (*prefixed, *everything_else)
        ]
    )


def _endpoint(agent: Agent, route: Route, *, signed: bool, door: Door) -> Callable[[Request], Awaitable[Any]]:
    """Return what answers the requests of a route. On the member port users may ask by v1, unsigned."""

    async def answered(request: Request) -> Any:
        from starlette.responses import JSONResponse, Response

        try:
            body = await _received(agent, request, signed=signed, door=door)
            if route.to_leader and agent.state is None:
                target = access.target_of(request).removeprefix(door.prefix)
                status, forwarded, kind = await forwarding.forwarded(agent, request, target, body)
                return Response(forwarded, status_code=status, media_type=kind)
            value = await route.handler(agent, request, body)
            return value if isinstance(value, Response) else JSONResponse(value)
        except _RefusedError as error:
            block = {"status": "fail", "message": str(error)}
            return JSONResponse(block, status_code=error.status, headers=error.headers)
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
        for name, value in _HEADERS.items():
            answer.headers.setdefault(name, value)
        if signed and AUTHORIZATION in request.headers:
            answer.headers.update(agent.doorkeeper.answered(request.headers, answer.status_code, answer.body))
        return answer

    return endpoint


class _RefusedError(RequestError):
    """A request is not let in."""

    def __init__(self, message: str, headers: Mapping[str, str]) -> None:
        super().__init__(message, status=401)
        self.headers = headers


async def _received(agent: Agent, request: Request, *, signed: bool, door: Door) -> bytes:
    """Return the body of a request that is let in; a stranger's is not received.

    Raises:
        _RefusedError: it is not let in.
        RequestError: v1 is off; or the body is too large, or does not arrive in time.
    """
    by_signature = signed and access.is_signed(request)
    if signed and not by_signature and not agent.config.serves_v1:
        raise RequestError(f"v1 of REST is off: {V1_OPTION} in hazelcast.yaml switches it on", status=404)
    headers = {BOOT: agent.doorkeeper.boot} if by_signature else {"WWW-Authenticate": _REALM}
    refused = access.refusal(agent, request, signed=by_signature, door=door)
    if refused is not None:
        raise _RefusedError(refused, headers)
    body = await _body(request)
    if by_signature and not agent.doorkeeper.owns(request.headers, body):
        raise _RefusedError("the body is another one than was signed", headers)
    return body


async def _body(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        RequestError: it is too large, or does not arrive in time.
    """
    received = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                received += part
                if len(received) > LARGEST_BODY:
                    raise RequestError(f"the body is larger than {LARGEST_BODY} bytes", status=413)
    except TimeoutError as error:
        raise RequestError(f"the body did not arrive within {BODY_S:.0f} s", status=408) from error
    return bytes(received)


async def _unknown(_agent: Agent, request: Request, _body: bytes) -> Any:
    raise RequestError(f"this node answers no {request.method} {request.url.path}", status=404)
