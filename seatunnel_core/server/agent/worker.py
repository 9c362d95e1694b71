"""The agent of a node that cannot lead: a worker joins all masters, and keeps a Spark worker for each of their hosts.

It takes no part in the election, keeps no state and holds no claim; what it is asked over HTTP it forwards to the
leader. When no master can be reached for a while, it ends with its children.
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
"""The parameter by which a query node says where it is. A master of an earlier version does not look at it."""

JOIN_S = 1.0
SEARCH_S = 10.0
"""Between two searches of the configured members, once a master is known."""

KEEP_S = 75.0
"""So long a Spark worker outlives the last answer of its master. A killed agent's host goes on for a minute."""


@frozen(kw_only=True)
class Welcome:
    """What a master answers to a worker that joins."""

    leader: str
    masters: tuple[str, ...]
    workers: dict[str, int]
    """Slots by address."""

    spark: str
    """Where Spark workers of this master register; empty when its hosts do without."""

    hosts: tuple[str, ...]
    """The names of its hosts."""

    queries: tuple[str, ...] = ()
    """The addresses of the query nodes that it knows."""

    clock: float | None = None
    """Its clock, in seconds since 1970; ``None`` where it tells none: as a ``query`` node asks, or a version before."""

    @classmethod
    def of(cls, block: Any) -> "Welcome":
        """Return what an answer says.

        Raises:
            StoredValueError: it is none.
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
        """Return what a master says of the cluster to a node that moves no rows, and so has nothing to do for a host.

        Raises:
            StoredValueError: it is nothing of the kind.
        """
        return cls.of({**block, "masters": stored.member(block, "members"), "spark": "", "hosts": []})


@define
class _Master:
    """A member that has answered as a master."""

    welcome: Welcome
    answered_at: float


class Joined:
    """Which masters a worker has found, and until when it may go on without them. No I/O.

    Args:
        address: of the worker.
        members: where masters may be, as the configuration says.
        grace_s: for so long the worker goes on when no master answers.
        now: monotonic seconds.
    """

    def __init__(self, address: str, members: tuple[str, ...], grace_s: float, now: float) -> None:
        self._address = address
        self._members = members
        self._grace_s = grace_s
        self._heard_at = now
        self._masters: dict[str, _Master] = {}

    def known(self) -> tuple[str, ...]:
        """Return the masters that have answered, and those that they have named."""
        named = (each for master in self._masters.values() for each in master.welcome.masters)
        return tuple(each for each in dict.fromkeys((*self._masters, *named)) if each != self._address)

    def others(self) -> tuple[str, ...]:
        """Return the configured members that may be masters, too. There may be hundreds, most of them not there."""
        known = self.known()
        return tuple(each for each in self._members if each != self._address and each not in known)

    def welcomed(self, member: str, welcome: Welcome, now: float) -> None:
        """Take in the answer of a master."""
        self._masters[member] = _Master(welcome, now)
        self._heard_at = now

    def forget(self, now: float) -> None:
        """Forget masters that have not answered for so long that nothing of theirs can live."""
        self._masters = {each: found for each, found in self._masters.items() if now - found.answered_at < KEEP_S}

    def is_orphaned(self, now: float) -> bool:
        """Return whether no master has answered for too long."""
        return now - self._heard_at > self._grace_s

    def places(self) -> tuple[Place, ...]:
        """Return the hosts that need Spark workers."""
        spark = ((member, found.welcome) for member, found in self._masters.items() if found.welcome.spark)
        return tuple(Place(url=each.spark, member=member, host=host) for member, each in spark for host in each.hosts)

    def newest(self) -> Welcome | None:
        """Return the answer that came last; ``None`` when there is none."""
        return max(self._masters.values(), key=lambda each: each.answered_at).welcome if self._masters else None


class WorkerAgent:
    """One worker's agent.

    Args:
        config: of the node.
        address: of this member, as ``host:port``.
    """

    state = None
    """A worker has none: it forwards what it is asked."""

    def __init__(self, config: NodeConfig, address: str) -> None:
        self.config = config
        self.address = address
        self.authenticator = Authenticator(config.secret, config.cluster)
        self.rejections = Rejections()
        self.peers = Peers(config)
        self.logs = ClusterLogs(config, address, self.peers, self._nodes)
        self._joined = Joined(address, config.members, config.worker_grace_s, time.monotonic())
        self._spark = SparkWorkers(config, address) if config.role.works else None
        """``None`` where the role is ``query``: it only hands requests to the leader."""

        self.machine = Machine()
        self.asides = Asides(config)
        self._clock = ClockDifference()
        self._joining: dict[str, asyncio.Task[None]] = {}
        """By member: a request that is under way."""

        self.figures = Figures(self)  # type: ignore[arg-type] # of which a worker has all that is asked
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Serve the masters until ``stop``.

        Raises:
            ClusterError: no master could be reached for too long.
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
        except OSError as error:  # no descriptor or no process is free: that passes
            logger.warning("Spark's workers cannot be looked after now: %s", error)

    async def _stops_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _orphaned(self) -> str:
        tried = ", ".join((*self._joined.known(), *self._joined.others())[:10]) or "no other member is configured"
        return (
            f"this {self.config.role.value} ({self.address}) has reached no master of the cluster "
            f"{self.config.cluster!r} for {self.config.worker_grace_s:.0f} s, and ends; it tried: {tried}"
        )

    async def _search(self) -> None:
        """Ask configured members, which may hang, apart from the masters that are known to answer."""
        while True:
            self._join_all(self._joined.others())
            await asyncio.sleep(SEARCH_S if self._joined.known() else JOIN_S)

    def _join_all(self, members: Iterable[str]) -> None:
        """Ask members, each by itself: one that hangs delays no other. One that has a request is not asked again."""
        for member in members:
            if member not in self._joining:
                task = self._joining[member] = asyncio.create_task(self._join(member))
                task.add_done_callback(lambda _, each=member: self._joining.pop(each, None))  # type: ignore[misc]

    async def _join(self, member: str) -> None:
        sent = wall_clock()
        try:
            welcome = await self._welcomed_by(member)
        except (SeaTunnelError, StoredValueError, OSError) as error:
            logger.debug("%s is no master that this worker can join now: %s", member, error)
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
        """End ``run``."""
        self._stopping.set()

    async def close(self, *, with_host: bool) -> None:
        """End the children; a worker has no host that could be left."""
        if self._spark is not None:
            self._spark.end()

    # -- what HTTP asks ---------------------------------------------------------------------------------------------

    def _nodes(self) -> tuple[str, ...]:
        newest = self._joined.newest()
        return () if newest is None else (*newest.masters, *newest.workers)

    def leader(self) -> str:
        """Return the address of the leader as the masters name it; empty when none does."""
        newest = self._joined.newest()
        return "" if newest is None else newest.leader

    def problem(self) -> str:
        """Return nothing: a worker does not read the cluster's state."""
        return ""

    def clock_difference(self) -> int:
        """Return how far the clock of this node is before that of the leader, in milliseconds."""
        return self._clock.ms

    def describe(self) -> dict[str, Any]:
        """Return what this node knows of the cluster."""
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
        """Do nothing: masters know the nodes of a cluster."""

    def welcome(self, _address: str, _slots: int) -> NoReturn:
        """Refuse a worker.

        Raises:
            RequestError: always.
        """
        self.require_state()

    async def ask_hosts(self, _request: Mapping[str, Any]) -> list[Any]:
        """Return no answers: a worker has no hosts."""
        return []

    def host_pids(self) -> tuple[int, ...]:
        """Return nothing: a worker has no hosts."""
        return ()

    def report(self) -> None:
        """Return nothing: a worker has no hosts."""

    def own_hosts(self) -> NoReturn:
        """Refuse what only a node with hosts can do.

        Raises:
            RequestError: always.
        """
        self.require_state()

    def require_state(self) -> NoReturn:
        """Refuse what only a master can do.

        Raises:
            RequestError: always.
        """
        raise RequestError(f"{self.address} is a {self.config.role.value}: ask a master", status=503)
