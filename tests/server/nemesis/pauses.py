"""SIGSTOP for up to a minute, and SIGCONT: what stands still keeps its connections."""

import random
import signal
from collections.abc import Iterator

from tests.server.nemesis.ground import Ground, Member, send, wait_for_leader
from tests.server.nemesis.kinds import HOST, JVM, PAUSES, a_standby, kind, one_of, with_workers


@kind("stop the leader's agent", PAUSES)
def _stop_leader_agent(ground: Ground, _draw: random.Random) -> Iterator[None]:
    yield from _agent_stopped(wait_for_leader(ground))


@kind("stop a standby's agent", PAUSES)
def _stop_standby_agent(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _agent_stopped(a_standby(ground, draw))


@kind("stop a worker's agent", PAUSES, fits=with_workers)
def _stop_worker_agent(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _agent_stopped(draw.choice(ground.workers))


def _agent_stopped(member: Member) -> Iterator[None]:
    assert member.node.agent is not None
    yield from _stopped([member.node.agent.pid])


@kind("stop a host", PAUSES)
def _stop_host(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _stopped(one_of(ground.masters, HOST, draw))


@kind("stop a host's JVM", PAUSES)
def _stop_jvm(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _stopped(one_of(ground.masters, JVM, draw))


@kind("stop all of the leader's node", PAUSES)
def _stop_leader_node(ground: Ground, _draw: random.Random) -> Iterator[None]:
    yield from _stopped(list(wait_for_leader(ground).node.processes()))


@kind("stop all of a node", PAUSES)
def _stop_node(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _stopped(list(draw.choice(ground.members).node.processes()))


def _stopped(pids: list[int]) -> Iterator[None]:
    send(pids, signal.SIGSTOP)
    yield
    send(pids, signal.SIGCONT)
