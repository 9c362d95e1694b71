"""Agent of a node that cannot lead: it joins all masters and runs a Spark worker for each of their worker processes.

It takes no part in the election and stores no state. It forwards HTTP requests to the leader. If no master can be
reached for a while, it ends together with its child processes.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn
from urllib.parse import urlencode

from attrs import define, frozen

from seatunnel_core import stored
from seatunnel_core.clock import wall_clock
from seatunnel_core.control.signing import Authenticator
from seatunnel_core.errors import SeaTunnelError, StoredValueError
from seatunnel_core.server.agent import answers
from seatunnel_core.server.agent.asides import Asides
from seatunnel_core.server.agent.cluster_logs import ClusterLogs
from seatunnel_core.server.agent.machine import ClockDifference, Machine
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.peers import Line, Peers
from seatunnel_core.server.errors import ClusterError, RequestError
from seatunnel_core.server.metrics.figures import Figures
from seatunnel_core.server.spark_children.spark_workers import Place, SparkWorkers
from seatunnel_core.server.transport.rejections import Rejections

logger = logging.getLogger("seatunnel.cluster")

QUERY = "query"
"""Parameter with the address of a query node. Masters of earlier versions ignore it."""

JOIN_S = 1.0
SEARCH_S = 10.0
"""Interval between two searches of the configured members once a master is known, in seconds."""

KEEP_S = 75.0
"""Time for which the Spark workers of a silent master are kept, in seconds; without an agent, its worker processes run
for another minute."""


@frozen(kw_only=True)
class Welcome:
    """Response of a master to a joining worker node."""

    leader: str
    masters: tuple[str, ...]
    workers: dict[str, int]
    """Slots of worker nodes by address."""

    spark: str
    """Spark master with which Spark workers register; empty if the master needs none."""

    hosts: tuple[str, ...]
    """Names of the master's worker processes."""

    queries: tuple[str, ...] = ()
    """Addresses of the query nodes known to the master."""

    clock: float | None = None
    """Clock of the master, in seconds since 1970; ``None`` for query nodes and from earlier versions."""

    @classmethod
    def of(cls, block: Any) -> "Welcome":
        """Return the parsed response to a worker node.

        Raises:
            StoredValueError: The block is invalid.
        """
        workers = stored.below(block, "workers")
        return cls(
            leader=stored.text(block, "leader"),
            masters=tuple(stored.texts(block, "masters")),
            workers={address: stored.number(workers, address) for address in workers},
            spark=stored.text(block, "spark"),
            hosts=tuple(stored.texts(block, "hosts")),
            queries=tuple(stored.texts(block, "queries")) if "queries" in block else (),
            clock=stored.seconds(block, "clock") if "clock" in block else None,
        )

    @classmethod
    def of_members(cls, block: Any) -> "Welcome":
        """Return the parsed response to a query node, which runs no Spark workers.

        Raises:
            StoredValueError: The block is invalid.
        """
        return cls.of({**block, "masters": stored.member(block, "members"), "spark": "", "hosts": []})


@define
class _Master:
    """A member that has responded as a master."""

    welcome: Welcome
    answered_at: float


class Joined:
    """Masters that a worker node has found, and the grace period without them. No I/O.

    Args:
        address: Address of the worker node.
        members: Configured addresses of possible masters.
        grace_s: Grace period without a responding master, in seconds.
        now: Current time, in monotonic seconds.
    """

    def __init__(self, address: str, members: tuple[str, ...], grace_s: float, now: float) -> None:
        self._address = address
        self._members = members
        self._grace_s = grace_s
        self._heard_at = now
        self._masters: dict[str, _Master] = {}

    def known(self) -> tuple[str, ...]:
        """Return the masters that have responded, and those listed in their responses."""
        named = (each for master in self._masters.values() for each in master.welcome.masters)
        return tuple(each for each in dict.fromkeys((*self._masters, *named)) if each != self._address)

    def others(self) -> tuple[str, ...]:
        """Return the other configured members, which may be masters. There may be hundreds, most of them unused."""
        known = self.known()
        return tuple(each for each in self._members if each != self._address and each not in known)

    def welcomed(self, member: str, welcome: Welcome, now: float) -> None:
        """Record the response of a master."""
        self._masters[member] = _Master(welcome, now)
        self._heard_at = now

    def forget(self, now: float) -> None:
        """Drop masters that have been silent for so long that none of their processes can be alive."""
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


