"""Endpoint for the permissions of the current user."""

from typing import Any

from seatunnel_core.config.http_options import Permission
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.rest import access
from seatunnel_core.server.rest.route import Request, Routes, needing
from seatunnel_core.server.rest.shapes import TEXT, block, items

ROUTES = Routes(to_leader=False)


@ROUTES.get(
    "/permissions",
    "The current user and their permissions.",
    needs=needing(),
    answer=block({"user": TEXT, "permissions": items(TEXT)}),
)
async def _permissions(agent: Agent, request: Request, _body: bytes) -> Any:
    user = access.user_of(agent, request)
    return {"user": user.name, "permissions": [each.value for each in Permission if each in user.permissions]}
