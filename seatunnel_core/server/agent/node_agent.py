"""Common part of the agents of all nodes. The defaults apply to nodes that cannot lead."""

import asyncio
from collections.abc import Mapping
from typing import Any

from seatunnel_core.control.signing import Authenticator
from seatunnel_core.reporting.rest_text import project_version
from seatunnel_core.server.agent.machine import Machine
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.own_hosts import OwnHosts
from seatunnel_core.server.agent.peers import Peers
from seatunnel_core.server.aside.asides import Asides
from seatunnel_core.server.aside.planner import Planner
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.logs.cluster_logs import ClusterLogs
from seatunnel_core.server.member_report import MemberReport
from seatunnel_core.server.metrics.figures import Figures
from seatunnel_core.server.state.cluster_state import ClusterState
from seatunnel_core.server.transport.rejections import Rejections


class NodeAgent:
    """Agent of one node; ``address`` is ``host:port``."""

    def __init__(self, config: NodeConfig, address: str) -> None:
        self.config = config
        self.address = address
        self.authenticator = Authenticator(config.secret, config.cluster)
        self.rejections = Rejections()
        self.peers = Peers(config)
        self.logs = ClusterLogs(config, address, self.peers, self._nodes)
        self.machine = Machine()
        self.asides = Asides(config)
        self.planner = Planner(config)
        self.figures = Figures(self)  # type: ignore[arg-type] # only a leader needs the other attributes
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Run the agent until ``stop``."""
        raise NotImplementedError

    def stop(self) -> None:
        """Make ``run`` return."""
        self._stopping.set()

    async def close(self, *, with_host: bool) -> None:
        """Release all resources. ``with_host`` also ends the worker processes, after a final checkpoint."""
        raise NotImplementedError

    @property
    def state(self) -> ClusterState | None:
        """State of the cluster if this node leads, otherwise ``None``."""
        return None

    def require_state(self) -> ClusterState:
        """Return the cluster's state; raise ``RequestError`` unless this node certainly leads."""
        raise self._not_for_this_node()

    def _not_for_this_node(self) -> RequestError:
        return RequestError(
            f"{self.address} is a {self.config.role.value} node: send this request to a master", status=503
        )

    def leader(self) -> str:
        """Return the address of the leader known to this node; empty if there is none."""
        raise NotImplementedError

    def problem(self) -> str:
        """Return the reason why no node may lead, or an empty string."""
        return ""

    def own_hosts(self) -> OwnHosts:
        """Return the worker processes of this member; raise ``RequestError`` if its role has none."""
        raise self._not_for_this_node()

    async def ask_hosts(self, _request: Mapping[str, Any]) -> list[Any]:
        """Send a request to the worker processes of this member, and return the responses that arrive."""
        return []

    def host_pids(self) -> tuple[int, ...]:
        """Return the process IDs of the worker processes of this member."""
        return ()

    def report(self) -> MemberReport | None:
        """Return the report on this member's worker processes; ``None`` until existing processes have been found."""
        return None

    def clock_difference(self) -> int:
        """Return the number of milliseconds by which this node's clock is ahead of the leader's clock."""
        raise NotImplementedError

    def note_query(self, address: str) -> None:
        """Record that a query node is running, if this node tracks the nodes of the cluster."""

    def welcome(self, _address: str, _slots: int) -> dict[str, Any]:
        """Record that a worker node is running, and return the response: addresses, slots and worker processes."""
        raise self._not_for_this_node()

    def describe(self) -> dict[str, Any]:
        """Return the cluster as known to this node."""
        return {
            "cluster": self.config.cluster,
            "address": self.address,
            "role": self.config.role.value,
            "leader": self.leader(),
            "leads": False,
            "term": 0,
            "members": [],
            "workers": {},
            "queries": [],
            "host": None,
            "version": project_version(),
        }

    def _nodes(self) -> tuple[str, ...]:
        """Return the addresses of all nodes known to this one."""
        raise NotImplementedError
