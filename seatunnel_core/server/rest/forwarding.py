"""A node that does not lead forwards what users ask to the one that does.

The leader may stand still, and be replaced meanwhile. So the address is chosen when a request is sent, and a forward
ends as soon as its leader is replaced or its client has left.
"""

import asyncio

from seatunnel_core.control.node_client import Answer
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Request

FORWARDED = "x-seatunnel-forwarded"
"""The parameter of a request that was forwarded, and is not forwarded again."""

LOOK_S = 0.25
"""Between two checks whether the leader of a request under way still leads."""


async def forwarded(agent: Agent, request: Request, target: str, body: bytes) -> tuple[int, bytes, str]:
    """Return the status, the body and the content type of the leader's answer.

    A request that changes nothing is sent again when its leader is replaced.

    Args:
        agent: of this node.
        request: of a user.
        target: its path and query, as the member port has them.
        body: of the request.

    Raises:
        RequestError: no node leads, the leader does not answer, or it was replaced while it had the request.
        ClientDisconnect: the client has left.
    """
    target += f"{'&' if '?' in target else '?'}{FORWARDED}=1"
    while True:
        if problem := agent.problem():
            raise RequestError(problem, status=503, reason="state_went_back")
        leader = agent.leader()
        if leader in ("", agent.address) or FORWARDED in request.query_params:
            raise RequestError("the cluster has no leader now: try again", status=503, reason="no_leader")
        answer = await _answer_of(agent, leader, request, target, body)
        if answer is not None:
            return answer.status, answer.body, answer.content_type
        if request.method != "GET":
            raise RequestError(
                f"it is not known whether this was recorded: the leader {leader} was replaced before it answered",
                status=503,
                reason="not_acknowledged",
            )


async def _answer_of(agent: Agent, leader: str, request: Request, target: str, body: bytes) -> Answer | None:
    """Return the answer of a leader; ``None`` if it was replaced before it gave one."""
    from starlette.requests import ClientDisconnect

    kind = request.headers.get("content-type", "application/json")
    sending = asyncio.ensure_future(agent.peers.forward(leader, request.method, target, body, kind))
    leaving = asyncio.ensure_future(_client_left(request))
    try:
        while not sending.done():
            await asyncio.wait({sending, leaving}, timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED)
            if leaving.done() and not sending.done():
                raise ClientDisconnect
            if agent.leader() != leader and not sending.done():
                return None
        return await sending
    except SeaTunnelError as error:
        raise RequestError(
            f"the leader {leader} does not answer: {error}", status=503, reason="leader_unreachable"
        ) from error
    finally:
        sending.cancel()
        leaving.cancel()
        await asyncio.gather(sending, leaving, return_exceptions=True)


async def _client_left(request: Request) -> None:
    """Wait until the client has closed its connection; its body was received."""
    if (await request.receive())["type"] != "http.disconnect":
        await asyncio.Event().wait()  # a server that does not report it
