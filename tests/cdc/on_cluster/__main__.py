"""``python -m tests.cdc.on_cluster --minutes 120``: kill nodes, processes and databases under jobs on a cluster.

A cluster of two masters and two workers runs a job that copies a database under a storm of writers. Meanwhile the
leader, processes of workers, and the database itself are killed. After each round, source and target are compared row
by row. Prints a line per round and counts by fault; the exit code is 1 if anything was wrong.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.cdc.captured import DATABASES
from tests.cdc.on_cluster.play import Round, rounds


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cdc.on_cluster", description=__doc__)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=None, help="another seed chooses other faults")
    parser.add_argument("--database", default=",".join(DATABASES), help=f"some of {', '.join(DATABASES)}")
    arguments = parser.parse_args(argv)
    seed = arguments.seed if arguments.seed is not None else random.randrange(10**6)
    databases = [DATABASES[name]() for name in arguments.database.split(",")]
    folder = Path(tempfile.mkdtemp(prefix="stcdc-"))
    print(f"{arguments.minutes:g} minutes with seed {seed} in {folder}", flush=True)
    began, played = time.monotonic(), list[Round]()
    for each in rounds(folder / "cluster", databases, arguments.minutes, seed):
        print(each.line(), flush=True)
        played.append(each)
    print(counts(played, time.monotonic() - began))
    if any(each.fault for each in played):
        print(f"WRONG; see {folder}")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def counts(played: Sequence[Round], seconds: float) -> str:
    """Return the number of faults by group, name and database."""
    total = Counter[tuple[str, str]]()
    for each in played:
        total.update(each.faults)
    lines = [
        "",
        f"{len(played)} rounds in {seconds / 60:.0f} minutes, {sum(not each.fault for each in played)} with target = "
        f"source and the sum always zero; {total.total()} faults; {sum(each.transactions for each in played):,} "
        f"transactions, {sum(each.looks for each in played):,} looks at the sum",
    ]
    lines += [f"  {number:4d}  {of}: {name}" for (of, name), number in sorted(total.items())]
    by_database = Counter[str]()
    for each in played:
        by_database[each.captured.name] += each.faults.total()
    lines += [f"  {number:4d}  with {name}" for name, number in sorted(by_database.items())]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
