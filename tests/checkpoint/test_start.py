"""The start of a pipeline, step by step (R4)."""

import re

import pytest
from attrs import evolve

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import Outcome
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.state.vertex_state import (
    HeldUnit,
    SinkState,
    SourceState,
    TaskState,
    VertexStates,
)
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.unit import WorkUnit
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.checkpoint.played import LASTING, ONE_TO_ONE, ORDERED, PASSING, Played, committable, info_of, splits

HELD = VertexStates(
    sources={"in": SourceState(attachment="frozen-in", cursor=3, total=4)},
    tasks={
        "in": TaskState(
            next_unit=4,
            units=(
                HeldUnit(unit=WorkUnit(number=2, splits=splits(4)[1:2])),
                HeldUnit(unit=WorkUnit(number=3, splits=splits(4)[2:3]), committables={"out": committable(3)}),
            ),
            units_done=2,
            splits_done=2,
            rows_read=20,
            rows_written=12,
            bytes_read=200,
        )
    },
    sinks={"out": SinkState(save_mode_pending=False, uncommitted=(committable(1),), rows_committed=5)},
)
"""Unit 1 is finished and not committed, unit 2 was running, unit 3 is finished and waits for unit 2."""


def stored(
    states: VertexStates = HELD, kind: CheckpointType = CheckpointType.CHECKPOINT, epoch: int = 1
) -> PipelineState:
    return PipelineState(
        job_id="job",
        pipeline_id=1,
        epoch=epoch,
        checkpoint_id=7,
        checkpoint_type=kind,
        states=codec.encode(states),
        base=CheckpointRef(0, 2) if epoch > 1 else None,
    )


def test_a_first_start_asks_for_one_thing_after_the_other() -> None:
    played = Played()
    assert played.deliver(events.Started(now_ms=0)) == (commands.ClaimEpoch(minimum=1),)
    assert played.deliver(events.EpochClaimed(now_ms=0, epoch=1)) == (commands.ListCheckpoints(),)
    played.deliver(events.CheckpointsListed(now_ms=0, checkpoints=(), newest_epoch=1))
    state = played.only(commands.StoreCheckpoint).state
    assert (state.epoch, state.checkpoint_id, state.checkpoint_type) == (1, 1, CheckpointType.RESTORE_POINT)
    assert state.base is None
    assert codec.decode(state.states) == VertexStates.at_start(ONE_TO_ONE)
    played.stored(1)
    assert played.only(commands.EpochStarted) == commands.EpochStarted(
        epoch=1, base=None, restored_units=0, restored_committables=0
    )
    assert played.only(commands.PrepareSinks) == commands.PrepareSinks(epoch=1, save_mode_pending=frozenset({"out"}))
    played.deliver(events.SinksPrepared(now_ms=0))
    assert played.said == (commands.Sweep(epoch=1, keep=frozenset(), final=False),)
    played.deliver(events.Swept(now_ms=0, removed=0))
    assert played.said == (commands.Enumerate(source="in", attachment=None),)
    played.enumerated(2)
    assert played.running == [1, 2]
    assert played.protocol.phase is Phase.RUNNING


def test_a_restart_commits_sweeps_and_goes_on_where_its_base_was() -> None:
    played = Played(ORDERED, epoch=2)
    restore_point = played.begin(stored())
    assert (restore_point.epoch, restore_point.checkpoint_id, restore_point.base) == (2, 8, CheckpointRef(1, 7))
    assert restore_point.states == codec.encode(HELD), "the restore point is the base's state"
    played.stored(8)
    assert played.only(commands.EpochStarted).restored_units == 2
    assert played.only(commands.EpochStarted).restored_committables == 1
    assert played.only(commands.PrepareSinks).save_mode_pending == frozenset()
    played.deliver(events.SinksPrepared(now_ms=0))
    assert played.said == (commands.Commit(sink="out", committables=(committable(1),), may_be_committed=True),)
    played.committed()
    assert played.only(commands.RowsCommitted).total_rows == 6
    assert played.only(commands.Sweep).keep == frozenset({"0-1-3", "0-1-1"}), (
        "what is held back for order stays, and what says that the base is committed: the next start commits it again"
    )
    played.deliver(events.Swept(now_ms=0, removed=0))
    assert played.only(commands.Enumerate).attachment == "frozen-in"
    played.enumerated(4)
    assert played.running == [2, 4], "unit 2 runs again under its number, the last split gets the next one"
    assert {command.attempt.epoch for command in played.get(commands.RunUnit)} == {2}
    played.finish(2)
    progress = played.protocol.progress()
    assert (progress.uncommitted, progress.units_in_flight) == (2, 1), "unit 2 and, after it, unit 3 are handed on"


