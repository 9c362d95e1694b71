"""Authentication of requests: nodes and clients by the cluster's signature, users by password or certificate.

The same rules apply to users on all ports. If a password is configured, it is required. Otherwise a client certificate
is required, which TLS has already verified. With neither, access is only possible from this machine, unless the
operator allows unauthenticated access. Cross-site requests are rejected.
"""

import base64
import hmac
import ipaddress
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from attrs import frozen

from seatunnel_core.config.http_options import Permission
from seatunnel_core.control.signing import AUTHORIZATION
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.rest.route import Request, Routes, needing
from seatunnel_core.server.rest.shapes import TEXT, block, items

V1 = "/hazelcast/rest/"
"""Path prefix of SeaTunnel's REST v1, which users can request on the member port."""


@frozen(kw_only=True)
class AuthPolicy:
    """Access rules of a port."""

    local: bool = True
    """True if only this machine can reach the port."""

    verified: bool = False
    """True if TLS requires client certificates."""

    prefix: str = ""


LOCAL = AuthPolicy()


def is_signed(request: Request) -> bool:
    """Return True if a request on the member port must be signed, like requests of nodes and cluster clients."""
    return not request.url.path.startswith(V1) or AUTHORIZATION in request.headers


def refusal(agent: Agent, request: Request, *, signed: bool, policy: AuthPolicy = LOCAL) -> str | None:
    """Return the reason for rejecting a request because of its headers; ``None`` if it is allowed.

    Requests from pages of other sites are rejected based on their ``Origin`` header. Without authentication, the
    ``Host`` header is also checked to prevent DNS rebinding. ``signed`` requires the cluster's signature.
    """
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None and urlsplit(origin).netloc != host:
        return "cross-site request rejected"
    login = agent.config.http.login
    is_open = agent.config.secret is None if signed else login is None and not policy.verified
    if is_open and not _is_of_this_node(host, agent.config.host):
        return f"request to host {host!r} rejected: use the address of this node, or localhost"
    if signed:
        return agent.authenticator.refusal(request.headers, request.method, target_of(request))
    if login is not None:
        return "authentication required" if _user(agent, request) is None else None
    if policy.verified or policy.local or agent.config.http.is_open or _is_from_here(request):
        return None
    return "without http.enable-basic-auth, only requests from this machine are accepted"


@frozen(kw_only=True)
class User:
    """An authenticated user and their permissions."""

    name: str = ""
    """Name of the user; empty if there is no basic authentication."""

    permissions: frozenset[Permission] = frozenset(Permission)


def user_of(agent: Agent, request: Request) -> User:
    """Return the user of an allowed request. Without basic authentication, the user has all permissions."""
    return _user(agent, request) or User()


def _user(agent: Agent, request: Request) -> User | None:
    """Return the user with the request's credentials. All users are compared, so that the duration is constant."""
    http = agent.config.http
    known = {} if http.login is None else {http.login: User(name=http.login[0])}
    for each in http.users:
        known[each.name, each.password] = User(name=each.name, permissions=each.permissions)
    right = [_is_logged_in(login, request.headers) for login in known]
    return next((user for user, matches in zip(known.values(), right, strict=True) if matches), None)


def target_of(request: Request) -> str:
    """Return the path and query of a request as they were sent."""
    path = request.scope.get("raw_path") or request.url.path.encode()
    query = request.scope["query_string"]
    return str((path + (b"?" + query if query else b"")).decode("ascii", "replace"))


def _is_from_here(request: Request) -> bool:
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except (AttributeError, ValueError):  # the client has disconnected
        return False


def _is_of_this_node(host: str, own: str) -> bool:
    """Return True if a ``Host`` header contains an IP address or a name of this machine, with or without a port."""
    name = ""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        ipaddress.ip_address(name)
    except ValueError:
        return name in ("localhost", own.lower(), socket.gethostname().lower())
    return True


def _is_logged_in(login: tuple[str, str], headers: Mapping[str, str]) -> bool:
    """Return True if a request contains this user and password. The comparison takes constant time."""
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    try:
        given = base64.b64decode(encoded, validate=True) if scheme.lower() == "basic" else b""
    except ValueError:
        given = b""
    return hmac.compare_digest(_fixed(given), _fixed(":".join(login).encode()))


def _fixed(text: bytes) -> bytes:
    """Return a digest of fixed length. Comparing two digests does not reveal the length of a string."""
    return hmac.digest(b"seatunnel", text, "sha256")


ROUTES = Routes(to_leader=False)


@ROUTES.get(
    "/permissions",
    "The current user and their permissions.",
    needs=needing(),
    answer=block({"user": TEXT, "permissions": items(TEXT)}),
)
async def _permissions(agent: Agent, request: Request, _body: bytes) -> Any:
    user = user_of(agent, request)
    return {"user": user.name, "permissions": [each.value for each in Permission if each in user.permissions]}
