"""Slots that are counted: many pipelines on one, and several jobs of one process that share them."""

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from watched import note

import seatunnel_core as st
from seatunnel_core.spark.backend import SparkBackend

PIPELINES = 100


@pytest.fixture
def engine(tmp_path: Path) -> Callable[..., Path]:
    def write(slots: int, strategy: str = "REJECT") -> Path:
        file = tmp_path / f"{strategy}-{slots}.yaml"
        file.write_text(
            f"seatunnel:\n  engine:\n    slot-service:\n      dynamic-slot: false\n      slot-num: {slots}\n"
            f"    job-schedule-strategy: {strategy}\n"
            "    checkpoint:\n      storage:\n        type: hdfs\n        plugin-config:\n"
            f"          namespace: {tmp_path}/checkpoints/\n"
        )
        return file

    return write


def noting(notes: Path, until: Path | None = None) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A transform that notes when it begins and ends, unless it is only asked for its schema.

    It ends when ``until`` exists.
    """

    def transform(rows: pa.RecordBatch) -> pa.RecordBatch:
        if rows.num_rows:
            note({"note": str(notes)}, "+")
            while until is not None and not until.exists():
                time.sleep(0.05)
            note({"note": str(notes)}, "-")
        return rows

    return transform


def job_of(name: str, notes: Path, *, pipelines: int = 1, until: Path | None = None) -> st.Job:
    job = st.Job(name)
    options = {"row.num": 1, "schema": {"fields": {"id": "bigint"}}}
    at_most_one = {"row_rules": [{"rule_type": "MAX_ROW", "rule_value": 1}]}
    for _ in range(pipelines):
        job.source("FakeSource", options).map_batches(noting(notes, until)).sink("Assert", rules=at_most_one)
    return job


def test_a_hundred_pipelines_finish_with_one_slot(
    backend: SparkBackend, tmp_path: Path, engine: Callable[..., Path]
) -> None:
    notes = tmp_path / "notes"
    report = job_of("hundred", notes, pipelines=PIPELINES).run(engine_config=engine(slots=1))
    assert [view.rows_committed for view in report.pipelines] == [1] * PIPELINES
    assert notes.read_text() == "+-" * PIPELINES


def test_a_job_that_finds_no_free_slot_is_refused_or_waits(
    backend: SparkBackend, tmp_path: Path, engine: Callable[..., Path]
) -> None:
    """Refused, it leaves nothing behind; waiting, it can be stopped, and begins when a job before it has ended."""
    notes, enough = tmp_path / "notes", tmp_path / "enough"
    first = job_of("first", notes, until=enough).submit(engine_config=engine(slots=1), job_id="first")
    with first:
        with pytest.raises(
            st.UsageError,
            match=r"no free slot for the job second: this process has 1, all in use by first",
        ):
            job_of("second", notes).submit(engine_config=engine(slots=1), job_id="second")
        waiting = engine(slots=1, strategy="WAIT")
        with (
            job_of("stopped", notes).submit(engine_config=waiting) as stopped,
            job_of("second", notes).submit(engine_config=waiting, job_id="second") as second,
        ):
            report = stopped.cancel()
            assert report is not None
            assert report.outcome is st.JobOutcome.STOPPED
            assert not any(view.rows_read for view in second.metrics().pipelines)
            enough.touch()
            assert first.result().outcome is st.JobOutcome.FINISHED
            assert second.result().outcome is st.JobOutcome.FINISHED
    assert notes.read_text() == "+-" * 2


def test_jobs_that_find_a_slot_each_run_at_the_same_time(
    backend: SparkBackend, tmp_path: Path, engine: Callable[..., Path]
) -> None:
    notes = tmp_path / "notes"
    with (
        job_of("one", notes).submit(engine_config=engine(slots=2)) as one,
        job_of("two", notes).submit(engine_config=engine(slots=2)) as two,
    ):
        assert {one.result().outcome, two.result().outcome} == {st.JobOutcome.FINISHED}
