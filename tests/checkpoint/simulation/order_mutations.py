"""R13, broken on purpose: results that are handed on as they come, and units that do not wait for their turn."""

from typing import Any

from seatunnel_core.checkpoint.vertices.task import TaskVertex
from tests.checkpoint.simulation.broken_vertices import replace
from tests.checkpoint.simulation.mutation import Mutation


def _hand_on_as_it_comes(_original: Any) -> Any:
    def hand_on(self: Any) -> None:
        for flight in [flight for flight in self._flights.values() if flight.finished is not None]:
            self._hand_on(flight)

    return hand_on


def _while_a_slot_is_free(_original: Any) -> Any:
    return lambda self, number: self.units_running < self._slots


def _while_none_runs(original: Any) -> Any:
    """One at a time, and the next one while the oldest waits for its retry."""
    return lambda self, number: self.units_running == 0 if self.spec.serial else original(self, number)


ORDER_MUTATIONS: tuple[Mutation, ...] = (
    Mutation("R13", "hand on as results come", replace(TaskVertex, "_hand_on_in_order", _hand_on_as_it_comes)),
    Mutation("R13", "units that write directly run in every free slot", replace(
        TaskVertex, "_may_run", _while_a_slot_is_free)),
    Mutation("R13", "the next unit writes while the oldest waits for its retry", replace(
        TaskVertex, "_may_run", _while_none_runs)),
)  # fmt: skip
