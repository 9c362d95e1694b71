"""Who is let in: nodes and clients by the cluster's signature, users by a password, and no other site's pages."""

import base64
import hmac
import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.rest.route import Request


def refusal(agent: Agent, request: Request, *, signed: bool) -> str | None:
    """Return why a request is not let in; ``None``: it is.

    A web page of another site cannot make a browser ask: it sends its origin. Where nobody is asked for a password or a
    signature, nor can one whose name was made to lead to this machine: it sends that name as the host.
    """
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None and urlsplit(origin).netloc != host:
        return "a request of another site is refused"
    is_open = agent.config.secret is None if signed else agent.config.http_login is None
    if is_open and not _is_address(host):
        return f"a request to {host!r} is refused: write the address of this node, or localhost"
    if not signed:
        return None if _is_logged_in(agent.config.http_login, request.headers) else "who are you?"
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return agent.doorkeeper.refusal(request.headers, request.method, target)


def _is_address(host: str) -> bool:
    """Return whether the host of a request is an address or ``localhost``, with or without a port."""
    name = ""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost"
    return True


def _is_logged_in(login: tuple[str, str] | None, headers: Mapping[str, str]) -> bool:
    """Return whether a request carries user and password, by basic authentication; both are compared in any case."""
    if login is None:
        return True
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    try:
        given = base64.b64decode(encoded, validate=True) if scheme.lower() == "basic" else b""
    except ValueError:
        given = b""
    return hmac.compare_digest(given, ":".join(login).encode())
