"""What a member's agent reports of its hosts, to whoever leads."""

from collections.abc import Mapping

from attrs import field, frozen

from seatunnel_core.server.host.protocol import HostStatus
from seatunnel_core.stored_fields import Stored, added


@frozen(kw_only=True)
class HostReport(Stored):
    """A host of a member: its process is there."""

    name: str
    """``SHARED``, or the id of the job that has it for itself."""

    boot: str
    """By which the process differs from every other one of that name."""

    status: HostStatus | None
    """What it said when it was asked last; ``None`` while it starts, or does not answer."""

    @property
    def lacks_executors(self) -> bool:
        """Whether its Spark runs on a cluster, which has given it no executor yet, or no more."""
        return self.status is not None and self.status.application != "" and not self.status.executors


@frozen(kw_only=True)
class MemberReport(Stored):
    """All hosts of a member. One that is not in it is gone, with everything that it ran."""

    hosts: tuple[HostReport, ...] = ()
    ended: tuple[str, ...] = added(())
    """The boots of the hosts that ended by themselves while this agent watched them, or did not work any more. That
    one was lost with an earlier agent says nothing of its jobs."""

    tags: Mapping[str, str] = field(factory=dict)
    """The member's attributes, for the tag filters of jobs."""

    workers: Mapping[str, int] = field(factory=dict)
    """Slots of the workers on which rows move instead of on this member, by address; empty if they move here."""

    moves_rows: bool = added(True)
    """True if rows move on this member: a master whose role is not ``master`` alone."""

    offered: int = added(0)
    """How many slots its shared host offers when it is ready; 0 when slots are dynamic."""

    clock: float = field(default=0.0, eq=False)
    """The member's own monotonic seconds when it reported; goes back to it with orders."""

    def host(self, name: str) -> HostReport | None:
        """Return a host by its name, or ``None``."""
        return next((host for host in self.hosts if host.name == name), None)
