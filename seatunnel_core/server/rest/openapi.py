"""The OpenAPI document of what users ask, made from the routes."""

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.answers import project_version
from seatunnel_core.server.rest.route import Request, Route
from seatunnel_core.server.rest.shapes import FAILURE, by_name

_IN_PATH = re.compile(r"{(\w+)(?::\w+)?}")

_ABOUT = (
    "REST of a node, in the shapes of Apache SeaTunnel's version 2. Any node answers. Each path is there below "
    "`/hazelcast/rest/maps` too, as version 1."
)


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """Return the document of some routes, without those that have no summary."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if route.summary:
            paths.setdefault(_IN_PATH.sub(r"{\1}", route.path), {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "seatunnel-core", "version": project_version(), "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": {"Failure": FAILURE},
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"basic": []}],
    }


def _operation(route: Route) -> dict[str, Any]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _IN_PATH.findall(route.path)
    ]
    in_query = [
        {"name": each.name, "in": "query", "required": each.required, "description": each.doc, "schema": each.shape}
        for each in route.parameters
    ]
    content = {each.kind: {"schema": each.shape} for each in route.bodies}
    answered = {route.kind: {"schema": route.answer}, **{kind: {} for kind in route.other_kinds}}
    failure = {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}}
    return {
        "summary": route.summary,
        "operationId": f"{route.method.lower()}{re.sub('[^a-z0-9]+', '_', route.path.lower())}",
        "parameters": in_path + in_query,
        **({"requestBody": {"required": True, "content": content}} if content else {}),
        "responses": {
            "200": {"description": "The answer.", "content": answered},
            "default": {"description": "It was refused, or failed; `code` says why.", "content": failure},
        },
    }


def openapi_route(routes: Iterable[Route]) -> Route:
    """Return the route that shows the document of some routes."""

    async def handler(made: dict[str, Any], _agent: Agent, _request: Request, _body: bytes) -> Any:
        return made

    return Route(
        "GET",
        "/openapi.json",
        partial(handler, document(routes)),
        to_leader=False,
        summary="This interface, as an OpenAPI document.",
        answer=by_name({}),
    )
