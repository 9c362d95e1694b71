"""Splits, units, checkpoints and commits of a running pipeline."""

import re

import pytest
from attrs import evolve

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import AbortKind, Outcome
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.split import Split
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.checkpoint.played import LASTING, ONE_TO_ONE, ORDERED, PASSING, SPLIT_PER_UNIT, Played

BATCH = CheckpointPolicy(interval_ms=None, timeout_ms=5_000)


def states(state: PipelineState) -> VertexStates:
    return codec.decode(state.states)


def held(state: PipelineState) -> list[int]:
    return [unit.unit.number for unit in states(state).tasks["in"].units]


def one_source(**spec: int) -> Topology:
    return Topology(
        sources=(SourceSpec(name="in", ordinal=0, sinks=("out",), **spec),),  # type: ignore[arg-type]
        sinks=(SinkSpec(name="out", ordinal=0),),
    )


class TestUnits:
    """Putting together, running, retrying, handing on."""

    def test_small_splits_share_a_unit_up_to_the_target(self) -> None:
        played = Played(limits=Limits(target_unit_bytes=25, target_unit_rows=100))
        played.run(5, weight_bytes=10)
        assert [len(command.attempt.unit.splits) for command in played.get(commands.RunUnit)] == [2, 2]
        assert played.protocol.progress().units_in_flight == 3, "the last one is queued: two run at most"

    def test_a_split_that_fills_a_unit_closes_it(self) -> None:
        played = Played(one_source(parallelism=9), limits=Limits(target_unit_bytes=20, target_unit_rows=100))
        played.run(5, weight_bytes=10)
        assert [len(command.attempt.unit.splits) for command in played.get(commands.RunUnit)] == [2, 2, 1]

    def test_a_source_with_little_to_read_leaves_four_units_to_each_parallel_reader(self) -> None:
        played = Played(one_source(parallelism=2), limits=Limits(target_unit_bytes=50, smallest_unit_bytes=10))
        played.run(16, weight_bytes=10)
        assert [len(command.attempt.unit.splits) for command in played.get(commands.RunUnit)] == [2, 2]
        assert played.protocol.progress().units_in_flight == 8

    def test_units_stay_between_their_bounds_however_much_there_is_to_read(self) -> None:
        limits = Limits(target_unit_bytes=50, smallest_unit_bytes=10)
        assert [limits.unit_bytes(to_come, 2) for to_come in (0, 79, 88, 400, 10**12)] == [10, 10, 11, 50, 50]

    def test_a_unit_does_not_outlast_the_checkpoint_interval(self) -> None:
        """So that a checkpoint finds something to commit; but no interval asks for a great many small files."""
        whole, smallest = Limits().target_unit_bytes, Limits().smallest_interval_bytes
        found = [Limits().within(interval).target_unit_bytes for interval in (None, 60_000, 1_000, 100, 1)]
        assert found == [whole, whole, 1_000 * 64 * 1024, smallest, smallest]

    def test_rows_count_too(self) -> None:
        played = Played(one_source(parallelism=9), limits=Limits(target_unit_rows=3))
        played.run(4, rows=2)
        assert [len(command.attempt.unit.splits) for command in played.get(commands.RunUnit)] == [1, 1, 1, 1]

    def test_a_half_built_unit_is_closed_after_a_short_time(self) -> None:
        played = Played(one_source(rows_per_second=10), limits=Limits(close_unit_after_ms=100))
        played.run(2, rows=10)
        assert played.running == []
        assert [command.key for command in played.ever(commands.SetTimer)][-2:] == ["emit:in", "close:in"]
        played.at(100).fire("close:in")
        assert played.running == [1]

    def test_a_half_built_unit_is_closed_when_no_credit_is_left(self) -> None:
        played = Played(limits=Limits(credits_per_source=2))
        played.run(3)
        assert [len(command.attempt.unit.splits) for command in played.get(commands.RunUnit)] == [2]

    def test_rows_are_written_when_they_are_staged_and_a_checkpoint_remembers_how_many(self) -> None:
        two_sinks = Topology(
            sources=(SourceSpec(name="in", ordinal=0, sinks=("out", "copy")),),
            sinks=(SinkSpec(name="out", ordinal=0), SinkSpec(name="copy", ordinal=1)),
        )
        played = Played(two_sinks, limits=SPLIT_PER_UNIT)
        played.run(2)
        played.finish(1, rows=7, sinks=("out", "copy"))
        progress = played.protocol.progress()
        assert (progress.rows_read, progress.rows_written, progress.rows_committed) == (7, 14, 0)
        assert states(played.checkpoint()).tasks["in"].rows_written == 14

    def test_no_more_run_at_once_than_there_are_slots(self) -> None:
        played = Played()
        played.run(4)
        assert played.running == [1, 2]
        played.finish(1)
        assert played.running == [3]

    def test_a_finished_unit_held_for_order_gives_back_its_slot_and_keeps_its_credit(self) -> None:
        played = Played(ORDERED)
        played.run(6)
        assert played.running == [1, 2]
        played.finish(2)
        assert played.running == [3]
        played.finish(3)
        played.finish(4)
        assert played.running == [], "four credits are out, and unit 1 holds them all back"
        assert played.protocol.progress().uncommitted == 0
        played.finish(1)
        assert played.running == [5, 6]
        assert played.protocol.progress().uncommitted == 4

    def test_the_oldest_unit_of_an_ordered_source_needs_no_free_slot(self) -> None:
        played = Played(ORDERED)
        played.run(4)
        played.fail(1)
        assert played.running == [3]
        played.at(500).fire("retry:in:1")
        assert played.running == [1]
        assert played.protocol.progress().units_running == 3

    def test_a_unit_without_order_waits_for_a_slot_like_any_other(self) -> None:
        played = Played()
        played.run(4)
        played.fail(1)
        played.at(500).fire("retry:in:1")
        assert played.running == []
        played.finish(2)
        assert played.running == [1]

    def test_a_failure_that_may_pass_is_tried_again_so_often(self) -> None:
        played = Played(limits=Limits(target_unit_rows=1, unit_retries=2, retry_pause_ms=500))
        played.run(1)
        for attempt, pause_ms in ((1, 500), (2, 1_000)):
            played.fail(1, attempt=attempt)
            assert played.only(commands.SetTimer).at_ms == played.now_ms + pause_ms
            played.at(played.now_ms + pause_ms).fire("retry:in:1")
            assert played.only(commands.RunUnit).attempt.number == attempt + 1
        played.fail(1, attempt=3)
        ended = played.only(commands.EndPipeline)
        assert ended.outcome is Outcome.FAILED
        assert ended.failure is not None
        assert ended.failure.retryable, "whether the pipeline starts again is decided elsewhere"
        assert played.get(commands.CancelUnits)

    def test_what_only_a_new_start_can_mend_uses_up_no_attempts(self) -> None:
        played = Played(limits=Limits(target_unit_rows=1, unit_retries=2))
        played.run(1)
        failure = Failure(kind=FailureKind.RESTART, message="the snapshot is gone")
        played.fail(1, failure=failure)
        ended = played.only(commands.EndPipeline)
        assert ended.failure == failure
        assert failure.retryable, "so the pipeline starts again"

    def test_a_unit_that_fails_on_each_attempt_is_named_with_what_it_reads(self) -> None:
        """It may be poison: whoever runs it, on whichever machine, is lost."""
        played = Played(limits=Limits(target_unit_rows=1, unit_retries=1, retry_pause_ms=500))
        played.run(1)
        played.fail(1, reading="/in/a.csv, bytes 0 to 99")
        played.at(500).fire("retry:in:1")
        played.fail(1, attempt=2, reading="/in/a.csv, bytes 0 to 99")
        failure = played.only(commands.EndPipeline).failure
        assert failure is not None
        assert failure.message == (
            "a worker is gone; work unit 1 of source 'in' failed on each of its 2 attempts. "
            "It reads /in/a.csv, bytes 0 to 99"
        )

    def test_a_failure_that_stays_ends_the_pipeline_with_it(self) -> None:
        played = Played()
        played.run(1)
        played.fail(1, failure=LASTING)
        assert played.only(commands.EndPipeline).failure == LASTING

    def test_results_that_are_not_awaited_change_nothing(self) -> None:
        """R14: an old epoch, an old attempt, a unit that is done, a second result."""
        played = Played()
        played.run(2)
        before = played.protocol.progress()
        played.epoch = 0
        played.finish(1)
        played.epoch = 1
        played.finish(1, attempt=2)
        played.finish(9)
        played.fail(9)
        assert played.protocol.progress() == before
        played.finish(1)
        once = played.protocol.progress()
        played.finish(1)
        assert played.protocol.progress() == once

    def test_a_sink_without_rows_is_left_out(self) -> None:
        played = Played()
        played.run(2)
        played.finish(1, sinks=())
        assert played.protocol.progress().uncommitted == 0
        assert played.protocol.progress().units_done == 1


