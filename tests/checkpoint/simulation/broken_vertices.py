"""Vertices and timers that do not do what they should: the larger part of what ``mutations`` lists."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from attrs import evolve

from seatunnel_core.checkpoint.vertices.messages import Drained
from seatunnel_core.checkpoint.vertices.task import TaskVertex
from seatunnel_core.checkpoint.vertices.wiring import Wiring

Broken = Callable[[], Any]


def replace(owner: Any, name: str, make: Callable[[Any], Any]) -> Broken:
    """Replace a method by what ``make`` builds from the original."""
    return lambda: patch.object(owner, name, make(getattr(owner, name)))


def without_timer(prefix: str) -> Broken:
    """Timers of this kind are set, and never fire."""
    return replace(Wiring, "set_timer", lambda original: lambda self, key, at_ms, action: (
        None if key.startswith(prefix) else original(self, key, at_ms, action)))  # fmt: skip


@contextmanager
def wait_until_full() -> Iterator[None]:
    original = TaskVertex._take

    def take(self: Any, split: Any) -> None:
        self._unspent += 1_000_000
        original(self, split)
        self._unspent -= 1_000_000

    with patch.object(TaskVertex, "_take", take), without_timer("close:")():
        yield


def without_units(forgotten: Callable[[Any, Any], bool]) -> Callable[[Any], Any]:
    """A snapshot of a task in which the units are missing of which ``forgotten`` says so."""

    def make(original: Any) -> Any:
        def snapshot(self: Any) -> Any:
            state = original(self)
            numbers = {number for number, flight in self._flights.items() if forgotten(self, flight)}
            return evolve(state, units=tuple(held for held in state.units if held.unit.number not in numbers))

        return snapshot

    return make


def is_held(_task: Any, flight: Any) -> bool:
    return flight.finished is not None


def waits_for_its_retry(task: Any, flight: Any) -> bool:
    waits = flight.attempts and not flight.running and flight.finished is None
    return bool(waits) and flight.unit.number not in task._queue


def without_what_is_being_published(original: Any) -> Any:
    def snapshot(self: Any, checkpoint_id: int) -> Any:
        state = original(self, checkpoint_id)
        return evolve(state, uncommitted=tuple(each for each in state.uncommitted if each.id not in self._in_flight))

    return snapshot


def keep_the_credit(original: Any) -> Any:
    def hand_on(self: Any, flight: Any) -> None:
        original(self, flight)
        self._lent += len(flight.unit.splits)

    return hand_on


def keep_the_slot(original: Any) -> Any:
    def failed(self: Any, event: Any) -> None:
        claimed = self._claimed(event.attempt) is not None
        original(self, event)
        self.units_running += claimed

    return failed


def drained_when_the_source_is(_original: Any) -> Any:
    def report(self: Any) -> None:
        if self._source_ended and not self._drained:
            self._drained = True
            self._coordinator.send(Drained(self.spec.name))

    return report
