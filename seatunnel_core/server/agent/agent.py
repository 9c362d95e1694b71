"""An agent: a node's part in the election, the hosts of its member, and, while it leads, the jobs of the cluster.

One event loop, without Spark. What blocks is done in threads. The agent is crash-only: it keeps nothing that the store
and the hosts do not have, and a start after ``kill -9`` is a start like any other.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from seatunnel_core.clock import wall_clock
from seatunnel_core.config.engine_options import EVENT_HEADERS, EVENT_URL
from seatunnel_core.control.signing import Authenticator
from seatunnel_core.server.agent import answers
from seatunnel_core.server.agent.asides import Asides
from seatunnel_core.server.agent.cluster_logs import ClusterLogs
from seatunnel_core.server.agent.dispatcher import Dispatcher
from seatunnel_core.server.agent.host_spark import host_spark
from seatunnel_core.server.agent.job_storage import JobStorage
from seatunnel_core.server.agent.leadership import Leadership
from seatunnel_core.server.agent.machine import Machine
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.own_hosts import OwnHosts
from seatunnel_core.server.agent.peers import Peers
from seatunnel_core.server.agent.requests import UserRequests
from seatunnel_core.server.agent.running_jobs import RunningJobs
from seatunnel_core.server.agent.shared_answer import SharedAnswer
from seatunnel_core.server.agent.workers import Workers
from seatunnel_core.server.aside.planner import Planner
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.events.reports import EventReports, http_post
from seatunnel_core.server.events.watching import EventWatch
from seatunnel_core.server.member_report import MemberReport
from seatunnel_core.server.metrics.figures import Figures
from seatunnel_core.server.state.cluster_state import ClusterState
from seatunnel_core.server.state.store import ClusterStore
from seatunnel_core.server.transport.rejections import Rejections


class Agent:
    """One node's agent.

    Args:
        config: of the node.
        store: of the cluster's state; closed by ``close``.
        address: of this member, as ``host:port``.
    """

    def __init__(self, config: NodeConfig, store: ClusterStore, address: str) -> None:
        self.config = config
        self.address = address
        self.authenticator = Authenticator(config.secret, config.cluster)
        self.rejections = Rejections()
        self.peers = Peers(config)
        self.leadership = Leadership(config, store, address, self.peers, self._wake)
        self.workers = Workers()
        self._spark = host_spark(config, address)
        self.hosts = OwnHosts(config, address, self._spark, self.workers, self.leadership.term, self._wake)
        self.dispatcher = Dispatcher(config, self.leadership, self.hosts, self.peers)
        self.users = UserRequests(self.leadership, self.dispatcher)
        self.logs = ClusterLogs(config, address, self.peers, self._nodes)
        self.figures = Figures(self)
        self.machine = Machine()
        self.monitoring = SharedAnswer()
        self.storage = JobStorage(config.engine)
        self.asides = Asides(config)
        self.planner = Planner(config)
        self.running = RunningJobs(address, self.peers)
        self.writing = asyncio.Lock()
        """Held while a long list is written for a reader."""

        url, headers = config.engine.options[EVENT_URL], config.engine.options[EVENT_HEADERS]
        self._reports = None if url is None else EventReports(http_post(url, headers or {}))
        self._stopping = asyncio.Event()

    def _wake(self) -> None:
        self.dispatcher.wake()

    async def run(self) -> None:
        """Take part in the cluster until ``stop``."""
        loops = [self.leadership.run(), self.hosts.watch(), self.dispatcher.run()]
        if self._reports is not None:
            loops.append(EventWatch(self, self._reports).run())
        tasks = [asyncio.create_task(each) for each in loops]
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            done, _ = await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # a loop that ends is a bug, and ends the agent
        finally:
            for task in (*tasks, stopping):
                task.cancel()
            await asyncio.gather(*tasks, stopping, return_exceptions=True)

    def stop(self) -> None:
        """End ``run``."""
        self._stopping.set()

    # -- what HTTP asks ---------------------------------------------------------------------------------------------

    @property
    def state(self) -> ClusterState | None:
        """The state, while this node leads."""
        return self.leadership.state

    def require_state(self) -> ClusterState:
        """Return the state, of a node that leads.

        Raises:
            RequestError: this node does not lead, or not for sure.
        """
        return self.leadership.require_state()

    def leader(self) -> str:
        """Return the address of the leader as far as this node knows; empty when it knows of none."""
        return self.leadership.leader()

    def problem(self) -> str:
        """Return why no node may lead now; empty if this node knows of no such reason."""
        return self.leadership.problem()

    def own_hosts(self) -> OwnHosts:
        """Return the hosts of this member."""
        return self.hosts

    async def ask_hosts(self, request: Mapping[str, Any]) -> list[Any]:
        """Return the answers of the hosts of this member that give one."""
        return await self.hosts.ask_all(request)

    def host_pids(self) -> tuple[int, ...]:
        """Return the process ids of the hosts of this member."""
        return self.hosts.pids()

    def report(self) -> MemberReport | None:
        """Return what is known of the hosts of this member; ``None`` while they are looked for."""
        return self.hosts.report()

    def clock_difference(self) -> int:
        """Return how far the clock of this node is before that of the leader, in milliseconds."""
        return 0 if self.state is not None else self.leadership.clock.ms

    def working(self) -> int:
        """Return on how many nodes the rows of jobs move: workers, and masters that are workers, too."""
        return len(self.workers.living()) + self.leadership.working_masters()

    def _nodes(self) -> tuple[str, ...]:
        return (*self.leadership.members(), *self.workers.living())

    def note_query(self, address: str) -> None:
        """Take in that a query node lives."""
        self.workers.queried(address)

    def welcome(self, address: str, slots: int) -> dict[str, Any]:
        """Take in that a worker lives, and return what it has to know.

        Raises:
            RequestError: hosts of an earlier agent are still looked for, and a worker must not let go of theirs.
        """
        if self.hosts.report() is None:
            raise RequestError("this node looks for the hosts of an earlier agent: try again", status=503)
        self.workers.joined(address, slots)
        known = dict.fromkeys((self.address, *self.leadership.members()))
        return {
            "leader": self.leader(),
            "masters": list(known),
            "workers": self.workers.living(),
            "queries": self.workers.queries(),
            "spark": self._spark.url(),
            "hosts": list(self.hosts.names()),
            "clock": wall_clock(),
        }

    def describe(self) -> dict[str, Any]:
        """Return what this node knows of the cluster."""
        status = self.hosts.shared()
        host = (
            None
            if status is None
            else {
                "pid": status.pid,
                "ready": status.ready,
                "slots": status.slots,
                "executors": status.executors,
                "application": status.application,
            }
        )
        return {
            "cluster": self.config.cluster,
            "address": self.address,
            "role": self.config.role.value,
            "leader": self.leader(),
            "leads": self.leadership.leads(),
            "term": self.leadership.term(),
            "members": list(self.leadership.members()),
            "workers": self.workers.living(),
            "queries": self.workers.queries(),
            "host": host,
            "version": answers.project_version(),
        }

    async def close(self, *, with_host: bool) -> None:
        """Release everything. The hosts end too, after last checkpoints, unless they are left to a later agent."""
        await self.hosts.close(with_hosts=with_host)
        self._spark.end()
        await self.leadership.close()
        if self._reports is not None:
            self._reports.close()
        await self.planner.close()
        self.storage.close()
        self.running.close()
