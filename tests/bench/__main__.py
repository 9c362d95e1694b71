"""``python -m tests.bench``: how fast it is, against Spark's own readers and writers on the same machine.

The contenders of a case take turns, so that what else the machine does hurts all of them alike, and a case is told by
the ratio within each round: its median, and the spread of all rounds beside it. Nothing here passes or fails.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench import coordinator, failover, jobs, local_files, map_store, tables
from tests.bench.cpu import cpu_s

Round = dict[str, dict[str, float]]
"""The figures of each contender."""

_ROOT = Path(__file__).parents[2]


class Bench:
    """Runs contenders in turns, each time in a new process and an empty folder."""

    def __init__(self, data: Path, rounds: int) -> None:
        self.data = data
        self.rounds = rounds

    def play(self, contenders: Sequence[str], table: Path) -> list[Round]:
        played = []
        for number in range(self.rounds):
            turn = number % len(contenders)
            order = [*contenders[turn:], *contenders[:turn]]
            played.append({name: self._run(name, table) for name in order})
            told = ", ".join(f"{name} {_short(played[-1][name])}" for name in contenders)
            print(f"    round {number + 1}: {told}", flush=True)
        return played

    def _run(self, name: str, table: Path) -> dict[str, float]:
        with tempfile.TemporaryDirectory(prefix="run-", dir=self.data) as folder:
            if name == "smallest-job":
                arguments = ["seatunnel_core.cli.main", "-c", str(jobs.write_smallest(Path(folder))), "-m", "local[2]"]
                arguments += ["--engine-config", str(jobs.write_engine(Path(folder)))]
            else:
                arguments = ["tests.bench.contenders", name, folder, str(table)]
            log = Path(folder, "log")
            began_cpu, began = cpu_s(), time.perf_counter()
            with log.open("wb") as errors:
                command = [sys.executable, "-m", *arguments]
                ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, cwd=_ROOT, check=False)
            start_to_exit_s = time.perf_counter() - began
            if ended.returncode:
                sys.exit(f"{name} ended with {ended.returncode}:\n{log.read_text()[-3000:]}")
            last = ended.stdout.decode().splitlines()[-1:] if name != "smallest-job" else []
            figures = json.loads(last[0]) if last else {}
            return {"start_to_exit_s": start_to_exit_s, "all_cpu_s": cpu_s() - began_cpu, **figures}


def _short(figures: dict[str, float]) -> str:
    name = next(key for key in ("wall_s", "ms_per_table", "start_to_exit_s") if key in figures)
    return f"{figures[name]:.2f}"


# -- the cases --------------------------------------------------------------------------------------------------------


def spark(bench: Bench) -> None:
    """380 MB of CSV to Parquet at local[2], session start excluded"""
    for files in (1, 8):
        print(f"  lineitem in {files} file{'s' * (files > 1)}")
        contenders = ("ours", "spark-streaming", "spark-batch")
        played = bench.play(contenders, tables.lineitem(bench.data, files=files))
        for other in contenders[1:]:
            _tell_ratio(f"{other} / ours", played, other, "ours", "wall_s")
            _tell_ratio(f"{other} / ours, processor time", played, other, "ours", "cpu_s")
        _tell_times(played, "wall_s", "s")


def checkpoints(bench: Bench) -> None:
    """a checkpoint every second, against none; the table four times over, so that there are some"""
    played = bench.play(("ours", "ours-checkpoints"), tables.lineitem_times(bench.data, 4))
    for what, key in (("time", "wall_s"), ("processor time", "cpu_s")):
        _tell_ratio(f"{what} with / without", played, "ours-checkpoints", "ours", key)
    _tell_times(played, "wall_s", "s")


def sql(bench: Bench) -> None:
    """a transform Sql with a filter and five expressions, against none; 380 MB of CSV to Parquet"""
    played = bench.play(("ours", "ours-sql"), tables.lineitem(bench.data, files=1))
    for what, key in (("time", "wall_s"), ("processor time", "cpu_s")):
        _tell_ratio(f"{what} with / without", played, "ours-sql", "ours", key)
    _tell_times(played, "wall_s", "s")


def chain(bench: Bench) -> None:
    """five Arrow transforms in a row, against one of them and against none; 380 MB of CSV to Parquet"""
    played = bench.play(("ours", "ours-one", "ours-five"), tables.lineitem(bench.data, files=1))
    for other in ("ours-one", "ours"):
        _tell_ratio(f"processor time ours-five / {other}", played, "ours-five", other, "cpu_s")
    _tell_times(played, "wall_s", "s")


def small(bench: Bench) -> None:
    """1,000 tables of 100 rows as 1,000 pipelines: (last commit - session ready) / tables"""
    played = bench.play(("small-tables",), tables.small_tables(bench.data, tables=1000, rows=100))
    for key in ("ms_per_table", "cpu_ms_per_table"):
        _tell_times(played, key, "ms")


def start(bench: Bench) -> None:
    """the smallest job against the smallest PySpark program, from start to exit"""
    played = bench.play(("smallest-job", "smallest-program"), bench.data)
    differences = [
        each["smallest-job"]["start_to_exit_s"] - each["smallest-program"]["start_to_exit_s"] for each in played
    ]
    print(f"  job - program: {_spread(differences)} s")
    _tell_times(played, "start_to_exit_s", "s")


def storage(bench: Bench) -> None:
    """a checkpoint in local files, against the system calls that it cannot do without"""
    local_files.report(bench.data)


def durable_maps(bench: Bench) -> None:
    """changes of a durable map a second, from 64 threads, against one fsync per group of 64"""
    map_store.report(bench.data, bench.rounds)


def coordinators(bench: Bench) -> None:
    """what the coordinator costs the driver: a work unit, a checkpoint, pipelines that are held on one processor"""
    coordinator.report(bench.data)


def failovers(bench: Bench) -> None:
    """a pipeline that fails and is restored in a living process, without a pause: from unit to unit"""
    failover.report(bench.data, bench.rounds)


CASES = {
    "spark": spark,
    "checkpoints": checkpoints,
    "sql": sql,
    "chain": chain,
    "small": small,
    "start": start,
    "storage": storage,
    "map-store": durable_maps,
    "coordinator": coordinators,
    "failover": failovers,
}


# -- what is told -----------------------------------------------------------------------------------------------------


def _tell_ratio(what: str, played: Sequence[Round], above: str, below: str, key: str) -> None:
    print(f"  {what}: {_spread([each[above][key] / each[below][key] for each in played])}")


def _tell_times(played: Sequence[Round], key: str, unit: str) -> None:
    for name in played[0]:
        print(f"    {name} {key}: {_spread([each[name][key] for each in played])} {unit}")


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f}  ({min(values):.2f} to {max(values):.2f})"


def _machine() -> str:
    model = ""
    if os.path.exists("/proc/cpuinfo"):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    load = ", ".join(f"{each:.2f}" for each in os.getloadavg())
    return f"{os.cpu_count()} processors {model}, {platform.system()} {platform.machine()}; load before: {load}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; all when none is named")
    parser.add_argument("--rounds", type=int, default=7, help="how often each contender runs")
    parser.add_argument("--data", type=Path, default=Path("bench-output"), help="where tables are made and kept")
    arguments = parser.parse_args(argv)
    unknown = sorted(set(arguments.cases) - set(CASES))
    if unknown:
        parser.error(f"there is no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    data = arguments.data.absolute()
    data.mkdir(parents=True, exist_ok=True)
    for left in data.glob("run-*"):
        shutil.rmtree(left)
    print(f"{_machine()}; medians of {arguments.rounds} rounds, (smallest to largest)", flush=True)
    for name in arguments.cases or CASES:
        print(f"\n{name}: {CASES[name].__doc__}", flush=True)
        CASES[name](Bench(data, arguments.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