class WorkerAgent:
    """Agent of one worker or query node.

    Args:
        config: Configuration of the node.
        address: Address of this member, as ``host:port``.
    """

    state = None
    """Always ``None``: this node forwards requests to the leader."""

    def __init__(self, config: NodeConfig, address: str) -> None:
        self.config = config
        self.address = address
        self.authenticator = Authenticator(config.secret, config.cluster)
        self.rejections = Rejections()
        self.peers = Peers(config)
        self.logs = ClusterLogs(config, address, self.peers, self._nodes)
        self._joined = Joined(address, config.members, config.worker_grace_s, time.monotonic())
        self._spark = SparkWorkers(config, address) if config.role.works else None
        """Spark workers; ``None`` for the role ``query``, which only forwards requests."""

        self.machine = Machine()
        self.asides = Asides(config)
        self._clock = ClockDifference()
        self._joining: dict[str, asyncio.Task[None]] = {}
        """Pending requests by member."""

        self.figures = Figures(self)  # type: ignore[arg-type] # a worker has all attributes that are used
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Run the agent until ``stop``.

        Raises:
            ClusterError: No master could be reached within the grace period.
        """
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
            f"this {self.config.role.value} node ({self.address}) has reached no master of the cluster "
            f"{self.config.cluster!r} for {self.config.worker_grace_s:.0f} s, and ends; it tried: {tried}"
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
            return Welcome.of(await self.peers.ask(member, Line.WORKER, "/internal/v1/workers", request))
        target = f"/internal/v1/members?{urlencode({QUERY: self.address})}"
        return Welcome.of_members(await self.peers.ask(member, Line.WORKER, target, None, method="GET"))

    def stop(self) -> None:
        """Make ``run`` return."""
        self._stopping.set()

    async def close(self, *, with_host: bool) -> None:
        """End the child processes; there are no worker processes to leave to a later agent."""
        if self._spark is not None:
            self._spark.end()

    # -- for HTTP ---------------------------------------------------------------------------------------------------

    def _nodes(self) -> tuple[str, ...]:
        newest = self._joined.newest()
        return () if newest is None else (*newest.masters, *newest.workers)

    def leader(self) -> str:
        """Return the address of the leader according to the masters; empty if unknown."""
        newest = self._joined.newest()
        return "" if newest is None else newest.leader

    def problem(self) -> str:
        """Return an empty text: this node does not read the cluster's state."""
        return ""

    def clock_difference(self) -> int:
        """Return how far this node's clock is ahead of the leader's, in milliseconds."""
        return self._clock.ms

    def describe(self) -> dict[str, Any]:
        """Return this node's view of the cluster."""
        newest = self._joined.newest()
        return {
            "cluster": self.config.cluster,
            "address": self.address,
            "role": self.config.role.value,
            "leader": self.leader(),
            "leads": False,
            "term": 0,
            "members": [] if newest is None else list(newest.masters),
            "workers": {} if newest is None else newest.workers,
            "queries": [] if newest is None else list(newest.queries),
            "host": None,
            "version": answers.project_version(),
        }

    def note_query(self, _address: str) -> None:
        """Do nothing: masters track the nodes of the cluster."""

    def welcome(self, _address: str, _slots: int) -> NoReturn:
        """Reject a joining worker node.

        Raises:
            RequestError: Always.
        """
        self.require_state()

    async def ask_hosts(self, _request: Mapping[str, Any]) -> list[Any]:
        """Return no responses: this node has no worker processes."""
        return []

    def host_pids(self) -> tuple[int, ...]:
        """Return no pids: this node has no worker processes."""
        return ()

    def report(self) -> None:
        """Return ``None``: this node has no worker processes."""

    def own_hosts(self) -> NoReturn:
        """Reject a request to worker processes.

        Raises:
            RequestError: Always.
        """
        self.require_state()

    def require_state(self) -> NoReturn:
        """Reject a request to a master.

        Raises:
            RequestError: Always.
        """
        raise RequestError(f"{self.address} is a {self.config.role.value} node: send this to a master", status=503)
