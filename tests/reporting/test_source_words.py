"""Progress of a source that reads a log: in words, in records and as metrics."""

import json

import pytest
from attrs import evolve

from seatunnel_core.connector_api.source_progress import SnapshotProgress, SourceProgress, TableProgress
from seatunnel_core.reporting.metrics import JobMetrics, PipelineMetrics
from seatunnel_core.reporting.open_metrics import samples
from seatunnel_core.reporting.pipeline_record import measured_record, pipeline_record, pipeline_view
from seatunnel_core.reporting.source_words import source_words

TABLES = tuple(TableProgress(name=name, phase="reading", chunks_done=1, chunks=9) for name in "abcd")
SNAPSHOT = SnapshotProgress(tables=1_200, tables_done=3, chunks_done=20, listed=TABLES)
ONE = SnapshotProgress(tables=1, tables_done=0, chunks_done=1)
READING = SourceProgress(snapshot=SNAPSHOT, position="0/10", end="0/30", oldest="0/8", lag_bytes=32, lag_seconds=4.0)


def metrics(progress: SourceProgress) -> PipelineMetrics:
    return PipelineMetrics(id=1, name="in -> out", phase="running", bounded=False, sources={"in": progress})


def test_a_snapshot_names_tables_that_are_being_read() -> None:
    assert source_words(READING) == (
        "snapshot 3/1,200 tables, 20 chunks (a 1/9, b 1/9, c 1/9, …); log 0/10, 32 B, 4.0 s behind"
    )


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (SourceProgress(snapshot=ONE), "snapshot 0/1 table, 1 chunk"),
        (SourceProgress(snapshot=evolve(ONE, tables_done=1)), "snapshot complete"),
        (SourceProgress(position="bin.1:4", lag_bytes=0, lag_seconds=0), "log bin.1:4, up to date"),
        (SourceProgress(position="bin.1:4", lag_bytes=5), "log bin.1:4, 5 B behind"),
        (SourceProgress(position="bin.1:4", lag_seconds=75), "log bin.1:4, 1 min 15 s behind"),
        (SourceProgress(position="bin.1:4"), "log bin.1:4, an unknown time behind"),
        (
            SourceProgress(
                snapshot=SnapshotProgress(
                    tables=2, tables_done=0, chunks_done=3,
                    listed=(TableProgress(name="t", phase="reading", chunks_done=3), TABLES[0]),
                )
            ),
            "snapshot 0/2 tables, 3 chunks (t 3/?, a 1/9)",
        ),
    ],
)  # fmt: skip
def test_words(progress: SourceProgress, words: str) -> None:
    assert source_words(progress) == words


def test_another_process_reads_the_same_progress() -> None:
    """The terminal of a cluster's client gets it from REST."""
    record = json.loads(json.dumps(pipeline_record(metrics(READING))))
    assert pipeline_view(record).sources == {"in": READING}
    assert measured_record(metrics(READING))["sources"] == record["sources"]
    assert pipeline_view({**record, "sources": {}}).sources == {}
    del record["sources"]
    assert pipeline_view(record).sources == {}, "a node of an earlier version has none"


def measured(progress: SourceProgress) -> dict[str, float]:
    job = JobMetrics(job_id="7", name="j", started_at=1.0, state="running", pipelines=(metrics(progress),))
    return {each.family: each.value for each in samples(job) if each.labels.get("source") == "in"}


def test_metrics_of_a_snapshot_and_a_lag() -> None:
    assert measured(READING) == {
        "seatunnel_source_lag_bytes": 32,
        "seatunnel_source_lag_seconds": 4.0,
        "seatunnel_snapshot_tables": 1_200,
        "seatunnel_snapshot_tables_done": 3,
        "seatunnel_snapshot_chunks_done": 20,
    }


def test_an_unknown_lag_is_no_lag_of_zero() -> None:
    assert measured(SourceProgress(position="0/1")) == {}
