"""A pipeline that runs must not hide a checkpointer that is dead.

What happened elsewhere: a leaked counter stopped the checkpoints of a job for ever. Nothing failed, rows went on, every
screen was green; days later a restart read a week again (lesson 8). Where one did expire, nobody was told which task
had not answered, so people set the timeout to 24 days (lesson 7).
"""

import pytest

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import AbortKind
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.errors import IllegalEventError
from seatunnel_core.checkpoint.progress import Moved
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.work.failure import Failure, FailureKind
from tests.checkpoint.played import ORDERED, SPLIT_PER_UNIT, Played

PATIENT = CheckpointPolicy(interval_ms=1_000, timeout_ms=600_000, tolerable_failures=1_000)


def running(policy: CheckpointPolicy = PATIENT, *, limits: Limits = SPLIT_PER_UNIT, count: int = 9) -> Played:
    played = Played(policy=policy, limits=limits)
    played.run(count)
    return played


def degraded(played: Played) -> str:
    return played.protocol.progress().degraded


def watch(played: Played, now_ms: int) -> str:
    """The watchdog's timer fires; what the pipeline says of itself then."""
    played.at(now_ms).fire("watchdog")
    return degraded(played)


class TestADeadCheckpointer:
    def test_a_storage_that_never_answers_shows_after_three_intervals(self) -> None:
        """The story of lesson 8: rows go on, no checkpoint completes, the timeout is far away."""
        played = running()
        played.at(1_000).fire("trigger")
        played.at(2_900).finish(1)
        assert degraded(played) == ""
        assert watch(played, 3_000) == (
            "no checkpoint has completed for 3000 ms (interval: 1000 ms): checkpoint 2 has been in progress "
            "for 2000 ms: all vertices have acknowledged; the storage has been writing the checkpoint for 2000 ms"
        )
        assert played.only(commands.Degraded).reason == degraded(played)
        assert played.protocol.phase is Phase.RUNNING, "data goes on"
        played.finish(2)
        assert played.running, "units go on"

    def test_what_the_storage_says_of_an_expired_checkpoint_is_reported_when_it_comes(self) -> None:
        """A dead object store answers after its own timeout of a minute; until then a shorter one of ours had only
        known that the storage took long, and threw the answer away."""
        played = running(CheckpointPolicy(interval_ms=1_000, timeout_ms=1_500, tolerable_failures=1_000))
        played.at(1_000).fire("trigger")
        played.at(2_500).fire("expire:2")
        assert "expired after 1500 ms" in watch(played, 3_000)
        refused = Failure(kind=FailureKind.TRANSIENT, message="connection refused by minio:9000")
        played.at(3_100).storage_failed(2, refused)
        said = watch(played, 6_000)
        assert "expired after 1500 ms" in said
        assert "storing checkpoint 2 failed: connection refused by minio:9000" in said
        played.checkpoint()
        played.stored(3)
        assert degraded(played) == ""
        assert "minio" not in watch(played, 9_100), "it answers again"

    def test_a_barrier_that_does_not_arrive_is_named_with_who_holds_it(self) -> None:
        """Lesson 7: long before a checkpoint expires it is known who has not answered, and what it was doing."""
        played = running()
        wiring = played.protocol._wiring
        wiring.deliver = wiring.ready.clear  # type: ignore[method-assign]
        played.at(1_000).fire("trigger")
        said = watch(played, 3_000)
        assert "checkpoint 2 has been in progress for 2000 ms: no acknowledgement from source in (has emitted " in said
        assert "task in (runs 2 units; the oldest is unit 1, for 3000 ms)" in said

    def test_checkpoints_that_keep_failing_and_are_tolerated(self) -> None:
        played = running()
        for now_ms, checkpoint_id in ((1_000, 2), (2_000, 3)):
            played.at(now_ms).fire("trigger")
            played.storage_failed(checkpoint_id)
        assert "(interval: 1000 ms): checkpoint 3 failed: a worker is gone" in watch(played, 3_000)

    def test_one_that_failed_and_one_that_stalls_are_both_reported(self) -> None:
        played = running()
        played.at(1_000).fire("trigger")
        played.storage_failed(2)
        played.at(2_000).fire("trigger")
        said = watch(played, 3_000)
        assert (
            "checkpoint 2 failed: a worker is gone; checkpoint 3 has been in progress for 1000 ms: all vertices" in said
        )

    def test_a_trigger_that_is_lost(self) -> None:
        """The leaked counter itself: nothing is under way, and nothing failed."""
        assert "(interval: 1000 ms): none is in progress" in watch(running(), 3_000)

    def test_it_is_said_again_whenever_the_silence_has_doubled(self) -> None:
        played = running()
        told = []
        for now_ms in range(1_000, 25_000, 1_000):
            played.at(now_ms).fire("watchdog")
            told += [(now_ms, notice.reason[:40]) for notice in played.get(commands.Degraded)]
        assert told == [
            (ms, f"no checkpoint has completed for {ms} ms (i"[:40]) for ms in (3_000, 6_000, 12_000, 24_000)
        ]

    def test_the_next_completed_one_clears_it_and_begins_anew(self) -> None:
        played = running()
        played.at(1_000).fire("trigger")
        watch(played, 3_000)
        played.at(5_000).stored(2)
        assert commands.Degraded(reason="") in played.said
        assert degraded(played) == ""
        assert commands.SetTimer(key="watchdog", at_ms=8_000) in played.said, "not when the doubled silence would end"
        assert watch(played, 8_000)

    def test_a_pipeline_that_is_well_reports_nothing(self) -> None:
        played = running()
        for second in range(1, 10):
            played.at(second * 1_000).fire("trigger")
            played.stored(second + 1)
            played.fire("watchdog")
        assert played.ever(commands.Degraded) == []

    def test_the_timer_is_moved_when_it_fires_and_not_with_every_checkpoint(self) -> None:
        played = running()
        played.at(1_000).fire("trigger")
        played.at(1_100).stored(2)
        assert "watchdog" not in [timer.key for timer in played.get(commands.SetTimer)]
        assert watch(played, 3_000) == ""
        assert commands.SetTimer(key="watchdog", at_ms=4_100) in played.said


