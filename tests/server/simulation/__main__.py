"""``python -m tests.server.simulation --faults 1000000``: play seeds until so many faults have happened.

What was played stands in a file, so that a run that is ended goes on where it was.
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

from attrs import asdict

from tests.server.simulation.faults import Faults
from tests.server.simulation.ledger import ViolationError
from tests.server.simulation.play import play

KINDS = tuple(asdict(Faults()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.server.simulation", description=__doc__)
    parser.add_argument("--faults", type=int, default=1_000, help="to be played in all, those in the file included")
    parser.add_argument("--first", type=int, default=0, help="the first seed; a file goes on behind its last one")
    parser.add_argument("--seed", type=int, help="play this one alone")
    parser.add_argument("--state", type=Path, help="where counts are kept, as JSON")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        return play_all(arguments.seed, Counter(), 1, None)
    seed, counts = arguments.first, Counter[str]()
    if arguments.state is not None and arguments.state.exists():
        kept = json.loads(arguments.state.read_text(encoding="utf-8"))
        seed, counts = kept["next"], Counter(kept["counts"])
    return play_all(seed, counts, arguments.faults, arguments.state)


def faults_of(counts: Counter[str]) -> int:
    """Return how many faults were played."""
    return sum(counts[kind] for kind in KINDS)


def play_all(seed: int, counts: Counter[str], faults: int, state: Path | None) -> int:
    """Play seeds until there were so many faults; return the status of the process."""
    told = time.monotonic()
    while faults_of(counts) < faults:
        try:
            world = play(seed)
        except ViolationError as error:
            print(f"{error}\nagain: python -m tests.server.simulation --seed {seed}", flush=True)
            return 1
        counts += Counter({key: number for key, number in world.counts.items() if number})
        counts["runs"] += 1
        seed += 1
        if state is not None:
            state.write_text(json.dumps({"next": seed, "counts": counts}), encoding="utf-8")
        if time.monotonic() - told > 30:
            told = time.monotonic()
            print(f"{faults_of(counts)} faults in {counts['runs']} runs, up to seed {seed - 1}", flush=True)
    for key, number in sorted(counts.items()):
        print(f"{key:>20} {number}")
    print(f"{faults_of(counts)} faults in {counts['runs']} runs, no rule broken")
    return 0


if __name__ == "__main__":
    sys.exit(main())
