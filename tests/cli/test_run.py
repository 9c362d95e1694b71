"""A run from the command line, with a runtime that is played: what is said when, and the exit code."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.cli import run as cli_run
from seatunnel_core.cli.main import main
from seatunnel_core.errors import UsageError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.reporting.report import JobOutcome, JobProgress, JobReport, PipelineView

JOB = """
env { job.name = "nightly" }
source { FakeSource { row.num = 1, schema { fields { a = int } } } }
sink { Console { } }
"""
VIEW = PipelineView(id=1, name="a -> b", phase="running", rows_read=5, last_checkpoint_id=3, last_checkpoint_age_ms=10)
REPORT = JobReport(
    job_id="42", name="nightly", outcome=JobOutcome.FINISHED, started_at=0.0, ended_at=2.0, warnings=("one warning",),
    pipelines=(evolve(VIEW, phase="finished", rows_committed=5),), log_file=Path("/logs/42.log"),
)  # fmt: skip


class PlayedJob:
    """Stands in for the runtime: plans the job, begins, runs for three looks, ends with ``report``."""

    report = REPORT
    refusal: Exception | None = None
    ended_before = False
    """Of such a job only its closing table is read."""

    at_start: Callable[[], None] = staticmethod(lambda: None)
    at_close: Callable[[], None] = staticmethod(lambda: None)
    at_look: dict[int, Callable[[], object]] = {}  # noqa: RUF012
    notes: tuple[str, ...] = ()
    last: "PlayedJob"

    def __init__(self, raw: Any, engine: Any, **options: Any) -> None:
        self.raw, self.engine, self.options = raw, engine, options
        self.job: PlannedJob | None = None
        self.calls: list[str] = []
        self.looks = 0
        PlayedJob.last = self

    def close(self, *, last: bool = False) -> None:
        self.at_close()
        self.calls.append("close")

    def start(self) -> None:
        self.at_start()
        if self.refusal is not None:
            raise self.refusal
        if not self.ended_before:
            self.job = plan_job(self.raw, self.options["registry"], self.engine, name=self.options["name"])
        self.options["on_begun"]()

    def wait(self, timeout: float | None = None) -> JobReport | None:
        self.looks += 1
        self.at_look.get(self.looks, lambda: None)()
        if self.calls:
            return evolve(self.report, outcome=JobOutcome.STOPPED)
        return self.report if self.looks > 3 else None

    def progress(self) -> JobProgress:
        return JobProgress(job_id=self.options["job_id"], name="nightly", pipelines=(VIEW,))

    def stop(self) -> None:
        self.calls.append("stop")

    def kill(self) -> None:
        self.calls.append("kill")


@pytest.fixture(autouse=True)
def played(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[PlayedJob]]:
    monkeypatch.setattr(cli_run, "JobRun", PlayedJob)
    monkeypatch.setenv("SEATUNNEL_COMMAND", "seatunnel")
    for name in ("SEATUNNEL_HOME", "SEATUNNEL_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    yield PlayedJob
    PlayedJob.report, PlayedJob.refusal, PlayedJob.at_look, PlayedJob.ended_before = REPORT, None, {}, False
    PlayedJob.at_start = PlayedJob.at_close = staticmethod(lambda: None)


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.conf").write_text(JOB)
    return "job.conf"


def test_the_id_comes_first_and_the_closing_table_last(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-c", job, "--set-job-id", "42"]) == 0
    said = capsys.readouterr().out.strip().splitlines()
    assert said[:2] == [
        f"Job 42 (nightly) runs in process {os.getpid()}. If it stops, resume it with:",
        "  seatunnel -c job.conf -r 42",
    ]
    assert "Job 42 (nightly) finished" in said
    assert said[-1] == "Spark's log: /logs/42.log"
    assert "  one warning" in said
    assert PlayedJob.last.calls == ["close"]


def test_warnings_are_said_before_the_first_look(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Who mistyped an option wants to stop a long job at its start, not to read of it at its end."""
    Path(job).write_text(JOB.replace("row.num = 1", "row.num = 1, row.nums = 2"))
    said_by_then: list[str] = []
    PlayedJob.at_look = {1: lambda: said_by_then.append(capsys.readouterr().out)}
    assert main(["-c", job]) == 0
    (warning,) = [line for line in said_by_then[0].splitlines() if line.startswith("warning: ")]
    assert warning.startswith("warning: job.conf:3:40: the source FakeSource has no option 'row.nums'. Did you mean")


