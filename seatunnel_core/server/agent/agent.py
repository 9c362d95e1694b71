"""Agent of a master: it takes part in the election, supervises worker processes and, as the leader, schedules jobs.

The agent is one event loop, without Spark; blocking calls run in threads. It is crash-only: all its state is in the
store or in the worker processes, so a start after ``kill -9`` is the same as any other start.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from seatunnel_core.clock import wall_clock
from seatunnel_core.config.engine_options import EVENT_HEADERS, EVENT_URL
from seatunnel_core.server.agent.dispatcher import Dispatcher
from seatunnel_core.server.agent.host_spark import host_spark
from seatunnel_core.server.agent.job_storage import JobStorage
from seatunnel_core.server.agent.leadership import Leadership
from seatunnel_core.server.agent.node_agent import NodeAgent
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.own_hosts import OwnHosts
from seatunnel_core.server.agent.requests import UserRequests
from seatunnel_core.server.agent.running_jobs import RunningJobs
from seatunnel_core.server.agent.seen_versions import STATE_VERSION
from seatunnel_core.server.agent.shared_answer import SharedAnswer
from seatunnel_core.server.agent.workers import Welcome, Workers
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.events.reports import EventReports, http_post
from seatunnel_core.server.events.watching import EventWatch
from seatunnel_core.server.member_report import MemberReport
from seatunnel_core.server.state.cluster_state import ClusterState
from seatunnel_core.server.state.store import ClusterStore


class Agent(NodeAgent):
    """Agent of a node that can lead. ``close`` also closes the store."""

    def __init__(self, config: NodeConfig, store: ClusterStore, address: str) -> None:
        super().__init__(config, address)
        self.leadership = Leadership(config, store, address, self.peers, self._wake)
        self.workers = Workers()
        self._spark = host_spark(config, address)
        self.hosts = OwnHosts(config, address, self._spark, self.workers, self.leadership.term, self._wake)
        self.dispatcher = Dispatcher(config, self.leadership, self.hosts, self.peers)
        self.users = UserRequests(self.leadership, self.dispatcher)
        self.monitoring = SharedAnswer()
        self.storage = JobStorage(config.engine)
        self.running = RunningJobs(address, self.peers, self.hosts.pids)
        self.writing = asyncio.Lock()
        """Lock for encoding long lists, one at a time."""

        url, headers = config.engine.options[EVENT_URL], config.engine.options[EVENT_HEADERS]
        self._reports = None if url is None else EventReports(http_post(url, headers or {}))

    def _wake(self) -> None:
        self.dispatcher.wake()

    async def run(self) -> None:
        loops = [self.leadership.run(), self.hosts.watch(), self.dispatcher.run()]
        if self._reports is not None:
            loops.append(EventWatch(self, self._reports).run())
        tasks = [asyncio.create_task(each) for each in loops]
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            done, _ = await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # none of these loops should end: if one does, the agent ends
        finally:
            for task in (*tasks, stopping):
                task.cancel()
            await asyncio.gather(*tasks, stopping, return_exceptions=True)

    @property
    def state(self) -> ClusterState | None:
        return self.leadership.state

    def require_state(self) -> ClusterState:
        return self.leadership.require_state()

    def leader(self) -> str:
        return self.leadership.leader()

    def problem(self) -> str:
        return self.leadership.problem()

    def own_hosts(self) -> OwnHosts:
        return self.hosts

    async def ask_hosts(self, request: Mapping[str, Any]) -> list[Any]:
        return await self.hosts.ask_all(request)

    def host_pids(self) -> tuple[int, ...]:
        return self.hosts.pids()

    def report(self) -> MemberReport | None:
        return self.hosts.report()

    def clock_difference(self) -> int:
        return 0 if self.state is not None else self.leadership.clock.ms

    def working(self) -> int:
        """Return the number of worker nodes, including masters that are also workers."""
        return len(self.workers.living()) + self.leadership.working_masters()

    def _nodes(self) -> tuple[str, ...]:
        return (*self.leadership.members(), *self.workers.living())

    def note_query(self, address: str) -> None:
        self.workers.queried(address)

    def welcome(self, address: str, slots: int) -> dict[str, Any]:
        if self.hosts.report() is None:
            raise RequestError(
                "this node is still searching for worker processes of an earlier agent: try again", status=503
            )
        self.workers.joined(address, slots)
        return Welcome(
            leader=self.leader(),
            masters=tuple(dict.fromkeys((self.address, *self.leadership.members()))),
            workers=self.workers.living(),
            queries=tuple(self.workers.queries()),
            spark=self._spark.url(),
            hosts=self.hosts.names(),
            clock=wall_clock(),
        ).record()

    def describe(self) -> dict[str, Any]:
        status = self.hosts.shared()
        shown = ("pid", "ready", "slots", "executors", "application")
        return {
            **super().describe(),
            "leads": self.leadership.leads(),
            "term": self.leadership.term(),
            "members": list(self.leadership.members()),
            "workers": self.workers.living(),
            "queries": self.workers.queries(),
            STATE_VERSION: list(self.leadership.newest_seen()),
            "host": None if status is None else {name: getattr(status, name) for name in shown},
        }

    async def close(self, *, with_host: bool) -> None:
        await self.hosts.close(with_hosts=with_host)
        self._spark.end()
        await self.leadership.close()
        if self._reports is not None:
            self._reports.close()
        await self.planner.close()
        self.storage.close()
        self.running.close()
