"""Worker processes of a member: one warm process that jobs share, and a dedicated process for each job that needs it.

Each agent supervises its own worker processes. Orders contain the leader's term. An order with a lower term than the
newest known one is rejected, both by the agent and by the worker process.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from attrs import Factory, define, field

from seatunnel_core import stored
from seatunnel_core.server.agent.host_process import LEAVE_S, HostProcess
from seatunnel_core.server.agent.host_spark import HostSpark
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.restarts import Restarts
from seatunnel_core.server.agent.workers import Workers
from seatunnel_core.server.errors import HostError
from seatunnel_core.server.host.protocol import HostStatus, host_sockets
from seatunnel_core.server.member_report import HostReport, MemberReport
from seatunnel_core.server.state.records import SHARED, JobRecord

logger = logging.getLogger("seatunnel.cluster")

WATCH_S = 0.1

TROUBLE_S = 1.0
"""Pause after an operating-system error before supervision continues, in seconds."""

MOST_ENDED = 100
"""Maximum number of ended worker processes in a report."""

Value = TypeVar("Value")


@define(eq=False)
class _Watched:
    """A worker process, its last status and the thread that queries it."""

    process: HostProcess
    thread: ThreadPoolExecutor = field(factory=lambda: ThreadPoolExecutor(1, "host"))
    status: HostStatus | None = None
    doubt: str = ""
    """Reason for replacing the process; empty while it is healthy."""

    restarts: Restarts = field(factory=Restarts)

    async def ask(self, function: Callable[..., Value], *arguments: Any) -> Value:
        return await asyncio.get_running_loop().run_in_executor(self.thread, function, *arguments)


@define(eq=False, repr=False)
class OwnHosts:
    """Supervises this member's worker processes and forwards orders to them. New statuses trigger ``on_news``."""

    _config: NodeConfig
    _address: str
    _spark: HostSpark
    _workers: Workers
    _seen_term: Callable[[], int]
    _on_news: Callable[[], None] = lambda: None
    tags: Mapping[str, str] = field(
        init=False, default=Factory(lambda self: dict(self._config.attributes), takes_self=True)
    )
    _term: int = field(default=0, init=False)
    """Highest term in an order to this agent or in an adopted worker process."""

    _hosts: dict[str, _Watched] = field(factory=dict, init=False)
    _ended: deque[str] = field(factory=lambda: deque[str](maxlen=MOST_ENDED), init=False)
    _adopted: bool = field(default=False, init=False)
    _opening: asyncio.Lock = field(factory=asyncio.Lock, init=False)
    _watching: dict[str, asyncio.Task[None]] = field(factory=dict, init=False)

    # -- reports ----------------------------------------------------------------------------------------------------

    def report(self) -> MemberReport | None:
        """Return the report on all worker processes; ``None`` until those of an earlier agent have been adopted."""
        if not self._adopted:
            return None
        hosts = tuple(
            HostReport(name=name, boot=host.process.boot, status=host.status)
            for name, host in self._hosts.items()
            if host.process.pid
        )
        ended = tuple(self._ended)  # read last: a process in neither list ended unobserved
        workers = {} if self._config.role.works else self._workers.living()
        return MemberReport(
            hosts=hosts,
            ended=ended,
            tags=self.tags,
            workers=workers,
            moves_rows=self._config.role.works,
            offered=self._config.offered,
            clock=time.monotonic(),
        )

    def names(self) -> tuple[str, ...]:
        """Return the names of the worker processes."""
        return tuple(dict.fromkeys((SHARED, *self._hosts)))

    def pids(self) -> tuple[int, ...]:
        """Return the process IDs of the worker processes."""
        return tuple(host.process.pid for host in self._hosts.values() if host.process.pid)

    def shared(self) -> HostStatus | None:
        """Return the last status of the shared worker process."""
        host = self._hosts.get(SHARED)
        return None if host is None else host.status

    async def ask_all(self, request: Mapping[str, Any]) -> list[Any]:
        """Send a request to the worker processes that have a status. Hanging processes are skipped."""
        asked = [
            host.ask(host.process.ask, request)
            for host in tuple(self._hosts.values())
            if host.process.pid and host.status is not None
        ]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        return [each for each in answers if not isinstance(each, BaseException)]

    # -- supervision ------------------------------------------------------------------------------------------------

    async def watch(self) -> None:
        """Adopt the processes of an earlier agent, and keep a warm shared process running, until cancelled."""
        await self._adopt()
        self._hosts.setdefault(SHARED, self._watched(SHARED))
        try:
            while True:
                for name in tuple(self._hosts):
                    if name not in self._watching:
                        self._watching[name] = asyncio.create_task(self._watch_one(name))
                for name, task in tuple(self._watching.items()):
                    if task.done():
                        del self._watching[name]
                        task.result()  # a failure is a bug, and ends the agent
                await asyncio.sleep(WATCH_S)
        finally:
            for task in self._watching.values():
                task.cancel()
            await asyncio.gather(*self._watching.values(), return_exceptions=True)

    async def _adopt(self) -> None:
        for pid, path in sorted(host_sockets(self._config.cluster, self._address).items(), reverse=True):
            host = self._watched(SHARED)
            if not await host.ask(host.process.adopt, pid, path):
                host.thread.shutdown(wait=False)
            elif host.process.name in self._hosts:
                logger.warning("killing surplus worker process %d", pid)
                await host.ask(host.process.kill)
                host.thread.shutdown(wait=False)
            else:
                self._hosts[host.process.name] = host
        self._term = max([self._term, *(host.process.term for host in self._hosts.values())])  # or they reject requests
        for host in self._hosts.values():
            await self._refresh(host)
        self._spark.prepare(has_worker=bool(self._hosts))
        self._adopted = True

    def _watched(self, name: str) -> _Watched:
        process = HostProcess(self._config, self._address, name, spark=self._spark.arguments)
        process.on_end = self._ended.append
        return _Watched(process)

    async def _watch_one(self, name: str) -> None:
        """Supervise a process until it ends. Wait if the system has run out of file descriptors or processes."""
        while True:
            try:
                await self._watch_while_possible(name)
            except OSError as error:
                logger.warning("cannot supervise the worker process %s now: %s", name or "shared by jobs", error)
                await asyncio.sleep(TROUBLE_S)
            else:
                return

    async def _watch_while_possible(self, name: str) -> None:
        """Poll a process. If it is the shared process and has ended, restart it."""
        host = self._hosts[name]
        while True:
            if name == SHARED:
                await self._supervise()
            if host.doubt:
                reason, host.doubt = host.doubt, ""
                host.process.on_end(host.process.boot)
                await self._kill(host, reason)
            if not host.process.pid:
                if name != SHARED:
                    if self._hosts.get(name) is host:
                        del self._hosts[name]
                    host.thread.shutdown(wait=False)
                    self._on_news()
                    return
                if host.restarts.is_due(time.monotonic()):
                    host.restarts.started()
                    await host.ask(host.process.start, secrets.token_hex(8))
            await self._refresh(host)
            await asyncio.sleep(WATCH_S)

    async def _supervise(self) -> None:
        """Keep Spark's processes running, and kill worker processes that cannot continue with them."""
        if not self._spark.supervise():
            for host in tuple(self._hosts.values()):
                await self._kill(host, "its Spark master has ended")

    async def _kill(self, host: _Watched, reason: str) -> None:
        if host.process.pid:
            logger.warning(
                "killing worker process %d; its jobs resume in another worker process: %s", host.process.pid, reason
            )
            await host.ask(host.process.kill)

    async def _refresh(self, host: _Watched) -> None:
        before, pid = host.status, host.process.pid
        host.status, host.doubt = await host.ask(self._looked_at, host.process, max(self._term, self._seen_term()))
        if host.status is not None and host.status.ready:
            host.restarts.ready()
        if (host.status, host.process.pid) != (before, pid):
            self._on_news()

    def _looked_at(self, process: HostProcess, term: int) -> tuple[HostStatus | None, str]:
        """Return the status of a process and the reason for replacing it, with one call in the process's thread."""
        status = process.status(term)
        return status, self._spark.doubt(status)

    # -- orders -----------------------------------------------------------------------------------------------------

    def require_term(self, term: int) -> None:
        """Check and record the term of a leader's request; raise ``HostError`` if a newer term is known."""
        newest = max(self._term, self._seen_term())
        if term < newest:
            raise HostError(f"a command of term {term} is rejected, because a node leads in the newer term {newest}")
        self._term = term

    def require_fresh(self, as_of: float) -> None:
        """Raise ``HostError`` if an order was decided too long ago, because this process was paused or disconnected.

        By then, the leader considers this member lost and assigns its jobs to others.
        """
        age_s, most_s = time.monotonic() - as_of, self._config.timing.timeout_s
        if age_s > most_s:
            raise HostError(
                f"a command was rejected, because it was issued {age_s:.1f} s ago and reached this node too late"
            )

    async def carry_out(self, term: int, orders: Sequence[Mapping[str, Any]], as_of: float) -> None:
        """Execute orders of a leader. When this returns, ``report`` shows their effects.

        Orders to a process run in sequence, up to the first failure. A hanging process does not delay others. ``as_of``
        is the ``clock`` of the report on which the orders are based.

        Raises:
            HostError: An order is rejected, or its process is unreachable. Later orders to the process are skipped.
        """
        by_host: dict[str, list[Mapping[str, Any]]] = {}
        for order in orders:
            by_host.setdefault(stored.text(order, "host"), []).append(order)
        done = await asyncio.gather(
            *(self._carry_out_all(term, some, as_of) for some in by_host.values()), return_exceptions=True
        )
        for each in done:
            if isinstance(each, BaseException):
                raise each

    async def _carry_out_all(self, term: int, orders: Sequence[Mapping[str, Any]], as_of: float) -> None:
        ordered: dict[str, _Watched] = {}
        try:
            for order in orders:
                self.require_term(term)  # a newer leader may have sent a request during the previous order
                self.require_fresh(as_of)
                host = await self._carry_out(term, order)
                if host is not None:
                    ordered[host.process.name] = host
        finally:
            for name, host in ordered.items():
                if self._hosts.get(name) is host:  # otherwise the process and its thread have ended
                    await self._refresh(host)

    async def _carry_out(self, term: int, order: Mapping[str, Any]) -> _Watched | None:
        """Execute an order, and return its worker process if it exists."""
        name, what = stored.text(order, "host"), stored.text(order, "do")
        host = self._hosts.get(name)
        if what == "open":
            await self._open(JobRecord.from_bytes(stored.text(order, "job").encode()), stored.text(order, "boot"))
            return None
        if what in ("close", "kill"):
            if host is None or host.process.boot != stored.text(order, "boot"):
                return None
            leave = host.process.begin_to_leave
            await (host.ask(leave, term) if what == "close" else host.ask(host.process.kill))
            return host
        if host is None or not host.process.pid:
            raise HostError(f"no such worker process: {name or 'the shared one'}")
        request = {key: value for key, value in order.items() if key != "host"}
        await host.ask(host.process.ask, {**request, "term": term})
        return host

    async def _open(self, job: JobRecord, boot: str) -> None:
        """Start the dedicated process of a job unless it exists. An older process of the job is ended first."""
        async with self._opening:
            before = self._hosts.get(job.job_id)
            if before is not None and before.process.pid:
                if before.process.boot == boot:
                    return
                await before.ask(before.process.kill)
            host = self._watched(job.job_id)
            await host.ask(host.process.start, boot, job)
            self._hosts[job.job_id] = host

    async def close(self, *, with_hosts: bool) -> None:
        """Release the worker processes: either end them after a final checkpoint, or leave them for a later agent."""
        term = max(self._term, self._seen_term())
        hosts = tuple(self._hosts.values())
        if with_hosts:
            leaving = (host.ask(host.process.leave, term, LEAVE_S) for host in hosts if host.process.pid)
            await asyncio.gather(*leaving)
        else:
            for host in hosts:
                host.process.let_go()
        for host in hosts:
            with contextlib.suppress(RuntimeError):
                host.thread.shutdown(wait=False, cancel_futures=True)
