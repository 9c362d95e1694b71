"""What a case of the benchmark tells: a value for each round, its goal, and whether that is reached."""

import statistics
from collections.abc import Iterable
from typing import Any

from attrs import asdict, field, frozen


@frozen(kw_only=True)
class Goal:
    """A bound for the median."""

    at_least: float | None = None
    at_most: float | None = None

    def holds(self, value: float) -> bool:
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)

    def __str__(self) -> str:
        bounds = (("≥", self.at_least), ("≤", self.at_most))
        return " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if bound is not None)


def at_least(bound: float) -> Goal:
    return Goal(at_least=bound)


def at_most(bound: float) -> Goal:
    return Goal(at_most=bound)


def _values(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(values)


@frozen(kw_only=True)
class Figure:
    """One line of a case. A ratio is taken within each round, so that what else the machine does hurts both sides."""

    what: str
    values: tuple[float, ...] = field(converter=_values)
    """One for each round, or for each try."""

    unit: str = ""
    """Empty for a ratio."""

    goal: Goal | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def verdict(self) -> str:
        """``reached`` or ``missed`` by the median; ``within the noise`` where the middle half of the rounds lies on
        both sides of the goal. Empty without a goal."""
        if self.goal is None:
            return ""
        if len(self.values) > 2:
            low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
            if self.goal.holds(low) != self.goal.holds(high):
                return "within the noise"
        return "reached" if self.goal.holds(self.median) else "missed"

    def spread(self) -> str:
        """The median, with the smallest and the largest value."""
        digits = 0 if abs(self.median) >= 100 else 2 if abs(self.median) >= 0.1 else 3
        low, middle, high = (f"{each:,.{digits}f}" for each in (min(self.values), self.median, max(self.values)))
        unit = f" {self.unit}" if self.unit else ""
        return f"{middle}{unit} ({low} to {high})" if len(self.values) > 1 else f"{middle}{unit}"

    def __str__(self) -> str:
        wanted = f"; goal {self.goal}: {self.verdict}" if self.goal is not None else ""
        return f"{self.what}: {self.spread()}{wanted}"

    def as_json(self) -> dict[str, Any]:
        """With what follows from the values, for readers that are no programs of ours."""
        goal = None if self.goal is None else {k: v for k, v in asdict(self.goal).items() if v is not None}
        return {
            "what": self.what,
            "unit": self.unit or "ratio",
            "median": self.median,
            "least": min(self.values),
            "most": max(self.values),
            "values": list(self.values),
            "goal": goal,
            "verdict": self.verdict,
        }


def ratios(above: Iterable[float], below: Iterable[float]) -> tuple[float, ...]:
    """Within each round."""
    return tuple(one / other for one, other in zip(above, below, strict=True))
