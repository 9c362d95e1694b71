"""Interface through which metrics and events observe a node."""

from collections.abc import Mapping
from typing import Any, Protocol

from seatunnel_core.server.agent.leadership import Leadership
from seatunnel_core.server.agent.requests import UserRequests
from seatunnel_core.server.member_report import MemberReport
from seatunnel_core.server.state.cluster_state import ClusterState


class ObservedNode(Protocol):
    """View of a node, provided by its agent."""

    address: str
    leadership: Leadership
    users: UserRequests

    @property
    def state(self) -> ClusterState | None:
        """State of the cluster; ``None`` if this node is not the leader."""

    async def ask_hosts(self, request: Mapping[str, Any]) -> list[Any]:
        """Send a request to all worker processes of the node, and return the responses."""

    def report(self) -> MemberReport | None:
        """Return the report on the worker processes of the node."""

    def describe(self) -> dict[str, Any]:
        """Return the cluster as known to the node."""
