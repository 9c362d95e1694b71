"""Forwarding of user requests to the leader.

A leader that received a request may hang and be replaced. Therefore, the leader is determined when the request is sent,
and forwarding stops as soon as this leader is replaced or the client disconnects.
"""

import asyncio

from seatunnel_core.control.node_client import Answer
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Request

FORWARDED = "x-seatunnel-forwarded"
"""Query parameter that marks a forwarded request, which is not forwarded again."""

LOOK_S = 0.25
"""Interval between two checks that the leader of a pending request still leads, in seconds."""


async def forwarded(agent: Agent, request: Request, target: str, body: bytes) -> tuple[int, bytes, str]:
    """Forward a request, and return the status, body and content type of the leader's response.

    ``target`` is the path and query on the member port. A ``GET`` request is repeated if its leader is replaced.

    Raises:
        RequestError: There is no leader, it does not respond, or it was replaced while it processed the request.
        ClientDisconnect: The client disconnected.
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
                f"it is unknown whether the request was recorded: the leader {leader} was replaced before it responded",
                status=503,
                reason="not_acknowledged",
            )


async def _answer_of(agent: Agent, leader: str, request: Request, target: str, body: bytes) -> Answer | None:
    """Return the response of a leader; ``None`` if it was replaced before it responded."""
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
            f"the leader {leader} does not respond: {error}", status=503, reason="leader_unreachable"
        ) from error
    finally:
        sending.cancel()
        leaving.cancel()
        await asyncio.gather(sending, leaving, return_exceptions=True)


async def _client_left(request: Request) -> None:
    """Wait until the client disconnects. The body of the request must already be received."""
    if (await request.receive())["type"] != "http.disconnect":
        await asyncio.Event().wait()  # the server does not report disconnects
