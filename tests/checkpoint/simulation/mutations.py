"""The protocol broken on purpose, one rule at a time, to show that the simulation would notice."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

from attrs import evolve

from seatunnel_core.checkpoint import coordinator as coordinator_module
from seatunnel_core.checkpoint import start as start_module
from seatunnel_core.checkpoint.commands import Sweep
from seatunnel_core.checkpoint.context import PipelineContext
from seatunnel_core.checkpoint.coordinator import Coordinator
from seatunnel_core.checkpoint.decisions import restored as restored_module
from seatunnel_core.checkpoint.savepoint import Savepoints
from seatunnel_core.checkpoint.start import Start
from seatunnel_core.checkpoint.state.vertex_state import TaskState, VertexStates
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.checkpoint.vertices.messages import Acknowledge, Prepared
from seatunnel_core.checkpoint.vertices.polling import Polling
from seatunnel_core.checkpoint.vertices.sink import SinkVertex
from seatunnel_core.checkpoint.vertices.source import SourceVertex
from seatunnel_core.checkpoint.vertices.task import TaskVertex
from seatunnel_storage_api import retention
from tests.checkpoint.simulation.broken_endings import (
    complete_in_one_run_only,
    finish_before_commits,
    leave_the_own_epoch,
    sweep_in_place_of_completing,
)
from tests.checkpoint.simulation.broken_vertices import (
    drained_when_the_source_is,
    is_held,
    keep_the_credit,
    keep_the_slot,
    replace,
    wait_until_full,
    waits_for_its_retry,
    without_timer,
    without_units,
    without_what_is_being_published,
)
from tests.checkpoint.simulation.mutation import Mutation
from tests.checkpoint.simulation.target import ModelTarget
from tests.checkpoint.simulation.world import World


def _own_committables_only(_original: Any) -> Any:
    def snapshot(self: Any, checkpoint_id: int) -> Any:
        before = [entry.committable for entry in self._waiting.values() if entry.after < checkpoint_id]
        return evolve(_original(self, checkpoint_id), uncommitted=tuple(before))

    return snapshot


def _forget(**nothing: Any) -> Any:
    return lambda original: lambda self, checkpoint_id: evolve(original(self, checkpoint_id), **nothing)


def _without_half_built(original: Any) -> Any:
    def snapshot(self: Any) -> Any:
        state = original(self)
        return state if self._half_built is None else evolve(state, units=state.units[:-1])

    return snapshot


def _complete_before_stored(original: Any) -> Any:
    def acknowledged(self: Any, message: Acknowledge) -> None:
        original(self, message)
        pending = self.pending.get(message.checkpoint_id)
        if pending is not None and not pending.missing:
            self._complete(pending)

    return acknowledged


def _do_not_wait_for_the_restore_point(original: Any) -> Any:
    def store(self: Any) -> None:
        original(self)
        self.restore_point_stored()

    return store


def _sweep_before_the_base_is_committed(_original: Any) -> Any:
    def sinks_prepared(self: Any, _event: Any) -> None:
        self._context.tell_sinks(Prepared())
        self.base_committed()

    return sinks_prepared


def _never_again(original: Any) -> Any:
    def publish(self: Any) -> None:
        for entry in self._publishable:
            entry.may_be_committed = False
        original(self)

    return publish


def _keep_nothing(_original: Any) -> Any:
    def base_committed(self: Any) -> None:
        self._context.phase = Phase.SWEEPING
        self._wiring.do(Sweep(epoch=self._context.epoch, keep=frozenset(), final=False))

    return base_committed


def _keep_what_is_held(original: Any) -> Any:
    def base_committed(self: Any) -> None:
        if self._context.base_is_final:
            original(self)
            return
        held = (unit for task in self._restored.tasks.values() for unit in task.units)
        keep = frozenset(committable.id for unit in held for committable in (unit.committables or {}).values())
        self._context.phase = Phase.SWEEPING
        self._wiring.do(Sweep(epoch=self._context.epoch, keep=keep, final=False))

    return base_committed


def _forget_in_acknowledgement(**forgotten: Any) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def pass_barrier(self: Any, barrier: Any, checkpoint_id: int) -> None:
            coordinator = self._coordinator

            class Forgetful:
                def send(self, message: Any) -> None:
                    state = evolve(message.state, **forgotten)
                    coordinator.send(Acknowledge(message.vertex, message.checkpoint_id, state))

            self._coordinator = Forgetful()
            original(self, barrier, checkpoint_id)
            self._coordinator = coordinator

        return pass_barrier

    return make


def forget_what_was_seen(original: Any) -> Any:
    """Of an unbounded source: a bounded one remembers nothing."""

    def pass_barrier(self: Any, barrier: Any, checkpoint_id: int) -> None:
        memory = None if self.spec.bounded else {}  # type: ignore[var-annotated]
        _forget_in_acknowledgement(memory=memory)(original)(self, barrier, checkpoint_id)

    return pass_barrier


def _remember_too_early(original: Any) -> Any:
    """As if a look were sure to find one split."""

    def poll(self: Any, next_index: int) -> None:
        was_under_way = self.is_under_way
        original(self, next_index)
        if self.is_under_way and not was_under_way:
            self.memory = {"given": next_index + 1}

    return poll


def _wait_for_units(original: Any) -> Any:
    def pass_barrier(self: Any, barrier: Any) -> None:
        if not self.units_running:
            original(self, barrier)

    return pass_barrier


def _emit_without_credit(original: Any) -> Any:
    def emit(self: Any) -> None:
        self._credits = 1_000
        original(self)

    return emit


def _take_all_that_was_tried_as_published(original: Any) -> Any:
    def failed(self: Any, event: Any) -> None:
        original(self, evolve(event, committed=self._in_flight))

    return failed


def _numbered_again(state: TaskState) -> TaskState:
    """The next number is the first that no unit in flight has: any smaller one is refused when the state is read."""
    return evolve(state, next_unit=max((held.unit.number for held in state.units), default=0) + 1)


def _start_ids_again(original: Any) -> Any:
    def run(self: Any) -> None:
        self._context.base = evolve(self._context.base, restore_point_id=0)
        original(self)

    return run


def _count_for_the_barrier_that_passed(original: Any) -> Any:
    return lambda self, committable, *, after: original(self, committable, after=after - 1)


def _ignore_prepared(original: Any) -> Any:
    def receive(self: Any, message: Any) -> None:
        if not isinstance(message, Prepared):
            original(self, message)

    return receive


def _store_the_savepoint_at_once(original: Any) -> Any:
    def completed(self: Any, checkpoint_id: int, names: tuple[str, ...], states: VertexStates) -> None:
        original(self, checkpoint_id, names, states)
        for sink in self._context.sinks:
            self.published(sink, checkpoint_id)

    return completed


def _leave_no_number_free(original: Any) -> Any:
    class Names(tuple[str, ...]):
        """Names that count as none when a number is to be left free for them."""

        def __bool__(self) -> bool:
            return sys._getframe(1).f_code.co_name != "_trigger" and len(self) > 0

    return lambda self, *, last: Names(original(self, last=last))


def _go_on_as_zombie(_original: Any) -> Any:
    def fence_lost(self: Any, _event: Any) -> None:
        if self._context.phase is Phase.RESTORING:
            self.start.restore_point_stored()
        elif self.pending:
            self._complete(next(iter(self.pending.values())))

    return fence_lost


def _stays_pending(original: Any) -> Any:
    def abort(self: Any, pending: Any, *why: Any) -> None:
        original(self, pending, *why)
        if self._context.phase is not Phase.ENDED:
            self.pending[pending.checkpoint_id] = pending

    return abort


def _the_one_before_the_latest() -> Any:
    original = restored_module.choose_base  # type: ignore[attr-defined]

    def choose(checkpoints: Any, *rest: Any, **named: Any) -> Any:
        listed = sorted(checkpoints, key=lambda info: info.ref)
        return original(listed[:-1] or listed, *rest, **named)

    return patch.object(restored_module, "choose_base", choose)


@contextmanager
def _any_number_pending() -> Iterator[None]:
    original = coordinator_module.decide  # type: ignore[attr-defined]
    with patch.object(
        coordinator_module, "decide", lambda policy, situation: original(policy, evolve(situation, pending=0))
    ):
        yield


def _one_too_many(original: Any) -> Any:
    return lambda listing, *, stored, max_retained: original(listing, stored=stored, max_retained=max_retained + 1)


def _nobody_looks(world: World) -> None:
    world.looks = False


def newest_checkpoints_are_lost(world: World) -> None:
    """A user removes them after the first crash; where someone goes back, nothing is known of what is lost."""
    world.loses = not world.scenario.rewinds and world.scenario.rewind_at_the_end is None


MUTATIONS: tuple[Mutation, ...] = (
    Mutation("R1", "acknowledge only this checkpoint's committables", replace(
        SinkVertex, "snapshot", _own_committables_only)),
    Mutation("R1", "a failed commit forgets what it had tried", replace(
        SinkVertex, "failed", _take_all_that_was_tried_as_published)),
    Mutation("R1", "count a committable for a barrier that has passed", replace(
        SinkVertex, "_take", _count_for_the_barrier_that_passed)),
    Mutation("R1", "no bound on what is uncommitted", replace(
        SinkVertex, "_report_pressure", lambda _original: lambda self: None)),
    Mutation("R1", "what is being published has left the state", replace(
        SinkVertex, "snapshot", without_what_is_being_published)),
    Mutation("R2", "forget what is held back for order", replace(TaskVertex, "snapshot", without_units(is_held))),
    Mutation("R2", "forget what waits for a retry", replace(
        TaskVertex, "snapshot", without_units(waits_for_its_retry))),
    Mutation("R2", "forget the channel state", replace(
        TaskVertex, "snapshot", lambda original: lambda self: evolve(original(self), units=()))),
    Mutation("R2", "forget the unit being put together", replace(
        TaskVertex, "snapshot", _without_half_built)),
    Mutation("R3", "a barrier waits for running units", replace(TaskVertex, "_pass_barrier", _wait_for_units)),
    Mutation("R3", "emit without credit", replace(SourceVertex, "_emit", _emit_without_credit)),
    Mutation("R3", "what is handed on keeps its credit", replace(TaskVertex, "_hand_on", keep_the_credit)),
    Mutation("R3", "a unit that failed keeps its slot", replace(TaskVertex, "failed", keep_the_slot)),
    Mutation("R3", "a unit put together by half waits until it is full", wait_until_full),
    Mutation("R4", "the base is the one before the latest", _the_one_before_the_latest),
    Mutation("R4", "act before the restore point is stored", replace(
        Start, "_store_restore_point", _do_not_wait_for_the_restore_point)),
    Mutation("R4", "sweep before the base is committed", replace(
        Start, "sinks_prepared", _sweep_before_the_base_is_committed)),
    Mutation("R4", "the save mode acts at every start", replace(SinkVertex, "receive", _ignore_prepared)),
    Mutation("R4", "ids start again in every epoch", replace(
        Coordinator, "_run", _start_ids_again)),
    Mutation("R5", "commit before the checkpoint is stored", replace(
        Coordinator, "_acknowledged", _complete_before_stored)),
    Mutation("R5", "store without looking at the fence", nullcontext, _nobody_looks),
    Mutation("R6", "a zombie that has looked goes on", replace(Coordinator, "fence_lost", _go_on_as_zombie)),
    Mutation("R7", "take the final checkpoint while units are in flight", replace(
        TaskVertex, "_report_when_drained", drained_when_the_source_is)),
    Mutation("R7", "finish before the last commits", replace(Coordinator, "_complete", finish_before_commits)),
    Mutation("R7", "start a finished pipeline like any other", lambda: patch.object(
        PipelineContext, "base_is_final", property(lambda self: False))),
    Mutation("R8", "publishing copies and does not consume", replace(
        ModelTarget, "consume", lambda _original: lambda self, key: self.consumed.add(key))),
    Mutation("R8", "never say that a commit may have been done", replace(
        SinkVertex, "_publish", _never_again)),
    Mutation("R8", "forget which epoch has prepared a target", replace(
        SinkVertex, "snapshot", _forget(prepared_in=0))),
    Mutation("R8", "forget the tables with rows", replace(SinkVertex, "snapshot", _forget(published_to={}))),
    Mutation("R8", "use unit numbers again", replace(
        TaskVertex, "snapshot", lambda original: lambda self: _numbered_again(original(self)))),
    Mutation("R9", "sweep what is held back for order", replace(Start, "base_committed", _keep_nothing)),
    Mutation("R9", "forget that the base is committed", replace(Start, "base_committed", _keep_what_is_held)),
    Mutation("R9", "the last sweep leaves what its own epoch staged", replace(
        PipelineContext, "clean", leave_the_own_epoch)),
    Mutation("R16", "never complete", replace(PipelineContext, "complete", sweep_in_place_of_completing)),
    Mutation("R16", "do not complete again after a crash", replace(
        PipelineContext, "complete", complete_in_one_run_only)),
    Mutation("R10", "do not ask the targets what is published", replace(
        Start, "_recognise", lambda _original: Start._store_restore_point), newest_checkpoints_are_lost),
    Mutation("R10", "accept what the base does not know", lambda: patch.object(
        start_module, "require_known", lambda *known, **named: None), newest_checkpoints_are_lost),
    Mutation("R12", "forget the cursor", replace(
        SourceVertex, "_pass_barrier", _forget_in_acknowledgement(cursor=0))),
    Mutation("R12", "enumerate again after a restart", replace(
        SourceVertex, "_pass_barrier", _forget_in_acknowledgement(attachment=None, cursor=0, total=None))),
    Mutation("R12", "forget what was found and waits", replace(
        SourceVertex, "_pass_barrier", _forget_in_acknowledgement(waiting=()))),
    Mutation("R12", "forget what was seen", replace(SourceVertex, "_pass_barrier", forget_what_was_seen)),
    Mutation("R12", "remember what is found before it is part of the state", replace(
        Polling, "poll", _remember_too_early)),
    Mutation("R14", "believe every result", replace(
        TaskVertex, "_claimed", lambda _original: lambda self, attempt: self._flights.get(attempt.unit))),
    Mutation("R14", "believe results of an older epoch", replace(
        TaskVertex, "_claimed", lambda original: lambda self, attempt: original(
            self, evolve(attempt, epoch=self._epoch)))),
    Mutation("R15", "try a failing unit for ever", replace(
        TaskVertex, "failed", lambda original: lambda self, event: original(self, _as_first_attempt(self, event)))),
    Mutation("savepoints", "keep what is staged in it", replace(
        VertexStates, "without_staged", lambda _original: lambda self: self)),
    Mutation("savepoints", "store it before its rows are published", replace(
        Savepoints, "completed", _store_the_savepoint_at_once)),
    Mutation("savepoints", "forget it when the pipeline ends", replace(
        Savepoints, "end", lambda _original: lambda self, reason: None)),
    Mutation("savepoints", "use its number again", replace(
        Savepoints, "take_asked", _leave_no_number_free)),
    Mutation("checkpoints", "any number of them pending", _any_number_pending),
    Mutation("checkpoints", "one that failed stays pending", replace(Coordinator, "_abort", _stays_pending)),
    Mutation("checkpoints", "the timeout is not armed", without_timer("expire:")),
    Mutation("timers", "a commit that failed is not tried again", without_timer("commit:")),
    Mutation("timers", "a unit that failed is not tried again", without_timer("retry:")),
    Mutation("timers", "nobody looks again after a failed checkpoint", without_timer("trigger")),
    Mutation("timers", "nobody looks for more again", without_timer("poll:")),
    Mutation("timers", "the speed limit is never lifted", without_timer("emit:")),
    Mutation("checkpoints", "no timeout", replace(
        Coordinator, "_expire", lambda _original: lambda self, pending: None)),
    Mutation("retention", "one too many is kept", replace(retention, "prune", _one_too_many)),
    Mutation("retention", "savepoints and completed points count too", replace(
        retention, "_kept_for_ever", lambda _original: lambda checkpoints, alive: frozenset())),
)  # fmt: skip


def _as_first_attempt(task: Any, event: Any) -> Any:
    """Forget how often the unit was tried."""
    flight = task._claimed(event.attempt)
    if flight is not None and event.failure.retryable:
        task._limits = evolve(task._limits, unit_retries=flight.attempts + 1)
    return event
