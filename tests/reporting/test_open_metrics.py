"""The page of metrics: what Prometheus' own reader understands of it, and what the documentation says of it."""

import re
from typing import Any

import pytest
from attrs import evolve
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as older_text_to_families

from seatunnel_core.errors import StoredValueError
from seatunnel_core.reporting.metrics import Durations, JobMetrics, PipelineMetrics
from seatunnel_core.reporting.open_metrics import (
    FAMILIES,
    JOB_STATES,
    Sample,
    machine_samples,
    own_page,
    page,
    samples,
    totals,
)
from tests.reporting import metrics_page

NAMES_OF_SEATUNNEL = (
    "SourceReceivedCount",
    "SourceReceivedBytes",
    "SourceReceivedQPS",
    "SourceReceivedBytesPerSeconds",
    "SinkWriteCount",
    "SinkWriteBytes",
    "SinkWriteQPS",
    "SinkWriteBytesPerSeconds",
    "SinkCommittedCount",
    "SinkCommittedBytes",
    "cluster_info",
    "cluster_time",
    "node_count",
    "node_state",
    "job_count",
)

NASTY = 'a "b" \\ c\nd {e="f"} é'

PIPELINE = PipelineMetrics(
    id=1,
    name=NASTY,
    phase="running",
    rows_read=30,
    rows_written=29,
    bytes_read=300,
    bytes_written=290,
    rows_committed=20,
    bytes_committed=200,
    rows_skipped=1,
    rows_read_per_second=2.5,
    splits_done=3,
    splits_total=9,
    last_checkpoint_id=5,
    last_checkpoint_age_ms=1_500,
    checkpoints_triggered=6,
    checkpoints_completed=4,
    checkpoints_failed=1,
    checkpoints_aborted={"expired": 1, "subsumed": 1},
    checkpoint_acknowledge=Durations(times=4, total_ms=40, last_ms=10, longest_ms=20),
    checkpoint_store=Durations(times=4, total_ms=400, last_ms=100, longest_ms=200),
    checkpoint_commit=Durations(times=3, total_ms=3_000, last_ms=1_000, longest_ms=1_500),
    checkpoint_bytes=70,
    checkpoint_bytes_total=280,
    degraded="no checkpoint has completed for 3000 ms",
    restarts=2,
    restores=3,
    failures={"transient": 2},
)
JOB = JobMetrics(job_id="night", name="nightly", started_at=0.0, state="running", pipelines=(PIPELINE,))


