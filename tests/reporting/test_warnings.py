"""Warnings about rows and files: kept by a pipeline, in the job's report, its records, and what clients print."""

import json
import logging

import pytest
from attrs import asdict, evolve

from seatunnel_core.cli.cluster_client import _closing
from seatunnel_core.control.cluster_jobs import JobView, warnings_of_job
from seatunnel_core.reporting.connector_warnings import heard
from seatunnel_core.reporting.counters import MOST_WARNINGS, Metrics
from seatunnel_core.reporting.notices import Notices, PipelineLog
from seatunnel_core.reporting.pipeline_record import measured_record, pipeline_record, pipeline_view
from seatunnel_core.reporting.report import JobOutcome, JobReport, PipelineView, warnings_of
from seatunnel_core.reporting.report_record import report_from, report_record

SAID = "source a: 3 rows have the key ID, and the column is id"


def view(number: int, *warnings: str) -> PipelineView:
    return PipelineView(id=number, name=f"a -> b{number}", phase="finished", warnings=warnings)


def job(*views: PipelineView) -> dict[str, object]:
    """Return the answer to ``/job-info`` of a job with these pipelines."""
    pipelines = [measured_record(Metrics().measured(each, None)) for each in views]
    times = {"createTime": "2026-01-31 10:00:00", "finishTime": "2026-01-31 10:00:01"}
    found: dict[str, object] = {"jobId": "1", "jobStatus": "FINISHED", "metrics": {}, "pipelines": pipelines, **times}
    return dict(json.loads(json.dumps(found)))


def test_a_pipeline_keeps_each_warning_once_and_a_limited_number() -> None:
    collected = Metrics()
    for number in range(MOST_WARNINGS * 2):
        collected.warned(f"{number // 2}")
    assert collected.warnings == tuple(map(str, range(MOST_WARNINGS)))
    for number in range(3):
        collected.warned(f"more {number}")
    assert len(collected.warnings) == MOST_WARNINGS + 1
    assert "further warnings" in collected.warnings[-1]


def test_warnings_of_a_source_that_is_polled_are_kept() -> None:
    collected = Metrics()
    Notices(PipelineLog("1", 1), collected).warned("a", ["the filter leaves nothing of /in"])
    assert collected.warnings == ("source a: the filter leaves nothing of /in",)


def test_warnings_that_connectors_log_are_heard_by_the_pipeline_that_calls_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    one, other = Metrics(), Metrics()
    logger = logging.getLogger("seatunnel_core.connectors.file.source")
    with heard(one.warned):
        logger.warning("%s has no file", "/in")
        logger.info("listed")
        with heard(other.warned):
            logger.warning("inside")
    logger.warning("of nobody")
    assert one.warnings == ("/in has no file",)
    assert other.warnings == ("inside",)
    assert [record.getMessage() for record in caplog.records] == ["/in has no file", "inside", "of nobody"]


def test_reports_and_records_have_the_warnings() -> None:
    report = JobReport(
        job_id="1", name="j", outcome=JobOutcome.FINISHED, pipelines=(view(1, SAID),), started_at=1.0, ended_at=2.0
    )
    read = report_from("1", json.loads(json.dumps(report_record(report))))
    assert read.warnings == (SAID,)
    assert pipeline_view(json.loads(json.dumps(pipeline_record(view(1, SAID))))).warnings == (SAID,)
    file_name = "/in/_caf\udce9.csv: skipped"  # the text of a name that is not UTF-8
    odd = json.loads(json.dumps(report_record(evolve(report, pipelines=(view(1, file_name),)))))
    assert report_from("1", odd).warnings == (file_name,)
    older = {key: value for key, value in pipeline_record(view(1)).items() if key != "warnings"}
    assert pipeline_view(older).warnings == ()
    assert warnings_of([view(1), view(2, "x")]) == ("pipeline 2 a -> b2: x",)


def test_clients_of_a_cluster_have_the_warnings() -> None:
    assert warnings_of_job(job(view(1, SAID))) == (SAID,)
    assert warnings_of_job(job(view(1), view(2, SAID))) == (f"pipeline 2 a -> b2: {SAID}",)
    assert f"warning: {SAID}" in _closing(job(view(1, SAID)))
    seen = JobView.of(job(view(1, SAID)))
    assert JobView(**json.loads(json.dumps(asdict(seen)))) == seen
