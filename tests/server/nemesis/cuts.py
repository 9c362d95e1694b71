"""Packets that do not arrive: between two nodes, in one direction or both, and between the leader and its storage."""

import errno
import random
import threading
from collections.abc import Iterator

from tests.server.nemesis.ground import Ground, Member, wait_for_leader
from tests.server.nemesis.kinds import LONG, kind
from tests.server.nemesis.network import Network

FLAP_S = 5.0


def with_network(ground: Ground) -> bool:
    """Return whether the nodes have networks of their own."""
    return ground.network is not None


def _pair(ground: Ground, draw: random.Random) -> tuple[Network, str, str]:
    """Return the network and two nodes, of which the first one leads more often than not."""
    assert ground.network is not None
    first = wait_for_leader(ground) if draw.random() < 0.7 else draw.choice(ground.members)
    other = draw.choice([member for member in ground.members if member is not first])
    return ground.network, first.node.ip, other.node.ip


@kind("cut: one node does not hear another", LONG, with_network)
def _one_way(ground: Ground, draw: random.Random) -> Iterator[None]:
    network, *ends = _pair(ground, draw)
    draw.shuffle(ends)
    network.cut(ends[0], ends[1])
    yield
    network.heal(ends[0])


@kind("cut: two nodes do not hear each other", LONG, with_network)
def _both_ways(ground: Ground, draw: random.Random) -> Iterator[None]:
    network, first, other = _pair(ground, draw)
    network.cut(first, other)
    network.cut(other, first)
    yield
    network.heal(first)
    network.heal(other)


@kind("cut: the leader and all other nodes", LONG, with_network)
def _isolated(ground: Ground, _draw: random.Random) -> Iterator[None]:
    network, leader = ground.network, wait_for_leader(ground)
    assert network is not None
    others = [member.node.ip for member in ground.members if member is not leader]
    for other in others:
        network.cut(leader.node.ip, other)
        network.cut(other, leader.node.ip)
    yield
    for ip in (leader.node.ip, *others):
        network.heal(ip)


@kind("cut: two nodes, on and off each 5 s", (15.0, 40.0), with_network)
def _flapping(ground: Ground, draw: random.Random) -> Iterator[None]:
    network, first, other = _pair(ground, draw)
    over = threading.Event()

    def flap() -> None:
        while not over.is_set():
            network.cut(first, other)
            network.cut(other, first)
            over.wait(FLAP_S)
            network.heal(first)
            network.heal(other)
            over.wait(FLAP_S)

    flapping = threading.Thread(target=flap, name="flap")
    flapping.start()
    yield
    over.set()
    flapping.join()


@kind("cut: the leader and its storage", LONG, lambda ground: ground.can_cut_storage)
def _from_storage(ground: Ground, draw: random.Random) -> Iterator[None]:
    """Of files, its calls hang or fail; of a database, no packet of it arrives."""
    yield from _without_storage(ground, wait_for_leader(ground), draw)


@kind("cut: a node and its storage", LONG, lambda ground: ground.can_cut_storage)
def _any_from_storage(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _without_storage(ground, draw.choice(ground.masters), draw)


def _without_storage(ground: Ground, member: Member, draw: random.Random) -> Iterator[None]:
    if ground.database is None:
        assert member.interposer is not None
        member.interposer.tell(**({"hangs": 1} if draw.random() < 0.5 else {"error": errno.EIO}))
        yield
        member.interposer.tell(hangs=0, error=0)
        return
    assert ground.network is not None
    ground.network.cut(member.node.ip, ground.network.gateway, ground.database.port)
    yield
    ground.network.heal(member.node.ip)
