"""R17 broken on purpose: facts that get lost or that are in two places."""

from typing import Any

from attrs import evolve

from seatunnel_core.checkpoint.vertices.messages import FactsReported
from seatunnel_core.checkpoint.vertices.polling import Polling
from seatunnel_core.checkpoint.vertices.source import SourceVertex
from seatunnel_core.checkpoint.vertices.task import TaskVertex
from tests.checkpoint.simulation.broken_vertices import replace
from tests.checkpoint.simulation.mutation import Mutation


def _without_those_held_back(original: Any) -> Any:
    def snapshot(self: Any) -> Any:
        state = original(self)
        return evolve(state, units=tuple(evolve(held, facts=()) for held in state.units))

    return snapshot


def _all_absorbed(original: Any) -> Any:
    """Also those that arrived while the poll was in progress."""

    def found(self: Any, event: Any, go_on: Any) -> int:
        self._passed = len(self._facts)
        absorbed: int = original(self, event, go_on)
        return absorbed

    return found


def _reported_when_finished(original: Any) -> Any:
    """Not when the unit is forwarded in its order."""

    def finished(self: Any, event: Any) -> None:
        claimed = self._claimed(event.attempt) is not None
        original(self, event)
        if claimed and event.facts and event.attempt.unit in self._flights:
            self._facts += event.facts
            self._source.send(FactsReported(event.facts))

    return finished


def _forgotten_at_the_start(original: Any) -> Any:
    return lambda self, state, epoch: original(self, evolve(state, facts=()), epoch)


FACT_MUTATIONS: tuple[Mutation, ...] = (
    Mutation("R17", "forget facts that the cursor does not contain", replace(
        TaskVertex, "snapshot", lambda original: lambda self: evolve(original(self), facts=()))),
    Mutation("R17", "forget facts of what is held back for order", replace(
        TaskVertex, "snapshot", _without_those_held_back)),
    Mutation("R17", "forget facts at the start", replace(TaskVertex, "_restore", _forgotten_at_the_start)),
    Mutation("R17", "keep facts that the cursor contains", replace(
        SourceVertex, "_absorbed", lambda _original: lambda self, facts: None)),
    Mutation("R17", "drop facts that arrive during a poll", replace(Polling, "found", _all_absorbed)),
    Mutation("R17", "report facts before the unit is forwarded", replace(
        TaskVertex, "finished", _reported_when_finished)),
)  # fmt: skip
