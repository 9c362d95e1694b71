"""The page of a single job, as its HTTP serves it: who is let in, and answers in the shapes of a cluster's REST."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from attrs import define, field

from seatunnel_core.cli.main import main
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import SavepointError
from seatunnel_core.job.savepoint import JobSavepoint
from seatunnel_core.page.job_server import LONGEST_BODY, JobPage
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.reporting.metrics import JobMetrics, PipelineMetrics
from seatunnel_core.reporting.series import JobSeries, Point
from seatunnel_core.server.rest import job_details
from seatunnel_core.server.rest.shapes import JOB
from tests.runtime.command import engine_file, fake_source, job, parquet_sink


@define
class Run:
    """A job that was planned and never runs."""

    job: PlannedJob | None
    job_id: str = "job-1"
    state: str = "running"
    asked: list[str] = field(factory=list)

    def metrics(self) -> JobMetrics:
        pipeline = PipelineMetrics(id=1, name="a -> b", phase="running", rows_read=7, last_checkpoint_id=3,
            last_checkpoint_age_ms=1_000)  # fmt: skip
        return JobMetrics(job_id=self.job_id, name="nightly", started_at=1.0, state=self.state, pipelines=(pipeline,))

    def series(self, pipeline: int = 0, since_s: float = 0.0, most: int = 1) -> dict[str, Any]:
        series = JobSeries()
        for at in (10.0, 15.0):
            series.add(at, {1: Point(rows_read=at)})
        return series.record(pipeline, since_s, most)

    def stop(self) -> None:
        self.asked.append("stop")

    def kill(self) -> None:
        self.asked.append("kill")

    def savepoint(
        self, name: str | None = None, *, stop: bool = False, drain: bool = False, timeout: float | None = None
    ) -> JobSavepoint:
        if stop:
            raise SavepointError("no checkpoint can be taken now")
        return JobSavepoint(name="s-1", taken_at=1.0, stopped=False, pipelines={})


@define
class Served:
    """A page that is served, and who asks it."""

    run: Run
    page: JobPage

    @property
    def port(self) -> int:
        return int(self.page.address.split(":")[2].split("/")[0])

    def ask(
        self, path: str, *, method: str = "GET", body: Any = None, key: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Return the status, the headers and the body of an answer; ``key`` is another one than the right one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            given = {"Authorization": f"Bearer {self.page.key if key is None else key}"}
            given |= {name.replace("_", "-"): text for name, text in headers.items()}
            connection.request(method, path, None if body is None else json.dumps(body), given)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def value(self, path: str) -> Any:
        status, _, body = self.ask(path)
        assert status == 200, body
        return json.loads(body)


@pytest.fixture
def planned(tmp_path: Path) -> PlannedJob:
    file = tmp_path / "job.conf"
    env = "job.name = nightly, job.mode = BATCH, checkpoint.retain-after-job-cancelled = true"
    file.write_text(job(env, [fake_source("a", rows=1)], [parquet_sink("a", tmp_path / "out")]))
    return plan_job(load_job(file, Variables({})), lookup, load_engine(engine_file(tmp_path)))


@pytest.fixture
def served(planned: PlannedJob) -> Iterator[Served]:
    run = Run(planned)
    with contextlib.closing(JobPage(run)) as page:
        yield Served(run, page)


def test_the_page_and_what_it_asks_for(served: Served) -> None:
    status, headers, body = served.ask("/")
    assert (status, headers["Content-Security-Policy"].split(";")[0]) == (200, "default-src 'self'")
    assert b"page/app.js" in body
    assert served.ask("/page/app.js")[0] == 200
    assert served.value("/overview")["singleJob"] == "job-1"
    found = served.value("/job-info/job-1")
    assert (found["jobName"], found["jobStatus"], found["metrics"]["SourceReceivedCount"]) == (
        "nightly",
        "RUNNING",
        "7",
    )
    assert found["jobDag"]["pipelineEdges"] == {"1": [{"inputVertexId": 1, "targetVertexId": 2}]}
    assert [each["vertexName"] for each in found["jobDag"]["vertexInfoMap"]] == ["FakeSource", "LocalFile"]
    assert found["envOptions"]["job.mode"] == "BATCH"
    assert found["envOptions"]["checkpoint.retain-after-job-cancelled"] == "true"
    assert found["pipelines"][0]["rows"] == 7
    jsonschema.validate(found, dict(JOB))
    assert [each["jobId"] for each in served.value("/running-jobs")] == ["job-1"]
    assert served.value("/running-jobs?page=1&rows=20")["total"] == 1
    assert served.value("/job-info/other") == {"jobId": "other"}
    (pipeline,) = served.value("/jobs/checkpoints/job-1")["pipelines"]
    assert pipeline["latestCompleted"]["checkpointId"] == 3
    assert served.value("/help/ROW-ERROR")["code"] == "ROW-ERROR"
    for path in ("/submit-job", "/help/nothing", "/page/../assets.py", "/jobs/checkpoints/history/job-1"):
        assert served.ask(path)[0] == 404


def test_a_single_job_has_its_metrics_over_time_and_its_plan(served: Served) -> None:
    shapes = {route.path: route.answer for route in job_details.ROUTES}
    series = served.value("/jobs/metrics/job-1?points=10&since=0&pipelineId=0")
    jsonschema.validate(series, dict(shapes["/jobs/metrics/{job_id}"]))
    assert series["points"] == [[15_000, 1.0, 0.0, 0.0, 0.0, 0, 0]]
    assert served.value("/jobs/metrics/job-1?points=x&since=-1&pipelineId=9")["points"] == []
    plan = served.value("/jobs/plan/job-1")
    jsonschema.validate(plan, dict(shapes["/jobs/plan/{job_id}"]))
    assert [each["plugin"] for each in plan["plan"]["pipelines"][0]["vertices"]] == ["FakeSource", "LocalFile"]
    assert served.value("/jobs/text/job-1") == {"jobId": "job-1", "text": None}
    for path in ("/jobs/metrics/other", "/jobs/plan/other", "/jobs/text/other"):
        assert served.ask(path)[0] == 404


def test_only_who_knows_the_key_is_told_anything(served: Served) -> None:
    for key in ("", "wrong", "ß"):
        with contextlib.suppress(UnicodeEncodeError):  # of the client's own library
            assert served.ask("/overview", key=key)[0] == 401
            assert served.ask("/stop-job", method="POST", body={"jobId": "job-1"}, key=key)[0] == 401
    assert served.run.asked == []
    assert served.page.key not in served.ask("/", key="wrong")[2].decode()


def test_a_page_of_another_site_is_told_nothing(served: Served) -> None:
    for headers in (
        {"Host": "evil.example"},
        {"Host": f"evil.example:{served.port}"},
        {"Origin": "http://evil.example"},
    ):
        assert served.ask("/overview", **headers)[0] == 403
        assert served.ask("/", **headers)[0] == 403
        assert served.ask("/stop-job", method="POST", body={"jobId": "job-1"}, **headers)[0] == 403
    assert served.run.asked == []
    assert served.ask("/overview", Origin=f"http://127.0.0.1:{served.port}")[0] == 200
    assert served.ask("/overview", Host=f"localhost:{served.port}")[0] == 200


def test_the_job_is_stopped_as_it_was_asked(served: Served) -> None:
    assert served.ask("/stop-job", method="POST", body={"jobId": "job-1"})[0] == 200
    assert served.ask("/stop-job", method="POST", body={"jobId": "job-1", "force": True})[0] == 200
    assert served.run.asked == ["stop", "kill"]
    status, _, body = served.ask("/savepoint", method="POST", body={"jobId": "job-1"})
    assert (status, json.loads(body)) == (200, {"jobId": "job-1", "name": "s-1"})
    status, _, body = served.ask("/stop-job", method="POST", body={"jobId": "job-1", "isStopWithSavePoint": True})
    assert (status, json.loads(body)["code"]) == (500, "SAVEPOINT-ERROR")


def test_wrong_requests_are_refused(served: Served) -> None:
    assert served.ask("/stop-job", method="POST", body={"jobId": "other"})[0] == 404
    assert served.ask("/stop-job", method="POST", body={"jobId": 1})[0] == 400
    assert served.ask("/stop-job", method="POST", body=[])[0] == 400
    assert served.ask("/stop-job", method="POST", body="x" * LONGEST_BODY)[0] == 413
    assert served.ask("/overview", method="DELETE")[0] == 501
    assert served.run.asked == []


def test_a_job_that_has_ended_says_how(served: Served) -> None:
    for state, shown in (("finished", "FINISHED"), ("failed", "FAILED"), ("canceled", "CANCELED")):
        served.run.state = state
        assert served.value("/job-info/job-1")["jobStatus"] == shown
        assert served.value("/running-jobs") == []


def test_it_listens_on_loopback_alone_and_no_more_when_it_is_closed(planned: PlannedJob) -> None:
    page = JobPage(Run(planned))
    host, port = page._server.server_address[:2]
    assert host == "127.0.0.1"
    page.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(port)), timeout=5)


@pytest.mark.parametrize("flag", ["--async", "--check", "--encrypt"])
def test_a_page_of_nothing_is_refused(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-c", "job.conf", "--ui", flag]) == 2
    assert f"--ui shows a job that runs in this process, but with {flag}" in capsys.readouterr().err
