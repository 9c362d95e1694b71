"""The ASGI application of a node. Every node answers: one that does not lead forwards to the one that does.

Starlette is imported when an application is made, so that nothing else of the engine needs it.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from attrs import evolve

from seatunnel_core.config.http_options import Permission
from seatunnel_core.control.signing import AUTHORIZATION, BOOT
from seatunnel_core.errors import SeaTunnelError, StoredValueError, UsageError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.discovery.joining import Joining
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest import (
    access,
    bodies,
    checking,
    checkpoints,
    forwarding,
    internal,
    job_details,
    jobs,
    loggers,
    logs,
    metrics,
    node_details,
    nodes,
    page,
    permissions,
    submitting,
    threads,
)
from seatunnel_core.server.rest.access import AuthPolicy, User
from seatunnel_core.server.rest.openapi import openapi_route
from seatunnel_core.server.rest.route import Handler, Request, Route, encoded
from seatunnel_core.server.transport.gate import GUEST, OUT_OF_RESOURCES
from seatunnel_storage_api.errors import CheckpointStorageError, InvalidIdError

logger = logging.getLogger("seatunnel.cluster")

_DOCUMENTED = (
    *nodes.ROUTES,
    *node_details.ROUTES,
    *jobs.ROUTES,
    *job_details.ROUTES,
    *submitting.ROUTES,
    *checkpoints.ROUTES,
    *checking.ROUTES,
    *threads.ROUTES,
    *logs.ROUTES,
    *loggers.ROUTES,
    *permissions.ROUTES,
)

_V2 = (*_DOCUMENTED, openapi_route((*_DOCUMENTED, *metrics.ROUTES)))

USER_ROUTES = (*_V2, *metrics.ROUTES, *page.ROUTES)
"""REST v2, and the page that is made on it, on all ports."""

V1_ROUTES = (
    *(evolve(each, path=f"{access.V1}maps{each.path}") for each in _V2),
    *(evolve(each, path=f"{access.V1}instance{each.path}") for each in metrics.ROUTES),
    *nodes.HAZELCAST_ROUTES,
)
"""REST v1, on all ports."""

V1_OPTION = "network.rest-api.enabled"

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")

_REALM = 'Basic realm="SeaTunnel Web UI"'


_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of all answers that do not say it otherwise: no browser takes one for what it is not, nor shows it to other sites."""


def application(
    agent: Agent, *, signed: bool, policy: AuthPolicy = access.LOCAL, joining: Joining | None = None
) -> Any:
    """Return the ASGI application of one port of a node.

    Args:
        agent: answers.
        signed: whether requests need the cluster's signature: on the member port. REST v2 on its own ports is asked by
            programs that have none.
        policy: the port.
        joining: answers nodes that join, where requests are signed; ``None``: nobody does.
    """
    from starlette import routing
    from starlette.applications import Starlette

    meetings = internal.meetings(joining) if joining is not None else ()
    answered = (*USER_ROUTES, *V1_ROUTES, *((*internal.ROUTES, *loggers.OF_NODES, *meetings) if signed else ()))
    prefixed = [evolve(each, path=policy.prefix + each.path) for each in answered]
    if policy.prefix:
        prefixed.append(Route("GET", policy.prefix, page.with_slash, to_leader=False))
    unknown = _unknown(prefixed)
    everything_else = (Route(method, "/{path:path}", unknown, to_leader=False) for method in _METHODS)
    return Starlette(
        routes=[
            routing.Route(each.path, _endpoint(agent, each, signed=signed, policy=policy), methods=[each.method])
            for each in (*prefixed, *everything_else)
        ]
    )


def _endpoint(agent: Agent, route: Route, *, signed: bool, policy: AuthPolicy) -> Callable[[Request], Awaitable[Any]]:
    """Return what answers the requests of a route. On the member port users may ask by v1, unsigned."""

    async def answered(request: Request) -> Any:
        from starlette.responses import Response

        try:
            by_signature = signed and access.is_signed(request)
            _require_admitted(agent, request, by_signature=by_signature, signed=signed, policy=policy)
            user = None if by_signature else access.user_of(agent, request)
            if user is not None:
                _require_allowed(user, route.needs(request))
            _trust(request)
            body = await bodies.received(request, route.most_bytes)
            if by_signature and not agent.authenticator.owns(request.headers, body):
                raise _RefusedError("the body is another one than was signed", {BOOT: agent.authenticator.boot})
            is_forwarded = route.to_leader and agent.state is None
            content = body if is_forwarded and user is None else await route.reads(agent, body)
            if user is not None:
                _require_allowed(user, route.body_needs(content))
            if is_forwarded:
                target = access.target_of(request).removeprefix(policy.prefix)
                status, forwarded, kind = await forwarding.forwarded(agent, request, target, body)
                return Response(forwarded, status_code=status, media_type=kind)
            value = await route.handler(agent, request, content)
            return value if isinstance(value, Response) else Response(encoded(value), media_type="application/json")
        except Exception as error:
            return _failed(request, error)

    async def endpoint(request: Request) -> Any:
        answer = await answered(request)
        if bodies.is_unread(request):  # nobody reads the rest of it
            answer.headers["Connection"] = "close"
        for name, value in _HEADERS.items():
            answer.headers.setdefault(name, value)
        if signed and AUTHORIZATION in request.headers:
            answer.headers.update(agent.authenticator.answered(request.headers, answer.status_code, answer.body))
        return answer

    return endpoint


