"""``python -m tests.torture --runs 30``: kill running jobs and see whether every row arrives once.

Prints a line per run and counts by phase; the exit code is 1 when anything was wrong. The folders of runs that went
wrong are kept and named.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from seatunnel_core.connectors.file.formats.names import WRITTEN
from tests.torture.campaign import play
from tests.torture.copies import make_copied
from tests.torture.databases.tables import make_tables, require_tables
from tests.torture.job import SINKS
from tests.torture.run import Run

SHORT = 4
ROWS = 60_000


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--runs", type=int, default=30, help="how many jobs are tortured")
    parser.add_argument("--seed", type=int, default=None, help="another seed chooses other moments and options")
    parser.add_argument("--only", type=int, help="play the run with this number only")
    parser.add_argument("--short", action="store_true", help=f"{SHORT} runs with less data")
    parser.add_argument("--at-once", type=int, default=2, help="how many jobs run at the same time")
    parser.add_argument(
        "--sink", type=_sink, default="file", help=f"{', '.join(SINKS)}, or file formats such as orc,text,excel"
    )
    arguments = parser.parse_args(argv)
    seed = arguments.seed if arguments.seed is not None else random.randrange(10**6)
    numbers = range(SHORT if arguments.short else arguments.runs) if arguments.only is None else (arguments.only,)
    rows = ROWS // (2 if arguments.short else 1) // (1 if arguments.sink in SINKS else 3)
    runs = torture(numbers, seed=seed, rows=rows, at_once=arguments.at_once, sink=arguments.sink)
    return 1 if any(run.fault for run in runs) else 0


def torture(numbers: Sequence[int], *, seed: int, rows: int, at_once: int, sink: str = "file") -> list[Run]:
    """Play the runs and print what happens. The folder stays when one of them went wrong."""
    require_tables()
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="seatunnel-torture-"))
    print(f"{len(numbers)} runs with seed {seed} in {folder}", flush=True)
    tables = make_tables(folder / "tables", rows=rows, seed=seed)
    if "binary" in sink.split(","):
        tables += (make_copied(folder / "copied", random.Random(seed)),)
    print("tables: " + ", ".join(f"{table.name} {table.rows:,} rows" for table in tables), flush=True)
    runs: list[Run] = []
    with ThreadPoolExecutor(at_once) as pool:
        for run in pool.map(lambda number: play(number, seed, folder, tables, sink), numbers):
            print(run.line(), flush=True)
            runs.append(run)
    print(_summary(runs, time.monotonic() - began))
    wrong = [str(run.number) for run in runs if run.fault]
    if wrong:
        print(f"WRONG: run {', '.join(wrong)}; see {folder}")
    else:
        shutil.rmtree(folder)
    return runs


def _sink(text: str) -> str:
    unknown = set(text.split(",")) - {*SINKS, *WRITTEN} if text not in SINKS else set()
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: expected {', '.join((*SINKS, *WRITTEN))}")
    return text


def _summary(runs: Sequence[Run], seconds: float) -> str:
    kills = [kill for run in runs for kill in run.kills]
    formats = {target.format for run in runs for target in run.job.targets}
    phases = Counter(kill.phase for kill in kills)
    victims = Counter(kill.victim for kill in kills)
    lines = [
        "",
        f"{len(runs)} runs in {seconds:.0f} s, {sum(not run.fault for run in runs)} with every row once; "
        f"{len(kills)} kills, {sum(run.resumed for run in runs)} resumes",
        f"  {sum(len(run.mid_flight()) for run in runs):4d}  between the first staged unit and the last commit",
        *(
            f"  {sum(run.struck(each) for run in runs):4d}  of them while {each} was written"
            for each in sorted(formats)
        ),
        *(f"  {number:4d}  phase: {phase}" for phase, number in sorted(phases.items())),
        *(f"  {number:4d}  killed: {victim}" for victim, number in sorted(victims.items())),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
