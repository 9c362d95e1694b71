"""REST of a node without processes: who is let in, what is refused, and that a job is durable when it is accepted."""

import asyncio
import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core import stored
from seatunnel_core.control.signing import ANSWER, AUTHORIZATION, BOOT, DIGEST, Secret, digest_of
from seatunnel_core.errors import UsageError
from seatunnel_core.server.agent import dispatcher
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.node_config import NodeConfig, node_config
from seatunnel_core.server.agent.peers import LARGEST_BODY
from seatunnel_core.server.aside import __main__ as aside
from seatunnel_core.server.aside.planner import Planner
from seatunnel_core.server.description import Description
from seatunnel_core.server.election import Claim, Look
from seatunnel_core.server.rest.application import application
from seatunnel_core.server.state.records import JobRecord, Requirements
from seatunnel_core.server.submitted_job import SubmittedJob
from seatunnel_core.server.transport.http_config import HttpConfig
from tests.server.rest.asked import answered
from tests.server.state.stores import local_store

SCHEMA = {"fields": {"id": "int"}}
JOB = json.dumps(
    {
        "env": {"job.name": "copy", "job.mode": "BATCH", "checkpoint.interval": 1000},
        "source": [{"plugin_name": "FakeSource", "plugin_output": "f", "row.num": 1, "schema": SCHEMA}],
        "transform": [],
        "sink": [{"plugin_name": "Console", "plugin_input": "f"}],
    }
)


def config_of(folder: Path) -> NodeConfig:
    return node_config(environment={"XDG_STATE_HOME": str(folder), "HOME": str(folder)}, folder=folder)


class HerePlanner(Planner):
    """Plans in this process, and not in one of its own, which would take a second for each loop of events."""

    async def _answer(self, request: bytes) -> Any:
        return aside.answered(stored.parse(request))


def leading(folder: Path, config: NodeConfig) -> Agent:
    """Return an agent that leads, without a host and without its loops.

    The first leader acts at once: it once waited for the end of a lease that nobody had, because a state without a beat
    counted as one whose leader does not act.
    """
    agent = Agent(config, local_store(folder), "127.0.0.1:1")
    agent.planner = HerePlanner(config)
    leadership = agent.leadership
    assert leadership.election.tick(0.0) == [Look()]
    asyncio.run(leadership._look())
    assert leadership.election.tick(1e12) == [Claim()]
    asyncio.run(leadership._claim())
    assert leadership.leads()
    leadership.election.beat_acknowledged(time.monotonic() + 600, 0)  # as beats would, on a machine without time
    return agent


def ask(
    agent: Agent,
    method: str,
    target: str,
    body: str = "",
    *,
    signed: bool = False,
    host: str = "127.0.0.1:8080",
    **headers: Any,
) -> tuple[int, Any, dict[str, str]]:
    """Ask the application as a server would."""
    path, _, query = target.partition("?")
    status, found, content = answered(
        agent, path, method=method, query=query, body=body.encode(), signed=signed, host=host, **headers
    )
    return status, json.loads(content), found


