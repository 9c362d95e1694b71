"""Endpoints for the details of one node and its threads, through any node."""

import asyncio
from typing import Any

from seatunnel_core import stored
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.peers import Line
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.node_details import OWN, TARGET
from seatunnel_core.server.rest.route import Parameter, Request, Routes
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
_NODE = Parameter("node", "Address of another node.")

ROUTES = Routes(to_leader=False)


@ROUTES.get(
    "/nodes/{address}", "Details of a node: processes, JVMs, and configuration with secrets masked.", answer=_DETAILS
)
async def _node(agent: Agent, request: Request, _body: bytes) -> Any:
    return await _of_node(agent, str(request.path_params["address"]), "details")


@ROUTES.get(
    "/thread-dump",
    "Threads of the node's agent and worker processes, with their stacks.",
    parameters=(_NODE,),
    answer=items(
        block({"threadName": TEXT, "threadId": WHOLE, "threadState": TEXT, "stackTrace": TEXT, "process": TEXT})
    ),
)
async def _thread_dump(agent: Agent, request: Request, _body: bytes) -> Any:
    return await _of_node(agent, request.query_params.get("node", "") or agent.address, "threads")


@ROUTES.get(
    "/running-threads",
    "Names of the threads. `classLoader` is the process of a thread.",
    parameters=(_NODE,),
    answer=items(block({"threadName": TEXT, "classLoader": TEXT})),
)
async def _running_threads(agent: Agent, request: Request, body: bytes) -> Any:
    threads = await _thread_dump(agent, request, body)
    found = [{"threadName": each["threadName"], "classLoader": each["process"]} for each in threads]
    return sorted(found, key=lambda each: (each["threadName"], each["classLoader"]))


async def _of_node(agent: Agent, address: str, what: str) -> Any:
    """Return the ``details`` or ``threads`` that a node reports about itself."""
    agent.logs.require_node(address)
    if address == agent.address:
        return await OWN[what](agent)
    try:
        async with asyncio.timeout(Line.MONITORING.answer_s):
            found = await agent.peers.ask(address, Line.MONITORING, TARGET, {"what": what})
    except TimeoutError:
        message = f"node {address} did not respond within {Line.MONITORING.answer_s:.0f} s"
        raise RequestError(message, status=503, reason="timeout") from None
    except SeaTunnelError as error:
        raise RequestError(f"node {address} is unreachable: {error}", status=503, reason="unreachable") from error
    return stored.member(found, "found")
