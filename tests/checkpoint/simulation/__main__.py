"""``python -m tests.checkpoint.simulation --seeds 100000``: play many seeds; a failing one is made small and told."""

import sys
from collections import Counter

from tests.checkpoint.simulation.scenario import draw
from tests.checkpoint.simulation.seeds import Simulation
from tests.checkpoint.simulation.shrink import shrink
from tests.checkpoint.simulation.world import play


def counted(seed: int) -> Counter[str]:
    world = play(seed)
    return Counter(world.counts) + Counter(steps=world.clock.steps)


SIMULATION = Simulation(
    module="tests.checkpoint.simulation",
    about=__doc__,
    play=play,
    counted=counted,
    smallest=lambda seed, rule: shrink(draw(seed), rule),
)

if __name__ == "__main__":
    sys.exit(SIMULATION.main())
