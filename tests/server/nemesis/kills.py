"""``kill -9`` of agents, of all that a node has, and of its children; and nodes that start again."""

import random
import signal
from collections.abc import Iterator

from tests.server.nemesis.ground import Ground, Member, send, wait_for_leader
from tests.server.nemesis.kinds import HOST, JVM, a_standby, kind, one_of, with_workers
from tests.server.nodes import kill_session
from tests.server.test_workers import EXECUTOR, SPARK_MASTER, SPARK_WORKER


@kind("kill the leader's agent")
def _kill_leader_agent(ground: Ground, _draw: random.Random) -> Iterator[None]:
    yield from _agent_killed(wait_for_leader(ground))


@kind("kill a standby's agent")
def _kill_standby_agent(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _agent_killed(a_standby(ground, draw))


@kind("kill a worker's agent", fits=with_workers)
def _kill_worker_agent(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _agent_killed(draw.choice(ground.workers))


def _agent_killed(member: Member) -> Iterator[None]:
    member.kill_agent()
    yield
    member.start()


@kind("kill all of the leader's node")
def _kill_leader_node(ground: Ground, _draw: random.Random) -> Iterator[None]:
    yield from _node_killed(wait_for_leader(ground))


@kind("kill all of a standby's node")
def _kill_standby_node(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _node_killed(a_standby(ground, draw))


@kind("kill all of a worker's node", fits=with_workers)
def _kill_worker_node(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _node_killed(draw.choice(ground.workers))


def _node_killed(member: Member) -> Iterator[None]:
    member.kill()
    yield
    member.start()


@kind("kill a host")
def _kill_host(ground: Ground, draw: random.Random) -> Iterator[None]:
    for pid in one_of(ground.masters, HOST, draw):
        kill_session(pid)
    yield


@kind("kill a host's JVM")
def _kill_jvm(ground: Ground, draw: random.Random) -> Iterator[None]:
    send(one_of(ground.masters, JVM, draw), signal.SIGKILL)
    yield


@kind("kill a Python worker")
def _kill_python(ground: Ground, draw: random.Random) -> Iterator[None]:
    members = ground.workers or ground.masters
    send(one_of(members, "daemon", draw), signal.SIGKILL)
    yield


@kind("kill an executor", fits=with_workers)
def _kill_executor(ground: Ground, draw: random.Random) -> Iterator[None]:
    send(one_of(ground.workers, EXECUTOR, draw), signal.SIGKILL)
    yield


@kind("kill a Spark worker", fits=with_workers)
def _kill_spark_worker(ground: Ground, draw: random.Random) -> Iterator[None]:
    send(one_of(ground.workers, SPARK_WORKER, draw), signal.SIGKILL)
    yield


@kind("kill a Spark master", fits=with_workers)
def _kill_spark_master(ground: Ground, draw: random.Random) -> Iterator[None]:
    send(one_of(ground.masters, SPARK_MASTER, draw), signal.SIGKILL)
    yield


@kind("kill all nodes at once")
def _full_restart(ground: Ground, _draw: random.Random) -> Iterator[None]:
    for member in ground.members:
        member.kill()
    yield
    for member in ground.members:
        member.start()


@kind("restart one node after the other", costs=2)
def _rolling_restart(ground: Ground, _draw: random.Random) -> Iterator[None]:
    for member in ground.members:
        member.end()
        member.start()
        if member in ground.masters:
            member.node.wait_ready()
    yield
