"""Endpoints for logger levels of one node or all nodes. Levels apply to agent and worker processes until these end."""

import asyncio
import json
import logging
from typing import Any

from seatunnel_core import stored
from seatunnel_core.config.http_options import Permission
from seatunnel_core.errors import SeaTunnelError, StoredValueError, UsageError
from seatunnel_core.server import log_levels
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Parameter, Request, Routes, needing
from seatunnel_core.server.rest.shapes import ANY, by_name

LEVELS = "/internal/v1/log-levels"

logger = logging.getLogger("seatunnel.cluster")


_SCOPE = Parameter("scope", "`node` for the requested node, or `cluster` for all nodes.")
_ANSWER = by_name(ANY)

ROUTES = Routes(to_leader=False)
OF_NODES = Routes(to_leader=False)


@ROUTES.get("/loggers/{name}", "A logger and its level.", parameters=(_SCOPE,), answer=_ANSWER)
@ROUTES.get("/loggers", "Loggers of one node or all nodes, with their levels.", parameters=(_SCOPE,), answer=_ANSWER)
async def _look(agent: Agent, request: Request, _body: bytes) -> Any:
    return await _answer(agent, request, "GET", "")


@ROUTES.post(
    "/loggers/{name}",
    "Set the level of a logger until the process ends.",
    needs=needing(Permission.OPERATE),
    parameters=(
        _SCOPE,
        Parameter("level", 'Level, such as `DEBUG`. It can also be sent as the body `{"level": "DEBUG"}`.'),
    ),
    answer=_ANSWER,
)
async def _change(agent: Agent, request: Request, body: bytes) -> Any:
    level = request.query_params.get("level") or _level_in(body)
    if not level:
        raise RequestError('The level is required: use ?level=DEBUG, or {"level": "DEBUG"} as the body.')
    return await _answer(agent, request, "POST", level)


@ROUTES.delete(
    "/loggers/{name}",
    "Reset a logger to its configured level.",
    needs=needing(Permission.OPERATE),
    parameters=(_SCOPE,),
    answer=_ANSWER,
)
async def _reset(agent: Agent, request: Request, _body: bytes) -> Any:
    return await _answer(agent, request, "DELETE", "")


@ROUTES.delete("/loggers", needs=needing(Permission.OPERATE))
@ROUTES.post("/loggers", needs=needing(Permission.OPERATE))
async def _unnamed(_agent: Agent, _request: Request, _body: bytes) -> Any:
    raise RequestError("The logger name must not be empty: use /loggers/{name}.")


def _level_in(body: bytes) -> str:
    try:
        return stored.text(stored.parse(body), "level") if body.strip() else ""
    except StoredValueError:
        return ""


async def _answer(agent: Agent, request: Request, method: str, level: str) -> Any:
    name = str(request.path_params.get("name", ""))
    scope = request.query_params.get("scope", "node").lower()
    if scope not in ("node", "cluster"):
        raise RequestError(f"Unknown scope {scope[:100]!a}, valid scopes are: node, cluster")
    if scope == "node":
        return await _on_node(agent, method, name, level)
    nodes = await asyncio.gather(*(_on(agent, node, method, name, level) for node in agent.logs.nodes()))
    failed = [each for each in nodes if each.get("status") == "FAILURE"]
    status = "SUCCESS" if not failed else "FAILURE" if len(failed) == len(nodes) else "PARTIAL_FAILURE"
    named = {key: text for key, text in (("name", name), ("level", level.upper())) if text}
    return {"scope": "cluster", "status": status, **named, "nodes": nodes}


async def _on(agent: Agent, node: str, method: str, name: str, level: str) -> Any:
    """Return the response of a node. A failure is included in the response."""
    body = json.dumps({"method": method, "name": name, "level": level}).encode()
    try:
        if node == agent.address:
            return await _on_node(agent, method, name, level)
        answer = await agent.peers.read(node, LEVELS, body)
        if answer.status != 200:
            raise RequestError(stored.text(answer.json(), "message"), status=answer.status)
        return answer.json()
    except SeaTunnelError as error:
        return {"node": node, "status": "FAILURE", "error": str(error)}


@OF_NODES.post(LEVELS)
async def _asked_by_node(agent: Agent, _request: Request, body: bytes) -> Any:
    block = stored.parse(body)
    return await _on_node(agent, stored.text(block, "method"), stored.text(block, "name"), stored.text(block, "level"))


async def _on_node(agent: Agent, method: str, name: str, level: str) -> Any:
    if method == "GET":
        if name:
            return {**_shown(name), "node": agent.address}
        return {"node": agent.address, "loggers": [_shown(each) for each in log_levels.known_loggers()]}
    before = log_levels.change(name, level) if method == "POST" else log_levels.reset(name)
    if before is not None:
        logger.info("level of logger %s changed: %s -> %s", name, before, log_levels.level_of(name).level)
    await agent.ask_hosts({"do": "log-level", "name": name, "level": level})
    status = "NO_OVERRIDE" if before is None else "SUCCESS"
    return {**_shown(name), "node": agent.address, "previousLevel": before, "status": status}


def _shown(name: str) -> dict[str, Any]:
    try:
        found = log_levels.level_of(name)
    except UsageError as error:
        raise RequestError(str(error), status=404) from error
    changed = {} if found.before is None else {"fileLevel": found.before}
    return {"name": name, "level": found.level, "origin": "RUNTIME" if changed else "FILE", **changed}
