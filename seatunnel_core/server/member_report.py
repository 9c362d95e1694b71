"""What a member's agent reports of its hosts, to whoever leads."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core import stored
from seatunnel_core.server.host.protocol import HostStatus


@frozen(kw_only=True)
class HostReport:
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
class MemberReport:
    """All hosts of a member. One that is not in it is gone, with everything that it ran."""

    hosts: tuple[HostReport, ...] = ()
    ended: tuple[str, ...] = ()
    """The boots of the hosts that ended by themselves while this agent watched them, or did not work any more. That
    one was lost with an earlier agent says nothing of its jobs."""

    tags: Mapping[str, str] = field(factory=dict)
    """The member's attributes, for the tag filters of jobs."""

    workers: Mapping[str, int] = field(factory=dict)
    """Slots of the workers on which rows move instead of on this member, by address; empty if they move here."""

    moves_rows: bool = True
    """True if rows move on this member: a master whose role is not ``master`` alone."""

    offered: int = 0
    """How many slots its shared host offers when it is ready; 0 when slots are dynamic."""

    clock: float = field(default=0.0, eq=False)
    """The member's own monotonic seconds when it reported; goes back to it with orders."""

    def host(self, name: str) -> HostReport | None:
        """Return a host by its name, or ``None``."""
        return next((host for host in self.hosts if host.name == name), None)

    def record(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "hosts": [
                {"name": host.name, "boot": host.boot, "status": host.status and host.status.record()}
                for host in self.hosts
            ],
            "ended": list(self.ended),
            "tags": dict(self.tags),
            "workers": dict(self.workers),
            "moves_rows": self.moves_rows,
            "offered": self.offered,
            "clock": self.clock,
        }

    @classmethod
    def from_record(cls, block: Any) -> "MemberReport":
        """Return the report that ``record`` described.

        Raises:
            StoredValueError, ValueError: it is not one.
        """
        block = {**_ADDED, **block} if isinstance(block, Mapping) else block
        tags, workers = stored.below(block, "tags"), stored.below(block, "workers")
        return cls(
            hosts=tuple(map(_host, stored.items(block, "hosts"))),
            ended=tuple(stored.texts(block, "ended")),
            tags={key: stored.text(tags, key) for key in tags},
            workers={key: stored.number(workers, key) for key in workers},
            moves_rows=stored.flag(block, "moves_rows"),
            offered=stored.number(block, "offered"),
            clock=stored.seconds(block, "clock"),
        )


_ADDED: Mapping[str, Any] = {"ended": [], "offered": 0, "moves_rows": True}
"""What the reports of earlier versions have not."""


def _host(block: Any) -> HostReport:
    status = stored.member(block, "status")
    return HostReport(
        name=stored.text(block, "name"),
        boot=stored.text(block, "boot"),
        status=None if status is None else HostStatus.from_record(status),
    )
