"""``python -m tests.checkpoint.simulation.jobs --seeds 2000``: play many jobs; a failing one is made small and told."""

import sys
from collections import Counter

from tests.checkpoint.simulation.invariants.invariant import ViolationError
from tests.checkpoint.simulation.jobs.scenario import draw_job
from tests.checkpoint.simulation.jobs.shrink import shrink_job
from tests.checkpoint.simulation.jobs.world import play_job
from tests.checkpoint.simulation.seeds import parser, play_all


def main() -> int:
    arguments = parser("tests.checkpoint.simulation.jobs", __doc__).parse_args()
    if arguments.seed is not None:
        return tell(arguments.seed, whole=arguments.whole)
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    broken = play_all(seeds, arguments.processes, counted)
    return 0 if broken is None else tell(broken, whole=arguments.whole)


def counted(seed: int) -> Counter[str]:
    world = play_job(seed)
    return world.counts + Counter(
        pipelines=len(world.sights), processes=len(world.processes), steps=world.stage.clock.steps
    )


def tell(seed: int, *, whole: bool) -> int:
    """The run of a seed; of one that fails, the smallest case that breaks the same rule."""
    try:
        world = play_job(seed)
    except ViolationError as error:
        if whole:
            print(f"{error}\n")
        print(f"{shrink_job(draw_job(seed), error.rule)}\n\nfound with job seed {seed}")
        print(f"play it again: python -m tests.checkpoint.simulation.jobs --seed {seed} (--whole tells all of it)")
        return 1
    print(world.story(most=10_000))
    print(f"job seed {seed}: no rule broken")
    return 0


if __name__ == "__main__":
    sys.exit(main())
