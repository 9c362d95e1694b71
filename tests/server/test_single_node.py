"""A cluster of one node, as processes: whatever is killed, its job goes on, and its rows come once."""

import os
import signal
from pathlib import Path

import pytest

from tests.runtime.command import column, fake_source, job, parquet_sink
from tests.server.nodes import Node, some_nodes, until

pytestmark = pytest.mark.spark

ROWS = 400


FAILING = """env { job.mode = BATCH }
source { LocalFile { path = "/no/such/folder", file_format_type = json, schema { fields { id = int } } } }
sink { Console { } }
"""
"""A job that can be planned, and fails when it starts."""


def slow_job(target: Path, *, rows_per_second: int = 50) -> str:
    """Return a job whose rows take a while."""
    env = f"job.mode = BATCH, checkpoint.interval = 200, read_limit.rows_per_second = {rows_per_second}"
    return job(env, [fake_source("numbers", rows=ROWS, splits=80)], [parquet_sink("numbers", target)])


@pytest.mark.timeout(600)
def test_agent_and_host_are_killed_and_the_rows_come_once(tmp_path: Path) -> None:
    """The next agent adopts the host that the killed one left, and no attempt is repeated; the next host goes on with
    the job of the killed one from its checkpoint."""
    with some_nodes(tmp_path) as (node,):
        node.start()
        host = node.wait_ready()
        node.submit(slow_job(tmp_path / "out", rows_per_second=15), "4711")
        node.wait_rows("4711")

        node.kill_agent()
        node.start()
        assert node.wait_ready() == host
        assert "adopted worker process" in node.log()
        assert node.job("4711")["jobStatus"] == "RUNNING"
        (pipeline,) = until("the host shows its pipelines", lambda: node.job("4711").get("pipelines"))
        assert pipeline["rows"] > 0
        assert node.log().count("attempt 1 of job 4711") == 1

        assert node.kill_host() == host
        node.wait_ready(other_than=host)
        ended = node.wait_end("4711")
        assert ended["jobStatus"] == "FINISHED", ended
        assert "attempt 2 of job 4711" in node.log()
        assert "attempt 3 of job 4711" not in node.log()
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))
        log = (tmp_path / "logs/job-4711.log").read_text()
        assert "attempt 1 is running" in log
        assert "attempt 2: FINISHED" in log


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_everything_is_killed_at_once_and_jobs_and_history_come_back(tmp_path: Path) -> None:
    with some_nodes(tmp_path) as (node,):
        node.start()
        node.wait_ready()
        node.submit(slow_job(tmp_path / "first", rows_per_second=100_000), "1")
        assert node.wait_end("1")["jobStatus"] == "FINISHED"
        for number in ("2", "3"):
            node.submit(slow_job(tmp_path / number), number)
        node.wait_rows("2")
        node.wait_rows("3")
        node.kill()
        node.start()
        node.wait_ready()
        assert node.job("1")["jobStatus"] == "FINISHED"
        for number in ("2", "3"):
            assert node.wait_end(number)["jobStatus"] == "FINISHED"
            assert column(tmp_path / number, "id") == list(range(1, ROWS + 1))


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_a_host_whose_jvm_is_killed_is_replaced_and_no_job_fails(tmp_path: Path) -> None:
    with some_nodes(tmp_path) as (node,):
        node.start()
        node.wait_ready()
        node.submit(slow_job(tmp_path / "out"), "1")
        node.wait_rows("1")
        host = node.wait_ready()
        jvms = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if is_jvm_of(path, host)]
        assert len(jvms) == 1
        os.kill(jvms[0], signal.SIGKILL)
        node.wait_ready(other_than=host)
        ended = node.wait_end("1")
        assert ended["jobStatus"] == "FINISHED", ended
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


