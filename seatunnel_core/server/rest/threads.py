"""Endpoints for the threads of a node's agent and worker processes."""

from typing import Any

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.node_details import node_threads
from seatunnel_core.server.rest.node_details import of_node
from seatunnel_core.server.rest.route import Parameter, Request, Routes
from seatunnel_core.server.rest.shapes import TEXT, WHOLE, block, items


async def _threads(agent: Agent, request: Request) -> list[dict[str, Any]]:
    address = request.query_params.get("node", "") or agent.address
    found: list[dict[str, Any]] = await of_node(agent, address, "threads", lambda: node_threads(agent))
    return found


_NODE = Parameter("node", "Address of another node.")

ROUTES = Routes(to_leader=False)


@ROUTES.get(
    "/thread-dump",
    "Threads of the node's agent and worker processes, with their stacks.",
    parameters=(_NODE,),
    answer=items(
        block({"threadName": TEXT, "threadId": WHOLE, "threadState": TEXT, "stackTrace": TEXT, "process": TEXT})
    ),
)
async def _thread_dump(agent: Agent, request: Request, _body: bytes) -> Any:
    return await _threads(agent, request)


@ROUTES.get(
    "/running-threads",
    "Names of these threads, with the process in place of SeaTunnel's class loader.",
    parameters=(_NODE,),
    answer=items(block({"threadName": TEXT, "classLoader": TEXT})),
)
async def _running_threads(agent: Agent, request: Request, _body: bytes) -> Any:
    threads = await _threads(agent, request)
    found = [{"threadName": each["threadName"], "classLoader": each["process"]} for each in threads]
    return sorted(found, key=lambda each: (each["threadName"], each["classLoader"]))
