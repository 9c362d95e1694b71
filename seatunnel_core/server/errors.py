"""The errors of a cluster.

::

    SeaTunnelError
    └── ClusterError
        ├── DeposedError            a newer term was claimed, so this node does not lead any more
        ├── StateUnavailableError   the cluster's state cannot be read or written now
        │   └── StateWentBackError  it is older than what this node has seen
        ├── HostError               a host refuses an order, or cannot be reached
        └── RequestError            a request of a client or of another node is refused
"""

from seatunnel_core.errors import SeaTunnelError


class ClusterError(SeaTunnelError):
    """Something went wrong in a cluster that has no narrower class."""

    code = "CLUSTER"


class DeposedError(ClusterError):
    """A newer term was claimed: what this node wrote last is not acknowledged, and it may not lead any more."""


class StateUnavailableError(ClusterError):
    """The cluster's state cannot be read or written now. Whether the last change is durable is not known."""


class StateWentBackError(StateUnavailableError):
    """The cluster's state is older than what this node has seen: changes that were acknowledged are missing."""


class HostError(ClusterError):
    """A host refuses an order or cannot be reached."""


class RequestError(ClusterError):
    """A request of a client or of another node is refused."""

    def __init__(self, message: str, *, status: int = 400, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status of the answer."""

        self.reason = reason or _REASONS.get(status, "bad_request")
        """A word for programs, as `docs/reference/rest.md` lists them."""


_REASONS = {401: "unauthorized", 404: "not_found", 413: "too_large", 500: "internal_error", 503: "unavailable"}
