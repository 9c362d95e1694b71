"""Wall clocks that jump by an hour, while the monotonic ones go on."""

import random
from collections.abc import Iterator

from tests.server.nemesis.ground import Ground
from tests.server.nemesis.kinds import LONG, kind

HOUR_S = 3600


def with_interposer(ground: Ground) -> bool:
    """Return whether clocks can be moved here."""
    return all(member.interposer for member in ground.members)


@kind("clock: a node is an hour ahead", LONG, with_interposer)
def _ahead(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _moved(ground, draw, HOUR_S)


@kind("clock: a node is an hour behind", LONG, with_interposer)
def _behind(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _moved(ground, draw, -HOUR_S)


def _moved(ground: Ground, draw: random.Random, seconds: int) -> Iterator[None]:
    interposer = draw.choice(ground.members).interposer
    assert interposer is not None
    interposer.tell(seconds=seconds)
    yield
    interposer.tell(seconds=0)