class _RefusedError(RequestError):
    """A request is not let in."""

    def __init__(self, message: str, headers: Mapping[str, str]) -> None:
        super().__init__(message, status=401)
        self.headers = headers


def _require_allowed(user: User, needed: Collection[Permission]) -> None:
    """Refuse what a user may not do.

    Raises:
        RequestError: a permission is missing.
    """
    missing = sorted(each.value for each in set(needed) - user.permissions)
    if missing:
        raise RequestError(f"this user may not do that: it needs {', '.join(missing)}", status=403, reason="forbidden")


def _require_admitted(agent: Agent, request: Request, *, by_signature: bool, signed: bool, policy: AuthPolicy) -> None:
    """Refuse a request by its headers alone.

    Raises:
        _RefusedError: the client is unknown.
        RequestError: v1 is off, or it is not clear where the request ends.
    """
    bodies.require_one_length(request)
    if signed and not by_signature and not agent.config.serves_v1:
        raise RequestError(f"v1 of REST is off: {V1_OPTION} in hazelcast.yaml switches it on", status=404)
    headers = {BOOT: agent.authenticator.boot} if by_signature else {"WWW-Authenticate": _REALM}
    refused = access.refusal(agent, request, signed=by_signature, policy=policy)
    if refused is not None:
        if by_signature:
            agent.rejections.report(request.client.host if request.client else "", refused)
        raise _RefusedError(refused, headers)


def _trust(request: Request) -> None:
    """Keep the connection of an allowed request when the port is full."""
    guest = request.scope.get("state", {}).get(GUEST)
    if guest is not None:
        guest.trust()


def _failed(request: Request, error: Exception) -> Any:
    """Return the answer to a request that an error ended."""
    from starlette.requests import ClientDisconnect
    from starlette.responses import Response

    match error:
        case ClientDisconnect():
            return Response(status_code=400)  # nobody receives it
        case _RefusedError():
            return _failure(error, status=error.status, reason=error.reason, headers=error.headers)
        case RequestError():
            return _failure(error, status=error.status, reason=error.reason)
        case UsageError() | InvalidIdError() | StoredValueError():
            return _failure(error, status=400, reason=_reason(error))
        case SeaTunnelError() | CheckpointStorageError():
            return _failure(error, status=500, reason=_reason(error))
        case OSError() if error.errno in OUT_OF_RESOURCES:
            return _failure(f"this node lacks a resource now, try again: {error}", status=503, reason="busy")
    logger.error("a bug of ours: %s %s failed", request.method, request.url.path, exc_info=error)
    return _failure(f"{type(error).__name__}: {error}", status=500, reason="bug")


def _failure(error: object, *, status: int, reason: str, headers: Mapping[str, str] | None = None) -> Any:
    """Return an answer in SeaTunnel's shape, with a word for programs."""
    from starlette.responses import Response

    message = "\n".join([str(error), *getattr(error, "__notes__", ())])
    block = {"status": "fail", "message": message, "code": reason}
    return Response(encoded(block), status_code=status, headers=headers, media_type="application/json")


def _reason(error: SeaTunnelError | CheckpointStorageError) -> str:
    """Return the code of an error, for ``seatunnel help CODE``, as other words for programs are written."""
    return error.code.lower().replace("-", "_")


def _unknown(routes: Sequence[Route]) -> Handler:
    """Return who answers what no route answers: 405 for a path that other methods have, else 404."""
    from starlette.routing import compile_path

    known = [(compile_path(route.path)[0], route.method) for route in routes]

    async def handler(_agent: Agent, request: Request, _body: bytes) -> Any:
        allowed = sorted({method for path, method in known if path.match(request.url.path)})
        if not allowed:
            raise RequestError(f"this node answers no {request.method} {request.url.path}", status=404)
        message = f"{request.url.path} takes {', '.join(allowed)}, and no {request.method}"
        return _failure(message, status=405, reason="wrong_method", headers={"Allow": ", ".join(allowed)})

    return handler