class TestSpeedLimit:
    def test_splits_are_charged_by_their_estimate(self) -> None:
        played = Played(one_source(rows_per_second=10, parallelism=9))
        played.run(3, rows=5)
        assert played.running == [1]
        for at_ms, unit in ((500, 2), (1_000, 3)):
            played.at(at_ms).fire("emit:in")
            assert played.running == [unit]

    def test_a_unit_that_had_more_rows_delays_what_follows(self) -> None:
        played = Played(one_source(rows_per_second=10, parallelism=9))
        played.run(3, rows=5)
        played.finish(1, rows=20)
        assert played.only(commands.SetTimer) == commands.SetTimer(key="emit:in", at_ms=2_000)
        played.at(500).fire("emit:in")
        assert played.running == []
        played.at(2_000).fire("emit:in")
        assert played.running == [2]

    def test_bytes_are_limited_too(self) -> None:
        played = Played(one_source(bytes_per_second=100, parallelism=9))
        played.run(2, weight_bytes=50)
        assert played.running == [1]
        played.at(500).fire("emit:in")
        assert played.running == [2]


class TestCheckpoints:
    def test_a_barrier_waits_for_no_unit(self) -> None:
        played = Played()
        played.run(4)
        state = played.at(1_000).checkpoint()
        assert played.said[0] == commands.SetTimer(key="expire:2", at_ms=6_000), "the timeout comes first"
        assert held(state) == [1, 2, 3, 4]
        assert states(state).sources["in"].cursor == 4
        played.stored(2)
        assert played.only(commands.CheckpointCompleted).checkpoint_id == 2

    def test_every_part_of_the_channel_is_recorded(self) -> None:
        """R2: half put together, queued, running, waiting for a retry, held back for order with its committable."""
        played = Played(ORDERED, limits=Limits(target_unit_bytes=20, credits_per_source=7))
        played.run(7, weight_bytes=10)
        played.fail(1)
        played.finish(2)
        state = played.checkpoint()
        assert held(state) == [1, 2, 3, 4]
        task = states(state).tasks["in"]
        assert [unit.committables is not None for unit in task.units] == [False, True, False, False]
        assert task.next_unit == 5

    def test_a_half_built_unit_is_recorded(self) -> None:
        played = Played(one_source(rows_per_second=10), limits=Limits())
        played.run(2, rows=5)
        assert held(played.checkpoint()) == [1]
        assert played.ever(commands.RunUnit) == []

    def test_the_interval_triggers(self) -> None:
        played = Played()
        played.run(1)
        assert commands.SetTimer(key="trigger", at_ms=1_000) in played.said
        played.at(1_000).fire("trigger")
        assert played.only(commands.CheckpointTriggered).checkpoint_id == 2
        played.at(1_100).stored(2)
        assert played.only(commands.SetTimer) == commands.SetTimer(key="trigger", at_ms=2_000)

    def test_a_batch_takes_only_what_it_must(self) -> None:
        played = Played(policy=BATCH)
        played.run(1)
        assert not played.ever(commands.CheckpointTriggered)
        assert "trigger" not in [command.key for command in played.ever(commands.SetTimer)]
        played.finish(1)
        assert played.only(commands.CheckpointTriggered).checkpoint_type is CheckpointType.COMPLETED_POINT

    def test_committables_of_an_aborted_checkpoint_are_in_the_next(self) -> None:
        played = Played(policy=CheckpointPolicy(interval_ms=1_000, tolerable_failures=1))
        played.run(2)
        played.finish(1)
        first = played.checkpoint()
        played.storage_failed(first.checkpoint_id)
        assert played.only(commands.CheckpointAborted).reason == PASSING.message
        second = played.at(1_000).checkpoint()
        assert [each.unit for each in states(second).sinks["out"].uncommitted] == [1]

    def test_what_is_stored_and_not_yet_committed_is_in_the_next_too(self) -> None:
        """R1: checkpoint 2 is stored and its commit retried; checkpoint 3 must still contain its committables."""
        played = Played()
        played.run(3)
        played.finish(1)
        played.checkpoint()
        played.stored(2)
        played.deliver(events.CommitFailed(now_ms=0, sink="out", committed=(), failure=PASSING))
        assert [each.unit for each in states(played.checkpoint()).sinks["out"].uncommitted] == [1]

    def test_a_completed_checkpoint_subsumes_older_ones(self) -> None:
        played = Played(policy=CheckpointPolicy(interval_ms=None, max_concurrent=2))
        played.run(2)
        played.checkpoint()
        played.checkpoint()
        played.stored(3)
        assert played.only(commands.CheckpointAborted).checkpoint_id == 2
        assert "subsumed by checkpoint 3" in played.only(commands.CheckpointAborted).reason
        played.stored(2)
        assert played.said == (), "the late answer is ignored"
        played.storage_failed(2)
        assert played.said == ()

    def test_no_more_pending_than_allowed(self) -> None:
        played = Played()
        played.run(2)
        played.checkpoint()
        played.deliver(events.TriggerRequested(now_ms=0, checkpoint_type=CheckpointType.CHECKPOINT))
        assert not played.get(commands.CheckpointTriggered)
        played.stored(2)
        assert played.only(commands.CheckpointTriggered).checkpoint_id == 3

    def test_failures_in_a_row_are_tolerated_so_often(self) -> None:
        played = Played(policy=CheckpointPolicy(interval_ms=None, tolerable_failures=1))
        played.run(2)
        now_ms = 0
        for checkpoint_id, good in ((2, False), (3, True), (4, False)):
            now_ms += 1_000
            played.at(now_ms).checkpoint()
            (played.stored if good else played.storage_failed)(checkpoint_id)
            assert not played.get(commands.EndPipeline)
        played.at(now_ms + 1_000).checkpoint()
        played.storage_failed(5, evolve(PASSING, code="STORAGE-UNAVAILABLE"))
        failure = played.only(commands.EndPipeline).failure
        assert failure is not None
        assert (failure.kind, failure.code) == (FailureKind.TRANSIENT, "STORAGE-UNAVAILABLE")
        assert "checkpoints that failed in a row: 2, tolerated: 1; checkpoint 5: a worker is gone" in failure.message

    def test_a_stalled_storage_is_named_when_the_checkpoint_expires(self) -> None:
        played = Played(policy=CheckpointPolicy(interval_ms=None, timeout_ms=5_000, tolerable_failures=1))
        played.run(2)
        played.at(1_000).checkpoint()
        played.at(6_000).fire("expire:2")
        assert played.only(commands.CheckpointAborted).reason == (
            "expired after 5000 ms: every vertex acknowledged, and the storage has been storing for 5000 ms"
        )

    def test_the_fence_ends_everything(self) -> None:
        """R5: a zombie commits nothing."""
        played = Played()
        played.run(2)
        played.finish(1)
        played.checkpoint()
        played.deliver(events.FenceLost(now_ms=0, message="epoch 7 is newer"))
        assert [type(command) for command in played.said] == [
            commands.CheckpointAborted,
            commands.CancelUnits,
            commands.EndPipeline,
        ]
        end = played.only(commands.EndPipeline)
        assert (end.outcome, end.failure and end.failure.code) == (Outcome.FENCED, "STALE-EPOCH")
        played.stored(2)
        assert played.said == ()

    def test_a_body_that_cannot_be_written_is_a_bug_of_the_connector(self) -> None:
        played = Played()
        played.stored(played.begin().checkpoint_id)
        played.deliver(events.SinksPrepared(now_ms=0))
        played.deliver(events.Swept(now_ms=0, removed=0))
        bad = Split(index=0, weight_bytes=1, rows=1, body={"a set": {1}})
        played.deliver(events.Enumerated(now_ms=0, source="in", splits=(bad,), attachment="frozen-in"))
        played.deliver(events.TriggerRequested(now_ms=0, checkpoint_type=CheckpointType.CHECKPOINT))
        aborted, failure = played.only(commands.CheckpointAborted), played.only(commands.EndPipeline).failure
        assert aborted.kind is AbortKind.UNWRITABLE
        assert "JSON values only" in aborted.reason
        assert failure is not None
        assert failure.kind is FailureKind.BUG
        assert "JSON values only" in failure.message


