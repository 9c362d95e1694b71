"""``python -m tests.server.limits.idle_jobs``: what streaming jobs that have nothing to do take of a processor."""

import argparse
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tests.runtime.command import job
from tests.server.limits.vitals import spent_s, vitals_of
from tests.server.nodes import Node, some_nodes, until

SETTLE_S = 15.0


def idle_job(folder: Path) -> str:
    """Return a streaming job that watches a folder which stays empty."""
    folder.mkdir(parents=True)
    source = f"""
  LocalFile {{ plugin_output = rows, path = "{folder}", file_format_type = json, discovery_mode = continuous
    schema {{ fields {{ id = bigint }} }} }}"""
    return job("job.mode = STREAMING, checkpoint.interval = 10000", [source], ["\n  Console { plugin_input = [rows] }"])


def begin(node: Node, folder: Path, jobs: int) -> list[str]:
    """Submit so many idle jobs, wait until all of them run, and return their ids."""
    names = [f"idle-{number}-of-{jobs}" for number in range(jobs)]
    for job_id in names:
        node.submit(idle_job(folder / job_id), job_id)

    def all_run() -> bool:
        status, found = node.ask("GET", "/running-jobs")
        return status == 200 and [each["jobStatus"] for each in found].count("RUNNING") == jobs

    until(f"{jobs} jobs run", all_run)
    return names


def end(node: Node, names: list[str]) -> None:
    """Cancel jobs, and wait until they have ended."""
    for job_id in names:
        node.ask("POST", "/stop-job", {"jobId": job_id})
    for job_id in names:
        node.wait_end(job_id)


def shares(node: Node, watched_s: float) -> Mapping[str, float]:
    """Return the share of one processor that each kind of process takes, over a while."""
    before, began = spent_s(node), time.monotonic()
    time.sleep(watched_s)
    after, ended = spent_s(node), time.monotonic()
    found = dict.fromkeys((kind for kind, _ in after), 0.0)
    for process, spent in after.items():
        found[process[0]] += (spent - before.get(process, 0.0)) / (ended - began)
    return found


def main() -> None:
    """Print what each process of a node takes with so many idle jobs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    values = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="idle-jobs-") as name, some_nodes(Path(name) / "node") as (node,):
        node.start()
        node.wait_ready()
        for jobs in (0, values.jobs):
            begin(node, Path(name) / "in", jobs)
            time.sleep(SETTLE_S)
            found = shares(node, values.seconds)
            each = ", ".join(f"{kind} {share:.2%}" for kind, share in sorted(found.items()))
            print(f"{jobs} idle jobs: {sum(found.values()):.2%} of a processor ({each})", flush=True)
        for kind, held in vitals_of(node).items():
            print(f"  {kind}: {held}")


if __name__ == "__main__":
    main()
