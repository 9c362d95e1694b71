"""The stored form of a report, in the job's manifest."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import NOTHING, asdict, fields

from seatunnel_core import stored
from seatunnel_core.errors import JobError, StoredValueError
from seatunnel_core.reporting.report import JobOutcome, JobReport, PipelineView, warnings_of


def report_record(report: JobReport) -> dict[str, Any]:
    """Return the part of a report that the manifest stores, as JSON values."""
    return {
        "name": report.name,
        "outcome": report.outcome.value,
        "started_at": report.started_at,
        "ended_at": report.ended_at,
        "pipelines": [asdict(view) for view in report.pipelines],
    }


def report_from(job_id: str, record: Mapping[str, Any]) -> JobReport:
    """Return the report that ``report_record`` stored.

    Raises:
        JobError: The record is not a report.
    """
    try:
        return JobReport(
            job_id=job_id,
            name=stored.text(record, "name"),
            outcome=JobOutcome(stored.member(record, "outcome")),
            started_at=stored.seconds(record, "started_at"),
            ended_at=stored.seconds(record, "ended_at"),
            pipelines=(pipelines := tuple(map(_view_from_record, stored.items(record, "pipelines")))),
            warnings=warnings_of(pipelines),
            ended_before=True,
        )
    except (StoredValueError, ValueError) as error:
        raise JobError(f"what is stored as the closing table of job {job_id} is not one: {error}") from error


def _number_or_none(record: Mapping[str, Any], key: str) -> int | None:
    return None if stored.member(record, key) is None else stored.number(record, key)


def _texts(record: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = stored.items(record, key)
    if not all(isinstance(each, str) for each in found):
        raise StoredValueError(f"{key!r} is not a list of texts")
    return tuple(found)


def _numbers(record: Mapping[str, Any], key: str) -> dict[str, int]:
    block = stored.below(record, key)
    return {name: stored.number(block, name) for name in block}


_READERS: Mapping[Any, Callable[[Mapping[str, Any], str], Any]] = {
    bool: stored.flag,
    int: stored.number,
    str: stored.text,
    int | None: _number_or_none,
    tuple[str, ...]: _texts,
    Mapping[str, int]: _numbers,
}


def _view_from_record(record: Any) -> PipelineView:
    """Return a pipeline's view, each member as its type says.

    Members that an older version did not write have their defaults.
    """
    if not isinstance(record, Mapping):
        raise StoredValueError("the line of a pipeline is not a block")
    wanted = [each for each in fields(PipelineView) if each.default is NOTHING or each.name in record]
    return PipelineView(**{each.name: _READERS[each.type](record, each.name) for each in wanted})
