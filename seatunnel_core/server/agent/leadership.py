"""Leadership: executes the commands of the election and holds the cluster state while this node leads.

Calls to the store block, so they run in threads: one for reads and heartbeats, one for claims and changes.
"""

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from seatunnel_core import stored
from seatunnel_core.clock import wall_clock
from seatunnel_core.errors import SeaTunnelError, StoredValueError
from seatunnel_core.server.agent.machine import ClockDifference
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.peers import Line, Peers
from seatunnel_core.server.agent.seen_versions import learn_versions, newest_seen
from seatunnel_core.server.election import Claim, Command, Election, Look, Role, Seen, SendBeat, StepDown
from seatunnel_core.server.errors import (
    ClusterError,
    DeposedError,
    RequestError,
    StateUnavailableError,
    StateWentBackError,
)
from seatunnel_core.server.state.cluster_state import ClusterState
from seatunnel_core.server.state.newest_seen import CLAIMED_FROM, NewestSeenStore
from seatunnel_core.server.state.readers import Readers
from seatunnel_core.server.state.sealing import Seal
from seatunnel_core.server.state.store import ClusterStore, Lease, Observation, Version
from seatunnel_storage_api.errors import CheckpointStorageError

logger = logging.getLogger("seatunnel.cluster")

LEAST_PAUSE_S = 0.02
"""Minimum interval between two steps of the election without an event, in seconds."""

MOST_PAUSE_S = 60.0
KNOCK_S = 0.25
JOIN_S = 1.0
MEMBER_S = 5.0
"""Time without requests after which a standby is no longer listed as a member, in seconds."""

REWRITTEN_AT_ONCE = 50
"""Maximum number of records to re-encrypt in one change of the state."""

Value = TypeVar("Value")


