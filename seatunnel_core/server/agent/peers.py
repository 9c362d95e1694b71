"""Client for requests to other agents."""

import enum
import json
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPException
from typing import Any

import h11

from seatunnel_core.control.cluster import Signer, called, unreachable
from seatunnel_core.control.node_client import Answer, accepted
from seatunnel_core.errors import PlatformError
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.state.records import JobRecord
from seatunnel_core.server.transport.peer_client import PeerClient

LARGEST_BODY = 10 * 1024 * 1024
"""Maximum size of the body of a request, in bytes."""

ORDERS_BYTES = LARGEST_BODY - 64 * 1024
"""Maximum size of the orders in a request, in bytes. It is below the body limit, because job records may grow."""


def order_bytes(job: JobRecord) -> int:
    """Return the size of an order that contains a job, as JSON inside JSON."""
    return len(json.dumps(job.to_bytes().decode()))


def bodies(orders: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Split orders into batches that fit into a request, with at least one order each."""
    some: list[Mapping[str, Any]] = []
    size = 0
    for order in orders:
        more = len(json.dumps(order)) + len(", ")
        if some and size + more > ORDERS_BYTES:
            yield some
            some, size = [], 0
        some.append(order)
        size += more
    if some:
        yield some


class Line(enum.Enum):
    """Kinds of requests with their response timeouts in seconds."""

    JOIN = "join", 2.0
    WORKER = "worker", 3.0
    """Requests with which a worker node joins a master, or a node searches for masters."""

    STATUS = "status", 2.0
    ORDER = "order", 30.0
    """Orders. The timeout is longer than the time that a worker process may need for a large batch of orders."""

    READ = "read", 5.0
    """Logs and metrics for users."""

    MONITORING = "monitoring", 3.0
    SAVEPOINT = "savepoint", 60.0
    FORWARD = "forward", 60.0
    """A user request forwarded to the leader."""

    @property
    def answer_s(self) -> float:
        """Maximum time until a response is complete, in seconds."""
        return self.value[1]


class Peers:
    """Client for requests to other members, signed with the cluster's secret.

    Requests use no threads and do not wait for hanging members. Cancelling the waiting task cancels the request.
    """

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self._boots: dict[str, str] = {}
        self._idle: dict[str, list[PeerClient]] = {}
        """Idle clients by member."""

    async def ask(self, member: str, line: Line, target: str, body: Any, *, method: str = "POST") -> Any:
        """Send a request and return the JSON value of the response.

        Raises:
            SeaTunnelError: The member rejects the request, or is unreachable (the cause is then an OSError).
        """
        encoded = b"" if method == "GET" else json.dumps(body).encode()
        answer = await self._exchanged(member, line, method, target, encoded, "application/json")
        return accepted(answer, called(self._config.cluster))

    async def forward(self, member: str, method: str, target: str, body: bytes, content_type: str) -> Answer:
        """Forward a user's request and return the response. Raise SeaTunnelError if the member is unreachable."""
        return await self._exchanged(member, Line.FORWARD, method, target, body, content_type)

    async def read(self, member: str, target: str, body: bytes) -> Answer:
        """Send a POST request for logs or metrics and return the response.

        Raise SeaTunnelError if there is no response.
        """
        return await self._exchanged(member, Line.READ, "POST", target, body, "application/json")

    async def _exchanged(
        self, member: str, line: Line, method: str, target: str, body: bytes, content_type: str
    ) -> Answer:
        idle = self._idle.setdefault(member, [])
        config = self._config
        client = idle.pop() if idle else PeerClient(member, Signer(config.cluster, config.secret, self._boots))
        try:
            return await client.exchange(method, target, body, content_type, answer_s=line.answer_s)
        except (OSError, ValueError, HTTPException, h11.RemoteProtocolError, h11.LocalProtocolError) as error:
            reason = getattr(error, "strerror", None) or str(error) or f"no response within {line.answer_s:g} s"
            failure = PlatformError(f"{called(config.cluster)} cannot be reached: {member}: {reason}")
            raise unreachable(failure, [(member, error)]) from error
        finally:
            idle.append(client)
