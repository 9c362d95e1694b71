"""Report from a member's agent to the leader about its worker processes."""

from collections.abc import Mapping

from attrs import field, frozen

from seatunnel_core.server.host.protocol import HostStatus
from seatunnel_core.stored_fields import Stored, added


@frozen(kw_only=True)
class HostReport(Stored):
    """An existing worker process of a member."""

    name: str
    """Name of the process: ``SHARED``, or for a dedicated process the ID of its job."""

    boot: str
    """ID that is unique among processes of the same name."""

    status: HostStatus | None
    """Last status of the process; ``None`` while it is starting or does not respond."""

    @property
    def lacks_executors(self) -> bool:
        """True if the process runs on a Spark cluster but has no executors."""
        return self.status is not None and self.status.application != "" and not self.status.executors


@frozen(kw_only=True)
class MemberReport(Stored):
    """All worker processes of a member. Processes that are missing from the report have ended with all their jobs."""

    hosts: tuple[HostReport, ...] = ()
    ended: tuple[str, ...] = added(())
    """Boot IDs of processes that exited on their own or were faulty while this agent supervised them."""

    tags: Mapping[str, str] = field(factory=dict)
    """Attributes of the member, for the tag filters of jobs."""

    workers: Mapping[str, int] = field(factory=dict)
    """Slots of the worker nodes that this member uses, keyed by address; empty if it runs tasks itself."""

    moves_rows: bool = added(True)
    """True if this member runs tasks itself; False for the role ``master``."""

    offered: int = added(0)
    """Number of slots that the member's shared process offers when it is ready; 0 for dynamic slots."""

    clock: float = field(default=0.0, eq=False)
    """Monotonic time of the member when it created the report, in seconds. The leader returns it with orders."""

    def host(self, name: str) -> HostReport | None:
        """Return a worker process by name, or ``None``."""
        return next((host for host in self.hosts if host.name == name), None)