class Leadership:
    """Participant in the election, which holds the cluster state while this node leads.

    ``close`` also closes the store. ``on_lead`` is called when this node becomes the leader.
    """

    def __init__(
        self,
        config: NodeConfig,
        store: ClusterStore,
        address: str,
        peers: Peers,
        on_lead: Callable[[], None] = lambda: None,
    ) -> None:
        self.address = address
        self.election = Election(address, config.timing)
        self.state: ClusterState | None = None
        self.clock = ClockDifference()
        """Clock difference to the leader, while this node is a standby."""

        self._config = config
        old = () if config.old_secret is None else (config.old_secret,)
        self._seal = None if config.secret is None else Seal(config.secret, old)
        self._readers = Readers()
        self._store = store
        self._peers = peers
        self._on_lead = on_lead
        self._lease: Lease | None = None
        self._members: dict[str, float] = {}
        """Time of the last contact with each standby, by address."""

        self._working: set[str] = set()
        """Masters that are also workers."""

        self._looking = ThreadPoolExecutor(1, "look")
        self._changing = ThreadPoolExecutor(1, "change")
        self._work: set[asyncio.Task[Any]] = set()
        self._events = asyncio.Event()
        """Set when the election has received an event, so that it may have a command before its next tick."""

        self._broken: asyncio.Future[None] | None = None
        """Future for unexpected errors of reads, claims and heartbeats, which the election does not handle."""

    async def run(self) -> None:
        """Take part in the election until cancelled."""
        self._broken = asyncio.get_running_loop().create_future()
        loops = [asyncio.create_task(each) for each in (self._elect(), self._knock(), self._join(), self._protect())]
        try:
            await asyncio.gather(*loops, self._broken)  # neither loop should end: if one does, the agent ends
        finally:
            for task in (*loops, *self._work):
                task.cancel()
            await asyncio.gather(*loops, *self._work, return_exceptions=True)

    async def close(self) -> None:
        """Release the state."""
        if self._lease is not None:
            await self._in(self._changing, self._lease.release)
        for pool in (self._looking, self._changing):
            pool.shutdown(wait=False, cancel_futures=True)
        self._store.close()

    async def _in(self, pool: ThreadPoolExecutor, function: Callable[..., Value], *arguments: Any) -> Value:
        return await asyncio.get_running_loop().run_in_executor(pool, function, *arguments)

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._worked)

    def _worked(self, task: asyncio.Task[Any]) -> None:
        self._work.discard(task)
        self._events.set()
        error = None if task.cancelled() else task.exception()
        if error is not None and self._broken is not None and not self._broken.done():
            self._broken.set_exception(error)

    # -- queries ----------------------------------------------------------------------------------------------------

    def leads(self) -> bool:
        """Return True if this node may act as the leader now."""
        return self.state is not None and self.election.may_act(time.monotonic())

    def problem(self) -> str:
        """Return the reason why no node may lead, or an empty string."""
        return self._store.problem if isinstance(self._store, NewestSeenStore) else ""

    def newest_seen(self) -> Version:
        """Return the newest version of the state that this node has seen."""
        return newest_seen(self._store)

    def leader(self) -> str:
        """Return the address of the leader known to this node; empty if there is none."""
        return self.election.leader

    def term(self) -> int:
        """Return the newest term known to this node."""
        if self._lease is not None:
            return self._lease.term
        return 0 if self.election.seen is None else self.election.seen.claimed

    def members(self) -> tuple[str, ...]:
        """Return the live masters, including this node if it leads."""
        if self.state is None:
            return () if self.election.seen is None else self.election.seen.members
        now = time.monotonic()
        return tuple(sorted({self.address, *(each for each, at in self._members.items() if now - at < MEMBER_S)}))

    def joined(self, address: str, *, works: bool, unseals: bool = False) -> None:
        """Record that another master is running, whether it is a worker, and whether it can read encrypted records."""
        self._readers.note(address, able=unseals)
        self._members[address] = time.monotonic()
        (self._working.add if works else self._working.discard)(address)

    def working_masters(self) -> int:
        """Return the number of masters that are also workers."""
        own = {self.address} if self._config.role.works else set()
        return len((self._working | own) & set(self.members()))

    def require_state(self) -> ClusterState:
        """Return the cluster's state. Raise RequestError unless this node is certainly the leader."""
        if problem := self.problem():
            raise RequestError(problem, status=503, reason="state_went_back")
        if self.state is None or not self.leads():
            raise RequestError("this node is not the leader now: try again", status=503, reason="no_leader")
        return self.state

    async def change(self, change: Callable[..., Value], *arguments: Any) -> Value:
        """Change the state durably; step down if that fails.

        Raises:
            DeposedError, StateUnavailableError: The change is not acknowledged.
        """
        lease = self._lease
        try:
            return await self._in(self._changing, change, *arguments)
        except (DeposedError, StateUnavailableError) as error:
            if lease is not None:
                self._lose(lease, str(error))
            raise

    # -- the election's commands ------------------------------------------------------------------------------------

    async def _elect(self) -> None:
        while True:
            self._events.clear()
            self._obey(self.election.tick(time.monotonic()))
            pause_s = self.election.pause_s(time.monotonic())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(max(pause_s, LEAST_PAUSE_S), MOST_PAUSE_S)):
                    await self._events.wait()

    def _obey(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Look():
                    self._spawn(self._look())
                case Claim():
                    self._spawn(self._claim())
                case SendBeat():
                    self._spawn(self._beat(command))
                case StepDown(reason):
                    self._step_down(reason)

    async def _look(self) -> None:
        began = time.monotonic()
        try:
            seen = _seen(await self._in(self._looking, self._store.observe))
        except (ClusterError, CheckpointStorageError, OSError) as error:
            if not isinstance(error, StateWentBackError):  # already reported by the store
                logger.warning("cannot read the cluster's state: %s", error)
            self.election.look_failed()
        else:
            self.election.looked(began, time.monotonic(), seen)

    async def _claim(self) -> None:
        before = self.election.seen
        named = () if before is None else (before.leader, *before.members)
        await learn_versions(self._store, self._peers, {*named} - {self.address, ""})
        began = time.monotonic()
        try:
            lease, behind = await self._in(self._changing, self._claim_and_look, before)
            state = await self._in(self._changing, self._opened, lease, behind)
        except DeposedError:
            logger.info("another node leads, or became the leader first")
            self.election.claim_failed(time.monotonic())
            return
        except (ClusterError, CheckpointStorageError, OSError) as error:
            logger.warning("this node cannot become the leader: %s", error)
            self.election.claim_failed(time.monotonic())
            return
        now = time.monotonic()
        self._lease, self.state = lease, state
        self._members = {} if before is None else dict.fromkeys(before.members, now)
        self._readers.forget()
        self.election.claimed(began, time.monotonic(), lease.term, behind)
        state.log_problems()
        logger.info(
            "this node (%s) leads in term %d, with %d jobs; the state is stored in %s",
            self.address,
            lease.term,
            len(state.snapshot().jobs),
            self._store.describe(),
        )
        self._on_lead()

    def _claim_and_look(self, before: Seen | None) -> tuple[Lease, Seen]:
        """Claim the state if it is still as seen before, and read it again."""
        if before is not None and _seen(self._store.observe()) != before:
            raise DeposedError("the state was claimed, or its leader stored a heartbeat")
        lease = self._store.claim()
        try:
            return lease, _seen(self._store.observe())
        except BaseException:
            lease.release()
            raise

    def _opened(self, lease: Lease, behind: Seen) -> ClusterState:
        """Return the claimed state. If no other master is known, encrypt its records now."""
        try:
            state = ClusterState(lease, expire_s=self._config.history_s, seal=self._seal)
            if set(behind.members) <= {self.address}:
                state.protect(seals=True)
        except BaseException:
            lease.release()
            raise
        return state

    async def _protect(self) -> None:
        """Encrypt records if all masters can read encrypted records; otherwise store them unencrypted."""
        while True:
            state = self.state
            if self._seal is not None and state is not None and self.leads():
                with contextlib.suppress(ClusterError):  # logged where the lease was lost
                    await self._protect_once(state)
            await asyncio.sleep(JOIN_S)

    async def _protect_once(self, state: ClusterState) -> None:
        others = set(self.members()) - {self.address}
        seals = self._readers.wants_seals(others, now=state.seals)
        if seals != state.seals:
            await self.change(partial(state.protect, seals=seals))
        rewritten = 0
        while self.state is state and (some := await self.change(state.rewrite, REWRITTEN_AT_ONCE)):
            rewritten += some
        if rewritten:
            how = "with the current secret" if state.seals else "without encryption"
            logger.info("rewrote %d records of the cluster's state %s", rewritten, how)

    async def _beat(self, command: SendBeat) -> None:
        lease = self._lease
        if lease is None:
            return
        sent = time.monotonic()
        block = {"leader": self.address, "acting": command.acting, "members": list(self.members())}
        block[CLAIMED_FROM] = list(lease.claimed_from)
        try:
            await self._in(self._looking, lease.renew, command.number, json.dumps(block).encode())
        except (DeposedError, StateWentBackError) as error:
            self._lose(lease, str(error))
        except (ClusterError, CheckpointStorageError, OSError) as error:
            logger.warning("cannot store a heartbeat: %s", error)
            self.election.beat_failed(time.monotonic())
        else:
            self.election.beat_acknowledged(sent, command.number)

    def _lose(self, lease: Lease, reason: str) -> None:
        """Step down if this lease is still the current one."""
        if lease is self._lease:
            self._obey(self.election.deposed(time.monotonic(), reason))
            self._events.set()

    def _step_down(self, reason: str) -> None:
        logger.warning("this node (%s) no longer leads: %s", self.address, reason)
        lease, self._lease, self.state = self._lease, None, None
        if lease is not None:
            self._changing.submit(lease.release)

    async def _knock(self) -> None:
        """Keep a connection to the leader open.

        If it breaks and reconnecting is refused, the leader's process has ended.
        """
        while True:
            await asyncio.sleep(KNOCK_S)
            leader = self.leader()
            if self.election.role is not Role.STANDBY or leader in ("", self.address):
                continue
            host, _, port = leader.rpartition(":")
            try:
                reader, writer = await asyncio.wait_for(asyncio.open_connection(host.strip("[]"), int(port)), 5.0)
            except ConnectionRefusedError:
                self.election.refused(time.monotonic(), leader)
                self._events.set()
            except (OSError, TimeoutError, ValueError):
                pass  # the leader may be alive: only a refused connection proves its end
            else:
                try:
                    await self._held(reader, leader)
                finally:
                    writer.close()

    async def _held(self, reader: asyncio.StreamReader, leader: str) -> None:
        """Wait until the leader closes the connection or ends, or until another node leads."""
        with contextlib.suppress(OSError):
            closed = asyncio.ensure_future(reader.read(1))
            try:
                while not closed.done() and self.leader() == leader:
                    await asyncio.wait({closed}, timeout=JOIN_S)
            finally:
                closed.cancel()
                await asyncio.gather(closed, return_exceptions=True)

    async def _join(self) -> None:
        while True:
            leader = self.leader()
            if self.election.role is Role.STANDBY and leader not in ("", self.address):
                request = {"address": self.address, "works": self._config.role.works, "unseals": True}
                sent = wall_clock()
                try:
                    answer = await self._peers.ask(leader, Line.JOIN, "/internal/v1/join", request)
                    self.clock.note(leader, stored.seconds(answer, "clock"), sent, wall_clock())
                except (SeaTunnelError, StoredValueError, OSError) as error:  # earlier versions do not send the time
                    logger.debug("the leader did not register this node: %s", error)
            await asyncio.sleep(JOIN_S)


def _seen(observation: Observation) -> Seen:
    """Convert an observation for the election. If its heartbeat cannot be read, the result contains no leader."""
    leader, acting = "", not observation.body  # without any beat, no leader can hold a lease
    members: tuple[str, ...] = ()
    if observation.body:
        try:
            block = stored.parse(observation.body)
            leader, acting = stored.text(block, "leader"), stored.flag(block, "acting")
            members = tuple(stored.texts(block, "members"))
        except StoredValueError as error:
            logger.warning("cannot read the latest heartbeat: %s", error)
    return Seen(
        claimed=observation.claimed,
        term=observation.term,
        number=observation.number,
        leader=leader,
        acting=acting,
        members=members,
    )
