"""Savepoints: what they hold, when they are stored, and that nobody waits for one that will not come."""

from typing import Any

import pytest

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import Outcome
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.checkpoint.played import LASTING, ORDERED, PASSING, Played, info_of

BATCH = CheckpointPolicy(interval_ms=None, timeout_ms=5_000)


def ask(played: Played, name: str = "mine", *, stop: bool = False, drain: bool = False) -> None:
    played.deliver(events.SavepointRequested(now_ms=0, name=name, stop=stop, drain=drain))


def stores(played: Played) -> list[tuple[int, CheckpointType]]:
    asked = played.get(commands.StoreCheckpoint)
    return [(command.state.checkpoint_id, command.state.checkpoint_type) for command in asked]


def savepoint(played: Played) -> PipelineState:
    """The savepoint that the last event asked the storage to keep."""
    state = played.only(commands.StoreCheckpoint).state
    assert state.checkpoint_type is CheckpointType.SAVEPOINT
    return state


def states(state: PipelineState) -> VertexStates:
    return codec.decode(state.states)


class TestWhatItHolds:
    def test_the_cut_of_its_checkpoint_stored_when_all_that_it_contains_is_published(self) -> None:
        played = Played(policy=BATCH)
        played.run(4)
        played.finish(1)
        ask(played)
        assert stores(played) == [(2, CheckpointType.CHECKPOINT)]
        cut = states(played.only(commands.StoreCheckpoint).state)
        played.stored(2)
        assert stores(played) == [], "its committables come first"
        played.committed()
        state = savepoint(played)
        assert state.ref == CheckpointRef(1, 3)
        held = states(state)
        assert held.sources == cut.sources
        assert [unit.unit for unit in held.tasks["in"].units] == [unit.unit for unit in cut.tasks["in"].units]
        assert (held.sinks["out"].uncommitted, held.sinks["out"].rows_committed) == ((), 1)
        assert played.ever(commands.SavepointCompleted) == []
        played.stored(3)
        assert played.only(commands.SavepointCompleted) == commands.SavepointCompleted(
            name="mine", ref=CheckpointRef(1, 3)
        )

    def test_a_finished_unit_that_is_held_back_for_order_is_in_flight(self) -> None:
        """It names staged files, and a savepoint outlives every sweep."""
        played = Played(ORDERED, policy=BATCH)
        played.run(4)
        played.finish(2, rows=5)
        ask(played)
        task = states(played.only(commands.StoreCheckpoint).state).tasks["in"]
        assert [unit.committables is not None for unit in task.units] == [False, True, False, False]
        assert (task.units_done, task.splits_done, task.rows_written) == (1, 1, 5)
        played.stored(2)
        task = states(savepoint(played)).tasks["in"]
        assert [unit.committables for unit in task.units] == [None] * 4
        assert (task.units_done, task.splits_done, task.rows_written) == (0, 0, 0)

    def test_it_waits_for_every_sink(self) -> None:
        both = Topology(
            sources=(SourceSpec(name="in", ordinal=0, sinks=("left", "right"), parallelism=2),),
            sinks=(SinkSpec(name="left", ordinal=0), SinkSpec(name="right", ordinal=1)),
        )
        played = Played(both, policy=BATCH)
        played.run(4)
        played.finish(1, sinks=("left", "right"))
        ask(played)
        played.stored(2)
        first, second = played.get(commands.Commit)
        for commit, asked in ((first, []), (second, [(3, CheckpointType.SAVEPOINT)])):
            ids = tuple(each.id for each in commit.committables)
            played.deliver(events.CommitSucceeded(now_ms=0, sink=commit.sink, ids=ids))
            assert stores(played) == asked

    def test_later_checkpoints_leave_its_number_free(self) -> None:
        played = Played(policy=BATCH)
        played.run(4)
        played.finish(1)
        ask(played)
        played.stored(2)
        publishing = played.only(commands.Commit)
        played.finish(2)
        assert played.checkpoint().checkpoint_id == 4
        played.stored(4)
        ids = tuple(each.id for each in publishing.committables)
        played.deliver(events.CommitSucceeded(now_ms=0, sink="out", ids=ids))
        assert savepoint(played).checkpoint_id == 3, "it may be stored after a later checkpoint"
        assert states(savepoint(played)).sinks["out"].rows_committed == 1

    def test_several_that_are_asked_for_share_one(self) -> None:
        played = Played(policy=BATCH)
        played.run(4)
        played.checkpoint()
        ask(played, "first")
        ask(played, "second")
        played.stored(2)
        assert stores(played) == [(3, CheckpointType.CHECKPOINT)]
        played.stored(3)
        played.stored(savepoint(played).checkpoint_id)
        assert [done.name for done in played.get(commands.SavepointCompleted)] == ["first", "second"]


