"""Agent of a node that cannot lead. It joins all masters and runs a Spark worker for each of their worker processes.

It stores no state and forwards HTTP requests to the leader. If it cannot reach a master for some time, it exits
together with its child processes.
"""

import asyncio
import logging
import time
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from attrs import define

from seatunnel_core.clock import wall_clock
from seatunnel_core.errors import SeaTunnelError, StoredValueError
from seatunnel_core.server.agent.machine import ClockDifference
from seatunnel_core.server.agent.node_agent import NodeAgent
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.peers import Line
from seatunnel_core.server.agent.workers import Welcome
from seatunnel_core.server.errors import ClusterError
from seatunnel_core.server.spark_children.spark_workers import Place, SparkWorkers

logger = logging.getLogger("seatunnel.cluster")

QUERY = "query"
"""Parameter for the address of a query node. Masters of earlier versions ignore it."""

JOIN_S = 1.0
SEARCH_S = 10.0
"""Interval between two searches of the configured members once a master is known, in seconds."""

KEEP_S = 75.0
"""Time to keep the Spark workers of a master that does not respond, in seconds. Its worker processes may still run."""


@define
class _Master:
    """A member that has responded as a master."""

    welcome: Welcome
    answered_at: float


class Joined:
    """Masters that a worker node has found. If there are none for ``grace_s``, the node is orphaned. Does no I/O."""

    def __init__(self, address: str, members: tuple[str, ...], grace_s: float, now: float) -> None:
        self._address = address
        self._members = members
        self._grace_s = grace_s
        self._heard_at = now
        self._masters: dict[str, _Master] = {}

    def known(self) -> tuple[str, ...]:
        """Return the masters that have responded, and the masters listed in their responses."""
        named = (each for master in self._masters.values() for each in master.welcome.masters)
        return tuple(each for each in dict.fromkeys((*self._masters, *named)) if each != self._address)

    def others(self) -> tuple[str, ...]:
        """Return the other configured members, which may be masters. Possibly hundreds of them do not exist."""
        known = self.known()
        return tuple(each for each in self._members if each != self._address and each not in known)

    def welcomed(self, member: str, welcome: Welcome, now: float) -> None:
        """Record the response of a master to a join request."""
        self._masters[member] = _Master(welcome, now)
        self._heard_at = now

    def forget(self, now: float) -> None:
        """Remove masters that have not responded for so long that their worker processes must have ended."""
        self._masters = {each: found for each, found in self._masters.items() if now - found.answered_at < KEEP_S}

    def is_orphaned(self, now: float) -> bool:
        """Return True if no master has responded within the grace period."""
        return now - self._heard_at > self._grace_s

    def places(self) -> tuple[Place, ...]:
        """Return the worker processes that need Spark workers."""
        spark = ((member, found.welcome) for member, found in self._masters.items() if found.welcome.spark)
        return tuple(Place(url=each.spark, member=member, host=host) for member, each in spark for host in each.hosts)

    def newest(self) -> Welcome | None:
        """Return the latest response; ``None`` if there is none."""
        return max(self._masters.values(), key=lambda each: each.answered_at).welcome if self._masters else None


class WorkerAgent(NodeAgent):
    """Agent of a worker or query node, which forwards requests to the leader."""

    def __init__(self, config: NodeConfig, address: str) -> None:
        super().__init__(config, address)
        self._joined = Joined(address, config.members, config.worker_grace_s, time.monotonic())
        self._spark = SparkWorkers(config, address) if config.role.works else None
        """Spark workers; ``None`` for the role ``query``, which only forwards requests."""

        self._clock = ClockDifference()
        self._joining: dict[str, asyncio.Task[None]] = {}
        """Pending requests by member."""

    async def run(self) -> None:
        """Run the agent until ``stop``. Raise ClusterError if no master was reachable for the grace period."""
        if self._spark is not None:
            self._spark.prepare()
        search = asyncio.create_task(self._search())
        try:
            while not await self._stops_within(JOIN_S):
                self._join_all(self._joined.known())
                now = time.monotonic()
                self._joined.forget(now)
                if self._joined.is_orphaned(now):
                    raise ClusterError(self._orphaned())
                if self._spark is not None:
                    self._supervise(self._spark)
        finally:
            for task in (search, *self._joining.values()):
                task.cancel()
            await asyncio.gather(search, *self._joining.values(), return_exceptions=True)

    def _supervise(self, spark: SparkWorkers) -> None:
        try:
            spark.supervise(self._joined.places())
        except OSError as error:  # temporarily out of descriptors or processes
            logger.warning("cannot supervise the Spark workers now: %s", error)

    async def _stops_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _orphaned(self) -> str:
        tried = ", ".join((*self._joined.known(), *self._joined.others())[:10]) or "no other member is configured"
        return (
            f"this {self.config.role.value} node ({self.address}) could not reach a master of the cluster "
            f"{self.config.cluster!r} for {self.config.worker_grace_s:.0f} s, and exits; it tried: {tried}"
        )

    async def _search(self) -> None:
        """Poll configured members separately from known masters, because they may hang."""
        while True:
            self._join_all(self._joined.others())
            await asyncio.sleep(SEARCH_S if self._joined.known() else JOIN_S)

    def _join_all(self, members: Iterable[str]) -> None:
        """Send join requests concurrently; skip members with a pending request."""
        for member in members:
            if member not in self._joining:
                task = self._joining[member] = asyncio.create_task(self._join(member))
                task.add_done_callback(lambda _, each=member: self._joining.pop(each, None))  # type: ignore[misc]

    async def _join(self, member: str) -> None:
        sent = wall_clock()
        try:
            welcome = await self._welcomed_by(member)
        except (SeaTunnelError, StoredValueError, OSError) as error:
            logger.debug("cannot join %s: %s", member, error)
        else:
            self._joined.welcomed(member, welcome, time.monotonic())
            if welcome.clock is not None and member == welcome.leader:
                self._clock.note(member, welcome.clock, sent, wall_clock())

    async def _welcomed_by(self, member: str) -> Welcome:
        if self._spark is not None:
            request = {"address": self.address, "slots": self.config.offered or self.config.slots}
            return Welcome.from_record(await self.peers.ask(member, Line.WORKER, "/internal/v1/workers", request))
        target = f"/internal/v1/members?{urlencode({QUERY: self.address})}"
        return Welcome.of_members(await self.peers.ask(member, Line.WORKER, target, None, method="GET"))

    async def close(self, *, with_host: bool) -> None:
        """End the child processes; this node has no worker processes."""
        if self._spark is not None:
            self._spark.end()
        await self.planner.close()

    def _nodes(self) -> tuple[str, ...]:
        newest = self._joined.newest()
        return () if newest is None else (*newest.masters, *newest.workers)

    def leader(self) -> str:
        newest = self._joined.newest()
        return "" if newest is None else newest.leader

    def clock_difference(self) -> int:
        return self._clock.ms

    def describe(self) -> dict[str, Any]:
        newest = self._joined.newest()
        if newest is None:
            return super().describe()
        known = {"members": list(newest.masters), "workers": newest.workers, "queries": list(newest.queries)}
        return {**super().describe(), **known}
