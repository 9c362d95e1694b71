"""What explains a slow or failed job: attempts, failures, metrics over time, its text and its plan."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from attrs import evolve

from seatunnel_core.errors import PlatformError, UsageError
from seatunnel_core.reporting.series import COLUMNS
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.peers import Line
from seatunnel_core.server.description import Description, shown_at_end
from seatunnel_core.server.rest import job_details, jobs, node_details
from seatunnel_core.server.rest.route import Route
from seatunnel_core.server.state.records import KEPT_ATTEMPTS, EndedJob, JobRecord, JobState, PastAttempt, with_attempt
from tests.server.rest.test_jobs import an_end, with_history
from tests.server.test_rest import ask, config_of, leading

SECRET_JOB = """
# the password is hunter2
env { job.mode = BATCH, job.name = nightly }
source { Jdbc { url = "jdbc:mysql://u:pw1@db/shop", password = "hunter2", user = ${USER_OF_DB}, query = "select 1" } }
sink { Console { } }
"""


def conforms(routes: Sequence[Route], path: str, answer: Any) -> None:
    jsonschema.validate(answer, next(route.answer for route in routes if route.path == path))


def test_an_ended_job_shows_its_attempts_and_failures(tmp_path: Path) -> None:
    agent = with_history(tmp_path, 2)
    assert agent.state is not None
    lost = PastAttempt(attempt=1, host="a:1", started_at=1.0, ended_at=5.5, cause="the node a:1 was lost")
    failed = PastAttempt(attempt=2, host="b:1", started_at=6.0, ended_at=9.0, cause="it broke")
    agent.state._history["1"] = evolve(an_end(1, JobState.FAILED), past=(lost, failed))
    job = ask(agent, "GET", "/job-info/1")[1]
    conforms(jobs.ROUTES, "/job-info/{job_id}", job)
    assert [(each["attempt"], each["host"], each["cause"]) for each in job["attemptHistory"]] == [
        (1, "a:1", "the node a:1 was lost"),
        (2, "b:1", "it broke"),
    ]
    assert (job["attemptHistory"][0]["startTimestamp"], job["attemptHistory"][0]["endTimestamp"]) == (1_000, 5_500)
    assert job["failures"] == [
        {"pipelineId": 1, "timestamp": 1_700_000_000_000, "message": "it broke", "code": "ROW-ERROR"}
    ]
    assert job["finishTimestamp"] - job["createTimestamp"] == 5_000


def test_a_running_job_shows_where_it_runs_since_when(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    assert agent.state is not None
    record = JobRecord(
        job_id="7", name="n", text=SECRET_JOB, format="hocon", submitted_at=1.0, since=2.0, host="a:1", attempt=3,
        placed_at=8.0, state=JobState.RUNNING,
        past=(PastAttempt(attempt=2, host="b:1", started_at=0.0, ended_at=7.0, cause="gone"),),
    )  # fmt: skip
    asyncio.run(agent.leadership.change(lambda: agent.require_state().put(record)))
    job = ask(agent, "GET", "/job-info/7")[1]
    conforms(jobs.ROUTES, "/job-info/{job_id}", job)
    assert job["attemptHistory"] == [
        {"attempt": 2, "host": "b:1", "startTimestamp": None, "endTimestamp": 7_000, "cause": "gone"},
        {"attempt": 3, "host": "a:1", "startTimestamp": 8_000, "endTimestamp": None, "cause": ""},
    ]
    text = ask(agent, "GET", "/jobs/text/7")[1]["text"]
    for secret in ("hunter2", "pw1"):
        assert secret not in text
    assert 'user = "${USER_OF_DB}"' in text
    assert 'query = "select 1"' in text


def test_records_keep_attempts_and_read_those_of_earlier_versions() -> None:
    one = PastAttempt(attempt=1, host="a:1", started_at=1.0, ended_at=2.0, cause="x")
    record = JobRecord(
        job_id="1", name="", text="", format="json", submitted_at=1.0, since=1.0, placed_at=3.0, past=(one,)
    )
    read = JobRecord.from_bytes(record.to_bytes())
    assert (read.placed_at, read.past) == (3.0, (one,))
    ended = evolve(an_end(1), past=(one,))
    assert EndedJob.from_bytes(ended.to_bytes()) == ended
    many: tuple[PastAttempt, ...] = ()
    for number in range(KEPT_ATTEMPTS + 5):
        many = with_attempt(many, evolve(one, attempt=number))
    assert (len(many), many[-1].attempt) == (KEPT_ATTEMPTS, KEPT_ATTEMPTS + 4)


def test_metrics_over_time_come_from_the_host_and_after_the_end_from_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = with_history(tmp_path, 2)
    found = ask(agent, "GET", "/jobs/metrics/1")[1]
    conforms(job_details.ROUTES, "/jobs/metrics/{job_id}", found)
    assert (found["columns"], found["points"]) == (["timestamp"], [[1_700_000_000_000]])
    assert ask(agent, "GET", "/jobs/metrics/1?since=1700000000001")[1]["points"] == []
    record = JobRecord(
        job_id="7", name="n", text="{}", format="json", submitted_at=1.0, since=2.0, host="a:1", attempt=1
    )
    asyncio.run(agent.leadership.change(lambda: agent.require_state().put(record)))
    asked: list[Any] = []

    async def answer(member: str, line: Line, job_id: str, request: Any) -> Any:
        asked.append((member, line, job_id, request))
        return {"columns": list(COLUMNS), "points": [[5_000, 1, 2, 3, 4, 5, 6]], "pipelines": []}

    monkeypatch.setattr(agent.running, "ask", answer)
    found = ask(agent, "GET", "/jobs/metrics/7?pipelineId=2&since=4000&points=10")[1]
    conforms(job_details.ROUTES, "/jobs/metrics/{job_id}", found)
    assert found["points"] == [[5_000, 1, 2, 3, 4, 5, 6]]
    request = {"do": "series", "pipeline": 2, "since_s": 4.0, "most": 10}
    assert asked == [("a:1", Line.MONITORING, "7", request)]

    async def silent(*_: Any) -> Any:
        raise UsageError("the job does not run")

    monkeypatch.setattr(agent.running, "ask", silent)
    assert ask(agent, "GET", "/jobs/metrics/7")[1]["points"] == []
    assert ask(agent, "GET", "/jobs/plan/7")[1]["plan"] is None
    for path in ("/jobs/metrics/nobody", "/jobs/text/nobody", "/jobs/plan/nobody"):
        assert ask(agent, "GET", path)[0] == 404
    assert ask(agent, "GET", "/jobs/metrics/7?points=1001")[0] == 400


def test_the_history_keeps_short_texts() -> None:
    assert '"text":"env' in shown_at_end(Description(text="env {}"), None)
    assert "xxx" not in shown_at_end(Description(text="x" * 5_000), None)


def test_jobs_are_searched_and_sorted(tmp_path: Path) -> None:
    agent = with_history(tmp_path, 45)
    names = [job["jobName"] for job in ask(agent, "GET", "/finished-jobs?search=JOB%201")[1]]
    assert names == ["job 1", *(f"job {number}" for number in range(10, 20))]
    page = ask(agent, "GET", "/finished-jobs?search=job%201&page=1&rows=2&sort=rowsRead&order=desc")[1]
    assert ([job["jobName"] for job in page["data"]], page["total"]) == (["job 19", "job 18"], 11)
    failed = ask(agent, "GET", "/finished-jobs/FAILED?sort=jobName&search=4")[1]
    assert [job["jobName"] for job in failed] == ["job 41"]
    assert ask(agent, "GET", "/finished-jobs?search=nobody&page=1")[1] == {"data": [], "total": 0}
    assert ask(agent, "GET", "/running-jobs?sort=duration")[1] == []
    for job_id in ("b", "a"):
        asyncio.run(agent.leadership.change(agent.require_state().put, _waiting(job_id)))
    assert [job["jobId"] for job in ask(agent, "GET", "/running-jobs/summary?sort=jobId")[1]] == ["a", "b"]
    for query in ("sort=colour", "order=up", f"search={'x' * 201}"):
        assert ask(agent, "GET", f"/finished-jobs?{query}")[0] == 400
    assert ask(agent, "GET", "/running-jobs?sort=duration")[0] == 400, "it has not ended"


def _waiting(job_id: str) -> JobRecord:
    return JobRecord(job_id=job_id, name="n", text="{}", format="json", submitted_at=1.0, since=1.0)


def test_a_node_is_shown_with_its_configuration_and_without_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/seatunnel.yaml").write_text(
        "seatunnel:\n  engine:\n    http:\n      enable-http: true\n      enable-basic-auth: true\n"
        "      basic-auth-password: hunter2\n"
        "      users: [{username: eve, password: pw-of-eve, permissions: [look]}]\n"
    )
    (tmp_path / "config/cluster.secret").write_text("a-long-secret-of-the-cluster" * 2)
    (tmp_path / "config/cluster.secret").chmod(0o600)
    agent = leading(tmp_path, config_of(tmp_path))
    login: dict[str, Any] = {"authorization": "Basic YWRtaW46aHVudGVyMg=="}
    status, node, _ = ask(agent, "GET", "/nodes/127.0.0.1:1", **login)
    assert status == 200
    conforms(node_details.ROUTES, "/nodes/{address}", node)
    written = str(node)
    for secret in ("hunter2", "pw-of-eve", "a-long-secret-of-the-cluster"):
        assert secret not in written
    options = {each["key"]: each for each in node["configuration"]}
    assert (options["http.enable-http"]["value"], options["http.enable-http"]["isSet"]) == ("true", True)
    assert node["leads"] is True
    assert any(name == "process_resident_memory_bytes" for name, *_ in node["metrics"])
    assert ask(agent, "GET", "/nodes/127.0.0.1:9", **login)[0] == 404
    _asks_others(agent, login, monkeypatch)


def _asks_others(agent: Agent, login: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    agent.leadership.joined("127.0.0.1:2", works=True)
    thread = {"threadName": "t", "threadId": 1, "threadState": "RUNNABLE", "stackTrace": "", "process": "host 9"}

    slow = True

    async def answer(address: str, line: Line, target: str, body: Any) -> Any:
        assert (address, line, target) == ("127.0.0.1:2", Line.MONITORING, "/internal/v1/node")
        if body["what"] == "details":
            await asyncio.sleep(60 if slow else 0)
            raise PlatformError("an earlier version has no such path")
        return {"found": [thread]}

    monkeypatch.setattr(agent.peers, "ask", answer)
    dump = ask(agent, "GET", "/thread-dump?node=127.0.0.1:2", **login)[1]
    conforms(node_details.ROUTES, "/thread-dump", dump)
    assert dump == [thread]
    with monkeypatch.context() as hurried:
        hurried.setattr(Line, "answer_s", 0.1)
        status, refused, _ = ask(agent, "GET", "/nodes/127.0.0.1:2", **login)
    assert (status, refused["code"]) == (503, "timeout")
    slow = False
    status, refused, _ = ask(agent, "GET", "/nodes/127.0.0.1:2", **login)
    assert (status, refused["code"]) == (503, "unreachable")
