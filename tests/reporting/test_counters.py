"""What is counted of a pipeline over its restarts, and how fast it moves."""

from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.checkpoint import commands
from seatunnel_core.checkpoint.commands import AbortKind
from seatunnel_core.checkpoint.progress import Moved, PipelineProgress
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.reporting.counters import SAMPLE_S, SAMPLES, Flow, Metrics
from seatunnel_core.reporting.metrics import Durations, PipelineMetrics
from seatunnel_core.reporting.report import PipelineView
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_storage_api.state import CheckpointRef, CheckpointType

VIEW = PipelineView(id=7, name="in -> out", phase="running", rows_read=1, restarts=1)


def progress(**known: Any) -> PipelineProgress:
    nothing = PipelineProgress(
        phase=Phase.RUNNING,
        epoch=100_000,
        rows_read=0,
        rows_written=0,
        bytes_read=0,
        bytes_written=0,
        rows_skipped=0,
        rows_committed=0,
        bytes_committed=0,
        units_in_flight=0,
        units_running=0,
        units_done=0,
        splits_done=0,
        splits_total=None,
        uncommitted=0,
        last_completed_id=None,
        last_completed_ms=None,
        pending=0,
        degraded="",
    )
    return evolve(nothing, **known)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class TestFlow:
    def test_a_restored_job_does_not_seem_to_have_read_all_at_once(self) -> None:
        """What earlier processes read stands in the state: it was not read in the first second of this one."""
        clock = Clock()
        flow = Flow(clock)
        flow.sample(progress(rows_read=1_000_000))
        clock.now += 2
        flow.seen(progress(rows_read=1_000_500))
        assert flow.per_second("rows_read") == 250

    def test_a_job_that_stands_still_is_seen_to_stand_still(self) -> None:
        """An average since the beginning would go on for hours as if nothing had happened."""
        clock = Clock()
        flow = Flow(clock)
        for second in range(100):
            clock.now += SAMPLE_S
            flow.sample(progress(rows_read=min(second, 20) * 1_000))
        assert flow.per_second("rows_read") == 0

    def test_a_rate_is_that_of_the_last_minute(self) -> None:
        clock = Clock()
        flow = Flow(clock)
        for rows in range(0, 100 * SAMPLES, 100):
            clock.now += SAMPLE_S
            flow.sample(progress(rows_read=rows))
        clock.now += SAMPLE_S
        flow.seen(progress(rows_read=100 * SAMPLES))
        assert flow.per_second("rows_read") == pytest.approx(100 / SAMPLE_S)

    def test_nothing_runs_backwards_when_the_pipeline_starts_again(self) -> None:
        """Prometheus takes a counter that falls for one that began at 0 again, and would count the rows twice."""
        flow = Flow(Clock())
        seen = [flow.seen(progress(rows_read=rows, rows_committed=rows)).rows_read for rows in (0, 900, 0, 600, 950)]
        assert seen == [0, 900, 900, 900, 950]

    def test_who_has_heard_nothing_remembers_that_nothing_moved(self) -> None:
        clock = Clock()
        flow = Flow(clock)
        flow.sample(progress(rows_read=700))
        for _ in range(SAMPLES):
            clock.now += SAMPLE_S
            flow.rest()
        flow.seen(progress(rows_read=1_250))
        assert flow.per_second("rows_read") == 10  # 550 rows in 55 s

    def test_before_anything_is_known_nothing_moves(self) -> None:
        flow = Flow(Clock())
        flow.seen(progress(rows_read=900))
        assert flow.per_second("rows_read") == 0, "it was restored, and not read in this process"


def test_durations() -> None:
    durations = Durations().and_one(5).and_one(9).and_one(4)
    assert durations == Durations(times=3, total_ms=18, last_ms=4, longest_ms=9)