class TestCommits:
    def test_only_a_completed_checkpoint_is_published(self) -> None:
        played = Played()
        played.run(3)
        played.finish(1)
        played.checkpoint()
        assert not played.ever(commands.Commit)
        played.finish(2)
        played.stored(2)
        commit = played.only(commands.Commit)
        assert [each.unit for each in commit.committables] == [1], "unit 2 came after the barrier"
        assert commit.again is False
        played.committed()
        assert played.only(commands.RowsCommitted) == commands.RowsCommitted(sink="out", rows=1, bytes=10, total_rows=1)

    def test_what_was_tried_goes_apart_from_what_was_not(self) -> None:
        played = Played()
        played.run(4)
        played.finish(1)
        played.finish(2)
        played.checkpoint()
        played.stored(2)
        played.deliver(events.CommitFailed(now_ms=0, sink="out", committed=("0-1-1",), failure=PASSING))
        assert played.only(commands.RowsCommitted).rows == 1
        played.finish(3)
        played.checkpoint()
        played.stored(3)
        assert not played.get(commands.Commit), "the retry comes first"
        played.at(500).fire("commit:out")
        assert [(each.again, [c.unit for c in each.committables]) for each in played.get(commands.Commit)] == [
            (True, [2])
        ]
        played.committed()
        assert [(each.again, [c.unit for c in each.committables]) for each in played.get(commands.Commit)] == [
            (False, [3])
        ]

    def test_a_commit_that_keeps_failing_ends_the_pipeline(self) -> None:
        played = Played(limits=Limits(target_unit_rows=1, commit_retries=1))
        played.run(2)
        played.finish(1)
        played.checkpoint()
        played.stored(2)
        failed = events.CommitFailed(now_ms=0, sink="out", committed=(), failure=PASSING)
        played.deliver(failed)
        played.at(500).fire("commit:out")
        played.deliver(failed)
        assert played.only(commands.EndPipeline).failure == PASSING

    def test_a_commit_that_cannot_work_ends_the_pipeline(self) -> None:
        played = Played()
        played.run(2)
        played.finish(1)
        played.checkpoint()
        played.stored(2)
        played.deliver(events.CommitFailed(now_ms=0, sink="out", committed=(), failure=LASTING))
        assert played.only(commands.EndPipeline).failure == LASTING

    def test_a_full_sink_asks_for_a_checkpoint_and_stops_the_credits(self) -> None:
        """R1: with no interval, the bound triggers."""
        played = Played(policy=BATCH, limits=Limits(target_unit_rows=1, credits_per_source=2, max_uncommitted=2))
        played.run(9)
        played.finish(1)
        played.finish(2)
        assert "sink 'out' holds 2 committables (20 bytes)" in played.only(commands.Degraded).reason
        assert played.only(commands.CheckpointTriggered).checkpoint_id == 2
        assert played.protocol.progress().degraded
        in_flight = played.protocol.progress().units_in_flight
        for unit in range(3, 3 + in_flight):
            played.finish(unit)
        assert played.running == [], "no credit, no unit"
        played.stored(2)
        played.committed()
        assert played.protocol.progress().uncommitted == in_flight

    def test_room_gives_the_credits_back(self) -> None:
        played = Played(policy=BATCH, limits=Limits(target_unit_rows=1, credits_per_source=2, max_uncommitted=3))
        played.run(9)
        for unit in (1, 2, 3):
            played.finish(unit)
        assert played.get(commands.CheckpointTriggered)
        played.stored(2)
        played.committed()
        assert commands.Degraded(reason="") in played.said
        assert played.protocol.progress().degraded == ""

    def test_bytes_are_bounded_too(self) -> None:
        played = Played(policy=BATCH, limits=Limits(target_unit_rows=1, max_uncommitted_bytes=10))
        played.run(3)
        played.finish(1)
        assert played.get(commands.Degraded)


