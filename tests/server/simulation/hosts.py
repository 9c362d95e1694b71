"""The processes of hosts as actors: the real orders and their real handling, and jobs that claim, commit and end."""

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, field

from seatunnel_core.control.server import answer
from seatunnel_core.server.agent.host_process import HostProcess
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.host.host import Host
from seatunnel_core.server.host.protocol import HostedJob
from seatunnel_core.server.host.warm_spark import SparkStanding
from seatunnel_core.server.state.records import SHARED, DesiredState, JobRecord, JobState
from tests.server.simulation import threads
from tests.server.simulation.clock import OWNER

if TYPE_CHECKING:
    from tests.server.simulation.world import World

COMMITS = 6
"""Of each job that ends by itself."""

SLOTS = 6
"""That a host offers, where slots are fixed."""

ORPHAN_S = 60.0
"""A host that no agent has asked for anything for so long ends."""


@define(eq=False)
class Manifest:
    """What the storage knows of a job, apart from the cluster's state."""

    version: int = 0
    committed: int = 0
    ended: JobState | None = None


@define(eq=False)
class Process:
    """A host's process, which may be paused or gone."""

    address: str
    name: str
    boot: str
    pid: int
    host: Host | None = None
    alive: bool = True
    paused: bool = False
    listens: bool = False
    inbox: list[Callable[[], object]] = field(factory=list)

    def do(self, action: Callable[[], object]) -> None:
        """Do something, when it is continued if it is paused, never if it is gone."""
        if self.alive and self.paused:
            self.inbox.append(action)
        elif self.alive:
            action()

    def wake(self) -> None:
        """Continue it; what it was told meanwhile is done then."""
        self.paused = False
        waiting, self.inbox = self.inbox, []
        for action in waiting:
            self.do(action)

    @property
    def real(self) -> Host:
        """The host within it."""
        assert self.host is not None
        return self.host


class SimulatedJob:
    """One attempt of a job in a host, as rules R4 and R5 of the checkpoint protocol let it claim and commit.

    Its name says what kind of job it is: ``stream`` never ends by itself, ``hang`` does nothing that it is told,
    ``poison`` ends the process of its host, and all others end after some commits.
    """

    def __init__(self, world: "World", process: Process, record: JobRecord) -> None:
        self.record = record
        self._world = world
        self._process = process
        self._kind = record.name.partition("-")[0]
        self._version = 0
        self._wanted = DesiredState.RUN
        self._end: JobState | None = None
        self._fenced = False

    def samples(self) -> tuple[()]:
        return ()

    def start(self) -> None:
        self._later(0.2, 2.0, self._claim)

    def _later(self, least: float, most: float, action: Callable[[], None]) -> None:
        self._world.at(self._world.random.uniform(least, most), lambda: self._process.do(action))

    def _claim(self) -> None:
        manifest = self._world.manifests.setdefault(self.record.job_id, Manifest())
        if manifest.version and self.record.attempt == 1:
            self._end = JobState.FAILED  # there is such a job already
            return
        if manifest.ended is not None:
            self._end = manifest.ended
            return
        manifest.version += 1
        self._version = manifest.version
        self._later(0.5, 3.0, self._commit)

    def _commit(self) -> None:
        manifest = self._world.manifests[self.record.job_id]
        if self._end is not None:
            return
        if manifest.version != self._version:
            self._end, self._fenced = JobState.FAILED, True
            return
        if self._wanted is DesiredState.CANCEL_AT_ONCE and self._kind != "hang":
            self._end = JobState.CANCELED
            return
        if self._kind == "poison":
            self._world.kill_host(self._process)
            self._world.counts["poison"] += 1
            return
        self._world.committed(self._process, self.record)
        manifest.committed += 1
        ends = self._kind not in ("stream", "hang")
        if ends and manifest.committed >= COMMITS:
            self._end = manifest.ended = JobState.FINISHED
        elif self._wanted is DesiredState.CANCEL and self._kind != "hang":
            self._end = JobState.CANCELED
        elif self._wanted is DesiredState.SAVEPOINT and self._kind != "hang":
            self._end = JobState.SAVEPOINT_DONE
        else:
            self._later(0.5, 3.0, self._commit)

    def status(self) -> HostedJob:
        state = JobState.RUNNING if self._version else JobState.SCHEDULED
        if self._wanted is not DesiredState.RUN:
            state = JobState.DOING_SAVEPOINT if self._wanted is DesiredState.SAVEPOINT else JobState.CANCELING
        record = self.record
        return HostedJob(job_id=record.job_id, attempt=record.attempt, state=self._end or state, fenced=self._fenced)

    def stop(self, how: DesiredState) -> None:
        if self._wanted is not DesiredState.CANCEL_AT_ONCE and self._end is None:
            self._wanted = how

    def join(self, timeout: float | None = None) -> bool:
        return self._end is not None


