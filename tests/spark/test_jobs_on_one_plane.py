"""Several jobs of one process on one open backend, as a process does that hosts jobs."""

from pathlib import Path

import pytest

import seatunnel_core as st
from seatunnel_core.errors import PlatformError
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.starting.settings import SparkSettings
from tests.runtime.command import column
from tests.spark.hosted import csv_to_parquet, run_of


def test_jobs_run_one_after_the_other_and_at_once_and_leave_the_backend_open(
    backend: SparkBackend, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        with run_of(csv_to_parquet(tmp_path, name), tmp_path, backend, name) as run:
            run.start()
            report = run.wait(120)
            assert report is not None
            assert report.outcome is JobOutcome.FINISHED, report
    runs = [run_of(csv_to_parquet(tmp_path, f"beside-{n}"), tmp_path, backend, f"beside-{n}") for n in range(4)]
    for run in runs:
        run.start()
    reports = [run.wait(120) for run in runs]
    for run in runs:
        run.close(last=True)
    assert [report and report.outcome for report in reports] == [JobOutcome.FINISHED] * 4
    for name in ("first", "second", *(f"beside-{n}" for n in range(4))):
        assert column(tmp_path / name, "id") == list(range(100))
    assert backend.context.parallelize([1]).collect() == [1]


def test_a_job_that_is_killed_leaves_the_backend_to_the_others(backend: SparkBackend, tmp_path: Path) -> None:
    endless = st.Job("endless", {"job.mode": "STREAMING"})
    options = {"row.num": 1000, "split.num": 100, "split.read-interval": 500, "schema": {"fields": {"id": "bigint"}}}
    endless.source("FakeSource", options).sink("Console", {"log.print.data": False})
    killed = run_of(endless, tmp_path, backend, "killed")
    killed.start()
    with run_of(csv_to_parquet(tmp_path, "other"), tmp_path, backend, "other") as other:
        other.start()
        killed.kill()
        killed.close()
        report = other.wait(120)
    assert report is not None
    assert report.outcome is JobOutcome.FINISHED, report
    assert column(tmp_path / "other", "id") == list(range(100))


def test_a_job_is_refused_by_a_backend_that_is_not_open(tmp_path: Path) -> None:
    closed = SparkBackend(SparkSettings(cache=tmp_path))
    refused = pytest.raises(PlatformError, match="Spark is not running")
    with run_of(csv_to_parquet(tmp_path, "out"), tmp_path, closed, "none") as run, refused:
        run.start()
    assert not (tmp_path / "checkpoints").exists(), "the job is claimed"