class TestEnds:
    def test_the_final_checkpoint_comes_when_nothing_is_in_flight(self) -> None:
        played = Played()
        played.run(2)
        played.finish(1)
        played.at(1_000).fire("trigger")
        assert played.only(commands.CheckpointTriggered).checkpoint_type is CheckpointType.CHECKPOINT
        played.at(3_000).finish(2)
        assert not played.get(commands.CheckpointTriggered), "one is pending, and one may be"
        played.stored(2)
        triggered = played.only(commands.CheckpointTriggered)
        assert triggered.checkpoint_type is CheckpointType.COMPLETED_POINT
        assert commands.SetTimer(key="expire:3", at_ms=8_000) in played.said, "its timeout starts at its trigger"
        assert played.protocol.phase is Phase.RUNNING

    def test_finished_after_the_last_commit_and_the_last_sweep(self) -> None:
        played = Played(policy=BATCH)
        played.run(1)
        played.finish(1)
        played.stored(2)
        assert played.protocol.phase is Phase.FINISHING
        played.committed()
        assert played.only(commands.Sweep) == commands.Sweep(epoch=1, keep=frozenset(), final=True)
        played.deliver(events.Swept(now_ms=0, removed=0))
        assert played.said == (commands.EndPipeline(outcome=Outcome.FINISHED),)
        assert played.protocol.progress().phase is Phase.ENDED

    def test_an_empty_source_finishes(self) -> None:
        played = Played(policy=BATCH)
        played.run(0)
        assert played.only(commands.CheckpointTriggered).checkpoint_type is CheckpointType.COMPLETED_POINT

    def test_a_final_checkpoint_that_fails_is_taken_again_after_a_pause(self) -> None:
        played = Played(policy=CheckpointPolicy(interval_ms=None, tolerable_failures=1))
        played.run(0)
        played.storage_failed(2)
        assert commands.SetTimer(key="trigger", at_ms=1_000) in played.said
        played.at(1_000).fire("trigger")
        assert played.only(commands.CheckpointTriggered).checkpoint_type is CheckpointType.COMPLETED_POINT

    def test_a_source_without_end_never_finishes(self) -> None:
        endless = Topology(
            sources=(SourceSpec(name="in", ordinal=0, sinks=("out",), bounded=False),), sinks=ONE_TO_ONE.sinks
        )
        played = Played(endless, policy=BATCH, limits=SPLIT_PER_UNIT)
        played.run(1)
        played.finish(1)
        assert not played.ever(commands.CheckpointTriggered)