class Hosts:
    """Starts the processes of hosts."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._pids = itertools.count(1)

    def start(self, address: str, name: str, boot: str) -> Process:
        """Start a host, which listens soon, and is ready some seconds later."""
        world = self._world
        process = Process(address, name, boot, next(self._pids))
        process.host = Host(
            lambda record: SimulatedJob(world, process, record),
            pid=process.pid,
            name=name,
            boot=boot,
            offered=world.offered,
            clock=lambda: world.now,
        )
        world.hosts[process.pid] = process
        world.at(world.random.uniform(0.2, 1.0), lambda: process.do(lambda: setattr(process, "listens", True)))
        ready = SparkStanding(slots=2)
        world.at(world.random.uniform(1.0, 4.0), lambda: process.do(lambda: setattr(process.host, "spark", ready)))
        world.at(1.0, lambda: self._watch(process))
        return process

    def _watch(self, process: Process) -> None:
        """What the main loop of a host does."""
        if process.alive and not process.paused:
            host = process.real
            if host.leaving.is_set():
                host.stop_all(DesiredState.CANCEL, 0.0)
                if all(job.join(0) for job in host._jobs.values()):
                    process.alive = False
            elif host.silence_s > ORPHAN_S:
                host.stop_all(DesiredState.CANCEL_AT_ONCE, 0.0)
                self._world.kill_host(process)  # its agent was paused, and will see that it is gone
        if process.alive:
            self._world.at(0.5, lambda: self._watch(process))

    def ask(self, process: Process, line: bytes, timeout_s: float) -> bytes:
        """Ask a host from a thread of its agent.

        Raises:
            OSError: it does not answer.
        """
        thread, world = threads.current(), self._world
        assert thread is not None
        answered: list[bytes | None] = []

        def give(found: bytes | None) -> None:
            if not answered:
                answered.append(found)
                threads.resume(thread)

        def act() -> None:
            if not answered:  # else its agent has closed the connection
                given = answer(line, process.real.verbs())
                if "error" not in given:
                    world.ordered(process, json.loads(line))
                give(json.dumps(given).encode() + b"\n")

        if process.alive:
            world.at(world.random.uniform(0.0005, 0.003), lambda: process.do(act))
            world.at(timeout_s, lambda: give(None))
        else:
            world.at(0.001, lambda: give(None))
        threads.wait()
        found = answered[0]
        if found is None:
            raise TimeoutError("timed out")
        return found

    def sockets(self, _cluster: str, address: str) -> dict[int, Path]:
        """Return what ``host_sockets`` finds."""
        found = (each for each in self._world.hosts.values() if each.alive and each.listens)
        return {each.pid: Path(f"/{each.pid}") for each in found if each.address == address}


class SimulatedHostProcess(HostProcess):
    """What an agent knows of a host. Only the operating system is replaced."""

    hosts: Hosts
    """Of the run."""

    world: "World"

    def __init__(
        self,
        config: NodeConfig,
        address: str,
        name: str = SHARED,
        *,
        spark: Callable[[], Sequence[str]] = list,
    ) -> None:
        life = OWNER.get()
        assert life is not None
        super().__init__(config, address, name, spark=spark, clock=lambda: life.clock(self.world.now))

    def start(self, boot: str, job: JobRecord | None = None) -> None:
        process = self.hosts.start(self._address, self.name, boot)
        self.boot, self.pid, self._path, self._leaving_since = boot, process.pid, None, None
        self._started_at = self._answered_at = self._clock()

    def is_alive(self) -> bool:
        found = self.world.hosts.get(self.pid)
        return found is not None and found.alive

    def kill(self) -> None:
        if self.pid and self.is_alive():
            self.world.kill_host(self.world.hosts[self.pid])
        self._forget()

    def _exchange(self, line: bytes, timeout_s: float) -> bytes:
        if self._path is None:
            raise ConnectionError("it is not listening yet")
        return self.hosts.ask(self.world.hosts[self.pid], line, timeout_s)
