"""ASGI application of a node. All nodes serve requests; nodes that do not lead forward them to the leader.

Starlette is imported only when an application is created, so that no other part of the engine needs it.
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
    submitting,
    tables,
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
    *tables.ROUTES,
    *checking.ROUTES,
    *logs.ROUTES,
    *loggers.ROUTES,
    *access.ROUTES,
)

_V2 = (*_DOCUMENTED, openapi_route((*_DOCUMENTED, *metrics.ROUTES)))

USER_ROUTES = (*_V2, *metrics.ROUTES, *page.ROUTES)
"""Routes of REST v2 and of the web page, on all ports."""

V1_ROUTES = (
    *(evolve(each, path=f"{access.V1}maps{each.path}") for each in _V2),
    *(evolve(each, path=f"{access.V1}instance{each.path}") for each in metrics.ROUTES),
    *nodes.HAZELCAST_ROUTES,
)
"""Routes of REST v1, on all ports."""

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
"""Default headers of all responses. Browsers must not guess content types or expose responses to other sites."""


def application(
    agent: Agent, *, signed: bool, policy: AuthPolicy = access.LOCAL, joining: Joining | None = None
) -> Any:
    """Return the ASGI application of a port.

    ``signed`` is True on the member port, where requests need the cluster's signature, and False on the ports of REST
    v2. ``joining`` handles requests of joining nodes on the member port, if any.
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
    """Return the request handler of a route. On the member port, users can send unsigned v1 requests."""

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
                raise _RefusedError("the body does not match the signature", {BOOT: agent.authenticator.boot})
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
        if bodies.is_unread(request):  # the rest of the body stays unread
            answer.headers["Connection"] = "close"
        for name, value in _HEADERS.items():
            answer.headers.setdefault(name, value)
        if signed and AUTHORIZATION in request.headers:
            answer.headers.update(agent.authenticator.answered(request.headers, answer.status_code, answer.body))
        return answer

    return endpoint


class _RefusedError(RequestError):
    """Error for a request that is not authenticated."""

    def __init__(self, message: str, headers: Mapping[str, str]) -> None:
        super().__init__(message, status=401)
        self.headers = headers


def _require_allowed(user: User, needed: Collection[Permission]) -> None:
    """Raise ``RequestError`` if the user lacks a permission."""
    missing = sorted(each.value for each in set(needed) - user.permissions)
    if missing:
        raise RequestError(f"access denied: this user lacks {', '.join(missing)}", status=403, reason="forbidden")


def _require_admitted(agent: Agent, request: Request, *, by_signature: bool, signed: bool, policy: AuthPolicy) -> None:
    """Check a request by its headers, before its body is read.

    Raises:
        _RefusedError: The client is not authenticated.
        RequestError: REST v1 is off, or the length of the body is ambiguous.
    """
    bodies.require_one_length(request)
    if signed and not by_signature and not agent.config.serves_v1:
        raise RequestError(f"REST v1 is off: set {V1_OPTION}: true in hazelcast.yaml", status=404)
    headers = {BOOT: agent.authenticator.boot} if by_signature else {"WWW-Authenticate": _REALM}
    refused = access.refusal(agent, request, signed=by_signature, policy=policy)
    if refused is not None:
        if by_signature:
            agent.rejections.report(request.client.host if request.client else "", refused)
        raise _RefusedError(refused, headers)


def _trust(request: Request) -> None:
    """Mark the connection of an allowed request as trusted."""
    guest = request.scope.get("state", {}).get(GUEST)
    if guest is not None:
        guest.trust()


def _failed(request: Request, error: Exception) -> Any:
    from starlette.requests import ClientDisconnect
    from starlette.responses import Response

    match error:
        case ClientDisconnect():
            return Response(status_code=400)  # the client has disconnected
        case _RefusedError():
            return _failure(error, status=error.status, reason=error.reason, headers=error.headers)
        case RequestError():
            return _failure(error, status=error.status, reason=error.reason)
        case UsageError() | InvalidIdError() | StoredValueError():
            return _failure(error, status=400, reason=_reason(error))
        case SeaTunnelError() | CheckpointStorageError():
            return _failure(error, status=500, reason=_reason(error))
        case OSError() if error.errno in OUT_OF_RESOURCES:
            return _failure(f"this node is out of resources; try again: {error}", status=503, reason="busy")
    logger.error("internal error (a bug): %s %s failed", request.method, request.url.path, exc_info=error)
    return _failure(f"{type(error).__name__}: {error}", status=500, reason="bug")


def _failure(error: object, *, status: int, reason: str, headers: Mapping[str, str] | None = None) -> Any:
    """Return an error response in SeaTunnel's format, with a machine-readable reason."""
    from starlette.responses import Response

    message = "\n".join([str(error), *getattr(error, "__notes__", ())])
    block = {"status": "fail", "message": message, "code": reason}
    return Response(encoded(block), status_code=status, headers=headers, media_type="application/json")


def _reason(error: SeaTunnelError | CheckpointStorageError) -> str:
    """Return the code of an error, for ``seatunnel help CODE``, in lower case with underscores."""
    return error.code.lower().replace("-", "_")


def _unknown(routes: Sequence[Route]) -> Handler:
    """Return the handler for unknown requests: status 405 if the path exists for other methods, else 404."""
    from starlette.routing import compile_path

    known = [(compile_path(route.path)[0], route.method) for route in routes]

    async def handler(_agent: Agent, request: Request, _body: bytes) -> Any:
        allowed = sorted({method for path, method in known if path.match(request.url.path)})
        if not allowed:
            raise RequestError(f"no such endpoint: {request.method} {request.url.path}", status=404)
        message = f"{request.url.path} supports {', '.join(allowed)}, not {request.method}"
        return _failure(message, status=405, reason="wrong_method", headers={"Allow": ", ".join(allowed)})

    return handler
