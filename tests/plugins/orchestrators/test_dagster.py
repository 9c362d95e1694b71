"""Assets of the real Dagster with jobs of a real cluster: materialized, followed, cancelled, and tried again."""

import itertools
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.control.cluster_jobs import stable_job_id
from tests.plugins.orchestrators.conftest import Rest
from tests.plugins.orchestrators.jobs import ROWS, copying, failing, shown
from tests.plugins.orchestrators.player import Player, wait_for
from tests.runtime.command import column
from tests.server.nodes import Node, until

pytestmark = [pytest.mark.orchestrators, pytest.mark.xdist_group("orchestrators")]

NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def dagster(rest: Rest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Player]:
    environment = {
        "DAGSTER_DISABLE_TELEMETRY": "1",
        "SEATUNNEL_PASSWORD": rest.password,
        "SSL_CERT_FILE": str(rest.ca_file),
    }
    player = Player("dagster_player.py", tmp_path_factory.mktemp("dagster"), environment)
    yield player
    player.close()


@pytest.fixture
def run(rest: Rest, nodes: list[Node]) -> dict[str, Any]:
    """What a player is asked for the retry of a run."""
    assert len(rest.addresses) == len(nodes)
    return {"nodes": addresses_of(rest), "asset": "orders", "run": f"run-{next(NUMBERS)}"}


def addresses_of(rest: Rest) -> list[str]:
    return [f"https://{address}" for address in rest.addresses]


@pytest.fixture
def job_id(run: dict[str, Any]) -> str:
    """The id of its job."""
    return stable_job_id("dagster", "orders", run["run"])


def test_a_job_makes_an_asset_whose_metadata_says_what_it_moved(
    nodes: list[Node], dagster: Player, tmp_path: Path, run: dict[str, Any], job_id: str
) -> None:
    made = dagster.run(**run, job=copying(tmp_path / "out", rows_per_second=40))
    assert made["success"], dagster.said()[-3000:]
    metadata = made["metadata"]
    assert (metadata["job_id"], metadata["rows_read"], metadata["rows_committed"]) == (job_id, ROWS, ROWS)
    assert metadata["last_checkpoint"] >= 1
    assert "RUNNING: " in dagster.said()
    assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))

    finished = nodes[0].job(job_id)["finishTime"]
    assert dagster.run(**run, job=copying(tmp_path / "out"))["metadata"]["rows_committed"] == ROWS
    assert "has finished already" in dagster.said()
    assert nodes[0].job(job_id)["finishTime"] == finished


