"""Dispatcher: makes scheduling decisions and executes them while this node leads."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from seatunnel_core.clock import wall_clock
from seatunnel_core.server.agent.leadership import Leadership
from seatunnel_core.server.agent.members import Members
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.own_hosts import OwnHosts
from seatunnel_core.server.agent.peers import Peers
from seatunnel_core.server.description import Description, describe
from seatunnel_core.server.errors import ClusterError
from seatunnel_core.server.host.protocol import HostedJob
from seatunnel_core.server.requirements import requirements_of
from seatunnel_core.server.scheduling.decisions import (
    Change,
    Close,
    Decisions,
    End,
    Forget,
    Kill,
    Open,
    Order,
    Record,
    Start,
    Stop,
)
from seatunnel_core.server.scheduling.following import orphaned_jobs
from seatunnel_core.server.scheduling.schedule import decide
from seatunnel_core.server.scheduling.view import CANCELLED, View
from seatunnel_core.server.state.cluster_state import ClusterState
from seatunnel_core.server.state.records import JobRecord, Requirements
from seatunnel_core.server.submitted_job import SubmittedJob

logger = logging.getLogger("seatunnel.cluster")

SCHEDULE_S = 0.1
"""Maximum interval between two scheduling rounds, and interval between polls of other members, in seconds."""

ALONE_S = 0.25
"""Maximum interval between two scheduling rounds in a cluster with one member, in seconds."""

EXPIRE_EVERY_S = 60.0


class Ages:
    """Tracks how long values have been unchanged, measured with the clock of this process."""

    def __init__(self) -> None:
        self._since: dict[str, dict[str, tuple[object, float]]] = {}

    def note(self, what: str, values: Mapping[str, object], now: float) -> dict[str, float]:
        """Return the age of each value. New and changed values have age 0."""
        before = self._since.get(what, {})
        kept = {
            name: before[name] if before.get(name, (None,))[0] == value else (value, now)
            for name, value in values.items()
        }
        self._since[what] = kept
        return {name: now - at for name, (_, at) in kept.items()}


class Dispatcher:
    """Loop that makes and executes scheduling decisions while this node leads."""

    def __init__(self, config: NodeConfig, leadership: Leadership, own: OwnHosts, peers: Peers) -> None:
        self._config = config
        self._leadership = leadership
        self._own = own
        self._peers = peers
        self._members: Members | None = None
        self._ages = Ages()
        self._read: dict[str, tuple[JobRecord, Requirements, Description]] = {}
        """Requirements and description by job. Each job text is parsed only once, because parsing delays heartbeats."""

        self._news = asyncio.Event()
        self.view: View | None = None
        """View on which the last decision was based; ``None`` while this node is not the leader."""

        self.reasons: Mapping[str, str] = {}
        """Reason why each job without a worker process is waiting."""

    def wake(self) -> None:
        """Start the next scheduling round now instead of after the pause."""
        self._news.set()

    async def run(self) -> None:
        """Run scheduling rounds until cancelled."""
        expired_at = time.monotonic()
        try:
            while True:
                self._news.clear()
                state = self._leadership.state
                if state is None or not self._leadership.leads():
                    await self._forget_members()
                elif await self._round(state):
                    continue
                elif time.monotonic() - expired_at > EXPIRE_EVERY_S:
                    expired_at = time.monotonic()
                    with contextlib.suppress(ClusterError):  # logged where the lease was lost
                        await self._leadership.change(state.expire, wall_clock())
                with contextlib.suppress(TimeoutError):
                    pause_s = SCHEDULE_S if len(self._leadership.members()) > 1 else ALONE_S
                    async with asyncio.timeout(None if state is None else pause_s):  # a new lease wakes it
                        await self._news.wait()
        finally:
            await self._forget_members()

    async def _forget_members(self) -> None:
        members, self._members, self.view, self.reasons = self._members, None, None, {}
        if members is not None:
            self._ages = Ages()
            await members.close()

    async def _round(self, state: ClusterState) -> bool:
        """Run one scheduling round. Return True if the state has changed, so that another round is due."""
        if self._members is None or self._members.term != state.term:
            await self._forget_members()
            self._members = Members(
                state.term,
                self._leadership.address,
                self._own,
                self._peers,
                self._config.timing.timeout_s,
                self.wake,
            )
        self.view = self._view_of(state, self._members)
        decisions = decide(self.view)
        self.reasons = decisions.reasons
        self._give(self._members, decisions)
        return await self._change(state, decisions.changes)

    def _read_jobs(self, jobs: Mapping[str, JobRecord]) -> None:
        """Load new jobs and drop removed ones."""
        found = {}
        for job_id, record in jobs.items():
            before = self._read.get(job_id)
            if before is not None and _has_the_text_of(record, before[0]):
                found[job_id] = record, *before[1:]
            else:
                job = SubmittedJob.of(record)
                found[job_id] = record, record.requirements or requirements_of(job), describe(job)
        self._read = found

    def _view_of(self, state: ClusterState, members: Members) -> View:
        jobs, now = state.snapshot().jobs, time.monotonic()
        self._read_jobs(jobs)
        cancelled = dict.fromkeys((job_id for job_id, job in jobs.items() if job.wanted in CANCELLED), True)
        waiting = {job_id: job.attempt for job_id, job in jobs.items() if not job.host}
        placed = {job_id: (job.attempt, job.process) for job_id, job in jobs.items() if job.host}
        addresses = [*self._leadership.members(), *(job.host for job in jobs.values() if job.host)]
        view = View(
            jobs=jobs,
            members=members.view(addresses),
            leader=self._leadership.address,
            now=wall_clock(),
            requirements={job_id: requirements for job_id, (_, requirements, _) in self._read.items()},
            waits=self._config.waits,
            stopping_s=self._ages.note("stopping", cancelled, now),
            waiting_s=self._ages.note("waiting", waiting, now),
            placed_s=self._ages.note("placed", placed, now),
            descriptions={job_id: described for job_id, (_, _, described) in self._read.items()},
        )
        return evolve(view, orphaned_s=self._ages.note("orphaned", dict.fromkeys(orphaned_jobs(view), True), now))

    def _give(self, members: Members, decisions: Decisions) -> None:
        by_member: dict[str, list[Mapping[str, Any]]] = {}
        for order in decisions.orders:
            _log(order)
            by_member.setdefault(order.member, []).append(encoded(order))
        for address, orders in by_member.items():
            members.give(address, orders)

    async def _change(self, state: ClusterState, changes: Sequence[Change]) -> bool:
        records = [change.job for change in changes if isinstance(change, Record)]
        try:
            if records:
                await self._leadership.change(state.update, records)
            for change in changes:
                if isinstance(change, End) and self._leadership.leads():
                    await self._leadership.change(state.end, change.ended)
                    ended = change.ended
                    logger.info("job %s ended: %s %s", ended.job_id, ended.state.value, ended.error)
        except ClusterError:
            return False  # logged where the lease was lost
        return bool(changes)

    def description(self, job: JobRecord) -> Description:
        """Return the description of a job."""
        found = self._read.get(job.job_id)
        if found is not None and _has_the_text_of(job, found[0]):
            return found[2]
        return describe(SubmittedJob.of(job))  # the job was just submitted

    def hosted(self, job: JobRecord) -> HostedJob | None:
        """Return the last report about a job from its worker process, or ``None``."""
        return None if self._members is None else self._members.hosted(job)


def _has_the_text_of(record: JobRecord, other: JobRecord) -> bool:
    return record is other or SubmittedJob.of(record) == SubmittedJob.of(other)


def encoded(order: Order) -> Mapping[str, Any]:
    """Return an order as JSON values, without the leader's term."""
    match order:
        case Open(_, boot, job):
            return {"do": "open", "host": job.job_id, "boot": boot, "job": job.to_bytes().decode()}
        case Start(_, host, job):
            return {"do": "start", "host": host, "job": job.to_bytes().decode()}
        case Stop(_, host, job_id, how):
            return {"do": "stop", "host": host, "job_id": job_id, "how": how.value}
        case Forget(_, host, job_id):
            return {"do": "forget", "host": host, "job_id": job_id}
        case Close(_, host, boot):
            return {"do": "close", "host": host, "boot": boot}
        case Kill(_, host, boot, _):
            return {"do": "kill", "host": host, "boot": boot}


def _log(order: Order) -> None:
    match order:
        case Start(member, _, job):
            logger.info("attempt %d of job %s starts on %s", job.attempt, job.job_id, member)
        case Open(member, _, job):
            logger.info("job %s gets a dedicated worker process on %s", job.job_id, member)
        case Kill(member, _, _, job_id):
            logger.warning("job %s does not end after a stop request: killing its worker process on %s", job_id, member)
        case _:
            pass
