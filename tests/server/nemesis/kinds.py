"""What a kind of faults is, and what several of them need."""

import random
from collections.abc import Callable, Iterator

from attrs import frozen

from tests.server.nemesis.ground import Ground, Member, wait_for_leader

HOST = "-m seatunnel_core.server.host"
JVM = "org.apache.spark.deploy.SparkSubmit"
SHORT, LONG, PAUSES = (0.0, 6.0), (2.0, 20.0), (1.0, 60.0)

Breakage = Callable[[Ground, random.Random], Iterator[None]]


@frozen(kw_only=True)
class Kind:
    """A kind of faults."""

    name: str
    play: Breakage
    """Breaks something, yields while that lasts, and mends it."""

    lasts_s: tuple[float, float]
    fits: Callable[[Ground], bool]
    """Whether it can happen to such a cluster, on such a machine."""

    costs: float = 1.0
    """How much more seldom it is played than others."""


KINDS: dict[str, Kind] = {}


def kind(
    name: str,
    lasts_s: tuple[float, float] = SHORT,
    fits: Callable[[Ground], bool] = lambda _: True,
    *,
    costs: float = 1.0,
) -> Callable[[Breakage], Breakage]:
    """Register a kind of faults."""

    def register(play: Breakage) -> Breakage:
        KINDS[name] = Kind(name=name, play=play, lasts_s=lasts_s, fits=fits, costs=costs)
        return play

    return register


def with_workers(ground: Ground) -> bool:
    """Return whether a cluster has nodes that only work."""
    return ground.plan.workers > 0


def a_standby(ground: Ground, draw: random.Random) -> Member:
    """Return a master that does not lead."""
    leader = wait_for_leader(ground)
    return draw.choice([member for member in ground.masters if member is not leader])


def one_of(members: list[Member], text: str, draw: random.Random) -> list[int]:
    """Return one process that is drawn, by a text of its command line.

    Raises:
        LookupError: there is none.
    """
    found = sorted(pid for member in members for pid in member.node.pids(text))
    if not found:
        raise LookupError(f"no process has {text!r} on its command line now")
    return [draw.choice(found)]
