"""Errors of a cluster.

::

    SeaTunnelError
    └── ClusterError
        ├── DeposedError            a newer term was claimed, so this node no longer leads
        ├── StateUnavailableError   the cluster's state cannot be read or written now
        │   └── StateWentBackError  it is older than what this node has seen
        ├── HostError               a worker process rejects an order, or is unreachable
        └── RequestError            a request of a client or of another node is rejected
"""

from seatunnel_core.errors import SeaTunnelError


class ClusterError(SeaTunnelError):
    """Cluster error for which there is no more specific class."""

    code = "CLUSTER"


class DeposedError(ClusterError):
    """A newer term was claimed: this node's last write is not acknowledged, and it no longer leads."""


class StateUnavailableError(ClusterError):
    """The cluster's state cannot be read or written now. The last change may or may not be durable."""


class StateWentBackError(StateUnavailableError):
    """The cluster's state is older than the last state seen by this node: acknowledged changes are missing."""


class HostError(ClusterError):
    """A worker process rejects an order or is unreachable."""


class RequestError(ClusterError):
    """A request of a client or of another node is rejected."""

    def __init__(self, message: str, *, status: int = 400, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        """HTTP status of the response."""

        self.reason = reason or _REASONS.get(status, "bad_request")
        """Machine-readable reason, as listed in `docs/reference/rest.md`."""


_REASONS = {401: "unauthorized", 404: "not_found", 413: "too_large", 500: "internal_error", 503: "unavailable"}