class TestHowLongIsTooLong:
    def test_a_long_pause_between_checkpoints_is_no_silence(self) -> None:
        policy = CheckpointPolicy(interval_ms=1_000, min_pause_ms=10_000)
        assert commands.SetTimer(key="watchdog", at_ms=30_000) in running(policy).said

    def test_a_tiny_interval_counts_as_a_second(self) -> None:
        assert commands.SetTimer(key="watchdog", at_ms=3_000) in running(CheckpointPolicy(interval_ms=10)).said

    def test_without_an_interval_no_checkpoint_is_owed(self) -> None:
        played = running(CheckpointPolicy(interval_ms=None))
        played.checkpoint()
        played.stored(2)
        assert "watchdog" not in [timer.key for timer in played.ever(commands.SetTimer)]

    def test_after_the_final_one_none_is_owed(self) -> None:
        played = running(count=1)
        played.finish(1)
        played.stored(2)
        assert commands.CancelTimer(key="watchdog") in played.said
        assert played.protocol.phase is Phase.FINISHING

    def test_after_the_last_one_of_a_stop_none_is_owed(self) -> None:
        played = running()
        played.finish(1)
        played.at(2_000).deliver(events.StopRequested(now_ms=0))
        played.stored(2)
        assert commands.CancelTimer(key="watchdog") in played.said
        assert played.protocol.phase is Phase.STOPPING

    def test_a_degraded_pipeline_that_ends_after_all_is_well(self) -> None:
        played = running(count=1)
        watch(played, 3_000)
        played.finish(1)
        played.stored(2)
        assert commands.Degraded(reason="") in played.said


def test_a_full_sink_and_a_dead_checkpointer_may_both_hold() -> None:
    """The one often follows from the other; each is cleared by itself."""
    played = running(limits=Limits(target_unit_rows=1, credits_per_source=2, max_uncommitted=2))
    played.finish(1)
    played.finish(2)
    assert "sink 'out' holds 2 committables" in degraded(played)
    both = watch(played, 3_000)
    assert both.startswith("no checkpoint has completed for 3000 ms")
    assert "; sink 'out' holds 2 committables" in both
    played.stored(2)
    assert degraded(played).startswith("sink 'out' holds 2 committables"), "completed, and not published yet"
    played.committed()
    assert degraded(played) == ""