def test_a_job_that_had_ended_is_not_planned_and_warns_of_nothing(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(job).write_text(JOB.replace("row.num = 1", "row.num = 1, row.nums = 2"))
    PlayedJob.ended_before = True
    assert main(["-c", job, "-r", "42"]) == 0
    assert "warning: " not in capsys.readouterr().out


def test_what_the_runtime_gets(job: str) -> None:
    main(["-c", job, "-r", "42", "-n", "other", "-m", "local[2]", "-DJvmOption=-Xmx2G"])
    notes = PlayedJob.last.options
    assert (notes["job_id"], notes["restore"], notes["name"], notes["master"]) == ("42", Restore(), "other", "local[2]")
    assert notes["jvm_options"] == ("-Xmx2G",)


def test_without_an_id_a_new_one_is_made(job: str) -> None:
    ids = []
    for _ in range(2):
        main(["-c", job])
        assert PlayedJob.last.options["restore"] is None
        ids.append(PlayedJob.last.options["job_id"])
    assert ids[0] != ids[1]
    assert all(len(each) == 19 and each.isdigit() for each in ids)


@pytest.mark.parametrize(("outcome", "code"), [(JobOutcome.FAILED, 1), (JobOutcome.STOPPED, 130)])
def test_a_job_that_did_not_finish(
    job: str, outcome: JobOutcome, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    PlayedJob.report = evolve(REPORT, outcome=outcome)
    assert main(["-c", job, "--set-job-id", "42"]) == code
    assert capsys.readouterr().out.strip().endswith("To resume this job: seatunnel -c job.conf -r 42")


def test_ctrl_c_stops_cleanly_and_the_exit_code_is_130(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    PlayedJob.at_look = {2: interrupt}
    assert main(["-c", job]) == 130
    assert PlayedJob.last.calls == ["stop", "close"]
    assert "Stopping after a final checkpoint" in capsys.readouterr().out


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_while_a_job_starts_ends_the_command(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A storage that does not answer was waited for until the third one."""
    PlayedJob.at_start = staticmethod(interrupt)
    assert main(["-c", job]) == 130
    assert capsys.readouterr().err == "Stopped.\n"
    assert PlayedJob.last.calls == [], "who is in such a hurry does not wait for pools and Spark"


def test_ctrl_c_that_comes_too_late_changes_nothing(job: str) -> None:
    """The third one ended the command with 130 when the job had finished meanwhile and Spark was being stopped."""
    PlayedJob.at_look = {4: lambda: [interrupt(), interrupt()]}
    PlayedJob.at_close = staticmethod(interrupt)
    assert main(["-c", job]) == 0
    assert PlayedJob.last.calls == ["close"]


def test_a_refusal_of_the_runtime_is_wrong_usage(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    PlayedJob.refusal = UsageError("there is no job 42")
    assert main(["-c", job, "-r", "42"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "there is no job 42\n")
    assert PlayedJob.last.calls == ["close"]


def test_without_java_nothing_begins_and_it_is_said_once(
    job: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job began, failed, said so twice, and waited in the storage to be gone on with."""
    monkeypatch.setenv("JAVA_HOME", "/no/java")
    before = getattr(PlayedJob, "last", None)
    assert main(["-c", job]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("JAVA_HOME (/no/java) cannot be started") == 1
    assert getattr(PlayedJob, "last", None) is before


def test_json_lines_and_nothing_else(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    PlayedJob.report = evolve(REPORT, outcome=JobOutcome.FAILED, pipelines=(evolve(VIEW, failure="no such file"),))
    assert main(["-c", job, "--set-job-id", "42", "--log-format", "json"]) == 1
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    pipeline, ended = records[-2:]
    assert (pipeline["job"], pipeline["pipeline"], pipeline["checkpoint"]) == ("42", 1, 3)
    assert (pipeline["level"], pipeline["failure"], pipeline["rows_read"]) == ("ERROR", "no such file", 5)
    assert (ended["message"], ended["resume"]) == ("job failed", "seatunnel -c job.conf --log-format json -r 42")
    assert ended["warnings"] == ["one warning"]


def test_a_wrong_job_file_starts_nothing(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-c", "no-such.conf"]) == 2
    assert "no-such.conf" in capsys.readouterr().err
