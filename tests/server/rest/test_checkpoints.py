"""Stored checkpoints, as REST lists, verifies and compares them."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.server.agent import job_storage
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.aside.__main__ import answered
from tests.inspector.conftest import play
from tests.inspector.made import JOB as STORED
from tests.inspector.made import Made, local
from tests.server.test_rest import JOB, ask, config_of, leading

ENGINE = """seatunnel:
  engine:
    checkpoint:
      storage:
        type: hdfs
        plugin-config: {{storage.type: local, namespace: "{folder}/state/"}}
"""


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """One whose checkpoint storage holds a job with six checkpoints."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/seatunnel.yaml").write_text(ENGINE.format(folder=tmp_path))
    with local(tmp_path / "state", retained=10) as storage:
        play(Made(storage=storage, target=tmp_path / "out"))
    return leading(tmp_path, config_of(tmp_path))


def test_stored_checkpoints_are_listed(agent: Agent) -> None:
    status, found, _ = ask(agent, "GET", f"/jobs/checkpoints/{STORED}")
    assert (status, found["jobId"]) == (200, STORED)
    (pipeline,) = found["pipelines"]
    assert (pipeline["pipelineId"], pipeline["title"], pipeline["stored"]) == (1, "flights1 -> out1", 6)
    latest = pipeline["latestCompleted"]
    assert (latest["checkpoint"], latest["checkpointId"], latest["live"]) == ("200000-6", 6, True)
    assert abs(latest["completedTimestamp"] / 1000 - time.time()) < 600
    assert [each["checkpoint"]["checkpoint"] for each in pipeline["history"]] == [
        "200000-6", "200000-5", "200000-3", "100000-4", "100000-2", "100000-1",
    ]  # fmt: skip
    assert pipeline["history"][3]["checkpoint"]["live"] is False
    assert pipeline["counts"] == {"triggered": 6, "completed": 6, "failed": 0, "inProgress": 0, "restored": 0}
    history = ask(agent, "GET", f"/jobs/checkpoints/history/{STORED}?limit=2&pipelineId=1")[1]
    assert len(history) == 2
    assert ask(agent, "GET", f"/jobs/checkpoints/history/{STORED}?status=failed")[1] == []
    assert ask(agent, "GET", f"/jobs/checkpoints/history/{STORED}?pipelineId=2")[1] == []
    assert ask(agent, "GET", f"/jobs/checkpoints/history/{STORED}?limit=x")[0] == 400


def test_a_job_without_checkpoints_has_none_and_one_that_nobody_knows_is_not_found(agent: Agent) -> None:
    ask(agent, "POST", "/submit-job?jobId=7", JOB)
    assert ask(agent, "GET", "/jobs/checkpoints/7")[1]["pipelines"] == []
    assert ask(agent, "GET", "/jobs/checkpoints/history/7")[1] == []
    for job_id, expected in (("8", (404, "not_found")), ("..", (400, "invalid_id")), ("a b", (400, "invalid_id"))):
        status, answer, _ = ask(agent, "GET", f"/jobs/checkpoints/{job_id}")
        assert (status, answer["code"]) == expected, job_id


def test_a_storage_that_does_not_answer_holds_up_nobody_else(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = threading.Event()
    monkeypatch.setattr(job_storage, "ANSWER_S", 0.05)
    monkeypatch.setattr(agent.storage, "_read", lambda *_: hangs.wait(60))
    try:
        status, answer, _ = ask(agent, "GET", f"/jobs/checkpoints/{STORED}")
        assert (status, answer["code"]) == (503, "storage_unavailable")
        monkeypatch.setattr(job_storage, "MOST_WAITING", 1)
        assert ask(agent, "GET", f"/jobs/checkpoints/{STORED}")[1]["code"] == "busy"
        assert ask(agent, "GET", "/overview")[0] == 200
    finally:
        hangs.set()


def asked_aside(tmp_path: Path, what: str, **request: Any) -> Any:
    """Return what a process beside the node answers, without the process."""
    block = {"do": what, "job_id": STORED, "engine_file": str(tmp_path / "config/seatunnel.yaml"), **request}
    return json.loads(json.dumps(answered(block)))


def test_stored_checkpoints_are_verified_and_compared(agent: Agent, tmp_path: Path) -> None:
    assert agent.config.engine_file == tmp_path / "config/seatunnel.yaml"
    found = asked_aside(tmp_path, "verify")["answer"]
    assert [each["restorable"] for each in found["pipelines"]] == ["200000-6"]
    latest_two = {"pipeline": 0, "from": "", "to": ""}
    (compared,) = asked_aside(tmp_path, "compare", **latest_two)["answer"]["pipelines"]
    assert (compared["from"], compared["to"], bool(compared["changes"])) == ("200000-5", "200000-6", True)
    named = asked_aside(tmp_path, "compare", **{"pipeline": 1, "from": "100000-2", "to": "200000-6"})["answer"]
    assert named["pipelines"][0]["from"] == "100000-2"
    for request, told in (
        ({"from": "100000-2"}, "is not a checkpoint"),
        ({"pipeline": 9}, "no pipeline 9"),
        ({"from": "1-1", "to": "200000-6"}, "no checkpoint 1-1"),
        ({"job_id": "nobody"}, "there is no job nobody"),
        ({"job_id": "--help"}, "there is no job --help"),
    ):
        answer = asked_aside(tmp_path, "compare", **{**latest_two, **request})
        assert (answer["code"], told in answer["error"]) == ("USAGE-ERROR", True), answer


@pytest.mark.torture
def test_stored_checkpoints_are_read_in_a_process_beside_the_node(agent: Agent) -> None:
    status, found, _ = ask(agent, "GET", f"/jobs/checkpoints/verify/{STORED}")
    assert (status, found["job_id"]) == (200, STORED)
    status, found, _ = ask(agent, "GET", f"/jobs/checkpoints/compare/{STORED}?pipelineId=1&from=100000-2&to=200000-6")
    assert (status, found["pipelines"][0]["to"]) == (200, "200000-6")
    status, refused, _ = ask(agent, "GET", "/jobs/checkpoints/verify/nobody")
    assert (status, refused["code"]) == (400, "usage_error")
    assert ask(agent, "GET", "/jobs/checkpoints/verify/..")[0] == 400