class TestWhatIsTold:
    """Each checkpoint that was begun ends in one notice, which says how."""

    def test_how_long_each_part_took(self) -> None:
        played = running()
        played.at(1_000).finish(1)
        wiring = played.protocol._wiring
        deliver, wiring.deliver = wiring.deliver, lambda: None  # type: ignore[method-assign]
        played.fire("trigger")
        wiring.deliver = deliver  # type: ignore[method-assign]
        played.at(1_200).finish(2)
        assert played.get(commands.StoreCheckpoint), "now all have answered"
        played.at(1_500).stored(2)
        completed = played.only(commands.CheckpointCompleted)
        assert (completed.acknowledge_ms, completed.store_ms, completed.duration_ms) == (200, 300, 500)
        played.at(1_900).committed()
        published = commands.CheckpointPublished(checkpoint_id=2, commit_ms=400)
        assert published in played.said

    def test_a_commit_that_outlives_the_next_checkpoint_is_measured_too(self) -> None:
        """Where commits are slower than the interval, they all overlap: that must not hide how slow they are."""
        played = running()
        played.at(1_000).finish(1)
        played.checkpoint()
        played.stored(2)
        first = played.only(commands.Commit)
        played.at(2_000).finish(2)
        played.checkpoint()
        played.stored(3)
        ids = tuple(committable.id for committable in first.committables)
        played.at(5_000).deliver(events.CommitSucceeded(now_ms=0, sink="out", ids=ids))
        assert played.only(commands.CheckpointPublished).commit_ms == 4_000
        played.at(6_000).committed()
        published = commands.CheckpointPublished(checkpoint_id=3, commit_ms=4_000)
        assert played.only(commands.CheckpointPublished) == published

    def test_why_it_did_not_complete(self) -> None:
        kinds = {}
        played = running(CheckpointPolicy(interval_ms=None, timeout_ms=5_000, max_concurrent=2, tolerable_failures=9))

        def note(checkpoint_id: int) -> None:
            for notice in played.get(commands.CheckpointAborted):
                if notice.checkpoint_id == checkpoint_id:
                    kinds[checkpoint_id] = notice.kind

        played.checkpoint()
        played.storage_failed(2)
        note(2)
        played.at(2_000).checkpoint()
        played.at(7_000).fire("expire:3")
        note(3)
        played.at(9_000).checkpoint()
        played.checkpoint()
        played.stored(5)
        note(4)
        played.checkpoint()
        played.deliver(events.StopRequested(now_ms=0))
        note(6)
        played.deliver(events.FenceLost(now_ms=0, message="epoch 7 is newer"))
        note(7)
        assert kinds == {
            2: AbortKind.STORAGE,
            3: AbortKind.EXPIRED,
            4: AbortKind.SUBSUMED,
            6: AbortKind.REPLACED,
            7: AbortKind.ENDED,
        }
        assert [kind for kind in AbortKind if kind.is_failure] == [
            AbortKind.EXPIRED,
            AbortKind.STORAGE,
            AbortKind.UNWRITABLE,
        ]

    def test_bytes_are_written_when_they_are_staged_wherever_they_wait(self) -> None:
        played = Played(ORDERED)
        played.run(3)

        def written() -> tuple[int, int]:
            progress = played.protocol.progress()
            return progress.bytes_written, progress.bytes_committed

        assert written() == (0, 0)
        played.finish(2)
        assert written() == (10, 0), "held back for order"
        played.finish(1)
        played.checkpoint()
        played.stored(2)
        assert written() == (20, 0)
        played.committed()
        assert written() == (20, 20)

    def test_rows_are_counted_by_source_and_by_sink_and_are_those_of_the_pipeline(self) -> None:
        left = SourceSpec(name="left", ordinal=0, sinks=("out", "copy"), parallelism=2, ordered=True)
        right = SourceSpec(name="right", ordinal=1, sinks=("copy",), parallelism=2)
        sinks = (SinkSpec(name="out", ordinal=0), SinkSpec(name="copy", ordinal=1))
        played = Played(Topology(sources=(left, right), sinks=sinks))
        played.run(3)

        def written() -> dict[str, tuple[int, int, int, int]]:
            progress = played.protocol.progress()
            moved = progress.by_sink.values()
            assert progress.rows_written == sum(each.rows_written for each in moved)
            assert progress.bytes_written == sum(each.bytes_written for each in moved)
            assert progress.rows_committed == sum(each.rows_committed for each in moved)
            assert progress.rows_read == sum(each.rows_read for each in progress.by_source.values())
            return {
                name: (each.rows_written, each.bytes_written, each.rows_committed, each.bytes_committed)
                for name, each in progress.by_sink.items()
            }

        played.finish(2, task="left", rows=5, sinks=("out", "copy"))
        assert written() == {"out": (5, 10, 0, 0), "copy": (5, 10, 0, 0)}, "held back for order"
        played.finish(1, task="right", rows=7, sinks=("copy",))
        played.finish(1, task="left", rows=2, sinks=("out",))
        assert written() == {"out": (7, 20, 0, 0), "copy": (12, 20, 0, 0)}
        assert played.protocol.progress().by_source == {
            "left": Moved(rows_read=7, bytes_read=20, rows_skipped=2),
            "right": Moved(rows_read=7, bytes_read=10, rows_skipped=1),
        }
        played.checkpoint()
        played.stored(2)
        for sink in ("out", "copy"):
            (asked,) = (each for each in played.ever(commands.Commit) if each.sink == sink)
            ids = tuple(each.id for each in asked.committables)
            played.deliver(events.CommitSucceeded(now_ms=0, sink=sink, ids=ids))
        assert written() == {"out": (7, 20, 7, 20), "copy": (12, 20, 12, 20)}

    def test_what_nobody_asked_to_store_is_not_stored(self) -> None:
        played = running()
        wiring = played.protocol._wiring
        wiring.deliver = lambda: None  # type: ignore[method-assign]
        played.at(1_000).fire("trigger")
        with pytest.raises(IllegalEventError, match="checkpoint 1-2 was stored, but epoch 1 did not request it"):
            played.stored(2)