class TestStop:
    def test_a_stop_takes_a_last_checkpoint_with_the_units_in_flight(self) -> None:
        played = Played(policy=BATCH)
        played.run(6)
        played.finish(1)
        played.deliver(events.StopRequested(now_ms=0))
        state = played.only(commands.StoreCheckpoint).state
        assert held(state) == [2, 3, 4, 5]
        assert [type(command) for command in played.said][-2:] == [commands.CancelUnits, commands.StoreCheckpoint]
        played.finish(2)
        assert played.said == (), "results after the last barrier are left to the next start"
        played.stored(state.checkpoint_id)
        assert played.only(commands.Commit)
        played.committed()
        assert played.only(commands.EndPipeline) == commands.EndPipeline(outcome=Outcome.STOPPED)

    def test_a_second_request_changes_nothing(self) -> None:
        played = Played(policy=BATCH)
        played.run(2)
        played.deliver(events.StopRequested(now_ms=0))
        played.deliver(events.StopRequested(now_ms=0))
        assert played.said == ()

    def test_pending_ones_give_way_to_the_last(self) -> None:
        played = Played()
        played.run(2)
        played.checkpoint()
        played.deliver(events.StopRequested(now_ms=0))
        assert played.only(commands.CheckpointAborted).checkpoint_id == 2
        assert played.only(commands.CheckpointTriggered).checkpoint_id == 3

    def test_a_last_checkpoint_that_fails_does_not_hold_the_stop_up(self) -> None:
        played = Played(policy=CheckpointPolicy(interval_ms=None, tolerable_failures=9))
        played.run(2)
        played.deliver(events.StopRequested(now_ms=0))
        played.storage_failed(2)
        assert played.only(commands.EndPipeline) == commands.EndPipeline(outcome=Outcome.STOPPED, failure=PASSING)

    def test_the_time_is_bounded(self) -> None:
        played = Played(policy=BATCH)
        played.run(2)
        played.deliver(events.StopRequested(now_ms=0))
        played.at(5_000).fire("stop")
        end = played.only(commands.EndPipeline)
        assert end.outcome is Outcome.STOPPED
        assert end.failure is not None
        assert "the storage has been storing for 5000 ms" in end.failure.message

    def test_commits_after_the_last_checkpoint_are_bounded_too(self) -> None:
        played = Played(policy=BATCH)
        played.run(2)
        played.finish(1)
        played.deliver(events.StopRequested(now_ms=0))
        played.stored(2)
        played.at(5_000).fire("stop")
        assert played.only(commands.EndPipeline) == commands.EndPipeline(outcome=Outcome.STOPPED)

    def test_a_pipeline_that_is_finishing_finishes(self) -> None:
        played = Played(policy=BATCH)
        played.run(0)
        played.deliver(events.StopRequested(now_ms=0))
        assert [command.key for command in played.get(commands.SetTimer)] == ["stop"]
        played.stored(2)
        played.deliver(events.Swept(now_ms=0, removed=0))
        assert played.only(commands.EndPipeline).outcome is Outcome.FINISHED


