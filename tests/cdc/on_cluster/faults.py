"""What is killed under a job on a cluster, and started again after a while."""

import random
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import define, frozen

from tests.server.nemesis.ground import Member, send
from tests.server.nemesis.kinds import HOST, JVM
from tests.server.nodes import kill_session, until
from tests.server.test_workers import EXECUTOR, SPARK_MASTER, SPARK_WORKER


@define
class Ground:
    """The members of a cluster and the database server of the job."""

    masters: Sequence[Member]
    workers: Sequence[Member]
    database: Any
    """A server that can be killed and started again."""

    def leader(self) -> Member:
        """Wait until a master leads, and return it.

        Raises:
            AssertionError: None leads in time.
        """
        found: Member = until("a node leads", lambda: next((each for each in self.masters if each.leads()), None))
        return found

    def one_of(self, members: Sequence[Member], command: str, draw: random.Random) -> list[int]:
        """Return one process of these members with this text in its command line.

        Raises:
            LookupError: There is none.
        """
        found = sorted(pid for member in members for pid in member.node.pids(command))
        if not found:
            raise LookupError(f"no process has {command!r} in its command line")
        return [draw.choice(found)]

    def mend(self) -> None:
        """Start everything that does not run."""
        self.database.start_again()
        for member in (*self.masters, *self.workers):
            member.start()


@frozen
class Fault:
    """One kind of fault."""

    name: str
    of: str
    """``leader``, ``workers`` or ``database``: what its kills are counted under."""

    play: Callable[[Ground, random.Random], Iterator[None]]
    """Kills, yields for as long as the fault lasts, and starts again."""


def _leader_agent(ground: Ground, draw: random.Random) -> Iterator[None]:
    leader = ground.leader()
    leader.kill_agent()
    yield
    leader.start()


def _leader_node(ground: Ground, draw: random.Random) -> Iterator[None]:
    leader = ground.leader()
    leader.kill()
    yield
    leader.start()


def _job_process(ground: Ground, draw: random.Random) -> Iterator[None]:
    for pid in ground.one_of(ground.masters, HOST, draw):
        kill_session(pid)
    yield


def _job_jvm(ground: Ground, draw: random.Random) -> Iterator[None]:
    send(ground.one_of(ground.masters, JVM, draw), signal.SIGKILL)
    yield


def _spark_master(ground: Ground, draw: random.Random) -> Iterator[None]:
    send(ground.one_of(ground.masters, SPARK_MASTER, draw), signal.SIGKILL)
    yield


def _worker_node(ground: Ground, draw: random.Random) -> Iterator[None]:
    worker = draw.choice(ground.workers)
    worker.kill()
    yield
    worker.start()


def _of_workers(command: str) -> Callable[[Ground, random.Random], Iterator[None]]:
    def play(ground: Ground, draw: random.Random) -> Iterator[None]:
        send(ground.one_of(ground.workers, command, draw), signal.SIGKILL)
        yield

    return play


def _database(ground: Ground, draw: random.Random) -> Iterator[None]:
    ground.database.kill()
    yield
    ground.database.start_again()


FAULTS = (
    Fault("the leader's agent", "leader", _leader_agent),
    Fault("all processes of the leader's node", "leader", _leader_node),
    Fault("the process of the jobs", "leader", _job_process),
    Fault("the JVM of the jobs", "leader", _job_jvm),
    Fault("a Spark master", "leader", _spark_master),
    Fault("an executor", "workers", _of_workers(EXECUTOR)),
    Fault("a Python worker", "workers", _of_workers("seatunnel_executor_daemon")),
    Fault("a Spark worker", "workers", _of_workers(SPARK_WORKER)),
    Fault("all processes of a worker's node", "workers", _worker_node),
    Fault("the database", "database", _database),
)
"""All kinds. The database is chosen as often as the others of its group together."""
