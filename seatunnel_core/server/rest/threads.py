"""The threads of the node that is asked: those of its agent and of its hosts."""

import os
from typing import Any

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.rest.route import Request, Route
from seatunnel_core.server.rest.shapes import TEXT, WHOLE, block, items
from seatunnel_core.server.threads import thread_dump


async def _threads(agent: Agent) -> list[dict[str, Any]]:
    found = [{**each, "process": f"agent {os.getpid()}"} for each in thread_dump()]
    for answer in await agent.ask_hosts({"do": "threads"}):
        found += [{**each, "process": f"host {answer['pid']}"} for each in answer["threads"]]
    return found


async def _thread_dump(agent: Agent, _request: Request, _body: bytes) -> Any:
    return await _threads(agent)


async def _running_threads(agent: Agent, _request: Request, _body: bytes) -> Any:
    found = [{"threadName": each["threadName"], "classLoader": each["process"]} for each in await _threads(agent)]
    return sorted(found, key=lambda each: (each["threadName"], each["classLoader"]))


ROUTES = (
    Route(
        "GET",
        "/thread-dump",
        _thread_dump,
        to_leader=False,
        summary="The threads of the node that is asked, of its agent and of its hosts, with their stacks.",
        answer=items(
            block({"threadName": TEXT, "threadId": WHOLE, "threadState": TEXT, "stackTrace": TEXT, "process": TEXT})
        ),
    ),
    Route(
        "GET",
        "/running-threads",
        _running_threads,
        to_leader=False,
        summary="The names of these threads; the process stands where SeaTunnel has the class loader.",
        answer=items(block({"threadName": TEXT, "classLoader": TEXT})),
    ),
)
