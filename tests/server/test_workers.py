"""Masters without executors and workers without state, as processes: whatever is killed, jobs go on, rows come once."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.runtime.command import column
from tests.server.nodes import Node, masters_and_workers, until
from tests.server.test_single_node import ROWS, slow_job

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

EXECUTOR, SPARK_MASTER, SPARK_WORKER = "CoarseGrainedExecutorBackend", "deploy.master.Master", "deploy.worker.Worker"
PYTHON = "-m seatunnel_executor_daemon"


@contextmanager
def running(folder: Path, masters: int = 1, workers: int = 1) -> Iterator[tuple[list[Node], list[Node]]]:
    """Give nodes that are all started, with a warm host on each master."""
    with masters_and_workers(folder, masters, workers) as (leading, working):
        for node in (*leading, *working):
            node.start()
        for node in leading:
            node.wait_ready()
        yield leading, working


def test_a_job_runs_on_workers_alone(tmp_path: Path) -> None:
    with running(tmp_path) as ((master,), (worker,)):
        worker.submit(slow_job(tmp_path / "out"), "1")
        worker.wait_rows("1")
        on_master, on_worker = master.processes().values(), worker.processes().values()
        assert not [each for each in on_master if EXECUTOR in each or PYTHON in each or "-m pyspark" in each]
        assert any(EXECUTOR in each for each in on_worker)
        assert any(PYTHON in each for each in on_worker)
        secret = (tmp_path / "config/cluster.secret").read_text()
        assert not [each for each in (*on_master, *on_worker) if secret in each or "authenticate.secret" in each]
        assert master.ask("GET", "/overview")[1]["workers"] == "1"
        assert worker.wait_end("1")["jobStatus"] == "FINISHED"
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


def kill_one(node: Node, text: str) -> None:
    """Kill the one process of a node whose command line has a text."""
    (pid,) = node.pids(text)
    os.kill(pid, signal.SIGKILL)


def goes_on(master: Node, what: str, *, within_s: float) -> None:
    """Wait until the job commits further rows than what was under way."""
    before, began = master.committed("1"), time.monotonic()
    until(f"rows are committed after the loss of {what}", lambda: master.committed("1") >= before + 12, wait_s=within_s)
    print(f"killed: {what}; 12 more rows are committed after {time.monotonic() - began:.1f} s")


@pytest.mark.torture
def test_whatever_is_killed_the_job_goes_on_and_its_rows_come_once(tmp_path: Path) -> None:
    with running(tmp_path) as ((master,), (worker,)):
        host = master.host()["pid"]
        master.submit(slow_job(tmp_path / "out", rows_per_second=4), "1")
        master.wait_rows("1")

        kill_one(worker, EXECUTOR)
        goes_on(master, "the executor", within_s=60)

        kill_one(worker, SPARK_WORKER)
        goes_on(master, "the Spark worker", within_s=60)

        kill_one(master, SPARK_MASTER)
        goes_on(master, "the Spark master", within_s=60)
        until("the Spark master is there again", lambda: master.pids(SPARK_MASTER))
        kill_one(worker, EXECUTOR)  # the new Spark master orders another one
        goes_on(master, "the Spark master, then the executor", within_s=60)

        worker.kill_agent()
        until("nothing is left of the worker", lambda: not worker.processes())
        worker.start()
        goes_on(master, "the worker's agent", within_s=60)

        master.kill_agent()
        until("the Spark master ends with its agent", lambda: not master.pids(SPARK_MASTER))
        master.start()
        assert master.wait_ready() == host
        assert "attempt 2 of the job 1" not in master.log()
        goes_on(master, "the master's agent", within_s=60)

        kill_one(worker, EXECUTOR)  # the Spark master of the new agent knows the old host
        goes_on(master, "the master's agent, then the executor", within_s=60)

        master.kill_host()
        master.wait_ready(other_than=host)
        goes_on(master, "the host", within_s=60)
        ended = master.wait_end("1")
        assert ended["jobStatus"] == "FINISHED", ended
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


def test_workers_alone_end_after_the_grace(tmp_path: Path) -> None:
    with masters_and_workers(tmp_path, 1, 1) as ((master,), (worker,)):
        with (tmp_path / "config/seatunnel.yaml").open("a") as file:
            file.write("    cluster:\n      worker-grace-seconds: 2\n")
        worker.start()
        assert worker.agent is not None
        assert worker.agent.wait(60) == 1
        assert f"has reached no master of the cluster 'seatunnel' for 2 s, and ends; it tried: {master.address}" in (
            worker.log()
        )
