"""A route: a method and a path, who answers them, whether the leader has to, and what is documented of it."""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from attrs import frozen

from seatunnel_core.config.http_options import Permission
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.shapes import ANY, TEXT, Shape

Request = Any
"""``starlette.requests.Request``."""

Handler = Callable[[Agent, Request, Any], Awaitable[Any]]
"""From a request and its body to a JSON value, or to a ``starlette.responses.Response``.

Raises:
    RequestError: with the status and the message of the answer.
"""


SMALL_BODY = 256 * 1024
"""Maximum size of the body of a request that carries no job: it is parsed in the event loop."""


@frozen
class Parameter:
    """What may stand in the query of a request."""

    name: str
    doc: str
    shape: Shape = TEXT
    required: bool = False


@frozen
class Body:
    """What a request carries."""

    shape: Shape
    kind: str = "application/json"
    doc: str = ""


Needs = Callable[[Request], Collection[Permission]]
"""From a request without its body to the permissions that its user needs. They are checked before a body is read."""

Reads = Callable[[Agent, bytes], Awaitable[Any]]
"""From the body of a request to what its handler gets in place of it. For bodies that take long to parse.

Raises:
    RequestError: the body cannot be read.
"""


BodyNeeds = Callable[[Any], Collection[Permission]]
"""From the body of a request, as it was read, to further permissions that its user needs.

Raises:
    RequestError: the body cannot be read.
"""


def looking(_request: Request) -> Collection[Permission]:
    """Require the permission to look."""
    return (Permission.LOOK,)


def needing(*permissions: Permission) -> Needs:
    """Return a function that requires permissions for every request."""
    return lambda _request: permissions


async def _as_it_is(_agent: Agent, body: bytes) -> bytes:
    return body


def _nothing_more(_body: bytes) -> Collection[Permission]:
    return ()


@frozen
class Route:
    """What a node answers.

    Args:
        method: of HTTP.
        path: with parameters in braces, as Starlette writes them.
        handler: answers.
        to_leader: whether a node that does not lead forwards the request to the one that does.
        summary: what it is for, in a sentence; empty for what users do not ask.
        parameters: of the query.
        bodies: what it takes, one of each kind of content.
        answer: the shape of the answer.
        kind: the kind of its content.
        other_kinds: what its content may be besides, which has no shape.
        needs: permissions that the user needs.
        reads: reads the body; without it, the handler gets its bytes.
        body_needs: permissions that the user needs besides, because of what the body says.
        most_bytes: maximum size of the body.
    """

    method: str
    path: str
    handler: Handler
    to_leader: bool = True
    summary: str = ""
    parameters: tuple[Parameter, ...] = ()
    bodies: tuple[Body, ...] = ()
    answer: Shape = ANY
    kind: str = "application/json"
    other_kinds: tuple[str, ...] = ()
    needs: Needs = looking
    reads: Reads = _as_it_is
    body_needs: BodyNeeds = _nothing_more
    most_bytes: int = SMALL_BODY


def encoded(value: Any) -> bytes:
    """Return a value as JSON. Halves of characters, which requests and jobs may hold, become question marks."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(errors="replace")


def json_value(body: bytes) -> Any:
    """Return the JSON value of a body.

    Raises:
        RequestError: the body is empty, or no JSON.
    """
    if not body.strip():
        raise RequestError("Request body is empty.", reason="empty_body")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError("Invalid JSON format in request body.", reason="invalid_json") from error


def json_block(body: bytes) -> Mapping[str, Any]:
    """Return the JSON object of a body.

    Raises:
        RequestError: the body is empty, or no JSON object.
    """
    value = json_value(body)
    if not isinstance(value, Mapping):
        raise RequestError("Invalid JSON format in request body.", reason="invalid_json")
    return value


def flag(request: Request, name: str) -> bool:
    """Return a truth value of the query, as ``truth`` does."""
    return truth(request.query_params, name)


def truth(values: Mapping[str, Any], name: str) -> bool:
    """Return a truth value, which is false where it is not said.

    Raises:
        RequestError: it is neither ``true`` nor ``false``: what was meant must not be guessed.
    """
    value = values.get(name)
    text = "false" if value in (None, "") else str(value).lower()
    if text not in ("true", "false"):
        raise RequestError(f"{name} is {text[:40]!r}: write true or false")
    return text == "true"


def number(request: Request, name: str, default: int, *, least: int, most: int) -> int:
    """Return a whole number of the query.

    Raises:
        RequestError: it is none, or too small or too large.
    """
    text = request.query_params.get(name, "")
    try:
        value = int(text) if text else default
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise RequestError(f"{name} is {text[:40]!r}: write a whole number from {least} to {most}")
    return value
