"""An agent: carries out what the election and the scheduling decide, and keeps a warm host.

One event loop, without Spark. What blocks, the store and the host's socket, is done in threads: one for looks and
beats, one for claims and changes, one for the host. The agent is crash-only: it keeps nothing that the store and the
host do not have, and a start after ``kill -9`` is a start like any other.
"""

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from attrs import evolve

from seatunnel_core import stored
from seatunnel_core.clock import wall_clock
from seatunnel_core.control.cluster import ClusterClient
from seatunnel_core.control.signing import Doorkeeper
from seatunnel_core.errors import SeaTunnelError, StoredValueError
from seatunnel_core.server import scheduling
from seatunnel_core.server.agent import answers
from seatunnel_core.server.agent.host_process import HostProcess
from seatunnel_core.server.agent.host_spark import host_spark
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.workers import Workers
from seatunnel_core.server.election import Claim, Command, Election, Look, Role, Seen, SendBeat, StepDown
from seatunnel_core.server.errors import ClusterError, DeposedError, HostError, RequestError, StateUnavailableError
from seatunnel_core.server.host.protocol import HostStatus
from seatunnel_core.server.state.cluster_state import ClusterState
from seatunnel_core.server.state.records import JobRecord, JobState, Wanted
from seatunnel_core.server.state.store import ClusterStore, Sighting, Tenure
from seatunnel_storage_api.errors import CheckpointStorageError

logger = logging.getLogger("seatunnel.cluster")

TICK_S = 0.02
SCHEDULE_S = 0.1
KNOCK_S = 0.25
JOIN_S = 1.0
MEMBER_S = 5.0
"""A standby that has not been heard of for so long is no member any more."""

EXPIRE_EVERY_S = 60.0
LEAVE_S = 30.0

