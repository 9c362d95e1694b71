"""The cluster as a whole, and the node that is asked."""

from typing import Any

from seatunnel_core.server.agent import answers
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.rest.forwarding import FORWARDED
from seatunnel_core.server.rest.route import Request, Route, json_block


async def _overview(agent: Agent, request: Request, _body: bytes) -> Any:
    tags = {key: text for key, text in request.query_params.items() if key != FORWARDED}
    found = agent.require_state().snapshot()
    members, slots = agent.users.members_with(tags)
    return answers.overview(found, workers=members if tags else agent.working(), slots=slots)


async def _update_tags(agent: Agent, _request: Request, body: bytes) -> Any:
    """Set the tags of the node that is asked; an empty block clears them."""
    agent.own_hosts().tags = {key: answers.text_of(value) for key, value in json_block(body).items()}
    agent.dispatcher.wake()
    return {"status": "success", "message": "update node tags done."}


ROUTES = (
    Route("GET", "/overview", _overview),
    Route("POST", "/update-tags", _update_tags, to_leader=False),
)
