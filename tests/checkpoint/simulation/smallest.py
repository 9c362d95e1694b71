"""A failing case, made as small as it goes: with less of everything, and broken still by the same rule."""

import random
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from attrs import evolve, fields, frozen

from tests.checkpoint.simulation.invariants.invariant import ViolationError


class Case(Protocol):
    """A scenario that a seed has drawn."""

    @property
    def seed(self) -> int: ...

    @property
    def faults(self) -> Any: ...


C = TypeVar("C", bound=Case)


@frozen
class Smallest(Generic[C]):
    """What is left."""

    scenario: C
    rule: str
    message: str
    story: str
    steps: int
    plays: int

    def __str__(self) -> str:
        return (
            f"{self.story}\n\n{self.message}\n\nthe smallest case of the rule {self.rule} that was found in "
            f"{self.plays} plays, {self.steps} steps long:\n{self.scenario}\n{broken(self.scenario.faults)}"
        )


@frozen(kw_only=True)
class Shrinking(Generic[C]):
    """How cases of one simulation are made smaller."""

    world: Callable[[C], Any]
    described: Callable[[Any], tuple[str, int]]
    """The story of a world that was played, and how many steps it has."""

    smaller: Callable[[C], Iterator[C]]
    """Every way to take away one thing, the larger ones first."""

    luck: int
    """A smaller case takes another course, so that the same fault may need another draw of chances to show."""

    most_plays: int

    def shrink(self, scenario: C, rule: str) -> Smallest[C]:
        """Take away one thing after the other, again and again, until nothing can be taken away."""
        plays = 1
        best = self._played(scenario, rule)
        if best is None:
            raise ValueError(f"the scenario of seed {scenario.seed} does not break {rule}")
        shrunk = True
        while shrunk:
            shrunk = False
            for smaller in self.smaller(best.scenario):
                for luck in range(self.luck):
                    if plays >= self.most_plays:
                        return evolve(best, plays=plays)
                    plays += 1
                    found = self._played(with_luck(smaller, luck), rule)
                    if found is not None:
                        best, shrunk = found, True
                        break
                if shrunk:
                    break
        return evolve(best, plays=plays)

    def shortest(self, best: Smallest[C]) -> Smallest[C]:
        """Of the same case with other luck, the one that comes to the point in the fewest steps."""
        plays = best.plays
        for luck in range(1, 4 * self.luck):
            found = self._played(with_luck(best.scenario, luck), best.rule)
            if found is not None and found.steps < best.steps:
                best = found
        return evolve(best, plays=plays)

    def _played(self, scenario: C, rule: str) -> Smallest[C] | None:
        """``None`` when the case does not break ``rule``."""
        world = self.world(scenario)
        try:
            world.run()
        except Exception as error:
            found = error.rule if isinstance(error, ViolationError) else type(error).__name__
            if found == rule:
                return Smallest(scenario, rule, str(error), *self.described(world), 1)
        return None


def with_luck(case: C, luck: int) -> C:
    """The remainder by four decides whether there is a second visit, which is a part of the case."""
    if luck == 0:
        return case
    seed = case.seed % 4 + 4 * random.Random(case.seed * 1_000 + luck).randrange(1_000_000)
    return evolve(case, seed=seed)  # type: ignore[misc]


def calmer(case: C) -> Iterator[C]:
    """The same case without one of the disturbances."""
    for at in range(len(case.faults.disturbances)):
        left = case.faults.disturbances[:at] + case.faults.disturbances[at + 1 :]
        yield evolve(case, faults=evolve(case.faults, disturbances=left))  # type: ignore[misc]


def surer(case: C) -> Iterator[C]:
    """The same case without one kind of fault that comes by chance."""
    for name in probabilities(case.faults):
        if getattr(case.faults, name):
            yield evolve(case, faults=evolve(case.faults, **{name: 0.0}))  # type: ignore[misc]


def probabilities(faults: Any) -> list[str]:
    return [field.name for field in fields(type(faults)) if field.type in (float, "float")]


def broken(faults: Any) -> str:
    """What goes wrong in a case, in words."""
    chances = {name: getattr(faults, name) for name in probabilities(faults)}
    often = [f"{name.replace('_', ' ')} ({chance:.0%})" for name, chance in chances.items() if chance]
    often += [f"no storage from {start} to {end} ms" for start, end in getattr(faults, "outages", ())]
    often += [f"{kind} at step {at}" for at, kind in faults.disturbances]
    return f"goes wrong: {', '.join(often) or 'nothing'}"
