"""``python -m tests.checkpoint.simulation.jobs --seeds 2000``: play many jobs; a failing one is made small and told."""

import sys
from collections import Counter

from tests.checkpoint.simulation.jobs.scenario import draw_job
from tests.checkpoint.simulation.jobs.shrink import shrink_job
from tests.checkpoint.simulation.jobs.world import play_job
from tests.checkpoint.simulation.seeds import Simulation


def counted(seed: int) -> Counter[str]:
    world = play_job(seed)
    return world.counts + Counter(
        pipelines=len(world.sights), processes=len(world.processes), steps=world.stage.clock.steps
    )


SIMULATION = Simulation(
    module="tests.checkpoint.simulation.jobs",
    about=__doc__,
    play=play_job,
    counted=counted,
    smallest=lambda seed, rule: shrink_job(draw_job(seed), rule),
    seed="job seed",
)

if __name__ == "__main__":
    sys.exit(SIMULATION.main())
