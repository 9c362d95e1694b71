"""Many seeds, on all processors: how many, how fast, and the first that breaks a rule."""

import gc
import os
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from attrs import frozen

from tests.checkpoint.simulation.invariants.invariant import ViolationError

CHUNK = 50

Play = Callable[[int], Counter[str]]
"""Plays a seed and counts what happened; a function of a module, for other processes to find."""


@frozen(kw_only=True)
class Simulation:
    """A simulation as a command."""

    module: str
    about: str | None
    play: Callable[[int], Any]
    counted: Play
    smallest: Callable[[int, str], object]
    """Return the smallest case that breaks the rule that a seed breaks."""

    seed: str = "seed"
    """What a seed is called."""

    def main(self) -> int:
        parser = ArgumentParser(prog=f"python -m {self.module}", description=self.about)
        parser.add_argument("--seeds", type=int, default=1_000, help="how many seeds to play")
        parser.add_argument("--first", type=int, default=0, help="the first of them")
        parser.add_argument("--processes", type=int, default=os.cpu_count(), help="how many play at the same time")
        parser.add_argument("--seed", type=int, help="play this one only, and tell its story")
        whole = "tell all of a failing seed too, not only the smallest case"
        parser.add_argument("--whole", action="store_true", help=whole)
        arguments = parser.parse_args()
        if arguments.seed is not None:
            return self.tell(arguments.seed, whole=arguments.whole)
        seeds = range(arguments.first, arguments.first + arguments.seeds)
        broken = play_all(seeds, arguments.processes, self.counted)
        return 0 if broken is None else self.tell(broken, whole=arguments.whole)

    def tell(self, seed: int, *, whole: bool) -> int:
        """The run of a seed; of one that fails, the smallest case that breaks the same rule."""
        try:
            world = self.play(seed)
        except ViolationError as error:
            if whole:
                print(f"{error}\n")
            print(f"{self.smallest(seed, error.rule)}\n\nfound with {self.seed} {seed}")
            print(f"play it again: python -m {self.module} --seed {seed} (--whole tells all of it)")
            return 1
        print(world.story(most=10_000))
        print(f"{self.seed} {seed}: no rule broken")
        return 0


def play_all(seeds: range, processes: int, play: Play) -> int | None:
    """Play them and print the figures, or say which one breaks a rule."""
    counts: Counter[str] = Counter()
    began = time.perf_counter()
    with ProcessPoolExecutor(processes) as pool:
        parts = [pool.submit(play_some, play, seeds[at : at + CHUNK]) for at in range(0, len(seeds), CHUNK)]
        for part in as_completed(parts):
            found = part.result()
            if isinstance(found, int):
                pool.shutdown(wait=False, cancel_futures=True)
                return found
            counts.update(found)
    seconds = time.perf_counter() - began
    figures = ", ".join(f"{number:,} {what}" for what, number in sorted(counts.items()))
    pace = f"{len(seeds) / seconds:,.0f} seeds/s on {processes} processors"
    print(f"{len(seeds):,} seeds in {seconds:.1f} s ({pace}), no rule broken: {figures}", flush=True)
    return None


def play_some(play: Play, seeds: range) -> Counter[str] | int:
    """What happened in these seeds, or the first that breaks a rule."""
    gc.collect()  # what the seeds of the chunk before left behind: what is frozen is never looked at again
    gc.freeze()
    gc.set_threshold(200_000, 20, 50)  # what a seed leaves behind is little, and looking for it often costs a tenth
    counts: Counter[str] = Counter()
    for seed in seeds:
        try:
            counts.update(play(seed))
        except ViolationError:
            return seed
    return counts
