"""The coordinator against a small oracle that knows what a checkpoint is, and nothing of how the coordinator works.

The vertices are played by Hypothesis: they acknowledge in any order, late, or never; the storage answers in any order,
or not at all; people ask for checkpoints; time passes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from attrs import evolve
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint import coordinator as coordinator_module
from seatunnel_core.checkpoint.context import PipelineContext
from seatunnel_core.checkpoint.coordinator import Coordinator
from seatunnel_core.checkpoint.decisions.base import RestoreRequest
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.checkpoint.vertices.messages import Acknowledge, Plan, Published, SourceReady
from seatunnel_core.checkpoint.vertices.wiring import Channel, Wiring
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_storage_api.state import CheckpointRef, CheckpointType
from tests.checkpoint.oracle import STATES, TOPOLOGY, Oracle


class CoordinatorAgainstOracle(RuleBasedStateMachine):
    """The real coordinator, start, context, wiring and channels; the other end of the channels is ours."""

    @initialize(
        interval_ms=st.sampled_from([None, 70, 250]),
        min_pause_ms=st.sampled_from([0, 30]),
        max_concurrent=st.sampled_from([3, 2, 1]),
        tolerable_failures=st.sampled_from([1, 8, 2, 0]),
        timeout_ms=st.sampled_from([5_000, 200]),
    )
    def begin(self, **policy: Any) -> None:
        self.play(CheckpointPolicy(**policy))

    def play(self, policy: CheckpointPolicy) -> None:
        """Up to where splits may flow; there are none."""
        self.oracle = Oracle(policy)
        self.said: list[tuple[str, int]] = []
        self.blamed: dict[int, set[VertexId]] = {}
        self.timers: dict[str, int] = {}
        self.wiring = Wiring()
        context = PipelineContext(job_id="job", pipeline_id=1, topology=TOPOLOGY, wiring=self.wiring)
        self.coordinator = Coordinator(
            context, epoch_minimum=1, policy=policy, restore=RestoreRequest(), doing=lambda vertex: ("waits", 0)
        )
        context.connect(
            sources={"in": Channel(self.wiring, self.source_hears)},
            tasks={"in": Channel(self.wiring, lambda message: None)},
            sinks={"out": Channel(self.wiring, self.sink_hears)},
        )
        start = self.coordinator.start
        self.do(lambda: start.started(events.Started(now_ms=0)))
        self.do(lambda: start.epoch_claimed(events.EpochClaimed(now_ms=0, epoch=1)))
        self.do(lambda: start.checkpoints_listed(events.CheckpointsListed(now_ms=0, checkpoints=(), newest_epoch=1)))
        self.do(lambda: self.stored(1))
        self.do(lambda: start.sinks_prepared(events.SinksPrepared(now_ms=0)))
        self.do(lambda: self.coordinator.swept(events.Swept(now_ms=0, removed=0)))
        self.said.clear()

    def source_hears(self, message: Any) -> None:
        if isinstance(message, Plan):
            self.coordinator.receive(SourceReady("in", 0))

    def sink_hears(self, message: Any) -> None:
        if hasattr(message, "checkpoint_id"):
            self.coordinator.receive(Published("out", message.checkpoint_id))

    def stored(self, checkpoint_id: int) -> None:
        self.coordinator.checkpoint_stored(events.CheckpointStored(now_ms=0, ref=CheckpointRef(1, checkpoint_id)))

    def do(self, what: Any) -> None:
        what()
        self.wiring.deliver()
        for command in self.wiring.take_commands():
            match command:
                case commands.SetTimer(key=key, at_ms=at_ms):
                    self.timers[key] = at_ms
                case commands.CancelTimer(key=key):
                    self.timers.pop(key, None)
                case commands.CheckpointTriggered(checkpoint_id=number):
                    self.said.append(("triggered", number))
                case commands.StoreCheckpoint(state=state):
                    self.said.append(("stored", state.checkpoint_id))
                case commands.CheckpointCompleted(checkpoint_id=number):
                    self.said.append(("completed", number))
                case commands.CheckpointAborted(checkpoint_id=number, reason=reason):
                    self.said.append(("aborted", number))
                    if "no acknowledgement" in reason:
                        self.blamed[number] = {vertex for vertex in STATES if str(vertex) in reason}
                case commands.EndPipeline():
                    self.said.append(("ended", 0))

    def ids(self, word: str) -> list[int]:
        return [number for what, number in self.said if what == word]

    # What may happen.

    running = precondition(lambda self: not self.oracle.ended)

    @running
    @rule()
    def somebody_asks(self) -> None:
        kind = CheckpointType.CHECKPOINT
        self.do(lambda: self.coordinator.trigger_requested(events.TriggerRequested(now_ms=0, checkpoint_type=kind)))
        self.oracle.ask()

    @running
    @rule(data=st.data(), vertex=st.sampled_from(sorted(STATES, key=str)))
    def a_vertex_acknowledges(self, data: st.DataObject, vertex: VertexId) -> None:
        """A barrier that it has seen, once; also one that was aborted since."""
        missing = self.oracle.missing
        open_ids = [each for each in self.ids("triggered") if each not in missing or vertex in missing[each]]
        if not open_ids:
            return
        number = data.draw(st.sampled_from(open_ids))
        self.do(lambda: self.coordinator.receive(Acknowledge(vertex, number, STATES[vertex])))
        self.oracle.acknowledge(vertex, number)

    @running
    @rule(data=st.data(), well=st.sampled_from([True, None, False]))
    def all_vertices_acknowledge(self, data: st.DataObject, well: bool | None) -> None:
        """And the storage answers at once, unless ``well`` is ``None``."""
        if self.oracle.missing:
            number = data.draw(st.sampled_from(sorted(self.oracle.missing)))
            self.acknowledge_all(number)
            if well is not None:
                self.answer(number, well)

    @running
    @rule(well=st.booleans())
    def a_checkpoint_comes_to_its_end(self, well: bool) -> None:
        """All of it in one go, so that long runs of good and bad ones are seen."""
        self.somebody_asks()
        self.time_passes(1_100)
        if self.oracle.missing:
            number = min(self.oracle.missing)
            self.acknowledge_all(number)
            self.answer(number, well)

    @running
    @rule(data=st.data(), well=st.booleans())
    def the_storage_answers(self, data: st.DataObject, well: bool) -> None:
        """For any store that was ever asked for, however late."""
        if self.ids("stored"):
            self.answer(data.draw(st.sampled_from(self.ids("stored"))), well)

    def acknowledge_all(self, number: int) -> None:
        for vertex in sorted(self.oracle.missing[number], key=str):
            message = Acknowledge(vertex, number, STATES[vertex])
            self.do(partial(self.coordinator.receive, message))
            self.oracle.acknowledge(vertex, number)

    def answer(self, number: int, well: bool) -> None:
        if well:
            self.do(partial(self.stored, number))
            self.oracle.complete(number)
        else:
            failure = Failure(kind=FailureKind.STORAGE, message="the storage is away")
            event = events.StorageFailed(now_ms=0, failure=failure, ref=CheckpointRef(1, number))
            self.do(partial(self.coordinator.storage_failed, event))
            self.oracle.fail(number)

    @running
    @rule(for_ms=st.sampled_from([1, 20, 69, 250, 1_100]))
    def time_passes(self, for_ms: int) -> None:
        until_ms = self.wiring.now_ms + for_ms
        while self.timers:
            at_ms, _, key = min((at_ms, not key.startswith("expire"), key) for key, at_ms in self.timers.items())
            if at_ms > until_ms:
                break
            del self.timers[key]
            self.wiring.now_ms = max(self.wiring.now_ms, at_ms)
            self.do(partial(self.wiring.fire, key))
        self.wiring.now_ms = until_ms
        self.oracle.wait_until(until_ms)

    @precondition(lambda self: self.oracle.ended)
    @rule()
    def nothing_follows(self) -> None:
        assert not self.coordinator.pending

    # What must hold.

    @invariant()
    def the_oracle_knew(self) -> None:
        """Nothing happens that it did not foresee, and of one checkpoint all in the order that it foresaw."""
        if not hasattr(self, "oracle"):
            return
        assert sorted(self.said) == sorted(self.oracle.happened)
        assert self.blamed == self.oracle.blamed
        for number in set(self.ids("triggered")):
            mine = [what for what, each in self.said if each == number]
            assert mine == [what for what, each in self.oracle.happened if each == number]

    @invariant()
    def pending_is_bounded_and_ids_grow(self) -> None:
        if not hasattr(self, "oracle"):
            return
        over = {*self.ids("completed"), *self.ids("aborted")}
        pending = [each for each in self.ids("triggered") if each not in over]
        assert sorted(self.coordinator.pending) == pending
        assert len(pending) <= self.oracle.policy.max_concurrent
        triggered = self.ids("triggered")
        assert triggered == sorted(set(triggered)), "ids are monotone"
        completed = self.ids("completed")
        assert completed == sorted(completed), "an older one never completes after a newer one"


CoordinatorAgainstOracle.TestCase.settings = settings(settings.get_profile("project"), stateful_step_count=40)
TestCoordinatorAgainstOracle = pytest.mark.fuzz(CoordinatorAgainstOracle.TestCase)


def _replaced(name: str, make: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: patch.object(Coordinator, name, make(getattr(Coordinator, name)))


def _remember_failures(original: Any) -> Any:
    def complete(self: Any, pending: Any) -> None:
        failures = self._failures
        original(self, pending)
        self._failures = failures

    return complete


def _do_not_subsume(original: Any) -> Any:
    def complete(self: Any, pending: Any) -> None:
        others = {number: self.pending.pop(number) for number in list(self.pending) if number < pending.checkpoint_id}
        original(self, pending)
        self.pending.update(others)

    return complete


def _use_the_id_again(original: Any) -> Any:
    def abort(self: Any, pending: Any, *why: Any) -> None:
        self._next_id -= 1
        original(self, pending, *why)

    return abort


def _count_one_less(original: Any) -> Any:
    def consider(self: Any) -> None:
        self._policy, policy = evolve(self._policy, max_concurrent=self._policy.max_concurrent + 1), self._policy
        original(self)
        self._policy = policy

    return consider


@contextmanager
def _no_pause_after_a_failure() -> Iterator[None]:
    original = coordinator_module.decide  # type: ignore[attr-defined]
    with patch.object(
        coordinator_module, "decide", lambda policy, now: original(policy, evolve(now, last_failed=False))
    ):
        yield


def _forget_who_is_missing(original: Any) -> Any:
    def expire(self: Any, pending: Any) -> None:
        missing = pending.missing
        pending.missing = dict.fromkeys([*missing][1:])
        original(self, pending)

    return expire


def _believe_late_acknowledgements(original: Any) -> Any:
    def acknowledged(self: Any, message: Any) -> None:
        if message.checkpoint_id not in self.pending:
            message = evolve(message, checkpoint_id=max(self.pending, default=0))
        pending = self.pending.get(message.checkpoint_id)
        if pending is not None and message.vertex in pending.missing:
            original(self, message)

    return acknowledged


BREAKAGES = {
    "an expiry does not name every vertex that is missing": _replaced("_expire", _forget_who_is_missing),
    "a completed checkpoint does not reset the count of failures": _replaced("_complete", _remember_failures),
    "an older checkpoint is not subsumed": _replaced("_complete", _do_not_subsume),
    "the id of an aborted checkpoint is used again": _replaced("_abort", _use_the_id_again),
    "one checkpoint more is pending than is allowed": _replaced("_consider", _count_one_less),
    "no pause after a checkpoint that failed": _no_pause_after_a_failure,
    "a late acknowledgement counts for the newest checkpoint": _replaced(
        "_acknowledged", _believe_late_acknowledgements
    ),
}


@pytest.mark.mutants
@pytest.mark.parametrize("what", BREAKAGES)
def test_a_broken_coordinator_is_found(what: str, record_property: Callable[[str, object], None]) -> None:
    runs = 0

    class Counted(CoordinatorAgainstOracle):
        def teardown(self) -> None:
            nonlocal runs
            runs += 1

    enough = settings(
        max_examples=500,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        stateful_step_count=40,
    )
    with BREAKAGES[what](), pytest.raises((AssertionError, KeyError)):
        run_state_machine_as_test(Counted, settings=enough)
    record_property("mutant", ("checkpoints", what, "the oracle", f"{runs} runs"))
