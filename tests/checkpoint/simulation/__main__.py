"""``python -m tests.checkpoint.simulation --seeds 100000``: play many seeds; a failing one is made small and told."""

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.checkpoint.simulation.invariants import ViolationError
from tests.checkpoint.simulation.scenario import draw
from tests.checkpoint.simulation.shrink import shrink
from tests.checkpoint.simulation.world import play

CHUNK = 250


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.checkpoint.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000, help="how many seeds to play")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="how many play at the same time")
    parser.add_argument("--seed", type=int, help="play this one only, and tell its story")
    parser.add_argument(
        "--whole", action="store_true", help="tell all of a failing seed too, not only the smallest case"
    )
    arguments = parser.parse_args()
    if arguments.seed is not None:
        return tell(arguments.seed, whole=arguments.whole)
    return play_all(range(arguments.first, arguments.first + arguments.seeds), arguments.processes)


def play_all(seeds: range, processes: int) -> int:
    counts: Counter[str] = Counter()
    began = time.perf_counter()
    with ProcessPoolExecutor(processes) as pool:
        parts = [pool.submit(play_some, seeds[at : at + CHUNK]) for at in range(0, len(seeds), CHUNK)]
        for part in as_completed(parts):
            found = part.result()
            if isinstance(found, int):
                pool.shutdown(wait=False, cancel_futures=True)
                return tell(found, whole=False)
            counts.update(found)
    seconds = time.perf_counter() - began
    figures = ", ".join(f"{number:,} {what}" for what, number in sorted(counts.items()))
    print(f"{len(seeds):,} seeds in {seconds:.1f} s, no rule broken: {figures}")
    return 0


def play_some(seeds: range) -> Counter[str] | int:
    """What happened in these seeds, or the first that breaks a rule."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        try:
            world = play(seed)
        except ViolationError:
            return seed
        counts.update(world.counts)
        counts.update(steps=world.clock.steps)
    return counts


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
