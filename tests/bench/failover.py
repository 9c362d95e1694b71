"""How soon a failed pipeline works again in a living process: ``make bench ARGS=failover``.

A job with one work unit fails each try of it with an I/O error until its pipeline fails, and so on for some restarts;
every try leaves its time. What is told is the time from the start of the try that fails the pipeline to the start of
the first try of the restored one: both ways through Spark, the claim of the epoch, the restore, and the sweep.
"""

import errno
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from seatunnel_core.checkpoint.vertices.limits import Limits
from tests.bench import jobs, systems
from tests.bench.bench import Bench
from tests.bench.figure import Figure, at_most

TRIES = 1 + Limits().unit_retries
"""Of a work unit before its pipeline fails."""

_PLUGIN = """from tests.bench import failover

def tried(rows):
    return failover.tried(rows, {folder!r}, {failures})
"""


def tried(rows: Any, folder: str, failures: int) -> Any:
    """Note the time of this try; let the first ones fail."""
    if not rows.num_rows:
        return rows  # the empty batch that asks for the schema
    number = len(os.listdir(folder))
    Path(folder, f"{number:04d}-{time.time_ns()}").touch()
    if number < failures:
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    return rows


def report(bench: Bench) -> None:
    """The times, and how long a try waits for the next one within an epoch less the pause: Spark alone."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=bench.data) as made:
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.failover", made, str(bench.rounds)],
            env={**os.environ, "PYTHONPATH": f"{made}{os.pathsep}{Path(__file__).parents[2]}"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"the failing job ended with {done.returncode}:\n{done.stdout}{done.stderr[-3000:]}")
    said = json.loads(done.stdout.splitlines()[-1])
    bench.record(
        Figure(what="failed unit to first unit", values=said["failover_ms"], unit="ms", goal=at_most(300)),
        Figure(what="a retry in the same epoch, without its pause", values=said["retry_ms"], unit="ms"),
    )


def times(noted: list[float]) -> dict[str, list[float]]:
    """From the times of all tries, in milliseconds."""
    limits, failover, retry = Limits(), [], []
    for number, (before, after) in enumerate(pairwise(noted), 1):
        attempt = number % TRIES
        if attempt:
            retry.append(after - before - limits.pause_before_retry(attempt))
        else:
            failover.append(after - before)
    return {"failover_ms": failover, "retry_ms": retry}


def main(folder: Path, rounds: int) -> None:
    """The other process."""
    tries = folder / "tries"
    tries.mkdir()
    (folder / "failing.py").write_text(_PLUGIN.format(folder=str(tries), failures=rounds * TRIES))
    systems.run_job(jobs.write_failing(folder, rounds), folder)
    print(json.dumps(times([int(name.partition("-")[2]) / 1e6 for name in sorted(os.listdir(tries))])))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