def values(text: str) -> dict[tuple[str, str], float]:
    """By the sample's name and its labels beside those of the pipeline, as Prometheus reads them."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            more = [v for k, v in sample.labels.items() if k not in ("job_id", "job_name", "pipeline", "pipeline_name")]
            found[sample.name, ",".join(more)] = sample.value
    return found


def test_every_name_that_seatunnel_has_is_there_and_typed() -> None:
    families = {family.name: family for family in text_string_to_metric_families(own_page(JOB))}
    assert set(NAMES_OF_SEATUNNEL) <= set(families)
    assert [family.name for family in FAMILIES] == list(families)
    for declared in FAMILIES:
        assert families[declared.name].type == declared.kind
        assert families[declared.name].documentation == declared.help
        assert not set(declared.help) & set('"\\\n'), "the two formats escape these in different ways"


def test_the_figures_are_those_of_the_pipeline() -> None:
    found = values(own_page(JOB))
    expected = {
        ("SourceReceivedCount_total", ""): 30,
        ("SourceReceivedBytes_total", ""): 300,
        ("SourceReceivedQPS", ""): 2.5,
        ("SinkWriteCount_total", ""): 29,
        ("SinkWriteBytes_total", ""): 290,
        ("SinkCommittedCount_total", ""): 20,
        ("SinkCommittedBytes_total", ""): 200,
        ("seatunnel_rows_skipped_total", ""): 1,
        ("seatunnel_pipeline_state", "running"): 1,
        ("seatunnel_pipeline_degraded", ""): 1,
        ("seatunnel_pipeline_restarts_total", ""): 2,
        ("seatunnel_pipeline_restores_total", ""): 3,
        ("seatunnel_pipeline_failures_total", "transient"): 2,
        ("seatunnel_pipeline_failures_total", "bug"): 0,
        ("seatunnel_checkpoints_triggered_total", ""): 6,
        ("seatunnel_checkpoints_completed_total", ""): 4,
        ("seatunnel_checkpoints_failed_total", ""): 1,
        ("seatunnel_checkpoints_aborted_total", "expired"): 1,
        ("seatunnel_checkpoints_aborted_total", "subsumed"): 1,
        ("seatunnel_checkpoints_aborted_total", "storage"): 0,
        ("seatunnel_checkpoint_age_seconds", ""): 1.5,
        ("seatunnel_checkpoint_phase_seconds_sum", "store"): 0.4,
        ("seatunnel_checkpoint_phase_seconds_count", "commit"): 3,
        ("seatunnel_checkpoint_last_phase_seconds", "acknowledge"): 0.01,
        ("seatunnel_checkpoint_size_bytes_sum", ""): 280,
        ("seatunnel_checkpoint_size_bytes_count", ""): 4,
        ("seatunnel_checkpoint_last_size_bytes", ""): 70,
        ("job_count", "seatunnel,running"): 1,
        ("job_count", "seatunnel,finished"): 0,
        ("node_count", "seatunnel"): 1,
    }
    assert {key: found[key] for key in expected} == expected


def test_what_is_not_known_is_not_reported() -> None:
    fresh = evolve(PIPELINE, last_checkpoint_age_ms=None, splits_total=None, checkpoint_commit=Durations())
    found = values(own_page(evolve(JOB, pipelines=(fresh,))))
    assert ("seatunnel_checkpoint_age_seconds", "") not in found
    assert ("seatunnel_splits", "") not in found
    assert ("seatunnel_checkpoint_last_phase_seconds", "commit") not in found
    assert found["seatunnel_checkpoint_phase_seconds_count", "commit"] == 0


def test_names_of_pipelines_may_hold_anything() -> None:
    for family in text_string_to_metric_families(own_page(JOB)):
        for sample in family.samples:
            assert sample.labels.get("pipeline_name", NASTY) == NASTY


def test_several_jobs_are_one_page() -> None:
    """A family must stand once, with the samples of all jobs behind it."""
    other = evolve(JOB, job_id="day", pipelines=(PIPELINE, evolve(PIPELINE, id=2)))
    text = page([*samples(JOB), *samples(other), *machine_samples([41, 40, 41], ["running", "running"])])
    families = {family.name: family for family in text_string_to_metric_families(text)}
    where = [(each.labels["job_id"], each.labels["pipeline"]) for each in families["SinkCommittedCount"].samples]
    assert where == [("night", "1"), ("day", "1"), ("day", "2")]
    assert [each.labels["address"].rpartition(":")[2] for each in families["node_state"].samples] == ["40", "41"]
    assert families["node_count"].samples[0].value == 2
    counts = {each.labels["type"]: each.value for each in families["job_count"].samples}
    assert counts == {**dict.fromkeys(JOB_STATES, 0), "running": 2}


def test_the_older_format_is_satisfied_too() -> None:
    """node_exporter's textfile collector reads Prometheus' own text format: no types beyond it, and no timestamps."""
    text = own_page(JOB)
    found = {sample.name: sample for family in older_text_to_families(text) for sample in family.samples}
    assert found["SourceReceivedCount_total"].value == 30
    assert set(re.findall(r"# TYPE \S+ (\S+)", text)) <= {"counter", "gauge", "summary"}
    assert all(sample.timestamp is None for sample in found.values())
    assert text.endswith("\n# EOF\n")


def test_nothing_runs_and_the_page_is_whole() -> None:
    text = page(machine_samples([], []))
    assert values(text)["node_count", "seatunnel"] == 0


def test_totals_have_the_names_that_seatunnel_gives_them() -> None:
    two = evolve(JOB, pipelines=(PIPELINE, evolve(PIPELINE, id=2, rows_read=12)))
    found = totals(two)
    assert tuple(found) == NAMES_OF_SEATUNNEL[:10]
    assert (found["SourceReceivedCount"], found["SinkCommittedBytes"], found["SourceReceivedQPS"]) == (42, 400, 5.0)


def test_a_sample_travels_as_json() -> None:
    sample = Sample("SinkWriteCount", "_total", {"job_id": "night"}, 5)
    assert Sample.from_record(sample.record()) == sample


@pytest.mark.parametrize("record", [None, [], ["a", "b", {}], ["a", "b", {"c": 1}, 5], ["a", "b", {}, "5"]])
def test_what_is_no_sample_is_refused(record: Any) -> None:
    with pytest.raises(StoredValueError):
        Sample.from_record(record)


def test_what_a_newer_version_measures_is_left_out() -> None:
    assert "unheard_of" not in page([Sample("unheard_of", "", {}, 1)])


def test_the_page_about_it_is_what_the_code_declares() -> None:
    """Declare first; then `python tests/reporting/metrics_page.py` writes the table."""
    text = metrics_page.PAGE.read_text(encoding="utf-8")
    assert text == metrics_page.page(text)
    for family in FAMILIES:
        assert f"`{family.name}`" in text
