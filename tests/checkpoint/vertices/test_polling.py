"""Sources that never end by themselves: what they find while they run, and what a checkpoint remembers of it."""

import json
import re
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import Outcome
from seatunnel_core.checkpoint.decisions.matching import fitted
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.errors import IllegalEventError, RestoreRefusedError
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.checkpoint.state.vertex_state import SourceState, TaskState, VertexStates
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.work.split import Split
from seatunnel_storage_api.state import CheckpointType, PipelineState
from tests.checkpoint.played import ENDLESS, LASTING, PASSING, Played

ASKED = CheckpointPolicy(interval_ms=None, timeout_ms=5_000)


class Endless(Played):
    """With a source that finds what ``found`` says."""

    def __init__(self, **options: Any) -> None:
        super().__init__(ENDLESS, policy=ASKED, **options)

    def found(self, count: int, *, first: int = 0, again_ms: int | None = 100, memory: int = 1) -> None:
        splits = tuple(
            Split(index=index, weight_bytes=10, rows=1, body={"n": index}) for index in range(first, first + count)
        )
        event = events.Found(now_ms=0, source="in", splits=splits, memory={"look": memory}, again_ms=again_ms)
        self.deliver(event)

    @property
    def polled(self) -> commands.Poll:
        return self.only(commands.Poll)


def source(state: PipelineState) -> SourceState:
    return codec.decode(state.states).sources["in"]


class TestPolling:
    def test_it_looks_when_nothing_is_left_to_emit_and_numbers_what_it_finds_on(self) -> None:
        played = Endless()
        played.run(0)
        assert played.polled == commands.Poll(source="in", memory={}, next_index=0)
        played.found(2)
        assert played.running == [1, 2]
        assert not played.get(commands.Poll), "its pause is not over"
        played.at(100).fire("poll:in")
        assert played.polled == commands.Poll(source="in", memory={"look": 1}, next_index=2)
        assert played.protocol.progress().splits_total is None

    def test_what_was_frozen_is_emitted_first(self) -> None:
        played = Endless(limits=Limits(target_unit_rows=1, credits_per_source=1))
        played.run(2)
        assert played.running == [1]
        assert not played.get(commands.Poll)
        played.finish(1)
        assert played.polled.next_index == 2

    def test_it_does_not_look_while_something_waits_for_a_credit(self) -> None:
        played = Endless(limits=Limits(target_unit_rows=1, credits_per_source=1))
        played.run(0)
        played.found(2)
        played.at(100).fire("poll:in")
        assert not played.get(commands.Poll)
        played.finish(1)
        assert played.polled.next_index == 2

    def test_without_a_pause_it_looks_at_once(self) -> None:
        played = Endless()
        played.run(0)
        played.found(0, again_ms=0, memory=7)
        assert played.polled.memory == {"look": 7}

    def test_a_source_without_more_data_ends_and_so_does_the_pipeline(self) -> None:
        played = Endless()
        played.run(0)
        played.found(1, again_ms=None)
        assert not played.get(commands.Poll)
        assert not played.get(commands.SetTimer)
        played.finish(1)
        assert source(played.only(commands.StoreCheckpoint).state).cursor == 1
        played.stored(2)
        played.committed()
        played.deliver(events.Completed(now_ms=0))
        played.deliver(events.Swept(now_ms=0, removed=0))
        assert played.only(commands.EndPipeline).outcome is Outcome.FINISHED

    def test_a_restored_source_without_more_data_says_so_again(self) -> None:
        played = Endless()
        played.run(0)
        played.found(1, again_ms=None)
        again = Endless()
        again.run(0, stored=played.checkpoint())
        assert again.polled.memory == {"look": 1}
        again.found(0, first=1, again_ms=None)
        assert not again.get(commands.Poll)

    def test_a_look_that_may_work_later_is_repeated_after_a_pause_that_grows(self) -> None:
        played = Endless()
        played.run(0)
        for pause_ms in (500, 1_000, 2_000):
            played.deliver(events.PollFailed(now_ms=0, source="in", failure=PASSING))
            assert played.only(commands.SetTimer) == commands.SetTimer(key="poll:in", at_ms=played.now_ms + pause_ms)
            played.at(played.now_ms + pause_ms).fire("poll:in")
            assert played.polled.memory == {}
        played.found(0, again_ms=0)
        played.deliver(events.PollFailed(now_ms=0, source="in", failure=PASSING))
        assert played.only(commands.SetTimer).at_ms == played.now_ms + 500

    def test_a_look_that_cannot_work_fails_the_pipeline(self) -> None:
        played = Endless()
        played.run(0)
        played.deliver(events.PollFailed(now_ms=0, source="in", failure=LASTING))
        assert played.only(commands.EndPipeline) == commands.EndPipeline(outcome=Outcome.FAILED, failure=LASTING)

    def test_who_asks_what_it_does_hears_no_total(self) -> None:
        played = Endless()
        played.run(0)
        assert played.protocol._doing(VertexId.source("in")) == ("has emitted 0 splits", 0)


