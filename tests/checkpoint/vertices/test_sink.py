"""What a sink's vertex publishes, and when."""

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.vertices.limits import Limits
from tests.checkpoint.played import (
    LASTING,
    PASSING,
    Played,
)

BATCH = CheckpointPolicy(interval_ms=None, timeout_ms=5_000)


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
        assert commit.may_be_committed is False
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
        assert [
            (each.may_be_committed, [c.unit for c in each.committables]) for each in played.get(commands.Commit)
        ] == [(True, [2])]
        played.committed()
        assert [
            (each.may_be_committed, [c.unit for c in each.committables]) for each in played.get(commands.Commit)
        ] == [(False, [3])]

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