def test_the_committed_rows_of_each_table_are_counted_on() -> None:
    counted = evolve(committable(1, rows=3), table_rows={"a": 1, "b": 2})
    sink = SinkState(save_mode_pending=False, uncommitted=(counted,), rows_committed=5, table_rows={"a": 4, "c": 1})
    before = evolve(HELD, sinks={"out": sink})
    played = Played(ORDERED, epoch=2)
    played.begin(stored(before))
    played.stored(8)
    assert played.protocol.progress().table_rows_by_sink == {"out": {"a": 4, "c": 1}}
    played.deliver(events.SinksPrepared(now_ms=0))
    played.committed()
    assert played.protocol.progress().table_rows_by_sink == {"out": {"a": 5, "b": 2, "c": 1}}
    assert before.without_staged().sinks["out"].table_rows == {"a": 5, "b": 2, "c": 1}


def test_a_unit_held_back_is_handed_on_when_its_source_is_ordered_no_more() -> None:
    played = Played(epoch=2)
    played.run(4, stored=stored())
    assert played.protocol.progress().uncommitted == 1


def test_a_source_that_has_emitted_everything_is_enumerated_for_its_units_in_flight() -> None:
    """Its units hold their splits, but only the enumeration knows the schemas: without it a job that was killed in the
    last unit of a source could never be resumed."""
    played = Played(ORDERED, epoch=2)
    played.run(4, stored=stored(evolve(HELD, sources={"in": SourceState(attachment="frozen-in", cursor=4, total=4)})))
    assert played.ever(commands.Enumerate)
    assert played.running == [2]


def test_a_completed_point_commits_and_sweeps_and_moves_no_row() -> None:
    """R7: a kill between the final store and its commit must not lose the last rows."""
    final = evolve(
        HELD,
        tasks={"in": TaskState(next_unit=4)},
        sources={"in": SourceState(attachment="frozen-in", cursor=4, total=4)},
    )
    played = Played(epoch=2)
    restore_point = played.begin(stored(final, CheckpointType.COMPLETED_POINT))
    assert restore_point.checkpoint_type is CheckpointType.COMPLETED_POINT
    played.stored(8)
    played.deliver(events.SinksPrepared(now_ms=0))
    assert played.only(commands.Commit).may_be_committed
    played.committed()
    assert played.only(commands.Complete) == commands.Complete(epoch=2)
    played.deliver(events.Completed(now_ms=0))
    assert played.only(commands.Sweep) == commands.Sweep(epoch=2, keep=frozenset(), final=True)
    played.deliver(events.Swept(now_ms=0, removed=3))
    assert played.only(commands.EndPipeline).outcome is Outcome.FINISHED
    assert not played.ever(commands.Enumerate)
    assert not played.ever(commands.RunUnit)


def test_a_newer_engine_goes_first() -> None:
    played = Played()
    played.deliver(events.Started(now_ms=0))
    played.deliver(events.EpochClaimed(now_ms=0, epoch=1))
    played.deliver(events.CheckpointsListed(now_ms=0, checkpoints=(), newest_epoch=2))
    end = played.only(commands.EndPipeline)
    assert end.outcome is Outcome.FENCED
    assert end.failure is not None
    assert "epoch 2 was claimed after epoch 1" in end.failure.message


def test_a_checkpoint_of_a_newer_epoch_is_a_newer_engine_too() -> None:
    """Its marker may be gone with a deleted job."""
    played = Played()
    played.deliver(events.Started(now_ms=0))
    played.deliver(events.EpochClaimed(now_ms=0, epoch=1))
    played.deliver(events.CheckpointsListed(now_ms=0, checkpoints=(info_of(stored(epoch=3)),), newest_epoch=None))
    assert played.only(commands.EndPipeline).outcome is Outcome.FENCED


def test_a_lost_fence_ends_the_start() -> None:
    played = Played()
    played.begin()
    played.deliver(events.FenceLost(now_ms=0, message="a newer engine runs this job"))
    assert played.said == (
        commands.EndPipeline(
            outcome=Outcome.FENCED,
            failure=Failure(kind=FailureKind.STORAGE, message="a newer engine runs this job", code="STALE-EPOCH"),
        ),
    )


@pytest.mark.parametrize("intact", [None, CheckpointRef(1, 5)])
def test_a_damaged_base_is_not_replaced_by_an_older_one(intact: CheckpointRef | None) -> None:
    played = Played(epoch=2)
    played.deliver(events.Started(now_ms=0))
    played.deliver(events.EpochClaimed(now_ms=0, epoch=2))
    played.deliver(events.CheckpointsListed(now_ms=0, checkpoints=(info_of(stored()),), newest_epoch=2))
    ref = played.only(commands.LoadCheckpoint).ref
    played.deliver(events.CheckpointDamaged(now_ms=0, ref=ref, intact=intact, message="a byte is wrong"))
    end = played.only(commands.EndPipeline)
    assert end.outcome is Outcome.FAILED
    assert end.failure is not None
    assert not end.failure.retryable
    assert "1-7 is damaged (a byte is wrong)" in end.failure.message
    assert end.failure.code == "CHECKPOINT-CORRUPTED"
    assert ("1-5" if intact else "no stored checkpoint") in end.failure.message
    assert ("retract=True" in end.failure.message) == (intact is not None), "there must be something to go back to"