OLD_CHECKPOINT = (
    '{"format":1,"vertices":{"sink out":{"state":{"bytes_committed":0,"prepared_in":1,"rows_committed":0,"save_mode_'
    'pending":false,"uncommitted":[{"body":{"staged":"u1"},"bytes":10,"epoch":1,"id":"0-1-1","rows":1,"source":"in","'
    'unit":1}]},"version":1},"source in":{"state":{"attachment":"frozen-in","cursor":3,"memory":{"look":1},"total":0,'
    '"waiting":[]},"version":1},"task in":{"state":{"bytes_read":20,"next_unit":4,"rows_read":2,"rows_skipped":2,"row'
    's_written":2,"splits_done":2,"units":[{"committables":null,"number":2,"splits":[{"body":{"n":1},"index":1,"rows"'
    ':1,"weight_bytes":10}]},{"committables":{"out":{"body":{"staged":"u3"},"bytes":10,"epoch":1,"id":"0-1-3","rows":'
    '1,"source":"in","unit":3}},"number":3,"splits":[{"body":{"n":2},"index":2,"rows":1,"weight_bytes":10}]}],"units_'
    'done":2},"version":1}}}'
)
"""A checkpoint that was stored before tasks had facts. Its savepoint is below."""

OLD_SAVEPOINT = (
    '{"format":1,"vertices":{"sink out":{"state":{"bytes_committed":10,"prepared_in":1,"rows_committed":1,"save_mode_'
    'pending":false,"uncommitted":[]},"version":1},"source in":{"state":{"attachment":"frozen-in","cursor":3,"memory"'
    ':{"look":1},"total":0,"waiting":[]},"version":1},"task in":{"state":{"bytes_read":20,"next_unit":4,"rows_read":2'
    ',"rows_skipped":2,"rows_written":1,"splits_done":1,"units":[{"committables":null,"number":2,"splits":[{"body":{"'
    'n":1},"index":1,"rows":1,"weight_bytes":10}]},{"committables":null,"number":3,"splits":[{"body":{"n":2},"index":'
    '2,"rows":1,"weight_bytes":10}]}],"units_done":1},"version":1}}}'
)
ORDERED_ENDLESS = evolve(ENDLESS, sources=tuple(evolve(each, ordered=True) for each in ENDLESS.sources))


