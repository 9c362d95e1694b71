"""How an agent asks the agents of other members."""

import asyncio
import enum
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from seatunnel_core.control.cluster import ClusterClient
from seatunnel_core.control.node_client import Answer
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.state.records import JobRecord

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
    """What is asked for. Each line to a member carries one request at a time; its value is how long an answer takes."""

    JOIN = "join", 2.0
    STATUS = "status", 2.0
    ORDER = "order", 30.0
    """Longer than a host may take to answer many orders."""

    READ = "read", 5.0
    """Logs and figures, for people."""

    MONITORING = "monitoring", 3.0
    SAVEPOINT = "savepoint", 60.0

    @property
    def answer_s(self) -> float:
        """The longest time until an answer, in seconds."""
        return self.value[1]


class Peers:
    """Asks other members, with the cluster's secret."""

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self._clients: dict[tuple[str, Line], ClusterClient] = {}
        self._idle: dict[str, deque[ClusterClient]] = {}
        """By member: clients that forwarded a request and know what to sign it with. Each has one request at a time."""

        self._asking = ThreadPoolExecutor(32, "peer")
        self._forwarding = ThreadPoolExecutor(8, "forward")
        self._reading = ThreadPoolExecutor(8, "read")
        """For readers, who may ask members that hang: what leads the cluster never waits for them."""

    def close(self) -> None:
        """Wait for nothing any more."""
        for pool in (self._asking, self._forwarding, self._reading):
            pool.shutdown(wait=False, cancel_futures=True)

    async def ask(self, member: str, line: Line, target: str, body: Any) -> Any:
        """Return a member's answer to a POST.

        Raises:
            SeaTunnelError: it refuses, or cannot be reached; then the cause is the operating system's error.
        """
        client = self._clients.setdefault((member, line), self._client(member, line.answer_s))
        pool = self._reading if line in (Line.MONITORING, Line.SAVEPOINT) else self._asking
        return await asyncio.get_running_loop().run_in_executor(pool, client.ask, "POST", target, body)

    async def forward(self, member: str, method: str, target: str, body: bytes, content_type: str) -> Answer:
        """Return a member's answer to a user's request.

        Raises:
            SeaTunnelError: it cannot be reached.
        """
        return await asyncio.get_running_loop().run_in_executor(
            self._forwarding, self._forwarded, member, method, target, body, content_type
        )

    def _forwarded(self, member: str, method: str, target: str, body: bytes, content_type: str) -> Answer:
        idle = self._idle.setdefault(member, deque())
        try:
            client = idle.pop()
        except IndexError:
            client = self._client(member, 60.0)
        try:
            return client.exchange(method, target, body, content_type)
        finally:
            idle.append(client)

    async def read(self, member: str, target: str, body: bytes) -> Answer:
        """Return a member's answer to a POST of what people want to see, which waits for nothing else.

        Raises:
            SeaTunnelError: it cannot be reached.
        """
        client = self._clients.setdefault((member, Line.READ), self._client(member, Line.READ.answer_s))
        return await asyncio.get_running_loop().run_in_executor(
            self._reading, client.exchange, "POST", target, body, "application/json"
        )

    def _client(self, member: str, answer_s: float) -> ClusterClient:
        return ClusterClient([member], self._config.cluster, self._config.secret, connect_s=2.0, answer_s=answer_s)
