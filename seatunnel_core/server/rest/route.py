"""Routes: method, path, handler, required permissions, and documentation."""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any

from attrs import frozen

from seatunnel_core.config.http_options import Permission
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.shapes import ANY, TEXT, Shape

Request = Any
"""``starlette.requests.Request``."""

Handler = Callable[[Agent, Request, Any], Awaitable[Any]]
"""Function of agent, request and body that returns a JSON value or a ``starlette.responses.Response``."""


SMALL_BODY = 256 * 1024
"""Maximum size of a body without a job, in bytes. These bodies are parsed in the event loop."""


@frozen
class Parameter:
    """A query parameter."""

    name: str
    doc: str
    shape: Shape = TEXT
    required: bool = False


@frozen
class Body:
    """A kind of request body."""

    shape: Shape
    kind: str = "application/json"
    doc: str = ""


Needs = Callable[[Request], Collection[Permission]]
"""Function that returns the permissions that a request needs. They are checked before its body is read."""

Reads = Callable[[Agent, bytes], Awaitable[Any]]
"""Function that parses a body before the handler is called. Used for bodies that take a long time to parse."""


BodyNeeds = Callable[[Any], Collection[Permission]]
"""Function that returns further permissions that a parsed body needs."""


def looking(_request: Request) -> Collection[Permission]:
    """Require the permission ``look``. This is the default for all requests."""
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
    """An endpoint of a node.

    Args:
        path: Path with parameters in braces, as in Starlette.
        to_leader: True if nodes that do not lead forward the request to the leader.
        summary: Purpose, in a sentence; empty for internal endpoints.
        bodies: Accepted bodies, one per content type.
        answer: Schema of the response.
        kind: Content type of the response.
        other_kinds: Further content types of the response, without a schema.
        needs: Returns the required permissions.
        reads: Parses the body; by default the handler gets its bytes.
        body_needs: Returns further permissions, which depend on the body.
        most_bytes: Maximum size of the body, in bytes.
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


class Routes(list[Route]):
    """Endpoints of a module. Decorators add functions; ``common`` contains default arguments of ``Route``."""

    def __init__(self, **common: Any) -> None:
        super().__init__()
        self._common = common

    def get(self, path: str, summary: str = "", **more: Any) -> Callable[[Handler], Handler]:
        """Return a decorator that adds an endpoint for GET, with the arguments of ``Route``."""
        return partial(self._added, "GET", path, summary, more)

    def post(self, path: str, summary: str = "", **more: Any) -> Callable[[Handler], Handler]:
        """Return a decorator that adds an endpoint for POST."""
        return partial(self._added, "POST", path, summary, more)

    def delete(self, path: str, summary: str = "", **more: Any) -> Callable[[Handler], Handler]:
        """Return a decorator that adds an endpoint for DELETE."""
        return partial(self._added, "DELETE", path, summary, more)

    def _added(self, method: str, path: str, summary: str, more: Mapping[str, Any], handler: Handler) -> Handler:
        self.append(Route(method, path, handler, summary=summary, **{**self._common, **more}))
        return handler


def encoded(value: Any) -> bytes:
    """Encode a value as JSON. Unpaired surrogates, which requests and jobs may contain, become question marks."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(errors="replace")


def json_value(body: bytes) -> Any:
    """Parse the JSON value in a body. Raise RequestError if the body is empty or invalid."""
    if not body.strip():
        raise RequestError("Request body is empty.", reason="empty_body")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError("Invalid JSON format in request body.", reason="invalid_json") from error


def json_block(body: bytes) -> Mapping[str, Any]:
    """Parse the JSON object in a body. Raise RequestError for any other value."""
    value = json_value(body)
    if not isinstance(value, Mapping):
        raise RequestError("Invalid JSON format in request body.", reason="invalid_json")
    return value


def flag(request: Request, name: str) -> bool:
    """Return a boolean query parameter; see ``truth``."""
    return truth(request.query_params, name)


def truth(values: Mapping[str, Any], name: str) -> bool:
    """Return a boolean parameter; False if it is missing."""
    value = values.get(name)
    text = "false" if value in (None, "") else str(value).lower()
    if text not in ("true", "false"):
        raise RequestError(f"{name} is {text[:40]!r}: expected true or false")
    return text == "true"


def number(request: Request, name: str, default: int, *, least: int, most: int) -> int:
    """Return an integer query parameter. Raise RequestError if it is invalid."""
    text = request.query_params.get(name, "")
    try:
        value = int(text) if text else default
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise RequestError(f"{name} is {text[:40]!r}: expected an integer from {least} to {most}")
    return value