class TestFacts:
    """R17. Each fact is in one place of a cut: in the task until the cursor contains it."""

    @staticmethod
    def reporting(*units: int, again_ms: int | None = 100) -> Endless:
        """Units that were found and are finished, each with a fact; a poll follows at once."""
        played = Endless(limits=Limits(target_unit_rows=1))
        played.run(0)
        played.found(len(units) + 1, again_ms=again_ms)
        for unit in units:
            played.finish(unit, facts=({"of": unit},))
        return played

    def test_they_end_a_pause_and_are_passed_to_the_next_poll(self) -> None:
        played = self.reporting(1)
        assert played.polled == commands.Poll(source="in", memory={"look": 1}, facts=({"of": 1},), next_index=2)

    def test_the_task_keeps_them_until_the_cursor_contains_them(self) -> None:
        played = self.reporting(1)
        taken = played.checkpoint()
        played.stored(taken.checkpoint_id)
        before = codec.decode(taken.states)
        assert (before.tasks["in"].facts, before.sources["in"].memory) == (({"of": 1},), {"look": 1})
        played.found(0, first=2, memory=2)
        after = codec.decode(played.checkpoint().states)
        assert (after.tasks["in"].facts, after.sources["in"].memory) == ((), {"look": 2})

    def test_those_that_arrive_during_a_poll_are_passed_to_the_next_without_a_pause(self) -> None:
        played = self.reporting(1)
        played.finish(2, facts=({"of": 2},))
        assert not played.get(commands.Poll)
        played.found(0, first=2, memory=2, again_ms=5_000)
        assert played.polled == commands.Poll(source="in", memory={"look": 2}, facts=({"of": 2},), next_index=2)

    def test_a_start_passes_those_of_the_state_to_its_second_poll(self) -> None:
        state = self.reporting(1).checkpoint()
        again = Endless(epoch=2)
        again.run(0, stored=state)
        again.found(0, first=2, memory=2, again_ms=5_000)
        assert again.polled.facts == ({"of": 1},)

    def test_a_poll_that_fails_keeps_them_and_its_pause(self) -> None:
        played = self.reporting(1)
        played.deliver(events.PollFailed(now_ms=0, source="in", failure=PASSING))
        played.finish(2, facts=({"of": 2},))
        assert not played.get(commands.Poll)
        played.at(60_000).fire("poll:in")
        assert played.polled.facts == ({"of": 1}, {"of": 2})

    def test_a_source_without_more_data_gets_none(self) -> None:
        played = self.reporting(1, again_ms=None)
        assert not played.get(commands.Poll)
        assert codec.decode(played.checkpoint().states).tasks["in"].facts == ()

    def test_those_of_a_unit_that_is_held_back_follow_it(self) -> None:
        played = Played(ORDERED_ENDLESS, policy=ASKED, limits=Limits(target_unit_rows=1))
        played.run(0)
        found = tuple(Split(index=index, weight_bytes=10, rows=1, body={}) for index in range(2))
        played.deliver(events.Found(now_ms=0, source="in", splits=found, memory={}, again_ms=100))
        played.finish(2, facts=({"of": 2},))
        assert not played.get(commands.Poll)
        held = codec.decode(played.checkpoint().states)
        assert [unit.facts for unit in held.tasks["in"].units] == [(), ({"of": 2},)]
        assert [unit.facts for unit in held.without_staged().tasks["in"].units] == [(), ()]
        played.finish(1, facts=({"of": 1},))
        assert played.only(commands.Poll).facts == ({"of": 1},)
        played.deliver(events.Found(now_ms=0, source="in", splits=(), memory={}, again_ms=100))
        assert played.only(commands.Poll).facts == ({"of": 2},)

    def test_a_source_that_is_not_polled_takes_none(self) -> None:
        played = Played()
        played.run(1)
        with pytest.raises(IllegalEventError, match="is not polled, so it cannot receive facts"):
            played.finish(1, facts=({"of": 1},))

    @pytest.mark.parametrize(
        ("kind", "old"),
        [(CheckpointType.CHECKPOINT, OLD_CHECKPOINT), (CheckpointType.SAVEPOINT, OLD_SAVEPOINT)],
        ids=["checkpoint", "savepoint"],
    )
    def test_a_state_from_before_there_were_facts_is_restored(self, kind: CheckpointType, old: str) -> None:
        """Unit 2 is in flight. Unit 3 is held back for order in the checkpoint, and in flight in the savepoint."""
        stored = PipelineState(
            job_id="job", pipeline_id=1, epoch=1, checkpoint_id=2, checkpoint_type=kind, base=None, states=old.encode()
        )
        again = Played(ORDERED_ENDLESS, policy=ASKED, limits=Limits(target_unit_rows=1), epoch=2)
        again.run(0, stored=stored)
        assert again.only(commands.Poll) == commands.Poll(source="in", memory={"look": 1}, next_index=3)
        assert again.running == ([2] if kind is CheckpointType.CHECKPOINT else [2, 3])
        again.deliver(events.Found(now_ms=0, source="in", splits=(), memory={"look": 2}, again_ms=100))
        again.finish(2, facts=({"of": 2},))
        assert again.only(commands.Poll).facts == ({"of": 2},)
        tasks = json.loads(again.checkpoint().states)["vertices"]["task in"]
        assert (tasks["version"], tasks["state"]["facts"]) == (2, [{"of": 2}])


