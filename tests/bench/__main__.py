"""``python -m tests.bench``: how fast it is, against others that do the same on the same machine.

The systems of a case take turns, so that what else the machine does hurts all of them alike, and a case is told by the
ratio within each round: its median, and the spread of all rounds beside it. Nothing here passes or fails.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.bench.bench import Bench
from tests.bench.cases import CASES, FULL_ONLY


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; all when none is named")
    parser.add_argument("--full", action="store_true", help=f"also {', '.join(FULL_ONLY)}, when none is named")
    parser.add_argument("--rounds", type=int, default=5, help="how often each system runs")
    parser.add_argument("--data", type=Path, default=Path("bench-output"), help="where tables are made and kept")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), help="takes all that was measured")
    arguments = parser.parse_args(argv)
    unknown = sorted(set(arguments.cases) - set(CASES))
    if unknown:
        parser.error(f"there is no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    data = arguments.data.absolute()
    data.mkdir(parents=True, exist_ok=True)
    for left in data.glob("run-*"):
        shutil.rmtree(left)
    here = machine()
    print(f"{here['processors']} processors {here['model']}; load before: {here['load']}; medians of ", end="")
    print(f"{arguments.rounds} rounds, (smallest to largest)", flush=True)
    bench = Bench(data, arguments.rounds)
    for name in arguments.cases or [name for name in CASES if arguments.full or name not in FULL_ONLY]:
        title, play = CASES[name]
        bench.case(name, title, play)
        _keep(arguments.json, {"machine": here, "rounds": arguments.rounds, "cases": bench.recorded})
    return 0


def _keep(file: Path, said: dict[str, Any]) -> None:
    """After each case, so that a run that is stopped has told something."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """Return what a reader has to know about this machine."""
    model = ""
    if os.path.exists("/proc/cpuinfo"):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processors": len(os.sched_getaffinity(0)),
        "model": model,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
        "pyarrow": version("pyarrow"),
        "load": ", ".join(f"{each:.2f}" for each in os.getloadavg()),
    }


if __name__ == "__main__":
    sys.exit(main())
