"""One run of a seed: break things for a while, mend everything, and see that all is as it has to be."""

import gc
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attrs import evolve

from tests.server.simulation import faults
from tests.server.simulation.faults import Faults
from tests.server.simulation.ledger import ViolationError
from tests.server.simulation.world import World

BROKEN_S = 400.0
JOBS = 40


def play(seed: int, **more: Any) -> World:
    """Play a seed, and return the world as it was in the end.

    Raises:
        ViolationError: an invariant does not hold; names the seed.
    """
    choice = random.Random(-seed)
    expires = choice.random() < 0.3
    drawn: Faults = faults.drawn(choice)
    if expires:  # a clock that jumps by an hour would forget the history of seconds
        drawn = evolve(drawn, jump=0.0)
    settings = {
        "jobs": JOBS,
        "nodes": choice.choice((2, 3, 3, 4)),
        "faults": drawn,
        "database": choice.random() < 0.5,
        "history_s": 75.0 if expires else 86_400.0,
        "fixed_slots": choice.random() < 0.6,
        **more,
    }
    with _without_collections(), World(seed, **settings) as world:
        try:
            world.run(BROKEN_S)
            world.heal()
            world.finish()
        except ViolationError as error:
            raise ViolationError(f"seed {seed}, at {world.now:.3f} s: {error}") from error
    return world


@contextmanager
def _without_collections() -> Iterator[None]:
    """Look for garbage between two runs alone: a run leaves little, and looking takes a third of its time."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
