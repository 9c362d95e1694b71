"""How an agent asks the agents of other members."""

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
"""Bytes of the body of any request."""

ORDERS_BYTES = LARGEST_BODY - 64 * 1024
"""So many bytes of orders fit into one request, beside what else stands there and what records gain while jobs run."""


def order_bytes(job: JobRecord) -> int:
    """Return how large an order with a job is, as JSON in JSON."""
    return len(json.dumps(job.to_bytes().decode()))


def bodies(orders: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield orders in their order, as many at once as one request has room for, and at least one."""
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
    """What is asked for; the value is how long an answer may take."""

    JOIN = "join", 2.0
    WORKER = "worker", 3.0
    """A worker that joins a master, or a node that looks for one."""

    STATUS = "status", 2.0
    ORDER = "order", 30.0
    """Longer than a host may take to answer many orders."""

    READ = "read", 5.0
    """Logs and figures, for people."""

    MONITORING = "monitoring", 3.0
    SAVEPOINT = "savepoint", 60.0
    FORWARD = "forward", 60.0
    """A request of a user, on its way to the leader."""

    @property
    def answer_s(self) -> float:
        """The longest time until an answer is complete, in seconds."""
        return self.value[1]


class Peers:
    """Asks other members, with the cluster's secret.

    Requests hold no threads and do not wait for each other, however many members hang. A request ends with the task
    that waits for it.
    """

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self._boots: dict[str, str] = {}
        self._idle: dict[str, list[PeerClient]] = {}
        """By member: the senders that have no request under way."""

    async def ask(self, member: str, line: Line, target: str, body: Any, *, method: str = "POST") -> Any:
        """Return the JSON value of a member's answer.

        Raises:
            SeaTunnelError: it refuses, or cannot be reached; then the cause is the operating system's error.
        """
        encoded = b"" if method == "GET" else json.dumps(body).encode()
        answer = await self._exchanged(member, line, method, target, encoded, "application/json")
        return accepted(answer, called(self._config.cluster))

    async def forward(self, member: str, method: str, target: str, body: bytes, content_type: str) -> Answer:
        """Return a member's answer to a user's request.

        Raises:
            SeaTunnelError: it cannot be reached.
        """
        return await self._exchanged(member, Line.FORWARD, method, target, body, content_type)

    async def read(self, member: str, target: str, body: bytes) -> Answer:
        """Return a member's answer to a POST of what people want to see.

        Raises:
            SeaTunnelError: it cannot be reached.
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
            reason = getattr(error, "strerror", None) or str(error) or f"no answer within {line.answer_s:g} s"
            failure = PlatformError(f"{called(config.cluster)} cannot be reached: {member}: {reason}")
            raise unreachable(failure, [(member, error)]) from error
        finally:
            idle.append(client)
