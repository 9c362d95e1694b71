"""Jobs and the processes of hosts as actors: a job claims, commits so many times, and ends, as rule R5 lets it."""

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Protocol

from attrs import define, field

from seatunnel_core.control.server import answer
from seatunnel_core.server.host.host import Host
from seatunnel_core.server.host.protocol import HostedJob
from seatunnel_core.server.state.records import JobRecord, JobState, Wanted

COMMITS = 6
"""Of each job."""


@define
class Manifest:
    """What the storage knows of a job, apart from the cluster's state."""

    version: int = 0
    committed: int = 0
    ended: JobState | None = None


class World(Protocol):
    """What a job needs of the world."""

    manifests: dict[str, Manifest]
    random: Random

    def at(self, delay: float, action: Callable[[], None]) -> None:
        """Let something happen later."""

    def committed(self, record: JobRecord) -> None:
        """Take in that an attempt commits, which has the newest claim."""


class SimulatedJob:
    """One attempt of a job in a host."""

    def __init__(self, world: World, process: "Process", record: JobRecord) -> None:
        self.record = record
        self._world = world
        self._process = process
        self._version = 0
        self._wanted = Wanted.RUN
        self._end: JobState | None = None
        self._fenced = False

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
        if self._wanted is Wanted.CANCEL_AT_ONCE:
            self._end = JobState.CANCELED
            return
        self._world.committed(self.record)
        manifest.committed += 1
        if manifest.committed == COMMITS:
            self._end = manifest.ended = JobState.FINISHED
        elif self._wanted is Wanted.CANCEL:
            self._end = JobState.CANCELED
        else:
            self._later(0.5, 3.0, self._commit)

    def status(self) -> HostedJob:
        state = JobState.RUNNING if self._version else JobState.SCHEDULED
        state = state if self._wanted is Wanted.RUN else JobState.CANCELING
        return HostedJob(
            job_id=self.record.job_id, attempt=self.record.attempt, state=self._end or state, fenced=self._fenced
        )

    def stop(self, how: Wanted) -> None:
        self._wanted = how

    def join(self, timeout: float | None = None) -> bool:
        return self._end is not None


@define(eq=False)
class Process:
    """A host's process, which may be paused or gone."""

    name: str
    boot: str
    host: Host | None = None
    alive: bool = True
    paused: bool = False
    inbox: list[Callable[[], None]] = field(factory=list)

    def do(self, action: Callable[[], None]) -> None:
        """Do something, when it is continued if it is paused, never if it is gone."""
        if self.alive and self.paused:
            self.inbox.append(action)
        elif self.alive:
            action()

    def ask(self, request: Mapping[str, Any]) -> Any:
        """Return the host's answer."""
        assert self.host is not None
        answered = answer(json.dumps(request).encode(), self.host.verbs())
        if "error" in answered:
            raise ConnectionError(answered["error"])
        return answered["answer"]
