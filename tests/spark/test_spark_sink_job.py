"""Whole jobs into the sink ``Spark``: what is promised when they are planned, and one that is killed."""

import re
from pathlib import Path
from typing import Any

import pytest

import seatunnel_core as st
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.connector_api.sink import Guarantee
from seatunnel_core.errors import JobError
from seatunnel_core.planning.check import check_report
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_core.spark.backend import SparkBackend
from tests.runtime.command import engine_file, fake_source, ids
from tests.runtime.command import job as job_text
from tests.runtime.ground import ALL, ROWS, WAIT_S, committed, kill, until


def planned(folder: Path, more: str) -> Any:
    text = f'Spark {{ format = parquet, path = "{folder}/out", staging_path = "{folder}/staging", {more} }}'
    (folder / "job.conf").write_text(job_text("job.mode = BATCH", [fake_source("a", rows=10)], [text]))
    engine = load_engine(environment={}, folder=folder)
    return plan_job(load_job(folder / "job.conf"), lookup, engine, look=True), engine


def test_no_more_is_promised_than_is_kept(tmp_path: Path) -> None:
    (pipeline,) = planned(tmp_path, "")[0].pipelines
    assert pipeline.on_frames
    said = check_report(*planned(tmp_path, ""))
    assert re.search(
        r"guarantee: at-least-once, because the sink 'Spark-sink-.' \(Spark\) may write a checkpoint's rows again", said
    )
    said = check_report(*planned(tmp_path, "idempotent = true"))
    assert "guarantee: idempotent" in said
    assert "the option idempotent states that this changes nothing" in said
    for more in ("", ", idempotent = true"):
        with pytest.raises(
            JobError, match=r"requires exactly-once, but its pipeline provides .* may write a checkpoint's rows"
        ):
            planned(tmp_path, f"exactly_once = true{more}")
    with pytest.raises(JobError, match=r"cannot write the rows .* 'partition_by': .* no column 'nam'"):
        check_report(*planned(tmp_path, "partition_by = [nam]"))
    assert lookup.sink("spark").guarantee is Guarantee.AT_LEAST_ONCE


def test_a_job_that_would_overwrite_what_it_reads_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1\n")
    source = f'LocalFile {{ path = "{tmp_path}/in", file_format_type = csv, schema {{ fields {{ id = bigint }} }} }}'
    sink = (
        f'Spark {{ format = parquet, path = "{tmp_path}/in", mode = overwrite, staging_path = "{tmp_path}/staging" }}'
    )
    (tmp_path / "job.conf").write_text(job_text("job.mode = BATCH", [source], [sink]))
    with pytest.raises(
        JobError, match=r"the job would delete its own input\. Write to another folder, or set mode = append"
    ):
        plan_job(load_job(tmp_path / "job.conf"), lookup, load_engine(environment={}, folder=tmp_path))


def job_of(folder: Path, **env: Any) -> tuple[st.Job, Path]:
    job = st.Job("spark-sink", {"checkpoint.interval": 200, "job.retry.times": 0, "parallelism": 2, **env})
    fake = {"row.num": ROWS // 2, "split.num": 24, "auto.increment.enabled": True}
    rows = job.source("FakeSource", {**fake, "schema": {"fields": {"id": "bigint", "text": "string"}}}, name="in")
    rows.sink("Spark", format="json", path=f"{folder}/out", staging_path=f"{folder}/staging", name="out")
    return job, engine_file(folder)


def test_a_killed_job_is_restored(backend: SparkBackend, tmp_path: Path) -> None:
    """This kill lets a commit come to its end that nobody records: what is not staged any more is not written again."""
    job, engine = job_of(tmp_path, **{"read_limit.rows_per_second": 20})
    with job.submit(engine_config=engine) as first:
        until(lambda: committed(first._run) > 0, first._run)
        kill(first._run)
    assert 0 < len(ids(tmp_path / "out")) < ROWS
    job, engine = job_of(tmp_path)
    with job.submit(restore=first.job_id, engine_config=engine) as second:
        (view,) = second.result().pipelines
    assert ids(tmp_path / "out") == ALL
    assert view.rows_committed == ROWS
    assert list((tmp_path / "staging").iterdir()) == []


def test_the_jobs_of_its_page_run(backend: SparkBackend, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One writes with Spark what the other reads with Spark."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "connectors" / "Spark.md").read_text("utf-8")
    blocks = re.findall(r"^```hocon\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    jobs = [block for block in blocks if "source {" in block and "sink {" in block]
    assert len(jobs) == 2
    engine = load_engine(engine_file(tmp_path))
    for number, job in enumerate(jobs):
        (tmp_path / "job.conf").write_text(job.replace("/data/", f"{tmp_path}/"))
        with JobRun(load_job(tmp_path / "job.conf"), engine, registry=lookup, job_id=f"job-{number}") as run:
            run.start()
            report = run.wait(WAIT_S)
        assert report is not None
        assert report.outcome is JobOutcome.FINISHED, report
    assert len(ids(tmp_path / "people")) == 100
    assert capsys.readouterr().out.count("kind=INSERT") == 100
