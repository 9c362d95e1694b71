"""OpenAPI document of the REST interface, generated from the routes."""

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from seatunnel_core.reporting.rest_text import project_version
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.rest.route import Request, Route
from seatunnel_core.server.rest.shapes import FAILURE, by_name

_IN_PATH = re.compile(r"{(\w+)(?::\w+)?}")

_ABOUT = (
    "REST interface of a node, compatible with version 2 of Apache SeaTunnel's REST API. Any node serves it. Each "
    "path also exists below `/hazelcast/rest/maps`, as version 1."
)


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """Return the document of the routes that have a summary."""
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
            "200": {"description": "Response.", "content": answered},
            "default": {"description": "The request was rejected or failed; `code` is the reason.", "content": failure},
        },
    }


def openapi_route(routes: Iterable[Route]) -> Route:
    """Return the route that serves the OpenAPI document of other routes."""

    async def handler(made: dict[str, Any], _agent: Agent, _request: Request, _body: bytes) -> Any:
        return made

    return Route(
        "GET",
        "/openapi.json",
        partial(handler, document(routes)),
        to_leader=False,
        summary="OpenAPI document of this interface.",
        answer=by_name({}),
    )