class TestBeginningAndEnd:
    def test_one_that_comes_before_the_pipeline_runs_is_taken_when_it_does(self) -> None:
        played = Played(policy=BATCH)
        played.stored(played.begin().checkpoint_id)
        ask(played)
        played.deliver(events.SinksPrepared(now_ms=0))
        played.deliver(events.Swept(now_ms=0, removed=0))
        played.enumerated(4)
        assert stores(played) == [(2, CheckpointType.CHECKPOINT)]

    @pytest.mark.parametrize("how", [{"stop": True}, {"drain": True}], ids=["stop", "drain"])
    def test_a_stop_before_the_pipeline_runs_comes_when_it_does(self, how: dict[str, Any]) -> None:
        played = Played(policy=BATCH)
        played.stored(played.begin().checkpoint_id)
        ask(played, **how)
        played.deliver(events.SinksPrepared(now_ms=0))
        played.deliver(events.Swept(now_ms=0, removed=0))
        played.enumerated(4)
        assert played.protocol.phase is Phase.STOPPING
        played.stored(2)
        assert played.ever(commands.RunUnit) == []
        played.stored(savepoint(played).checkpoint_id)
        assert played.only(commands.EndPipeline).outcome is Outcome.STOPPED

    def test_with_a_stop_nothing_follows_its_barrier(self) -> None:
        played = Played()
        played.run(4)
        played.finish(1)
        played.checkpoint()
        ask(played, stop=True)
        assert played.only(commands.CheckpointAborted).checkpoint_id == 2
        assert stores(played) == [(3, CheckpointType.CHECKPOINT)]
        assert played.get(commands.CancelUnits)
        played.stored(3)
        played.committed()
        assert played.protocol.phase is Phase.STOPPING, "the savepoint is not stored yet"
        played.stored(savepoint(played).checkpoint_id)
        assert played.get(commands.SavepointCompleted)
        assert played.only(commands.EndPipeline).outcome is Outcome.STOPPED

    def test_a_stop_takes_the_savepoint_of_the_checkpoint_that_it_aborts_along(self) -> None:
        played = Played(policy=BATCH)
        played.run(4)
        ask(played, "first")
        played.deliver(events.StopRequested(now_ms=0))
        assert played.ever(commands.SavepointFailed) == []
        played.stored(4)
        played.stored(savepoint(played).checkpoint_id)
        assert played.only(commands.SavepointCompleted) == commands.SavepointCompleted(
            name="first", ref=CheckpointRef(1, 5)
        )
        assert played.only(commands.EndPipeline).outcome is Outcome.STOPPED

    def test_a_drain_finishes_and_publishes_what_was_read(self) -> None:
        played = Played(policy=BATCH)
        played.run(8)
        assert played.running == [1, 2]
        ask(played, drain=True)
        assert stores(played) == []
        played.checkpoint()
        played.stored(2)
        assert played.ever(commands.SavepointCompleted) == [], "it is the last one that becomes the savepoint"
        for unit in (1, 2, 3, 4):
            assert played.protocol.phase is Phase.RUNNING
            played.finish(unit)
        assert played.protocol.phase is Phase.STOPPING
        state = states(played.only(commands.StoreCheckpoint).state)
        assert (state.sources["in"].cursor, state.tasks["in"].units) == (4, ())
        played.stored(3)
        played.committed()
        held = states(savepoint(played))
        assert (held.sources["in"].cursor, held.sinks["out"].rows_committed) == (4, 4)
        played.stored(4)
        assert played.only(commands.EndPipeline).outcome is Outcome.STOPPED

    def test_it_rides_on_the_final_checkpoint(self) -> None:
        played = Played(policy=BATCH)
        played.run(1)
        played.finish(1)
        assert stores(played) == [(2, CheckpointType.COMPLETED_POINT)]
        ask(played)
        played.stored(2)
        played.committed()
        assert played.protocol.phase is Phase.FINISHING
        played.stored(savepoint(played).checkpoint_id)
        assert played.get(commands.SavepointCompleted)
        assert played.protocol.phase is Phase.COMPLETING


