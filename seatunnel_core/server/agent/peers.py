"""How an agent asks the agents of other members."""

import asyncio
import enum
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from seatunnel_core.control.cluster import Answer, ClusterClient
from seatunnel_core.server.agent.node_config import NodeConfig


class Line(enum.Enum):
    """What is asked for. Each line to a member carries one request at a time; its value is how long an answer takes."""

    JOIN = "join", 2.0
    STATUS = "status", 2.0
    ORDER = "order", 30.0
    """Longer than a host may take to answer many orders."""

    @property
    def answer_s(self) -> float:
        """The longest time until an answer, in seconds."""
        return self.value[1]


class Peers:
    """Asks other members, with the cluster's secret."""

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self._clients: dict[tuple[str, Line], ClusterClient] = {}
        self._asking = ThreadPoolExecutor(32, "peer")
        self._forwarding = ThreadPoolExecutor(8, "forward")

    def close(self) -> None:
        """Wait for nothing any more."""
        for pool in (self._asking, self._forwarding):
            pool.shutdown(wait=False, cancel_futures=True)

    async def ask(self, member: str, line: Line, target: str, body: Any) -> Any:
        """Return a member's answer to a POST.

        Raises:
            SeaTunnelError: it refuses, or cannot be reached; then the cause is the operating system's error.
        """
        client = self._clients.setdefault((member, line), self._client(member, line.answer_s))
        return await asyncio.get_running_loop().run_in_executor(self._asking, client.ask, "POST", target, body)

    async def forward(self, member: str, method: str, target: str, body: bytes, content_type: str) -> Answer:
        """Return a member's answer to a user's request.

        Raises:
            SeaTunnelError: it cannot be reached.
        """
        exchange = self._client(member, 60.0).exchange
        return await asyncio.get_running_loop().run_in_executor(
            self._forwarding, exchange, method, target, body, content_type
        )

    def _client(self, member: str, answer_s: float) -> ClusterClient:
        return ClusterClient([member], self._config.cluster, self._config.secret, connect_s=2.0, answer_s=answer_s)
