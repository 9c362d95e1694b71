"""A route: a method and a path, who answers them, and whether the leader has to."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from attrs import frozen

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError

Request = Any
"""``starlette.requests.Request``."""

Handler = Callable[[Agent, Request, bytes], Awaitable[Any]]
"""From a request and its body to a JSON value, or to a ``starlette.responses.Response``.

Raises:
    RequestError: with the status and the message of the answer.
"""


@frozen
class Route:
    """What a node answers.

    Args:
        method: of HTTP.
        path: with parameters in braces, as Starlette writes them.
        handler: answers.
        to_leader: whether a node that does not lead forwards the request to the one that does.
    """

    method: str
    path: str
    handler: Handler
    to_leader: bool = True


def json_block(body: bytes) -> Mapping[str, Any]:
    """Return the JSON object of a body; an empty one for any other JSON value.

    Raises:
        RequestError: the body is empty, or no JSON.
    """
    if not body.strip():
        raise RequestError("Request body is empty.")
    try:
        block = json.loads(body)
    except ValueError as error:
        raise RequestError("Invalid JSON format in request body.") from error
    return block if isinstance(block, Mapping) else {}