def test_the_definitions_of_the_page_and_its_component_make_their_assets(
    rest: Rest, dagster: Player, tmp_path: Path, run: dict[str, Any]
) -> None:
    addresses = ", ".join(f'"{address}"' for address in addresses_of(rest))
    files = {
        "code/definitions.py": shown("definitions.py").replace('"node1:8080", "node2:8080"', addresses),
        "code/orders.conf": shown("orders.conf").replace("/data", f"{tmp_path}/by_code"),
        "project/pyproject.toml": '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "shop"\n',
        "project/shop/__init__.py": "",
        "project/shop/defs/__init__.py": "",
        "project/shop/defs/orders/defs.yaml": shown("defs.yaml"),
        "project/shop/defs/orders/orders.conf": shown("orders.conf").replace("/data", f"{tmp_path}/by_component"),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    by_code = dagster.run(run=None, definitions=str(tmp_path / "code/definitions.py"))
    assert (by_code["success"], by_code["metadata"]["rows_committed"]) == (True, 1000), dagster.said()[-3000:]
    by_component = dagster.run(**run, component=str(tmp_path / "project"))
    assert (by_component["success"], by_component["metadata"]["rows_committed"]) == (True, 1000), dagster.said()[-3000:]


def test_each_run_and_each_partition_has_a_job_of_its_own(dagster: Player, tmp_path: Path, run: dict[str, Any]) -> None:
    days = ["2026-01-31", "2026-02-01"]
    asked = [{**run, "partitions": days, "partition": day} for day in days] + [{**run, "run": None}] * 2
    ids = set()
    for number, each in enumerate(asked):
        target = tmp_path / ("${partition}" if "partition" in each else str(number))
        made = dagster.run(**each, job=copying(target))
        assert made["success"], dagster.said()[-3000:]
        ids.add(made["metadata"]["job_id"])
    assert len(ids) == 4
    assert {each.name for each in tmp_path.iterdir()} >= {*days, "2", "3"}


def test_a_job_that_runs_already_is_followed(
    nodes: list[Node], dagster: Player, tmp_path: Path, run: dict[str, Any], job_id: str
) -> None:
    endless = copying(tmp_path / "out", mode="STREAMING")
    nodes[0].submit(endless, job_id)
    nodes[0].wait_rows(job_id, least=ROWS)
    dagster.begin(**run, job=endless)
    wait_for(dagster, "already exists and is monitored")
    wait_for(dagster, f"RUNNING: {ROWS} rows read")
    nodes[0].ask("POST", "/stop-job", {"jobId": job_id, "isStopWithSavePoint": True})
    assert not dagster.result()["success"]
    assert f"the job {job_id} was stopped with a savepoint" in dagster.said()
    assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


def test_a_job_that_failed_goes_on_when_the_step_is_tried_again_and_the_error_is_that_of_the_job(
    dagster: Player, tmp_path: Path, run: dict[str, Any], job_id: str
) -> None:
    assert not dagster.run(**run, job=failing(tmp_path / "out"), retries=1)["success"]
    said = dagster.said()
    assert said.count(f"SeaTunnel job {job_id} is submitted") == 1
    assert said.count(f"SeaTunnel job {job_id} ended before it was complete, and resumes") == 1
    assert f"the job {job_id} failed: pipeline 1" in said
    assert "MAX_ROW" in said


def test_a_job_that_is_refused_fails_without_another_try(
    nodes: list[Node], dagster: Player, tmp_path: Path, run: dict[str, Any], job_id: str
) -> None:
    assert not dagster.run(**run, job=copying(tmp_path / "out").replace("BATCH", "BATHC"), retries=1)["success"]
    assert "BATHC" in dagster.said()
    assert "STEP_RESTARTED" not in dagster.said()
    assert "jobStatus" not in nodes[0].job(job_id)


def test_a_run_that_is_terminated_cancels_its_job_and_the_next_one_goes_on(
    nodes: list[Node], dagster: Player, tmp_path: Path, run: dict[str, Any], job_id: str
) -> None:
    dagster.begin(**run, job=copying(tmp_path / "out", rows_per_second=3))
    nodes[0].wait_rows(job_id)
    dagster.send(signal.SIGINT)  # as Dagster's own processes take SIGTERM
    assert not dagster.result()["success"]
    assert nodes[0].wait_end(job_id)["jobStatus"] == "CANCELED"
    assert dagster.run(**run, job=copying(tmp_path / "out"))["success"]
    assert "resumes from its last checkpoint" in dagster.said()
    assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


def test_a_job_that_takes_too_long_is_cancelled(
    nodes: list[Node], dagster: Player, tmp_path: Path, run: dict[str, Any], job_id: str
) -> None:
    assert not dagster.run(**run, job=copying(tmp_path / "out", rows_per_second=2), timeout_s=7.5)["success"]
    assert f"the job {job_id} took longer than 7.5 s: RUNNING" in dagster.said()
    assert nodes[0].wait_end(job_id)["jobStatus"] == "CANCELED"


def test_a_leader_that_dies_is_no_reason_to_give_up(
    nodes: list[Node], dagster: Player, tmp_path: Path, run: dict[str, Any], job_id: str
) -> None:
    leader = nodes[0].cluster.leader()
    (other,) = (node for node in nodes if node is not leader)
    dagster.begin(**run, job=copying(tmp_path / "out", rows_per_second=5))
    other.wait_rows(job_id)
    wait_for(dagster, "RUNNING: ")
    leader.kill()
    until("another node leads", other.leads)
    try:
        assert dagster.result()["metadata"]["rows_committed"] == ROWS, dagster.said()[-3000:]
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))
    finally:
        leader.start()
        leader.wait_ready()
