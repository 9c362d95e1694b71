"""Jobs on the hosts of all members, and in hosts of their own, with real processes."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.command import column, fake_source, job, parquet_sink
from tests.server.nodes import Node, some_nodes, until
from tests.server.test_single_node import ROWS, slow_job
from tests.server.test_two_masters import both_ready

pytestmark = [pytest.mark.spark, pytest.mark.torture, pytest.mark.timeout(900)]


def where(nodes: list[Node], job_id: str) -> Node:
    """Return the node whose host has a job, by the log of the leader that gave it."""
    lines = [line for node in nodes for line in node.log().splitlines() if f" of job {job_id} starts on " in line]
    return next(node for node in nodes if max(lines).endswith(node.address))


def attempts(nodes: list[Node], job_id: str) -> int:
    """Return how many attempts of a job were started."""
    return sum(node.log().count(f" of job {job_id} starts on ") for node in nodes)


def placed_on(node: Node, nodes: list[Node], folder: Path, **more: Any) -> str:
    """Submit jobs until one is on a node, and return its id."""
    for number in range(2):
        job_id = f"{node.port}{number}"
        node.submit(slow_job(folder / job_id, **more), job_id)
        node.wait_rows(job_id)
        if where(nodes, job_id) is node:
            return job_id
    raise AssertionError("the jobs are not spread")


@pytest.mark.parametrize("how", ["agent", "all"])
def test_jobs_of_other_nodes_never_pause_when_the_leader_dies(tmp_path: Path, how: str) -> None:
    with some_nodes(tmp_path, 2) as nodes:
        leader, standby = both_ready(nodes)
        kept = placed_on(standby, nodes, tmp_path, rows_per_second=20)
        lost = placed_on(leader, nodes, tmp_path, rows_per_second=20)
        leader.kill_agent() if how == "agent" else leader.kill()
        until("the standby leads", standby.leads)
        assert standby.wait_end(kept)["jobStatus"] == "FINISHED"
        assert standby.wait_end(lost)["jobStatus"] == "FINISHED"
        assert attempts(nodes, kept) == 1
        assert attempts(nodes, lost) == 2
        for job_id in (kept, lost):
            assert column(tmp_path / job_id, "id") == list(range(1, ROWS + 1))


@pytest.mark.long
def test_an_agent_that_is_started_again_has_its_host_adopted(tmp_path: Path) -> None:
    """A standby's agent dies and returns before its member counts as lost: no attempt is repeated. One that returns
    later finds its jobs with others, and its host is cleared of them."""
    with some_nodes(tmp_path, 2) as nodes:
        leader, standby = both_ready(nodes)
        job_id = placed_on(standby, nodes, tmp_path, rows_per_second=10)
        host = standby.wait_ready()
        before = attempts(nodes, job_id)
        standby.kill_agent()
        until("its job is elsewhere", lambda: attempts(nodes, job_id) > before and where(nodes, job_id) is leader)
        standby.start()
        assert standby.wait_ready() == host, "the host is adopted"
        assert leader.wait_end(job_id)["jobStatus"] == "FINISHED"
        assert column(tmp_path / job_id, "id") == list(range(1, ROWS + 1))
        log = (tmp_path / f"logs/job-{job_id}.log").read_text()
        assert "attempt 2: FINISHED" in log


@pytest.mark.long
def test_a_cancelled_job_of_a_lost_node_is_taken_over_and_ends(tmp_path: Path) -> None:
    with some_nodes(tmp_path, 2) as nodes:
        leader, standby = both_ready(nodes)
        job_id = placed_on(standby, nodes, tmp_path, rows_per_second=5)
        assert standby.agent is not None
        os.kill(standby.agent.pid, 19)
        leader.ask("POST", "/stop-job", {"jobId": job_id})
        began = time.monotonic()
        assert leader.wait_end(job_id)["jobStatus"] == "CANCELED"
        print(f"cancelled after {time.monotonic() - began:.1f} s")
        assert time.monotonic() - began < 60
        os.kill(standby.agent.pid, 18)
        until("the host is cleared of it", lambda: "CANCELED" in leader.job(job_id)["jobStatus"])


@pytest.mark.long
def test_a_job_with_options_for_spark_has_a_host_of_its_own_that_ends_with_it(tmp_path: Path) -> None:
    with some_nodes(tmp_path) as (node,):
        node.start()
        node.wait_ready()
        shared = node.host()["pid"]
        own = slow_job(tmp_path / "own").replace("job.mode", "spark.sql.shuffle.partitions = 3, job.mode", 1)
        alone = slow_job(tmp_path / "alone", rows_per_second=5).replace("job.mode", "isolation = process, job.mode", 1)
        node.submit(own, "1")
        node.submit(alone, "2")
        node.submit(slow_job(tmp_path / "with others"), "3")
        for job_id in "123":
            node.wait_rows(job_id)
        assert len(list(node.cluster.run.glob("seatunnel/hosts/*.sock"))) == 3
        node.kill_agent()
        node.start()
        assert node.wait_ready() == shared
        assert node.job("1")["jobStatus"] == "RUNNING"
        for job_id in "13":
            assert node.wait_end(job_id)["jobStatus"] == "FINISHED"
        node.ask("POST", "/stop-job", {"jobId": "2"})
        assert node.wait_end("2")["jobStatus"] == "CANCELED"
        until("only the shared host is there", lambda: len(list(node.cluster.run.glob("seatunnel/hosts/*.sock"))) == 1)
        assert node.host()["pid"] == shared
        assert [attempts([node], job_id) for job_id in "123"] == [1, 1, 1]
        for name in ("own", "with others"):
            assert column(tmp_path / name, "id") == list(range(1, ROWS + 1))


@pytest.mark.long
def test_a_job_that_ends_its_hosts_takes_others_down_twice_and_fails(tmp_path: Path) -> None:
    with some_nodes(tmp_path) as (node,):
        (tmp_path / "poison.py").write_text("import os, signal\n\nos.kill(os.getpid(), signal.SIGKILL)\n")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", str(tmp_path))
            node.start()
        node.wait_ready()
        good = slow_job(tmp_path / "good", rows_per_second=5)
        node.submit(good, "good")
        node.wait_rows("good")
        ending = 'Python { plugin_input = "numbers", plugin_output = "gone", function = "poison:end" }'
        bad = job("job.mode = BATCH", [fake_source("numbers", rows=ROWS)], [parquet_sink("gone", tmp_path / "bad")])
        bad = bad.replace("sink {", f"transform {{ {ending} }}\nsink {{", 1)
        node.submit(bad, "bad")
        ended = node.wait_end("bad")
        assert ended["jobStatus"] == "FAILED", ended
        assert "6 consecutive worker processes ended" in ended["errorMsg"]
        assert "job-bad.log" in ended["errorMsg"]
        assert attempts([node], "good") <= 4  # twice with the bad one, and once back from a host of its own
        assert node.wait_end("good")["jobStatus"] == "FINISHED"
        assert column(tmp_path / "good", "id") == list(range(1, ROWS + 1))


def test_slots_are_counted_over_the_cluster_and_come_back(tmp_path: Path) -> None:
    """A job of parallelism 1 holds two; one that finds none waits, and says why."""
    with some_nodes(tmp_path) as (node,):
        with (tmp_path / "config/seatunnel.yaml").open("a") as file:
            file.write("    slot-service: {dynamic-slot: false, slot-num: 4}\n    job-schedule-strategy: WAIT\n")
        node.start()
        node.wait_ready()

        def slots() -> tuple[str, str]:
            overview = node.ask("GET", "/overview")[1]
            return overview["totalSlot"], overview["unassignedSlot"]

        assert until("slots are known", lambda: (found := slots()) != ("0", "0") and found) == ("4", "4")
        for job_id in "123":
            node.submit(slow_job(tmp_path / job_id, rows_per_second=40), job_id)
        until("two run", lambda: slots() == ("4", "0"))
        waiting = until("the third waits", lambda: [each for each in map(node.job, "123") if "pendingReason" in each])
        assert [each["pendingReason"] for each in waiting] == ["it needs 2 slots, but only 0 of 4 are free"]
        assert [each["jobStatus"] for each in waiting] == ["PENDING"]
        host = node.kill_host()
        node.wait_ready(other_than=host)
        for job_id in "123":
            assert node.wait_end(job_id)["jobStatus"] == "FINISHED"
            assert column(tmp_path / job_id, "id") == list(range(1, ROWS + 1))
        assert slots() == ("4", "4")
        assert node.ask("GET", "/overview?zone=a")[1]["totalSlot"] == "0"
        assert node.ask("POST", "/update-tags", {"zone": "a"})[1]["status"] == "success"
        until("the tag is known", lambda: node.ask("GET", "/overview?zone=a")[1]["totalSlot"] == "4")
        empty = {"status": "fail", "message": "Request body is empty.", "code": "empty_body"}
        assert node.ask("POST", "/update-tags", "") == (400, empty)
