"""``python -m tests.checkpoint.simulation --seeds 100000``: play many seeds; a failing one is made small and told."""

import sys
from collections import Counter

from tests.checkpoint.simulation.invariants.invariant import ViolationError
from tests.checkpoint.simulation.scenario import draw
from tests.checkpoint.simulation.seeds import parser, play_all
from tests.checkpoint.simulation.shrink import shrink
from tests.checkpoint.simulation.world import play


def main() -> int:
    arguments = parser("tests.checkpoint.simulation", __doc__).parse_args()
    if arguments.seed is not None:
        return tell(arguments.seed, whole=arguments.whole)
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    broken = play_all(seeds, arguments.processes, counted)
    return 0 if broken is None else tell(broken, whole=arguments.whole)


def counted(seed: int) -> Counter[str]:
    world = play(seed)
    return Counter(world.counts) + Counter(steps=world.clock.steps)


def tell(seed: int, *, whole: bool) -> int:
    """The run of a seed; of one that fails, the smallest case that breaks the same rule."""
    try:
        world = play(seed)
    except ViolationError as error:
        if whole:
            print(f"{error}\n")
        print(f"{shrink(draw(seed), error.rule)}\n\nfound with seed {seed}")
        print(f"play it again: python -m tests.checkpoint.simulation --seed {seed} (--whole tells all of it)")
        return 1
    print(world.story(most=10_000))
    print(f"seed {seed}: no rule broken")
    return 0


if __name__ == "__main__":
    sys.exit(main())
