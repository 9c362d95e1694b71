"""Spark backends of worker processes: embedded Spark, a Spark master of the node, or an existing cluster."""

import logging
import time
from collections.abc import Callable

from seatunnel_core.config.cluster_options import SPARK_MASTER
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.host.protocol import HostStatus
from seatunnel_core.server.member_role import MemberRole
from seatunnel_core.server.spark_children.spark_master import MasterState, SparkMaster

logger = logging.getLogger("seatunnel.cluster")

UNKNOWN_AFTER_S = 20.0
"""Time without executors after which a process that the Spark master does not know is killed, in seconds."""

FORGOTTEN_AFTER_S = 60.0
"""Time without executors after which a process is killed if Spark workers have free cores, in seconds."""

_ASK_EVERY_S = 5.0


class HostSpark:
    """Spark backend of worker processes: embedded Spark if ``master`` is empty, otherwise an existing cluster."""

    def __init__(self, master: str = "") -> None:
        self._master = master

    def prepare(self, *, has_worker: bool) -> None:
        """Prepare for worker processes.

        ``has_worker`` is True if a worker process of an earlier agent is still running.
        """

    def supervise(self) -> bool:
        """Keep child processes running. Return False if existing worker processes cannot continue with them."""
        return True

    def arguments(self) -> list[str]:
        """Return the command-line arguments of a worker process."""
        return ["--spark-master", self._master] if self._master else []

    def doubt(self, status: HostStatus | None) -> str:
        """Return the reason for replacing a worker process, or an empty string. May block for several seconds."""
        return ""

    def url(self) -> str:
        """Return the URL of the Spark master with which Spark workers register; empty if there is none."""
        return ""

    def end(self) -> None:
        """End the child processes."""


class OwnMaster(HostSpark):
    """A Spark master of this node, with the Spark workers of worker nodes that have joined."""

    def __init__(self, master: SparkMaster, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.master = master
        self._clock = clock
        self._bare: dict[int, float] = {}
        """Time since which a worker process has had no executors, keyed by process ID."""

        self._asked_at: dict[int, float] = {}

    def prepare(self, *, has_worker: bool) -> None:
        self.master.prepare(has_worker=has_worker)

    def supervise(self) -> bool:
        return self.master.supervise()

    def arguments(self) -> list[str]:
        return ["--spark-master", self.master.url, "--spark-properties", str(self.master.application_file)]

    def doubt(self, status: HostStatus | None) -> str:
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
        return self.master.url if self.master.has_begun else ""

    def end(self) -> None:
        self.master.end()


def verdict(application: str, bare_s: float, state: MasterState | None) -> str:
    """Return the reason for replacing a worker process that has had no executor for ``bare_s``, or an empty string."""
    if state is None or not state.workers:
        return ""
    if application not in state.applications:
        return f"{application} is not registered with the Spark master, so it never gets an executor"
    if bare_s >= FORGOTTEN_AFTER_S and state.free_cores:
        return f"{application} has had no executor for {bare_s:.0f} s although {state.free_cores} cores are free"
    return ""


def host_spark(config: NodeConfig, address: str) -> HostSpark:
    """Return the Spark backend of a node's worker processes."""
    given = config.engine.options[SPARK_MASTER]
    if given or config.role is not MemberRole.MASTER:
        return HostSpark(str(given or ""))
    return OwnMaster(SparkMaster(config, address))
