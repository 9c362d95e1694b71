"""``python -m tests.server.limits.short_jobs``: many short jobs on one warm node, and what they leave behind."""

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.runtime.command import fake_source, ids, job, parquet_sink
from tests.server.limits.vitals import Vitals, left_in, vitals_of
from tests.server.nodes import Node, some_nodes, until

ROWS = 10
AT_ONCE = 10

_numbers = itertools.count()


def short_job(target: Path) -> str:
    """Return a job that writes ``ROWS`` rows."""
    return job("job.mode = BATCH", [fake_source("numbers", rows=ROWS)], [parquet_sink("numbers", target)])


def names(count: int) -> list[str]:
    """Return ids for so many jobs, which no other job has."""
    return [f"short-{next(_numbers)}" for _ in range(count)]


def play(node: Node, folder: Path, jobs: int) -> None:
    """Run so many jobs, ``AT_ONCE`` at a time, to their ends; the rows of each are there once."""
    ids_of_jobs = names(jobs)
    for first in range(0, jobs, AT_ONCE):
        some = ids_of_jobs[first : first + AT_ONCE]
        for job_id in some:
            node.submit(short_job(folder / "out" / job_id), job_id)
        for job_id in some:
            ended = node.wait_end(job_id)
            assert ended["jobStatus"] == "FINISHED", ended
            assert ids(folder / "out" / job_id) == list(range(1, ROWS + 1)), job_id


def settled(node: Node) -> dict[str, Vitals]:
    """Return what the node's processes hold once no job is left in its host."""
    until("no job runs", lambda: node.ask("GET", "/running-jobs") == (200, []))
    time.sleep(2)
    return dict(vitals_of(node))


def main() -> None:
    """Print what each process holds, and what lies in the node's folders, after so many jobs each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--step", type=int, default=100)
    values = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="short-jobs-") as name, some_nodes(Path(name) / "node") as (node,):
        node.start()
        node.wait_ready()
        watched(node, Path(name) / "node", values.jobs, values.step, print)


def watched(node: Node, folder: Path, jobs: int, step: int, say: Callable[[str], None]) -> list[dict[str, Vitals]]:
    """Run jobs, and return what each kind of process holds before them and after each step."""
    seen = [settled(node)]
    for done in range(0, jobs + 1, step):
        if done:
            began = time.monotonic()
            play(node, folder, step)
            took_s = time.monotonic() - began
            seen.append(settled(node))
            say(f"after {done} jobs ({step / took_s:.1f} a second)")
        for kind, held in seen[-1].items():
            say(f"  {kind}: {held}")
        for part, (count, size) in left_in(folder).items():
            say(f"  {part}: {count} files, {size / 1024:.0f} KiB")
    return seen


if __name__ == "__main__":
    main()