class TestFailures:
    def test_its_checkpoint_expires(self) -> None:
        played = Played(policy=CheckpointPolicy(interval_ms=None, timeout_ms=5_000, tolerable_failures=3))
        played.run(4)
        ask(played)
        played.at(5_000).fire("expire:2")
        assert "checkpoint 2 was aborted: expired after 5000 ms" in played.only(commands.SavepointFailed).reason
        assert played.protocol.phase is Phase.RUNNING

    def test_the_storage_does_not_take_it(self) -> None:
        played = Played(policy=BATCH)
        played.run(4)
        ask(played)
        played.stored(2)
        played.storage_failed(savepoint(played).checkpoint_id)
        assert played.only(commands.SavepointFailed).reason == PASSING.message
        assert played.protocol.phase is Phase.RUNNING
        played.storage_failed(3)
        assert played.said == (), "once is enough"

    @pytest.mark.parametrize(
        ("settle", "why"),
        [(False, "waiting for 'out' to publish"), (True, "the storage is still writing the savepoint")],
    )
    def test_it_takes_too_long(self, settle: bool, why: str) -> None:
        played = Played(policy=BATCH)
        played.run(4)
        played.finish(1)
        ask(played)
        played.stored(2)
        if settle:
            played.committed()
        played.at(5_000).fire("savepoint:2")
        assert played.only(commands.SavepointFailed).reason == f"not stored within 5000 ms: {why}"
        if not settle:
            played.deliver(events.CommitSucceeded(now_ms=0, sink="out", ids=("0-1-1",)))
            assert stores(played) == [], "nobody waits for it any more"

    def test_the_pipeline_fails(self) -> None:
        played = Played(policy=BATCH)
        played.run(4)
        ask(played, "first")
        played.stored(2)
        ask(played, "second", drain=True)
        played.fail(1, failure=LASTING)
        failed = {each.name: each.reason for each in played.get(commands.SavepointFailed)}
        assert failed == {"first": LASTING.message, "second": LASTING.message}

    @pytest.mark.parametrize("how", [{}, {"stop": True}], ids=["go on", "stop"])
    def test_a_pipeline_that_ends_takes_none_any_more(self, how: dict[str, Any]) -> None:
        played = Played(policy=BATCH)
        played.run(4)
        played.deliver(events.StopRequested(now_ms=0))
        ask(played, **how)
        assert played.only(commands.SavepointFailed).reason == "the pipeline is already ending"


class TestRestore:
    """The next start in the same job, when the savepoint is the latest."""

    def stored_by_a_savepoint(self) -> tuple[PipelineState, PipelineState]:
        played = Played(ORDERED, policy=BATCH)
        played.run(4)
        played.finish(2)
        ask(played)
        checkpoint = played.only(commands.StoreCheckpoint).state
        played.stored(2)
        return checkpoint, savepoint(played)

    def restart(self, *listed: PipelineState) -> Played:
        played = Played(ORDERED, policy=BATCH, epoch=2)
        played.deliver(events.Started(now_ms=0))
        played.deliver(events.EpochClaimed(now_ms=0, epoch=2))
        infos = tuple(info_of(state) for state in listed)
        played.deliver(events.CheckpointsListed(now_ms=0, checkpoints=infos, newest_epoch=2))
        return played

    def test_takes_the_state_of_its_checkpoint_which_names_what_is_staged(self) -> None:
        """Without it a sweep would take staged files that the checkpoint, which is live, still names."""
        checkpoint, latest = self.stored_by_a_savepoint()
        played = self.restart(checkpoint, latest)
        assert played.only(commands.LoadCheckpoint).ref == checkpoint.ref
        played.deliver(events.CheckpointLoaded(now_ms=0, state=checkpoint))
        restore_point = played.only(commands.StoreCheckpoint).state
        assert (restore_point.base, restore_point.states) == (latest.ref, checkpoint.states)

    def test_takes_its_own_when_its_checkpoint_was_pruned(self) -> None:
        _, latest = self.stored_by_a_savepoint()
        played = self.restart(latest)
        assert played.only(commands.LoadCheckpoint).ref == latest.ref
