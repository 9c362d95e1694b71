"""Endpoint for the details of one node, through any node."""

import asyncio
from typing import Any

from seatunnel_core import stored
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.peers import Line
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.node_details import TARGET, node_details
from seatunnel_core.server.rest.route import Request, Routes
from seatunnel_core.server.rest.shapes import ANY, FLAG, TEXT, WHOLE, block, by_name, items

_DETAILS = block(
    {
        "address": TEXT,
        "role": TEXT,
        "version": TEXT,
        "cluster": TEXT,
        "leads": FLAG,
        "pid": WHOLE,
        "timeZone": TEXT,
        "metrics": items(items(ANY)),
        "files": by_name(TEXT),
        "configuration": items(block({"key": TEXT, "value": TEXT, "isSet": FLAG})),
        "storage": by_name(TEXT),
        "tags": by_name(TEXT),
    }
)

ROUTES = Routes(to_leader=False)


@ROUTES.get(
    "/nodes/{address}", "Details of a node: processes, JVMs, and configuration with secrets masked.", answer=_DETAILS
)
async def _node(agent: Agent, request: Request, _body: bytes) -> Any:
    return await of_node(agent, str(request.path_params["address"]), "details", lambda: node_details(agent))


async def of_node(agent: Agent, address: str, what: str, own: Any) -> Any:
    """Return details that a node reports about itself.

    Args:
        agent: Agent of this node.
        address: Address of the node in question.
        what: ``details`` or ``threads``.
        own: Returns these details of this node.

    Raises:
        RequestError: There is no such node, or it does not respond in time.
    """
    agent.logs.require_node(address)
    if address == agent.address:
        return await own()
    try:
        async with asyncio.timeout(Line.MONITORING.answer_s):
            found = await agent.peers.ask(address, Line.MONITORING, TARGET, {"what": what})
    except TimeoutError:
        message = f"node {address} did not respond within {Line.MONITORING.answer_s:.0f} s"
        raise RequestError(message, status=503, reason="timeout") from None
    except SeaTunnelError as error:
        raise RequestError(f"node {address} is unreachable: {error}", status=503, reason="unreachable") from error
    return stored.member(found, "found")