def test_an_accepted_job_is_durable_and_shown_in_the_shapes_of_seatunnel(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    status, answer, _ = ask(agent, "POST", "/submit-job?jobId=7&jobName=nightly", JOB)
    assert (status, answer) == (200, {"jobId": "7", "jobName": "nightly"})
    assert b'"job_id":"7"' in local_store(tmp_path).read()["job/7"]
    job = ask(agent, "GET", "/job-info/7")[1]
    assert (job["jobStatus"], job["envOptions"]["job.name"]) == ("PENDING", "copy")
    assert job["jobDag"]["pipelineEdges"] == {"1": [{"inputVertexId": 1, "targetVertexId": 2}]}
    assert [each["vertexName"] for each in job["jobDag"]["vertexInfoMap"]] == [
        "Source[0]-FakeSource",
        "Sink[0]-Console",
    ]
    assert ask(agent, "GET", "/overview")[1]["pendingJobs"] == "1"
    again = ask(agent, "POST", "/submit-job?jobId=7&jobName=other", JOB)
    assert again[:2] == (200, {"jobId": "7", "jobName": "nightly"}), "the job that runs, by its own name"
    assert [each["jobName"] for each in ask(agent, "GET", "/running-jobs")[1]] == ["nightly"]
    assert ask(agent, "POST", "/stop-job", json.dumps({"jobId": 7}))[1] == {"jobId": "7"}
    assert b'"wanted":"cancel"' in local_store(tmp_path).read()["job/7"]


def test_nothing_is_accepted_that_nobody_could_read_later(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    for target, body in (
        ("/submit-job", "{not json"),
        ("/submit-job", "{}"),
        ("/submit-job", JOB.replace("job.mode", "job.mood")),
        ("/submit-job?format=xml", JOB),
        ("/submit-job?jobId=../x", JOB),
    ):
        status, answer, _ = ask(agent, "POST", target, body)
        assert (status, answer["status"]) == (400, "fail")
    assert not local_store(tmp_path).read()


def test_a_body_that_is_too_large_and_a_request_of_another_site_are_refused(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    assert ask(agent, "POST", "/submit-job", "x" * (LARGEST_BODY + 1))[0] == 413
    quotes = JOB.replace('"row.num"', json.dumps('"' * 1_500_000) + ': 1, "row.num"')
    status, answer, _ = ask(agent, "POST", "/submit-job", quotes)
    assert status == 413, "no order with it would be taken"
    assert answer["message"].startswith("the job is too large")
    assert ask(agent, "POST", "/submit-job", JOB, origin="http://evil.example")[0] == 401
    assert ask(agent, "POST", "/submit-job", JOB, origin="http://127.0.0.1:8080")[0] == 200


@pytest.mark.parametrize("signed", [False, True])
def test_a_name_that_leads_to_this_machine_is_not_taken_where_everybody_is_let_in(tmp_path: Path, signed: bool) -> None:
    """A page of a site whose name was made to lead to 127.0.0.1 is of the same origin, and submitted jobs."""
    agent = leading(tmp_path, config_of(tmp_path))
    evil = {"host": "evil.example:8080", "origin": "http://evil.example:8080"}
    status, answer, _ = ask(agent, "POST", "/submit-job", JOB, signed=signed, **evil)
    assert (status, "use the address of this node" in answer["message"]) == (401, True)
    assert ask(agent, "GET", "/overview", signed=signed, host="[")[0] == 401
    for host in ("localhost", "localhost:5801", "[::1]:5801", "127.0.0.1"):
        assert ask(agent, "GET", "/overview", signed=signed, host=host)[0] == 200


def test_a_deposed_leader_acknowledges_nothing(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    local_store(tmp_path).claim()
    assert ask(agent, "POST", "/submit-job", JOB)[0] == 503
    assert agent.leadership.state is None
    assert not local_store(tmp_path).read()
    assert ask(agent, "GET", "/overview")[0] == 503


def test_rest_asks_for_the_password_that_is_configured(tmp_path: Path) -> None:
    agent = leading(tmp_path, evolve(config_of(tmp_path), http=HttpConfig(login=("admin", "hunter2"))))
    status, _, headers = ask(agent, "GET", "/overview")
    assert (status, headers["www-authenticate"]) == (401, 'Basic realm="SeaTunnel Web UI"')
    for given, status in (("admin:hunter2", 200), ("admin:hunter", 401), (":", 401), ("", 401)):
        basic = base64.b64encode(given.encode()).decode()
        assert ask(agent, "GET", "/overview", authorization=f"Basic {basic}")[0] == status
    assert ask(agent, "GET", "/overview", authorization="Basic ###")[0] == 401
    assert BOOT in ask(agent, "GET", "/overview", signed=True, **{"x-seatunnel-cluster": "other"})[2]


def test_members_on_other_machines_need_a_secret(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/hazelcast.yaml").write_text(
        "hazelcast: {network: {join: {tcp-ip: {enabled: true, member-list: [192.0.2.1, 192.0.2.2]}}}}"
    )
    with pytest.raises(UsageError, match="seatunnel-cluster --make-secret"):
        config_of(tmp_path)
    secret = tmp_path / "config/cluster.secret"
    secret.write_text("s" * 64)
    secret.chmod(0o600)
    assert config_of(tmp_path).members == tuple(
        f"192.0.2.{last}:{port}" for port in (5801, 5802, 5803) for last in (1, 2)
    )


def test_a_leader_reads_each_of_thousands_of_jobs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its beats wait while it reads, and it decides ten times a second."""
    agent = leading(tmp_path, config_of(tmp_path))
    records = {
        str(number): JobRecord(
            job_id=str(number), name="copy", text=JOB, format="json", variables={"n": str(number)},
            submitted_at=1.0, since=1.0,
        )
        for number in range(2_100)
    }  # fmt: skip
    read: list[SubmittedJob] = []

    def counted(job: SubmittedJob) -> Requirements:
        read.append(job)
        return Requirements()

    monkeypatch.setattr(dispatcher, "requirements_of", counted)
    monkeypatch.setattr(dispatcher, "describe", lambda _: Description())
    for _ in range(2):
        agent.dispatcher._read_jobs(records)
    assert len(read) == len(records)
    agent.dispatcher._read_jobs({"1": evolve(records["1"], text=JOB + " ", attempt=1), "2": records["2"]})
    assert len(read) == len(records) + 1, "one that was submitted again is another one"
    assert set(agent.dispatcher._read) == {"1", "2"}


def test_a_relative_path_is_refused_when_the_job_is_submitted(tmp_path: Path) -> None:
    """It was another folder on each node: that in which the node was started, or that of its Spark worker."""
    agent = leading(tmp_path, config_of(tmp_path))
    job = """
env { job.mode = BATCH }
source { LocalFile { plugin_output = f, file_format_type = text
  path = ${in} } }
sink { LocalFile { plugin_input = f, path = "file:///out", tmp_path = staging } }
"""
    status, answer, _ = ask(agent, "POST", "/submit-job?format=hocon&jobId=1", job.replace("${in}", "in/a.txt"))
    assert status == 400
    assert "option 'path': 'in/a.txt' is relative" in answer["message"]
    assert "job.conf:4" in answer["message"]
    assert "option 'tmp_path': 'staging' is relative" in answer["message"]
    assert "file:///out" not in answer["message"]
    good = job.replace("${in}", "/in/a.txt").replace("staging", "/staging")
    assert ask(agent, "POST", "/submit-job?format=hocon&jobId=2", good)[0] == 200


def test_the_body_of_a_stranger_is_not_received(tmp_path: Path) -> None:
    """It was: up to 10 MiB of each request, before its signature was looked at."""
    agent = leading(tmp_path, evolve(config_of(tmp_path), secret=Secret(b"s" * 64)))
    received: list[str] = []

    async def receive() -> dict[str, Any]:
        received.append("a part")
        return {"type": "http.request", "body": b"x" * 1000, "more_body": True}

    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/internal/v1/orders",
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "server": ("node", 80),
        "headers": [(b"host", b"127.0.0.1:1")],
    }
    asyncio.run(application(agent, signed=True)(scope, receive, send))
    assert sent[0]["status"] == 401
    assert not received


@pytest.mark.parametrize("target", ["/overview", "/internal/v1/members", "/nothing"])
def test_each_answer_is_signed_for_its_request(tmp_path: Path, target: str) -> None:
    secret = Secret(b"s" * 64)
    agent = leading(tmp_path, evolve(config_of(tmp_path), secret=secret))
    keeper, digest = agent.authenticator, digest_of(b"")
    sign = {"boot": keeper.boot, "cluster": "seatunnel", "method": "GET", "target": target, "digest": digest}
    headers = {BOOT: keeper.boot, DIGEST: digest, AUTHORIZATION: f"me-1 {secret.sign(nonce='me-1', **sign)}"}
    status, answer, found = ask(agent, "GET", target, signed=True, **headers)
    body = json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode()
    assert status == (404 if target == "/nothing" else 200)
    assert found[ANSWER] == secret.sign_answer(nonce="me-1", status=status, body=body)
    again = {**headers, AUTHORIZATION: f"me-2 {secret.sign(nonce='me-2', **sign)}"}
    assert ask(agent, "GET", target, "another body", signed=True, **again)[0] == 401