Value = TypeVar("Value")


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
        self.doorkeeper = Doorkeeper(config.secret, config.cluster)
        self.election = Election(address, config.timing)
        self.state: ClusterState | None = None
        self.host_status: HostStatus | None = None
        self._store = store
        self._tenure: Tenure | None = None
        self._spark = host_spark(config, address)
        self._host = HostProcess(config, address, spark=self._spark.arguments)
        self.workers = Workers()
        self._members: dict[str, float] = {}
        """By address: when this leader last heard of it."""

        self._working_members: set[str] = set()
        """Masters on which rows move, too."""

        self._stopping_since: dict[str, float] = {}
        self._started_at: dict[str, float] = {}
        """By job, for the limits of the scheduling; this leader's own, and lost with it."""

        self._looking = ThreadPoolExecutor(1, "look")
        self._changing = ThreadPoolExecutor(1, "change")
        self._hosting = ThreadPoolExecutor(1, "host")
        self._asking = ThreadPoolExecutor(8, "ask")
        self._work: set[asyncio.Task[Any]] = set()
        self._stopping = asyncio.Event()
        self._scheduled = asyncio.Event()
        """Set when there is something new to schedule."""

    # -- life -------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Take part in the cluster until ``stop``."""
        loops = [self._elect(), self._watch_host(), self._knock(), self._join()]
        tasks = [asyncio.create_task(each) for each in loops]
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            done, _ = await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # a loop that ends is a bug, and ends the agent
        finally:
            for task in (*tasks, stopping, *self._work):
                task.cancel()
            await asyncio.gather(*tasks, stopping, *self._work, return_exceptions=True)

    def stop(self) -> None:
        """End ``run``."""
        self._stopping.set()

    async def close(self, *, with_host: bool) -> None:
        """Release everything. The host ends too, after last checkpoints, unless it is left to a later agent."""
        if with_host and self._host.pid:
            await self._in(self._hosting, self._host.leave, self._seen_term(), LEAVE_S)
        else:
            self._host.let_go()
        self._spark.end()
        if self._tenure is not None:
            await self._in(self._changing, self._tenure.release)
        for pool in (self._looking, self._changing, self._hosting, self._asking):
            pool.shutdown(wait=False, cancel_futures=True)
        self._store.close()

    async def _in(self, pool: ThreadPoolExecutor, function: Callable[..., Value], *arguments: Any) -> Value:
        return await asyncio.get_running_loop().run_in_executor(pool, function, *arguments)

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    # -- election ---------------------------------------------------------------------------------------------------

    async def _elect(self) -> None:
        while True:
            self._obey(self.election.tick(time.monotonic()))
            await asyncio.sleep(TICK_S)

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
            seen = _seen(await self._in(self._looking, self._store.look))
        except (ClusterError, CheckpointStorageError) as error:
            logger.warning("the cluster's state cannot be seen: %s", error)
            self.election.look_failed()
        else:
            self.election.looked(began, time.monotonic(), seen)

    async def _claim(self) -> None:
        began = time.monotonic()
        try:
            tenure, behind = await self._in(self._changing, self._claim_and_look)
            state = await self._in(self._changing, lambda: ClusterState(tenure, expire_s=self.config.history_s))
        except DeposedError:
            logger.info("another node was faster with its claim")
            self.election.claim_failed(time.monotonic())
            return
        except (ClusterError, CheckpointStorageError) as error:
            logger.warning("the cluster cannot be claimed: %s", error)
            self.election.claim_failed(time.monotonic())
            return
        self._tenure, self.state, self._members = tenure, state, {}
        self.election.claimed(began, time.monotonic(), tenure.term, behind)
        for key in state.unreadable:
            logger.error("the entry %s of the cluster's state cannot be read, and is left alone", key)
        logger.info(
            "this node (%s) leads in term %d, with %d jobs; the state lies in %s",
            self.address,
            tenure.term,
            len(state.snapshot().jobs),
            self._store.describe(),
        )
        self._scheduled.set()

    def _claim_and_look(self) -> tuple[Tenure, Seen]:
        tenure = self._store.claim()
        try:
            return tenure, _seen(self._store.look())
        except BaseException:
            tenure.release()
            raise

    async def _beat(self, command: SendBeat) -> None:
        tenure = self._tenure
        if tenure is None:
            return
        sent = time.monotonic()
        block = {"leader": self.address, "acting": command.acting, "members": list(self.members())}
        try:
            await self._in(self._looking, tenure.beat, command.number, json.dumps(block).encode())
        except DeposedError as error:
            self._lose(tenure, str(error))
        except (ClusterError, CheckpointStorageError) as error:
            logger.warning("no beat: %s", error)
            self.election.beat_failed(time.monotonic())
        else:
            self.election.beat_acknowledged(sent, command.number)

    def _lose(self, tenure: Tenure, reason: str) -> None:
        """Step down if this tenure still is the one by which this node leads."""
        if tenure is self._tenure:
            self._obey(self.election.deposed(time.monotonic(), reason))

    def _step_down(self, reason: str) -> None:
        logger.warning("this node (%s) leads no more: %s", self.address, reason)
        tenure, self._tenure, self.state = self._tenure, None, None
        if tenure is not None:
            self._changing.submit(tenure.release)

    def leads(self) -> bool:
        """Return whether this node may act as the leader now."""
        return self.state is not None and self.election.may_act(time.monotonic())

    def leader(self) -> str:
        """Return the address of the leader as far as this node knows; empty when it knows of none."""
        return self.election.leader

    def members(self) -> tuple[str, ...]:
        """Return the masters that are known to live, this node included when it leads."""
        if self.state is None:
            return () if self.election.seen is None else self.election.seen.members
        now = time.monotonic()
        return tuple(sorted({self.address, *(each for each, at in self._members.items() if now - at < MEMBER_S)}))

    def joined(self, address: str, *, works: bool) -> None:
        """Take in that another master lives, and whether rows move there, too."""
        self._members[address] = time.monotonic()
        (self._working_members.add if works else self._working_members.discard)(address)

    def working(self) -> int:
        """Return on how many nodes the rows of jobs move: workers, and masters that are workers, too."""
        own = {self.address} if self.config.role.works else set()
        return len(self.workers.living()) + len((self._working_members | own) & set(self.members()))

    def welcome(self, address: str, slots: int) -> dict[str, Any]:
        """Take in that a worker lives, and return what it has to know."""
        self.workers.joined(address, slots)
        known = dict.fromkeys((self.address, *self.members()))
        return {
            "leader": self.leader(),
            "masters": list(known),
            "workers": self.workers.living(),
            "spark": self._spark.url(),
        }

    def describe(self) -> dict[str, Any]:
        """Return what this node knows of the cluster."""
        status = self.host_status
        return {
            "cluster": self.config.cluster,
            "address": self.address,
            "role": self.config.role.value,
            "leader": self.leader(),
            "leads": self.leads(),
            "term": self.election.term or (self.election.seen.claimed if self.election.seen else 0),
            "members": list(self.members()),
            "workers": self.workers.living(),
            "host": None
            if status is None
            else {
                "pid": status.pid,
                "ready": status.ready,
                "slots": status.slots,
                "executors": status.executors,
            },
            "version": answers.project_version(),
        }

    def _seen_term(self) -> int:
        if self._tenure is not None:
            return self._tenure.term
        return 0 if self.election.seen is None else self.election.seen.claimed

    async def _knock(self) -> None:
        """Hold a connection to the leader: when it breaks and another one is refused, the leader's process is gone."""
        while True:
            await asyncio.sleep(KNOCK_S)
            leader = self.leader()
            if self.election.role is not Role.STANDBY or leader in ("", self.address):
                continue
            host, _, port = leader.rpartition(":")
            try:
                reader, writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), 5.0)
            except ConnectionRefusedError:
                self.election.refused(time.monotonic(), leader)
            except (OSError, TimeoutError, ValueError):
                pass  # it may live: only a refusal says that it does not
            else:
                try:
                    await reader.read(1)  # nothing comes until it closes the connection, or dies
                except OSError:
                    pass
                finally:
                    writer.close()

    async def _join(self) -> None:
        while True:
            leader = self.leader()
            if self.election.role is Role.STANDBY and leader not in ("", self.address):
                client = self.client_of(leader, answer_s=2.0)
                request = {"address": self.address, "works": self.config.role.works}
                try:
                    await self._in(self._asking, client.ask, "POST", "/internal/v1/join", request)
                except SeaTunnelError as error:
                    logger.debug("the leader did not take note of this node: %s", error)
            await asyncio.sleep(JOIN_S)

    def client_of(self, member: str, *, answer_s: float = 60.0) -> ClusterClient:
        """Return a client of one member, which signs with the cluster's secret."""
        return ClusterClient([member], self.config.cluster, self.config.secret, connect_s=2.0, answer_s=answer_s)

    # -- host and jobs ----------------------------------------------------------------------------------------------

    async def _watch_host(self) -> None:
        adopted = await self._in(self._hosting, self._host.adopt)
        self._spark.prepare(goes_on=adopted)
        expired_at = time.monotonic()
        while True:
            doubt = "" if self._spark.supervise() else "its Spark master is gone"
            doubt = doubt or await self._in(self._asking, self._spark.doubt, self.host_status)
            if doubt:
                logger.warning("the host %d is killed, and its jobs go on in another one: %s", self._host.pid, doubt)
                await self._in(self._hosting, self._host.kill)
            if not self._host.pid:
                await self._in(self._hosting, self._host.start)
            self.host_status = await self._in(self._hosting, self._host.status, self._seen_term())
            if self.leads():
                await self._schedule()
                if time.monotonic() - expired_at > EXPIRE_EVERY_S and self.state is not None:
                    expired_at = time.monotonic()
                    await self._change(self.state.expire, wall_clock())
            self._scheduled.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._scheduled.wait(), SCHEDULE_S)

    async def _schedule(self) -> None:
        state = self.state
        if state is None:
            return
        jobs, now = state.snapshot().jobs, time.monotonic()
        ending = {job_id for job_id, job in jobs.items() if job.wanted is not Wanted.RUN}
        self._stopping_since = {job_id: self._stopping_since.get(job_id, now) for job_id in ending}
        self._started_at = {job_id: at for job_id, at in self._started_at.items() if job_id in jobs}
        view = scheduling.View(
            jobs=jobs,
            host=self.host_status,
            address=self.address,
            now=wall_clock(),
            stopping_s={job_id: now - at for job_id, at in self._stopping_since.items()},
            started_s={job_id: now - at for job_id, at in self._started_at.items()},
            envs={job.job_id: answers.env_of(job) for job in jobs.values()},
        )
        for decision in scheduling.decide(view):
            if not self.leads():
                return
            try:
                await self._carry_out(state, decision)
            except HostError as error:
                logger.warning("%s", error)
                return
            except ClusterError:
                return  # said where the tenure was lost

    async def _carry_out(self, state: ClusterState, decision: scheduling.Decision) -> None:
        term = state.term
        match decision:
            case scheduling.Record(job):
                await self._put_over(state, job)
            case scheduling.Start(job):
                stored_job = await self._put_over(state, job)
                self._started_at[job.job_id] = time.monotonic()
                order = {"do": "start", "term": term, "job": stored_job.to_bytes().decode()}
                await self._in(self._hosting, self._host.ask, order)
                logger.info("attempt %d of the job %s starts", job.attempt, job.job_id)
            case scheduling.Stop(job_id, how):
                order = {"do": "stop", "term": term, "job_id": job_id, "how": how.value}
                await self._in(self._hosting, self._host.ask, order)
            case scheduling.End(ended):
                await self._change(state.end, ended)
                logger.info("the job %s ended: %s %s", ended.job_id, ended.state.value, ended.error)
                order = {"do": "forget", "term": term, "job_id": ended.job_id}
                if self.host_status is not None and self.host_status.job(ended.job_id) is not None:
                    await self._in(self._hosting, self._host.ask, order)
            case scheduling.KillHost(job_id):
                logger.warning("the job %s does not end: its host is killed", job_id)
                await self._in(self._hosting, self._host.kill)
                self.host_status = None
                raise HostError("the host was killed")
            case scheduling.Forget(job_id):
                await self._in(self._hosting, self._host.ask, {"do": "forget", "term": term, "job_id": job_id})

    async def _put_over(self, state: ClusterState, job: JobRecord) -> JobRecord:
        """Store what the schedule changes of a job, without undoing what a user asked for meanwhile."""

        def put() -> JobRecord:
            current = state.job(job.job_id)
            wanted = job.wanted if current is None else current.wanted
            merged = evolve(job, wanted=wanted)
            state.put(merged)
            return merged

        return await self._change(put)

    async def _change(self, change: Callable[..., Value], *arguments: Any) -> Value:
        """Make a durable change of the state; a leader that cannot steps down.

        Raises:
            DeposedError, StateUnavailableError: it is not acknowledged.
        """
        tenure = self._tenure
        try:
            return await self._in(self._changing, change, *arguments)
        except (DeposedError, StateUnavailableError) as error:
            if tenure is not None:
                self._lose(tenure, str(error))
            raise

    # -- what users ask of the leader -------------------------------------------------------------------------------

    def require_state(self) -> ClusterState:
        """Return the state, of a node that leads.

        Raises:
            RequestError: this node does not lead, or not for sure.
        """
        if self.state is None or not self.leads():
            raise RequestError("this node does not lead the cluster now: try again", status=503)
        return self.state

    async def submit(self, record: JobRecord) -> JobRecord:
        """Accept a job; when this returns, it is durable. A job that is there already is returned as it is.

        Raises:
            RequestError: it ended before, and is not to be restored; or this node does not lead.
        """
        state = self.require_state()

        def put() -> JobRecord:
            present = state.job(record.job_id)
            if present is not None:
                return present
            if state.ended(record.job_id) is not None and not record.restore:
                raise RequestError(
                    f"The job id {record.job_id} has already been submitted and is not starting with a savepoint.",
                    status=500,
                )
            state.put(record)
            return record

        found = await self._acknowledged(put)
        self._scheduled.set()
        return found

    async def want(self, job_id: str, wanted: Wanted) -> bool:
        """Record what users want of a job, durably; return whether there is such a job that has not ended."""
        state = self.require_state()

        def put() -> bool:
            present = state.job(job_id)
            if present is None:
                return False
            if present.wanted is not wanted and present.wanted is not Wanted.CANCEL_AT_ONCE:
                state.put(evolve(present, wanted=wanted, since=wall_clock()))
            return True

        found = await self._acknowledged(put)
        self._scheduled.set()
        return found

    async def _acknowledged(self, put: Callable[[], Value]) -> Value:
        try:
            return await self._change(put)
        except (DeposedError, StateUnavailableError) as error:
            raise RequestError(f"it is not known whether this was recorded: {error}", status=503) from error

    def metrics_of(self, job_id: str) -> dict[str, Any]:
        """Return the last figures of a running job, by SeaTunnel's names."""
        hosted = None if self.host_status is None else self.host_status.job(job_id)
        return {} if hosted is None else dict(hosted.metrics)

    def state_of(self, job: JobRecord) -> JobState:
        """Return the state of a job, as its host reports it if that is newer than the record."""
        hosted = None if self.host_status is None else self.host_status.job(job.job_id)
        if hosted is None or hosted.attempt != job.attempt or hosted.state.is_end:
            return job.state
        return hosted.state


def _seen(sighting: Sighting) -> Seen:
    """Return what the election needs of a sighting; a body that cannot be read names no leader."""
    leader, acting = "", not sighting.body  # without any beat there is no leader whose lease could run on
    members: tuple[str, ...] = ()
    if sighting.body:
        try:
            block = stored.parse(sighting.body)
            leader, acting = stored.text(block, "leader"), stored.flag(block, "acting")
            members = tuple(stored.texts(block, "members"))
        except StoredValueError as error:
            logger.warning("the newest beat cannot be read: %s", error)
    return Seen(
        claimed=sighting.claimed,
        term=sighting.term,
        number=sighting.number,
        leader=leader,
        acting=acting,
        members=members,
    )