def said() -> Metrics:
    """What two epochs told."""
    collected = Metrics(Clock())
    for base in (None, CheckpointRef(100_000, 4)):
        collected.epoch_started(
            commands.EpochStarted(epoch=100_000, base=base, restored_units=0, restored_committables=0)
        )
        for number in (2, 3):
            collected.triggered()
            collected.completed(
                commands.CheckpointCompleted(
                    checkpoint_id=number,
                    checkpoint_type=CheckpointType.CHECKPOINT,
                    acknowledge_ms=number,
                    store_ms=10 * number,
                    state_bytes=100 * number,
                )
            )
            collected.published(commands.CheckpointPublished(checkpoint_id=number, commit_ms=number))
        for kind in AbortKind:
            collected.triggered()
            collected.aborted(commands.CheckpointAborted(checkpoint_id=9, kind=kind, reason="so it was"))
    collected.failed(Failure(kind=FailureKind.TRANSIENT, message="a worker is gone"))
    return collected


def test_all_epochs_are_counted_together() -> None:
    metrics = said().measured(VIEW, progress(pending=1, units_in_flight=5, units_running=2, uncommitted=3, rows_read=8))
    assert (metrics.id, metrics.name, metrics.restarts) == (7, "in -> out", 1), "what the view says is kept"
    assert (metrics.rows_read, metrics.epoch, metrics.uncommitted) == (8, 100_000, 3)
    assert (metrics.units_in_flight, metrics.units_running, metrics.checkpoints_pending) == (5, 2, 1)
    assert metrics.checkpoints_triggered == 4 + 2 * len(AbortKind)
    assert metrics.checkpoints_aborted == {kind.value: 2 for kind in AbortKind}
    assert (metrics.checkpoints_expired, metrics.checkpoints_subsumed) == (2, 2)
    assert metrics.checkpoint_acknowledge == Durations(times=4, total_ms=10, last_ms=3, longest_ms=3)
    assert metrics.checkpoint_store == Durations(times=4, total_ms=100, last_ms=30, longest_ms=30)
    assert metrics.checkpoint_commit == Durations(times=4, total_ms=10, last_ms=3, longest_ms=3)
    assert (metrics.checkpoint_bytes, metrics.checkpoint_bytes_total) == (300, 1_000)
    assert (metrics.restores, metrics.failures) == (1, {"transient": 1})
    assert metrics.last_checkpoint_age_ms is not None


def test_sources_and_sinks_have_their_own_metrics_where_there_are_several() -> None:
    clock = Clock()
    collected = Metrics(clock)
    sinks = {"out": Moved(rows_written=10, bytes_written=20, rows_committed=4), "copy": Moved(rows_written=1)}
    first = progress(by_source={"in": Moved(rows_read=9)}, by_sink=sinks)
    collected.sample(first)
    clock.now += 2
    later = evolve(first, by_sink={**sinks, "out": Moved(rows_written=30, bytes_written=20, rows_committed=8)})
    found = collected.measured(VIEW, later).vertices
    assert set(found) == {"out", "copy"}, "what the only source has read is what the pipeline has read"
    assert (found["out"].rows_written, found["out"].rows_committed) == (30, 8)
    assert (found["out"].rows_written_per_second, found["out"].bytes_written_per_second) == (10, 0)
    again = collected.measured(VIEW, first).vertices["out"]
    assert again.rows_written == 30, "it goes back to its checkpoint, and its metrics do not"
    clock.now += SAMPLE_S * SAMPLES
    for _ in range(SAMPLES):
        collected.rest()
    assert collected.measured(VIEW, later).vertices["out"].rows_written_per_second == 0


def test_only_what_went_wrong_is_a_failure() -> None:
    """A subsumed checkpoint was counted as a failed one: every pipeline with two at a time seemed to be ill."""
    collected = said()
    assert (collected.checkpoints_completed, collected.checkpoints_failed) == (4, 6)


def test_a_pipeline_that_has_not_begun() -> None:
    metrics = Metrics(Clock()).measured(VIEW, None)
    assert metrics == PipelineMetrics(id=7, name="in -> out", phase="running", rows_read=1, restarts=1)
