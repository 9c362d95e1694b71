"""Splits, units, checkpoints and commits of a running pipeline."""

import re

import pytest
from attrs import evolve

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import AbortKind, Outcome
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.work.failure import FailureKind
from seatunnel_core.work.split import Split
from seatunnel_storage_api.state import CheckpointRef, CheckpointType
from tests.checkpoint.played import (
    LASTING,
    ONE_TO_ONE,
    ORDERED,
    PASSING,
    SPLIT_PER_UNIT,
    Played,
    held,
    one_source,
    states,
)

BATCH = CheckpointPolicy(interval_ms=None, timeout_ms=5_000)


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
        assert (
            "consecutive failed checkpoints, 2, exceeds the limit of 1; checkpoint 5 failed: a worker is gone"
            in failure.message
        )

    def test_a_stalled_storage_is_named_when_the_checkpoint_expires(self) -> None:
        played = Played(policy=CheckpointPolicy(interval_ms=None, timeout_ms=5_000, tolerable_failures=1))
        played.run(2)
        played.at(1_000).checkpoint()
        played.at(6_000).fire("expire:2")
        assert played.only(commands.CheckpointAborted).reason == (
            "expired after 5000 ms: all vertices have acknowledged; the storage has been writing the checkpoint for "
            "5000 ms"
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
        assert "only JSON values" in aborted.reason
        assert failure is not None
        assert failure.kind is FailureKind.BUG
        assert "only JSON values" in failure.message


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
        assert not played.get(commands.Sweep)
        assert played.only(commands.Complete) == commands.Complete(epoch=1)
        played.deliver(events.Completed(now_ms=0))
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
        assert "the storage has been writing the checkpoint for 5000 ms" in end.failure.message

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
        played.deliver(events.Completed(now_ms=0))
        played.deliver(events.Swept(now_ms=0, removed=0))
        assert played.only(commands.EndPipeline).outcome is Outcome.FINISHED


class TestExpiry:
    """A checkpoint whose barriers are held up somewhere names who did not answer (lesson 7)."""

    @pytest.mark.parametrize(
        ("delivered", "said"),
        [
            (0, r"source in \(has emitted 4 of 4 splits, for 5000 ms\); task in \(runs 2 units; the oldest is unit 1, "
                r"for 5000 ms\); sink out \(waits for the barrier from no source, for \d+ ms\)"),
            (2, r"from task in \(runs 2 units; the oldest is unit 1, for 5000 ms\); sink out"),
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
        assert "has 1 units in flight, but none of them is running" in played.only(commands.CheckpointAborted).reason


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


def test_a_commit_that_succeeds_after_the_pipeline_has_failed_is_counted() -> None:
    """Its rows were published, and the closing table did not have them."""
    played = Played()
    played.run(2)
    played.finish(1, rows=3)
    played.stored(played.checkpoint().checkpoint_id)
    (commit,) = played.ever(commands.Commit)
    played.fail(2, failure=LASTING)
    assert played.protocol.phase is Phase.ENDED
    assert played.protocol.progress().rows_committed == 0
    ids = tuple(each.id for each in commit.committables)
    for answered, rows in ((("another",), 0), (ids, 3), (ids, 3)):
        assert played.deliver(events.CommitSucceeded(now_ms=0, sink="out", ids=answered)) == ()
        assert played.protocol.progress().rows_committed == rows
