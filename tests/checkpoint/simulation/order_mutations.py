"""R13, broken on purpose: results that are handed on as they come, and units that do not wait for their turn."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from seatunnel_core.checkpoint.vertices import task
from seatunnel_core.checkpoint.vertices.in_flight import UnitInFlight
from seatunnel_core.checkpoint.vertices.task import TaskVertex
from seatunnel_core.checkpoint.vertices.turns import in_turn
from seatunnel_core.work.unit import WorkUnit
from tests.checkpoint.simulation.broken_vertices import replace
from tests.checkpoint.simulation.mutation import Mutation

Turns = Callable[..., Iterator[UnitInFlight]]


def _hand_on_as_it_comes(_original: Any) -> Any:
    def hand_on(self: Any) -> None:
        for flight in [flight for flight in self._flights.values() if flight.finished is not None]:
            self._hand_on(flight)

    return hand_on


def _turns(broken: Turns) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: patch.object(task, "in_turn", broken)


def _all(flights: Iterable[UnitInFlight], *, keyed: bool) -> Iterator[UnitInFlight]:
    """None waits for another one."""
    return iter([flight for flight in flights if flight.finished is None])


def _not_after_those_that_wait(flights: Iterable[UnitInFlight], *, keyed: bool) -> Iterator[UnitInFlight]:
    """Older units that wait for their retry are passed, and run when others with their keys may run."""
    unfinished = [flight for flight in flights if flight.finished is None]
    begun = [flight for flight in unfinished if flight.running or not flight.attempts]
    for flight in unfinished:
        older = [each for each in begun if each.unit.number < flight.unit.number]
        if flight in in_turn([*older, flight], keyed=keyed):
            yield flight


def _as_if_all_were_keyed(flights: Iterable[UnitInFlight], *, keyed: bool) -> Iterator[UnitInFlight]:
    return in_turn(flights, keyed=True)


def _past_those_without_key(flights: Iterable[UnitInFlight], *, keyed: bool) -> Iterator[UnitInFlight]:
    """What has no key waits for all, and nothing waits for it."""
    unfinished = [flight for flight in flights if flight.finished is None]
    keyless = [flight for flight in unfinished if not (keyed and flight.unit.ordering_keys)]
    if unfinished[:1] == keyless[:1]:
        yield from keyless[:1]
    yield from in_turn([flight for flight in unfinished if flight not in keyless], keyed=keyed)


def _before_those_without_key(flights: Iterable[UnitInFlight], *, keyed: bool) -> Iterator[UnitInFlight]:
    """What has no key waits for nothing but its like, and all that is newer waits for it."""
    unfinished = [flight for flight in flights if flight.finished is None]
    for flight in unfinished:
        if not flight.unit.ordering_keys:
            yield flight
            return
        if flight in in_turn(unfinished, keyed=keyed):
            yield flight


def _of_the_first_split(self: WorkUnit) -> frozenset[str]:
    key = self.splits[0].ordering_key
    return frozenset() if key is None else frozenset([key])


ORDER_MUTATIONS: tuple[Mutation, ...] = (
    Mutation("R13", "hand on as results come", replace(TaskVertex, "_hand_on_in_order", _hand_on_as_it_comes)),
    Mutation("R13", "units that write directly run in every free slot", _turns(_all)),
    Mutation("R13", "newer units write while an older one waits for its retry", _turns(_not_after_those_that_wait)),
    Mutation("R13", "ordering keys count where a sink needs the whole order", _turns(_as_if_all_were_keyed)),
    Mutation("R13", "newer units do not wait for one without ordering key", _turns(_past_those_without_key)),
    Mutation("R13", "a unit without ordering key does not wait for older ones", _turns(_before_those_without_key)),
    Mutation("R13", "the first split of a unit gives its ordering key", lambda: patch.object(
        WorkUnit, "ordering_keys", property(_of_the_first_split))),
)  # fmt: skip
