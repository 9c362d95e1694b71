"""Endpoints for the cluster and its nodes."""

import asyncio
from typing import Any

from seatunnel_core import stored
from seatunnel_core.config.http_options import Permission
from seatunnel_core.errors import SeaTunnelError, StoredValueError
from seatunnel_core.reporting.rest_text import project_version, text_of
from seatunnel_core.server.agent import answers
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.peers import Line
from seatunnel_core.server.rest.forwarding import FORWARDED
from seatunnel_core.server.rest.route import Body, Parameter, Request, Routes, json_block, needing
from seatunnel_core.server.rest.shapes import FLAG, TEXT, WHOLE, block, by_name, items

TAGS_WERE_SET = {"status": "success", "message": "update node tags done."}


_OVERVIEW = block(
    dict.fromkeys(
        (
            *("projectVersion", "gitCommitAbbrev", "totalSlot", "unassignedSlot", "workers", "works", "runningJobs"),
            *("pendingJobs", "finishedJobs", "failedJobs", "cancelledJobs"),
        ),
        TEXT,
    )
)
_TAGS = Parameter("tags", "`?NAME=VALUE` counts only nodes with these tags, and their slots.", by_name(TEXT))
_MEMBER = block({"address": TEXT, "liteMember": FLAG, "localMember": FLAG, "uuid": TEXT, "memberVersion": TEXT})

ROUTES = Routes()
HAZELCAST_ROUTES = Routes()
"""Endpoints of REST v1 that have no counterpart in v2."""


@ROUTES.get("/overview", "Number of nodes and slots, and of jobs by state.", parameters=(_TAGS,), answer=_OVERVIEW)
async def _overview(agent: Agent, request: Request, _body: bytes) -> Any:
    tags = {key: text for key, text in request.query_params.items() if key != FORWARDED}
    state = agent.require_state()
    members, slots = agent.users.members_with(tags)
    workers = members if tags else agent.working()
    return answers.overview(state.running(), state.history(), workers=workers, slots=slots)


@ROUTES.post(
    "/update-tags",
    "Set the tags of the requested node; an empty object clears them.",
    to_leader=False,
    needs=needing(Permission.OPERATE),
    bodies=(Body(by_name({})),),
    answer=block({"status": {"const": "success"}, "message": TEXT}),
)
async def _update_tags(agent: Agent, _request: Request, body: bytes) -> Any:
    tags = {key: text_of(value) for key, value in json_block(body).items()}
    stored.texts({"tags": [*tags, *tags.values()]}, "tags")
    agent.own_hosts().tags = tags
    agent.dispatcher.wake()
    return TAGS_WERE_SET


@ROUTES.get(
    "/system-monitoring-information",
    "Measurements of each node. A node that has not responded after 3 s has a `timeout`.",
    answer=items(by_name(TEXT)),
)
async def _monitoring(agent: Agent, _request: Request, _body: bytes) -> Any:
    agent.require_state()

    async def asked() -> list[dict[str, str]]:
        return await asyncio.gather(*(_monitored(agent, address) for address in _nodes(agent)))

    return await agent.monitoring.get(asked)


def _nodes(agent: Agent) -> list[str]:
    """Return the addresses of all nodes: first masters, then workers."""
    return list(dict.fromkeys((*agent.leadership.members(), *agent.workers.living())))


async def _monitored(agent: Agent, address: str) -> dict[str, str]:
    host, _, port = address.rpartition(":")
    named = {"isMaster": text_of(address == agent.address), "host": host, "port": port}
    if address == agent.address:
        return {**named, "term": str(agent.leadership.term()), **await monitoring_of(agent)}
    try:
        async with asyncio.timeout(Line.MONITORING.answer_s):
            found = await agent.peers.ask(address, Line.MONITORING, "/internal/v1/monitoring", {})
        return {**named, **{key: stored.text(found, key) for key in found}}
    except TimeoutError:
        return {**named, "timeout": "true"}
    except (SeaTunnelError, StoredValueError) as error:
        return {**named, "timeout": "true", "error": str(error)}


async def monitoring_of(agent: Agent) -> dict[str, str]:
    """Return the measurements of this node."""
    measured = await asyncio.get_running_loop().run_in_executor(None, agent.machine.measured, agent.host_pids())
    difference = agent.clock_difference()
    warning = (
        f"the node's clock differs from the leader's by {difference / 1000:+.1f} s" if abs(difference) > 1_000 else ""
    )
    return {
        **measured,
        "cluster.timeDiff": str(difference),
        "role": agent.config.role.value,
        "version": project_version(),
        **({"warning": warning} if warning else {}),
    }


@HAZELCAST_ROUTES.get(
    "/hazelcast/rest/cluster",
    "Members, in Hazelcast's format.",
    answer=block({"members": items(_MEMBER), "connectionCount": WHOLE, "allConnectionCount": WHOLE}),
)
async def _cluster(agent: Agent, _request: Request, _body: bytes) -> Any:
    agent.require_state()
    masters, addresses = agent.leadership.members(), _nodes(agent)
    found = [
        {
            "address": "[{}]:{}".format(*address.rpartition(":")[::2]),
            "liteMember": address not in masters,
            "localMember": address == agent.address,
            "uuid": address,
            "memberVersion": project_version(),
        }
        for address in addresses
    ]
    return {"members": found, "connectionCount": len(found), "allConnectionCount": len(found)}
