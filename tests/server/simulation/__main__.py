"""``python -m tests.server.simulation --faults 1000000``: play seeds until so many faults have happened.

What was played stands in a file, so that a run that is ended goes on where it was. A run in which a rule is broken
counts for nothing; its seed stands in the file.
"""

import argparse
import gc
import sys
import time
from collections import Counter
from pathlib import Path

from tests.server.nemesis.totals import commit_of_this_tree
from tests.server.simulation.ledger import ViolationError
from tests.server.simulation.play import play
from tests.server.simulation.totals import Batch, add_batch, faults_of, read_batches, summed

KEPT_EACH_S = 10.0
"""So often what was played is added to the file."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.server.simulation", description=__doc__)
    parser.add_argument("--faults", type=int, default=1_000, help="to be played in all, those in the file included")
    parser.add_argument("--first", type=int, default=0, help="the first seed; a file goes on behind its last one")
    parser.add_argument("--seed", type=int, help="play this one alone")
    parser.add_argument("--state", type=Path, help="where counts are kept, a line of JSON for each batch")
    parser.add_argument("--seconds", type=float, default=1e9, help="at most; the next call goes on")
    parser.add_argument("--go-on", action="store_true", help="go on with the next seed when a rule was broken")
    arguments = parser.parse_args()
    gc.freeze()  # what was imported is no garbage, and need not be looked at
    if arguments.seed is not None:
        return play_all(arguments.seed, 1, None, seconds=1e9, go_on=False)
    batches = [] if arguments.state is None else read_batches(arguments.state)
    first = batches[-1].next if batches else arguments.first
    left = arguments.faults - sum(batch.faults for batch in batches)
    status = play_all(first, left, arguments.state, seconds=arguments.seconds, go_on=arguments.go_on)
    if arguments.state is not None:
        print(f"in all: {faults_of(summed(read_batches(arguments.state)))} faults", flush=True)
    return status


def play_all(seed: int, faults: int, state: Path | None, *, seconds: float, go_on: bool) -> int:
    """Play seeds until there were so many faults; return the status of the process."""
    began = kept = time.monotonic()
    commit, counts, first, found = commit_of_this_tree(), Counter[str](), seed, list[str]()
    part = Batch(commit=commit, first=seed, next=seed, counts={})
    while faults_of(counts) < faults and time.monotonic() - began < seconds and (go_on or not found):
        try:
            world = play(seed)
        except ViolationError as error:
            print(f"{error}\nagain: python -m tests.server.simulation --seed {seed}", flush=True)
            found.append(str(error))
            part.broken.append(str(error))
        else:
            more = Counter({key: number for key, number in world.counts.items() if number}) + Counter(runs=1)
            counts, part.counts = counts + more, dict(Counter(part.counts) + more)
        seed = part.next = seed + 1
        if state is not None and time.monotonic() - kept > KEPT_EACH_S:
            kept = time.monotonic()
            add_batch(state, part)
            part = Batch(commit=commit, first=seed, next=seed, counts={})
    if state is not None:
        add_batch(state, part)
    else:
        for key, number in sorted(counts.items()):
            print(f"{key:>20} {number}")
    rules = f"{len(found)} runs broke a rule" if found else "no rule broken"
    print(f"{faults_of(counts)} faults in {counts['runs']} runs of seeds {first} to {seed - 1}, {rules}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