class TestState:
    def test_what_is_found_and_what_is_remembered_enter_the_state_together(self) -> None:
        played = Endless(limits=Limits(target_unit_rows=1, credits_per_source=1))
        played.run(0)
        taken = played.checkpoint()
        played.stored(taken.checkpoint_id)
        before = source(taken)
        assert (before.cursor, before.waiting, before.memory) == (0, (), {})
        played.found(3)
        after = source(played.checkpoint())
        assert (after.cursor, [split.index for split in after.waiting], after.memory) == (1, [1, 2], {"look": 1})

    def test_a_start_goes_on_with_what_waits_and_then_looks_with_what_it_remembers(self) -> None:
        played = Endless(limits=Limits(target_unit_rows=1, credits_per_source=1))
        played.run(1)
        played.finish(1)
        played.found(2, first=1)
        state = played.checkpoint()
        again = Endless(limits=Limits(target_unit_rows=1, credits_per_source=2), epoch=2)
        again.run(1, stored=state)
        assert [command.attempt.unit.splits[0].index for command in again.ever(commands.RunUnit)] == [1, 2]
        assert again.polled == commands.Poll(source="in", memory={"look": 1}, next_index=3)

    def test_what_is_found_after_the_last_barrier_is_found_again_by_the_next_start(self) -> None:
        played = Endless()
        played.run(0)
        played.deliver(events.StopRequested(now_ms=0))
        state = played.only(commands.StoreCheckpoint).state
        played.found(1)
        assert played.said == ()
        again = Endless(epoch=2)
        again.run(0, stored=state)
        assert again.polled == commands.Poll(source="in", memory={}, next_index=0)

    def test_a_look_that_fails_after_the_last_barrier_changes_nothing(self) -> None:
        played = Endless()
        played.run(0)
        played.deliver(events.StopRequested(now_ms=0))
        played.deliver(events.PollFailed(now_ms=0, source="in", failure=LASTING))
        assert played.said == ()

    def test_a_drain_stops_looking_and_keeps_what_waits_for_the_next_start(self) -> None:
        played = Endless(limits=Limits(target_unit_rows=1, credits_per_source=1))
        played.run(0)
        played.found(2)
        played.deliver(events.SavepointRequested(now_ms=0, name="end", drain=True))
        played.at(100).fire("poll:in")
        assert not played.get(commands.Poll)
        played.finish(1)
        last = played.only(commands.StoreCheckpoint).state
        assert played.protocol.phase is Phase.STOPPING
        assert [split.index for split in source(last).waiting] == [1]
        assert codec.decode(last.states).tasks["in"].units == ()


class TestMistakes:
    def test_nobody_asked(self) -> None:
        played = Endless()
        played.run(0)
        played.found(0)
        with pytest.raises(IllegalEventError, match="reported new splits without a request"):
            played.found(0)

    def test_a_bounded_source_is_not_asked(self) -> None:
        played = Played()
        played.run(1)
        with pytest.raises(IllegalEventError, match="reported new splits without a request"):
            played.deliver(events.Found(now_ms=0, source="in", splits=(), memory={}, again_ms=None))

    def test_a_gap(self) -> None:
        played = Endless()
        played.run(0)
        with pytest.raises(IllegalEventError, match="must be numbered from 0"):
            played.found(1, first=1)

    @pytest.mark.parametrize(
        ("was_bounded", "told"),
        [
            (True, "source 'in' was bounded and now is unbounded"),
            (False, "source 'in' was unbounded and now is bounded"),
        ],
    )
    def test_a_source_that_ended_and_one_that_never_does_know_nothing_of_each_other(
        self, was_bounded: bool, told: str
    ) -> None:
        """It would read again all that it had read, or nothing any more."""
        memory: dict[str, Any] | None = None if was_bounded else {}
        states = VertexStates(
            sources={"in": SourceState(attachment="frozen", total=0, memory=memory)}, tasks={"in": TaskState()}
        )
        spec = evolve(ENDLESS.sources[0], bounded=not was_bounded)
        with pytest.raises(RestoreRefusedError, match=re.escape(told)):
            fitted(states, evolve(ENDLESS, sources=(spec,)))
        fitted(states, evolve(ENDLESS, sources=(evolve(spec, bounded=was_bounded),)))
