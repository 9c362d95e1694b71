"""Reports from the members about their worker processes, and delivery of the leader's orders to the members.

Members are polled independently. A report may be older than orders that were just sent, so decisions that depend on
these orders wait for the next poll.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from seatunnel_core.errors import SeaTunnelError, StoredValueError
from seatunnel_core.server.agent.own_hosts import OwnHosts
from seatunnel_core.server.agent.peers import Line, Peers, bodies
from seatunnel_core.server.host.protocol import HostedJob
from seatunnel_core.server.member_report import MemberReport
from seatunnel_core.server.scheduling.member_link import MemberLink, Question
from seatunnel_core.server.scheduling.view import Member
from seatunnel_core.server.state.records import JobRecord

logger = logging.getLogger("seatunnel.cluster")


class Members:
    """Members during a leader's term. A member without a report for ``timeout_s`` is lost.

    ``on_news`` is called after each change.
    """

    def __init__(
        self, term: int, address: str, own: OwnHosts, peers: Peers, timeout_s: float, on_news: Callable[[], None]
    ) -> None:
        self.term = term
        self._address = address
        self._own = own
        self._peers = peers
        self._timeout_s = timeout_s
        self._on_news = on_news
        self._links: dict[str, MemberLink] = {}
        self._work: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Cancel all polls and orders."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    def view(self, addresses: Iterable[str]) -> Mapping[str, Member]:
        """Return the latest reports of the members at these addresses, and start due polls; remove other members."""
        now = time.monotonic()
        wanted = dict.fromkeys(addresses)
        self._links = {
            address: link for address, link in self._links.items() if address in wanted or link.ordering or link.asking
        }
        for address in wanted:
            link = self._links.setdefault(address, MemberLink())
            if address != self._address and link.is_due(now):
                self._spawn(self._ask(address, link, link.ask(now)))
        return {address: self._member(address, self._links[address], now) for address in wanted}

    def _member(self, address: str, link: MemberLink, now: float) -> Member:
        if address == self._address:
            return Member(report=self._own.report(), busy=link.ordering)
        return link.member(now, self._timeout_s)

    def hosted(self, job: JobRecord) -> HostedJob | None:
        """Return the last report about a job from its worker process, or ``None``."""
        link = self._links.get(job.host)
        report = None if link is None else link.report
        if job.host == self._address:
            report = self._own.report()
        host = None if report is None else report.host(job.host_name)
        status = None if host is None or host.boot != job.process else host.status
        found = None if status is None else status.job(job.job_id)
        return found if found is not None and found.attempt == job.attempt else None

    async def _ask(self, address: str, link: MemberLink, question: Question) -> None:
        try:
            body = await self._peers.ask(address, Line.STATUS, "/internal/v1/hosts", {"term": self.term})
            report = MemberReport.from_record(body)
        except (SeaTunnelError, StoredValueError, ValueError, OSError) as error:
            logger.debug("no status from member %s: %s", address, error)
            link.failed(question, refused=isinstance(error.__cause__, ConnectionRefusedError))
        else:
            if link.answered(question, report):
                self._on_news()

    def give(self, address: str, orders: Sequence[Mapping[str, Any]]) -> None:
        """Send orders to a member in the background until one fails. Unchanged orders are sent again after a pause."""
        link = self._links[address]
        now = time.monotonic()
        if link.order(orders, now):
            as_of = now if address == self._address else link.clock
            self._spawn(self._give(address, link, orders, as_of))

    async def _give(self, address: str, link: MemberLink, orders: Sequence[Mapping[str, Any]], as_of: float) -> None:
        try:
            if address == self._address:
                await self._own.carry_out(self.term, orders, as_of)
            else:
                for some in bodies(orders):
                    block = {"term": self.term, "orders": some, "as_of": as_of}
                    await self._peers.ask(address, Line.ORDER, "/internal/v1/orders", block)
        except (StoredValueError, SeaTunnelError, ValueError, OSError) as error:
            logger.warning("member %s did not execute a command: %s", address, error)
        finally:
            link.end_round()
            self._on_news()
