"""A node that does not lead forwards what users ask to the one that does."""

from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Request

FORWARDED = "x-seatunnel-forwarded"
"""The parameter of a request that was forwarded, and is not forwarded again."""


async def forwarded(agent: Agent, request: Request, target: str, body: bytes) -> tuple[int, bytes, str]:
    """Return the status, the body and the content type of the leader's answer.

    Args:
        agent: of this node.
        request: of a user.
        target: its path and query, as the member port has them.
        body: of the request.

    Raises:
        RequestError: nobody leads, or the leader does not answer.
    """
    leader = agent.leader()
    if leader in ("", agent.address) or FORWARDED in request.query_params:
        raise RequestError("the cluster has no leader now: try again", status=503, reason="no_leader")
    target += f"{'&' if '?' in target else '?'}{FORWARDED}=1"
    kind = request.headers.get("content-type", "application/json")
    try:
        answer = await agent.peers.forward(leader, request.method, target, body, kind)
    except SeaTunnelError as error:
        raise RequestError(
            f"the leader {leader} does not answer: {error}", status=503, reason="leader_unreachable"
        ) from error
    return answer.status, answer.body, answer.content_type
