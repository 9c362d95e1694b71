"""``python -m tests.cdc --kills 200``: kill jobs that capture changes, and compare target and source row by row.

Prints a line per run, and counts by database and step; the exit code is 1 if anything was wrong. The folders of runs
that went wrong are kept and named.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cdc.campaign import KILLS_OF_A_RUN, counts, play
from tests.cdc.captured import DATABASES
from tests.cdc.run import KilledRun


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cdc", description=__doc__)
    parser.add_argument("--kills", type=int, default=48, help="how many processes are killed, over all databases")
    parser.add_argument("--seed", type=int, default=None, help="another seed chooses other moments and options")
    parser.add_argument("--database", default=",".join(DATABASES), help=f"some of {', '.join(DATABASES)}")
    parser.add_argument("--only", type=int, help="play the run with this number only")
    arguments = parser.parse_args(argv)
    seed = arguments.seed if arguments.seed is not None else random.randrange(10**6)
    databases = arguments.database.split(",")
    if unknown := set(databases) - DATABASES.keys():
        parser.error(f"unknown databases: {', '.join(unknown)}")
    number = -(-arguments.kills // KILLS_OF_A_RUN)
    numbers = range(number) if arguments.only is None else (arguments.only,)
    runs = torture(numbers, databases, seed)
    return 1 if any(run.fault for run in runs) else 0


def torture(numbers: Sequence[int], databases: Sequence[str], seed: int) -> list[KilledRun]:
    """Play the runs, the databases by turns, and print what happens."""
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="seatunnel-cdc-"))
    print(f"{len(numbers)} runs with seed {seed} in {folder}", flush=True)
    runs = []
    for number in numbers:
        run = play(number, databases[number % len(databases)], folder, seed)
        print(run.line(), flush=True)
        runs.append(run)
    print(counts(runs))
    print(f"{time.monotonic() - began:.0f} s")
    wrong = [str(run.number) for run in runs if run.fault]
    if wrong:
        print(f"WRONG: run {', '.join(wrong)}; see {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return runs


if __name__ == "__main__":
    sys.exit(main())
