"""Who is let in: nodes and clients by the cluster's signature, users by a password, and no other site's pages.

Users are asked the same on all ports: a password where there is one; else a certificate, which TLS has verified before
a request arrives; else they are let in from this machine alone, unless the operator lets in everybody.
"""

import base64
import hmac
import ipaddress
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from attrs import frozen

from seatunnel_core.config.http_options import Permission
from seatunnel_core.control.signing import AUTHORIZATION
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.rest.route import Request

V1 = "/hazelcast/rest/"
"""Paths of SeaTunnel's REST v1, by which users ask on the member port."""


@frozen(kw_only=True)
class AuthPolicy:
    """By which port a request came."""

    local: bool = True
    """Whether only this machine reaches it."""

    verified: bool = False
    """Whether TLS has asked the client for a certificate."""

    prefix: str = ""
    """Of all its paths."""


LOCAL = AuthPolicy()


def is_signed(request: Request) -> bool:
    """Return whether a request on the member port is one of a node or a client of the cluster, not of a user."""
    return not request.url.path.startswith(V1) or AUTHORIZATION in request.headers


def refusal(agent: Agent, request: Request, *, signed: bool, policy: AuthPolicy = LOCAL) -> str | None:
    """Return why a request is not let in; ``None``: it is.

    A web page of another site cannot make a browser ask: it sends its origin. Where nobody is asked for a password or a
    signature, nor can one whose name was made to lead to this machine: it sends that name as the host.

    Args:
        agent: of the node.
        request: with its headers; the body is not looked at.
        signed: whether it has to have the cluster's signature.
        policy: by which it came.
    """
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None and urlsplit(origin).netloc != host:
        return "a request of another site is refused"
    login = agent.config.http.login
    is_open = agent.config.secret is None if signed else login is None and not policy.verified
    if is_open and not _is_of_this_node(host, agent.config.host):
        return f"a request to {host!r} is refused: write the address of this node, or localhost"
    if signed:
        return agent.authenticator.refusal(request.headers, request.method, target_of(request))
    if login is not None:
        return "who are you?" if _user(agent, request) is None else None
    if policy.verified or policy.local or agent.config.http.is_open or _is_from_here(request):
        return None
    return "without http.enable-basic-auth only requests of this machine are let in"


@frozen(kw_only=True)
class User:
    """Who asks."""

    name: str = ""
    """Empty where nobody is asked for a name."""

    permissions: frozenset[Permission] = frozenset(Permission)


def user_of(agent: Agent, request: Request) -> User:
    """Return who has sent a request that was let in. Who was not asked for a name has none, and may do everything."""
    return _user(agent, request) or User()


def _user(agent: Agent, request: Request) -> User | None:
    """Return the user whose name and password a request has; all are compared in any case."""
    http = agent.config.http
    known = {} if http.login is None else {http.login: User(name=http.login[0])}
    for each in http.users:
        known[each.name, each.password] = User(name=each.name, permissions=each.permissions)
    right = [_is_logged_in(login, request.headers) for login in known]
    return next((user for user, is_he in zip(known.values(), right, strict=True) if is_he), None)


def target_of(request: Request) -> str:
    """Return path and query of a request as they were sent."""
    path = request.scope.get("raw_path") or request.url.path.encode()
    query = request.scope["query_string"]
    return str((path + (b"?" + query if query else b"")).decode("ascii", "replace"))


def _is_from_here(request: Request) -> bool:
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except (AttributeError, ValueError):  # it is gone already
        return False


def _is_of_this_node(host: str, own: str) -> bool:
    """Return whether the host of a request is an address or a name of this machine, with or without a port."""
    name = ""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        ipaddress.ip_address(name)
    except ValueError:
        return name in ("localhost", own.lower(), socket.gethostname().lower())
    return True


def _is_logged_in(login: tuple[str, str], headers: Mapping[str, str]) -> bool:
    """Return whether a request carries user and password, by basic authentication; both are compared in any case."""
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    try:
        given = base64.b64decode(encoded, validate=True) if scheme.lower() == "basic" else b""
    except ValueError:
        given = b""
    return hmac.compare_digest(_fixed(given), _fixed(":".join(login).encode()))


def _fixed(text: bytes) -> bytes:
    """Return a digest of a text: the time of a comparison of two of them says nothing of the length of either."""
    return hmac.digest(b"seatunnel", text, "sha256")
