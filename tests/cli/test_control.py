"""What people read when they ask jobs in other processes; the other process is a thread here, its socket a real one."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from seatunnel_core.cli.main import main
from seatunnel_core.control.server import ControlServer, Verb
from seatunnel_core.errors import SavepointError

VIEW = {"rows_read": 1_500, "rows_committed": 1_000, "last_checkpoint_age_ms": 300}


class Job:
    """One that writes down what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Any]] = []
        self.verbs: dict[str, Verb] = {
            "status": self.status,
            "metrics": self.metrics,
            "open-metrics": self.open_metrics,
            "savepoint": self.savepoint,
            "stop": self.stop,
        }

    def status(self, _request: Mapping[str, Any]) -> Any:
        about = {"job_id": "night", "name": "the nightly one", "pid": os.getpid(), "manifest_version": 1}
        return {**about, "started_at": 0.0, "pipelines": [VIEW, VIEW | {"rows_read": 1}]}

    def metrics(self, _request: Mapping[str, Any]) -> Any:
        return {"pid": os.getpid(), "job_id": "night", "pipelines": [VIEW], "metrics": {"SourceReceivedCount": 1_500}}

    def open_metrics(self, _request: Mapping[str, Any]) -> Any:
        committed = ["SinkCommittedCount", "_total", {"job_id": "night", "pipeline_name": "a -> b"}, 1_000]
        return {"pid": os.getpid(), "state": "running", "samples": [committed]}

    def savepoint(self, request: Mapping[str, Any]) -> Any:
        self.asked.append(request)
        if request["name"] == "broken":
            raise SavepointError("the savepoint broken was not taken: it fell")
        return {"name": "7", "stopped": request["stop"], "pipelines": {"1": [100_000, 4], "2": [100_000, 9]}}

    def stop(self, request: Mapping[str, Any]) -> Any:
        self.asked.append(request)
        return {"outcome": "stopped"}


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    job = Job()
    with tempfile.TemporaryDirectory(prefix="st-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        server = ControlServer("night", job.verbs)
        server.start()
        yield job
        server.close()


def test_a_list_of_what_runs(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    for flags in (["-l"], ["-j", "night"]):
        assert main(flags) == 0
        headings, line = capsys.readouterr().out.splitlines()
        assert headings.split()[:3] == ["job", "name", "process"]
        assert line.startswith(f"night  the nightly one  {os.getpid()} ")
        assert line.split()[-6:] == ["2", "1,501", "2,000", "0.3", "s", "ago"]


def test_figures_for_programs(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    for flags in (["--get_running_job_metrics"], ["--metrics", "night"]):
        assert main(flags) == 0
        (found,) = json.loads(capsys.readouterr().out)
        assert found["pipelines"][0] == VIEW
        assert found["metrics"] == {"SourceReceivedCount": 1_500}


def test_a_page_for_prometheus(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    for flags in (["--get_running_job_metrics"], ["--metrics", "night"]):
        assert main([*flags, "--open-metrics"]) == 0
        families = {each.name: each for each in text_string_to_metric_families(capsys.readouterr().out)}
        (committed,) = families["SinkCommittedCount"].samples
        assert (committed.labels, committed.value) == ({"job_id": "night", "pipeline_name": "a -> b"}, 1_000)
        (node,) = families["node_state"].samples
        assert node.labels["address"].endswith(f":{os.getpid()}")
        assert {each.labels["type"]: each.value for each in families["job_count"].samples}["running"] == 1


def test_a_job_that_ends_meanwhile_is_left_out_of_all(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    def gone(_request: Mapping[str, Any]) -> Any:
        raise SavepointError("the job has ended")

    job.verbs["open-metrics"] = gone
    assert main(["--get_running_job_metrics", "--open-metrics"]) == 0
    families = {each.name: each for each in text_string_to_metric_families(capsys.readouterr().out)}
    assert families["node_count"].samples[0].value == 0


@pytest.mark.parametrize(
    ("flags", "asked", "ending"),
    [
        ([], {"name": None, "stop": True, "drain": False}, "The job has stopped."),
        (["--keep-running"], {"name": None, "stop": False, "drain": False}, "The job continues."),
        (["--savepoint-name", "x"], {"name": "x", "stop": True, "drain": False}, "The job has stopped."),
    ],
)
def test_a_savepoint(
    job: Job, flags: list[str], asked: dict[str, Any], ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-s", "night", *flags]) == 0
    assert job.asked == [{"do": "savepoint", **asked}]
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == f"Savepoint 7 of job night is complete: pipeline 1 at 100000-4, 2 at 100000-9. {ending}"


def test_a_savepoint_that_was_not_taken(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-s", "night", "--savepoint-name", "broken"]) == 2
    assert capsys.readouterr().err == "the savepoint broken was not taken: it fell\n"


def test_a_stop(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-can", "night"]) == 0
    assert main(["-can", "night", "-f"]) == 0
    assert job.asked == [{"do": "stop", "at_once": False}, {"do": "stop", "at_once": True}]
    assert capsys.readouterr().out == "Job night: stopped.\n" * 2


def test_nothing_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="st-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        assert main(["-l"]) == 0
        assert "You have no running jobs on this machine" in capsys.readouterr().out
        assert main(["-can", "night"]) == 2
        assert "the job night is not running as your user" in capsys.readouterr().err
