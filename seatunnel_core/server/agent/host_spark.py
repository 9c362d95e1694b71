"""What the hosts of a node run on: Spark of their own, a Spark master of the node, or a cluster that is there already.

An agent asks it the same, whichever it is.
"""

import logging
import time
from collections.abc import Callable
from typing import Protocol

from seatunnel_core.config.cluster_options import SPARK_MASTER
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.host.protocol import HostStatus
from seatunnel_core.server.member_role import MemberRole
from seatunnel_core.server.spark_children.spark_master import MasterState, SparkMaster

logger = logging.getLogger("seatunnel.cluster")

UNKNOWN_AFTER_S = 20.0
"""A host without executors for so long, which the Spark master does not know, is killed: it would wait for ever."""

FORGOTTEN_AFTER_S = 60.0
"""So is one that the Spark master knows and gives nothing, although a worker has cores free."""

_ASK_EVERY_S = 5.0


class HostSpark(Protocol):
    """What an agent does for the Spark of its hosts."""

    def prepare(self, *, goes_on: bool) -> None:
        """Make everything ready for a host; ``goes_on`` says that one of an earlier agent lives."""

    def supervise(self) -> bool:
        """Keep the children alive; return false when living hosts cannot go on with them."""

    def arguments(self) -> list[str]:
        """Return the arguments of a host."""

    def doubt(self, status: HostStatus | None) -> str:
        """Return why a host has to be replaced; empty while it is well. May block for some seconds."""

    def url(self) -> str:
        """Return the Spark master that workers are to register with; empty when there is none."""

    def end(self) -> None:
        """End the children."""


class NoChildren:
    """Hosts run Spark themselves, or on a cluster that is none of ours.

    Args:
        master: the address of that cluster; empty for none.
    """

    def __init__(self, master: str = "") -> None:
        self._master = master

    def prepare(self, *, goes_on: bool) -> None:
        """Do nothing."""

    def supervise(self) -> bool:
        """Return true."""
        return True

    def arguments(self) -> list[str]:
        """Return the address of the cluster, if there is one."""
        return ["--spark-master", self._master] if self._master else []

    def doubt(self, status: HostStatus | None) -> str:
        """Return nothing: such a host notices itself that its Spark is gone."""
        return ""

    def url(self) -> str:
        """Return nothing."""
        return ""

    def end(self) -> None:
        """Do nothing."""


class OwnMaster:
    """Hosts run on the workers that have joined this node, by a Spark master of its own.

    Args:
        master: a child of this agent.
        clock: monotonic seconds.
    """

    def __init__(self, master: SparkMaster, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.master = master
        self._clock = clock
        self._bare: dict[int, float] = {}
        """By host without executors: since when."""

        self._asked_at: dict[int, float] = {}

    def prepare(self, *, goes_on: bool) -> None:
        """Lay out the Spark master's folder."""
        self.master.prepare(goes_on=goes_on)

    def supervise(self) -> bool:
        """Keep the Spark master alive."""
        return self.master.supervise()

    def arguments(self) -> list[str]:
        """Return where the Spark master is, and the file with the secret."""
        return ["--spark-master", self.master.url, "--spark-properties", str(self.master.application_file)]

    def doubt(self, status: HostStatus | None) -> str:
        """Return why a host without executors will never have any; empty when it may just wait for a worker."""
        if status is None:
            return ""
        if not status.application or status.executors:
            self._bare.pop(status.pid, None)
            return ""
        now = self._clock()
        bare_s = now - self._bare.setdefault(status.pid, now)
        if bare_s < UNKNOWN_AFTER_S or now - self._asked_at.get(status.pid, 0.0) < _ASK_EVERY_S:
            return ""
        self._asked_at[status.pid] = now
        return verdict(status.application, bare_s, self.master.state())

    def url(self) -> str:
        """Return the address of the Spark master; empty before it has begun."""
        return self.master.url if self.master.has_begun else ""

    def end(self) -> None:
        """End the Spark master."""
        self.master.end()


def verdict(application: str, bare_s: float, state: MasterState | None) -> str:
    """Return why a host that has had no executor for ``bare_s`` seconds is to be replaced; empty when it is not.

    Args:
        application: its id at the Spark master.
        bare_s: for how long.
        state: what the Spark master knows; ``None`` when it does not answer.
    """
    if state is None or not state.workers:
        return ""
    if application not in state.applications:
        return f"the Spark master does not know {application}, so that it gets no executor"
    if bare_s >= FORGOTTEN_AFTER_S and state.free_cores:
        return f"{application} has had no executor for {bare_s:.0f} s, and {state.free_cores} cores are free"
    return ""


def host_spark(config: NodeConfig, address: str) -> HostSpark:
    """Return what the hosts of a node run on."""
    given = config.engine.options[SPARK_MASTER]
    if given:
        return NoChildren(str(given))
    return OwnMaster(SparkMaster(config, address)) if config.role is MemberRole.MASTER else NoChildren()
