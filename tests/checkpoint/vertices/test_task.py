"""Splits become units, and units run: the vertex of a task."""

from seatunnel_core.checkpoint import commands
from seatunnel_core.checkpoint.commands import Outcome
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.work.failure import Failure, FailureKind
from tests.checkpoint.played import LASTING, ORDERED, SERIAL, SPLIT_PER_UNIT, Played, held, one_source, states


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

    def test_units_of_an_ordered_source_run_one_after_another_if_a_sink_writes_directly(self) -> None:
        """R13: what they write is in the target before their results are handed on."""
        played = Played(SERIAL)
        played.run(4)
        assert played.running == [1]
        played.finish(1)
        assert played.running == [2]
        assert played.protocol.progress().units_running == 1

    def test_no_newer_unit_writes_directly_while_the_oldest_waits_for_its_retry(self) -> None:
        """Its second attempt would put older rows in the place of newer ones."""
        played = Played(SERIAL)
        played.run(4)
        played.fail(1)
        assert played.running == []
        played.at(500).fire("retry:in:1")
        assert played.running == [1]
        played.finish(1, attempt=2)
        assert played.running == [2]

    def test_what_was_held_back_for_order_is_written_again_if_a_sink_writes_directly(self) -> None:
        """In states of earlier versions, and of sinks that staged: it is in the target before what is older."""
        before = Played(ORDERED)
        before.run(4)
        before.finish(2)
        stored = before.checkpoint()
        played = Played(SERIAL, epoch=2)
        played.run(4, stored=stored)
        finished = [each.unit.number for each in states(stored).tasks["in"].units if each.committables is not None]
        assert finished == [2]
        assert (played.running, held(played.checkpoint())) == ([1], [1, 2, 3, 4])
        for unit in (1, 2, 3):
            played.finish(unit)
            assert played.running == [unit + 1]

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