def is_jvm_of(path: Path, session: int) -> bool:
    """Return whether a process is a JVM of a session."""
    try:
        fields = path.with_name("stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return int(fields[3]) == session and b"SparkSubmit" in path.read_bytes()
    except OSError:
        return False


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_a_stopped_node_goes_on_with_its_jobs_when_it_starts_again(tmp_path: Path) -> None:
    with some_nodes(tmp_path) as (node,):
        node.start()
        node.wait_ready()
        node.submit(slow_job(tmp_path / "out"), "1")
        node.wait_rows("1")
        assert node.agent is not None
        node.agent.terminate()
        assert node.agent.wait(120) == 0
        assert not list(node.cluster.run.glob("seatunnel/*/*"))
        node.start()
        assert node.wait_end("1")["jobStatus"] == "FINISHED"
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_requests_of_users_are_carried_out(tmp_path: Path) -> None:
    """Submit, cancel, savepoint, go on from it, fail, and what is refused."""
    with some_nodes(tmp_path) as (node,):
        node.start()
        node.wait_ready()
        node.submit(slow_job(tmp_path / "out"), "1")
        node.submit(slow_job(tmp_path / "out"), "1")
        node.wait_rows("1")
        assert node.ask("POST", "/stop-job", {"jobId": 1, "isStopWithSavePoint": True}) == (200, {"jobId": "1"})
        assert node.wait_end("1")["jobStatus"] == "SAVEPOINT_DONE"
        assert node.ask("POST", "/submit-job?jobId=1&format=hocon", slow_job(tmp_path / "out"))[0] == 500
        target = "/submit-job?jobId=1&format=hocon&isStartWithSavePoint=true"
        assert node.ask("POST", target, slow_job(tmp_path / "out", rows_per_second=100_000))[0] == 200
        assert node.wait_end("1")["jobStatus"] == "FINISHED"
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))

        node.submit(slow_job(tmp_path / "two"), "2")
        node.wait_rows("2")
        node.ask("POST", "/stop-job", {"jobId": "2"})
        assert node.wait_end("2")["jobStatus"] == "CANCELED"

        unknown = slow_job(tmp_path / "three").replace("FakeSource {", "NoSuchSource {")
        status, refused = node.ask("POST", "/submit-job?jobId=4&format=hocon", unknown)
        assert (status, refused["code"]) == (400, "config_error")
        assert "NoSuchSource" in refused["message"]
        node.submit(FAILING, "3")
        ended = node.wait_end("3")
        assert ended["jobStatus"] == "FAILED"
        assert "/no/such/folder" in ended["errorMsg"]

        overview = node.ask("GET", "/overview")[1]
        assert (overview["finishedJobs"], overview["cancelledJobs"]) == ("1", "1")
        states = {job["jobId"]: job["jobStatus"] for job in node.ask("GET", "/finished-jobs")[1]}
        assert states == {"1": "FINISHED", "2": "CANCELED", "3": "FAILED"}
        assert [job["jobId"] for job in node.ask("GET", "/finished-jobs/failed")[1]] == ["3"]
        ask_in_vain(node)


def ask_in_vain(node: Node) -> None:
    """For jobs that are not there, and with requests that cannot be understood."""
    assert node.ask("GET", "/finished-jobs/nonsense") == (200, [])
    assert node.ask("GET", "/running-jobs") == (200, [])
    assert node.ask("GET", "/job-info/99") == (200, {"jobId": "99"})
    assert node.ask("POST", "/stop-job", {"jobId": 99}) == (200, {"jobId": "99"})
    restore = "/submit-job?isStartWithSavePoint=true"
    for target, body, message, code in (
        ("/stop-job", {}, "jobId cannot be empty.", "missing_job_id"),
        ("/stop-job", "", "Request body is empty.", "empty_body"),
        ("/stop-job", "{", "Invalid JSON format in request body.", "invalid_json"),
        ("/submit-job", "", "Request body is empty.", "empty_body"),
        (restore, "{}", "Please provide jobId when start with save point.", "missing_job_id"),
    ):
        assert node.ask("POST", target, body) == (400, {"status": "fail", "message": message, "code": code})
    assert node.ask("POST", "/submit-job", "{not json")[0] == 400
    assert node.ask("POST", "/submit-job", "{}")[0] == 400
    assert node.ask("POST", "/submit-job?jobId=../x", "{}")[0] == 400