TWO = Topology(
    sources=(SourceSpec(name="in", ordinal=0, sinks=("out", "more")),),
    sinks=(SinkSpec(name="out", ordinal=0), SinkSpec(name="more", ordinal=1)),
)
SWAPPED = Topology(
    sources=(
        SourceSpec(name="in", ordinal=0, sinks=("more",)),
        SourceSpec(name="also", ordinal=1, sinks=("out",)),
    ),
    sinks=TWO.sinks,
)
AFTER_SWAP = VertexStates(
    sources={"in": SourceState(), "also": SourceState()},
    tasks={"in": HELD.tasks["in"], "also": TaskState()},
    sinks={"out": SinkState(), "more": SinkState()},
)


@pytest.mark.parametrize(
    ("topology", "states", "said"),
    [
        (ONE_TO_ONE, codec.encode(VertexStates.at_start(TWO)), "it also has sink more, which this job does not have"),
        (ONE_TO_ONE, codec.encode(VertexStates.at_start(SWAPPED)), "it also has sink more, source also"),
        (SWAPPED, codec.encode(HELD), r"unit 3 of source 'in' has staged rows for \['out'\]"),
        (SWAPPED, codec.encode(AFTER_SWAP), r"unit 3 of source 'in' has staged rows for \['out'\]"),
        (ONE_TO_ONE, b"{}", "the stored state is invalid"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(topology: Topology, states: bytes, said: str) -> None:
    played = Played(topology, epoch=2)
    played.deliver(events.Started(now_ms=0))
    played.deliver(events.EpochClaimed(now_ms=0, epoch=2))
    base = evolve(stored(), states=states)
    played.deliver(events.CheckpointsListed(now_ms=0, checkpoints=(info_of(base),), newest_epoch=2))
    played.deliver(events.CheckpointLoaded(now_ms=0, state=base))
    failure = played.only(commands.EndPipeline).failure
    assert failure is not None
    assert failure.kind is FailureKind.USAGE
    assert re.search(said, failure.message), failure.message


def test_a_restore_point_that_is_not_stored_in_time_fails_the_start() -> None:
    played = Played()
    played.begin()
    assert played.ever(commands.SetTimer)[-1].at_ms == 600_000
    played.at(600_000).fire("restore")
    end = played.only(commands.EndPipeline)
    assert end.failure is not None
    assert end.failure.retryable
    assert "not stored within 600000 ms" in end.failure.message


def test_any_failure_before_running_fails_the_start() -> None:
    played = Played()
    played.begin()
    played.storage_failed()
    assert played.said == (commands.EndPipeline(outcome=Outcome.FAILED, failure=PASSING),)
    played = Played()
    played.begin()
    played.stored(1)
    played.deliver(events.ConnectorFailed(now_ms=0, failure=LASTING))
    assert played.said == (commands.EndPipeline(outcome=Outcome.FAILED, failure=LASTING),)


def test_a_stop_before_running_ends_at_once() -> None:
    played = Played()
    played.begin()
    played.deliver(events.StopRequested(now_ms=0))
    assert played.said == (commands.EndPipeline(outcome=Outcome.STOPPED),)


def test_a_failed_commit_of_the_base_is_tried_again_before_anything_else() -> None:
    played = Played(epoch=2)
    played.stored(played.begin(stored()).checkpoint_id)
    played.deliver(events.SinksPrepared(now_ms=0))
    played.deliver(events.CommitFailed(now_ms=0, sink="out", committed=(), failure=PASSING))
    timer = played.only(commands.SetTimer)
    assert (timer.key, timer.at_ms) == ("commit:out", 500)
    assert not played.get(commands.Sweep)
    played.at(500).fire("commit:out")
    assert played.only(commands.Commit).may_be_committed
    played.committed()
    assert played.get(commands.Sweep)


def test_who_asks_for_a_checkpoint_early_gets_it_as_soon_as_the_pipeline_runs() -> None:
    played = Played()
    played.begin()
    played.deliver(events.TriggerRequested(now_ms=0, checkpoint_type=CheckpointType.CHECKPOINT))
    assert played.said == ()
    played.stored(1)
    played.deliver(events.SinksPrepared(now_ms=0))
    played.deliver(events.Swept(now_ms=0, removed=0))
    played.enumerated(3)
    assert played.only(commands.CheckpointTriggered).checkpoint_id == 2