class TestExpiry:
    """A checkpoint whose barriers are held up somewhere names who did not answer (lesson 7)."""

    @pytest.mark.parametrize(
        ("delivered", "said"),
        [
            (0, r"source in \(has emitted 4 of 4 splits, for 5000 ms\); task in \(runs 2 units, the oldest is unit 1, "
                r"for 5000 ms\); sink out \(waits for the barrier from nobody, for \d+ ms\)"),
            (2, r"from task in \(runs 2 units, the oldest is unit 1, for 5000 ms\); sink out"),
        ],
    )  # fmt: skip
    def test_who_did_not_answer(self, delivered: int, said: str) -> None:
        played = Played(policy=CheckpointPolicy(interval_ms=None, timeout_ms=5_000, tolerable_failures=1))
        played.run(4)
        hold_after(played, delivered)
        played.deliver(events.TriggerRequested(now_ms=0, checkpoint_type=CheckpointType.CHECKPOINT))
        played.at(5_000).fire("expire:2")
        reason = played.only(commands.CheckpointAborted).reason
        assert reason.startswith("expired after 5000 ms: no acknowledgement from ")
        assert re.search(said, reason), reason

    def test_a_sink_names_the_input_it_waits_for(self) -> None:
        topology = Topology(
            sources=(
                SourceSpec(name="a", ordinal=0, sinks=("out",)),
                SourceSpec(name="b", ordinal=1, sinks=("out",)),
            ),
            sinks=(SinkSpec(name="out", ordinal=0),),
        )
        played = Played(topology, policy=CheckpointPolicy(interval_ms=None, timeout_ms=5_000, tolerable_failures=1))
        played.run(1)
        hold_after(played, 6)
        played.deliver(events.TriggerRequested(now_ms=0, checkpoint_type=CheckpointType.CHECKPOINT))
        played.at(5_000).fire("expire:2")
        reason = played.only(commands.CheckpointAborted).reason
        assert "sink out (waits for the barrier from " in reason, reason

    def test_a_task_that_runs_nothing_says_so(self) -> None:
        played = Played(policy=CheckpointPolicy(interval_ms=None, timeout_ms=5_000, tolerable_failures=1))
        played.run(1)
        played.fail(1)
        hold_after(played, 0)
        played.deliver(events.TriggerRequested(now_ms=0, checkpoint_type=CheckpointType.CHECKPOINT))
        played.at(5_000).fire("expire:2")
        assert "has 1 units in flight and runs none" in played.only(commands.CheckpointAborted).reason


def hold_after(played: Played, count: int) -> None:
    """From now on ``count`` messages more are delivered, and no other."""
    wiring = played.protocol._wiring
    left = iter(range(count))

    def deliver() -> None:
        while wiring.ready and next(left, None) is not None:
            wiring.ready.popleft().deliver_one()

    wiring.deliver = deliver  # type: ignore[method-assign]


def test_the_reference_of_a_checkpoint_reads_well() -> None:
    assert str(CheckpointRef(3, 14)) == "3-14"
