"""Stored form of a report in the manifest of a job."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core import stored
from seatunnel_core.errors import JobError, StoredValueError
from seatunnel_core.reporting.report import JobOutcome, JobReport, PipelineView, warnings_of
from seatunnel_core.stored_fields import read_fields


def report_record(report: JobReport) -> dict[str, Any]:
    """Return the parts of a report that the manifest contains, as JSON values."""
    return {
        "name": report.name,
        "outcome": report.outcome.value,
        "started_at": report.started_at,
        "ended_at": report.ended_at,
        "pipelines": [view.record() for view in report.pipelines],
    }


def report_from(job_id: str, record: Mapping[str, Any]) -> JobReport:
    """Decode a report; raise ``JobError`` if the record is invalid."""
    try:
        # Members that an earlier version did not write have their defaults.
        pipelines = tuple(
            PipelineView(**read_fields(PipelineView, each, partial=True)) for each in stored.items(record, "pipelines")
        )
        return JobReport(
            job_id=job_id,
            name=stored.text(record, "name"),
            outcome=JobOutcome(stored.member(record, "outcome")),
            started_at=stored.seconds(record, "started_at"),
            ended_at=stored.seconds(record, "ended_at"),
            pipelines=pipelines,
            warnings=warnings_of(pipelines),
            ended_before=True,
        )
    except (StoredValueError, ValueError) as error:
        raise JobError(f"the stored closing table of job {job_id} is invalid: {error}") from error
