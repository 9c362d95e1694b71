"""Work units that a task vertex has in flight."""

from attrs import define, field

from seatunnel_core.work.committable import Committable
from seatunnel_core.work.fact import Fact
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import WorkUnit


@define
class UnitInFlight:
    """Work unit that is queued, running, waiting for a retry, or held back for order."""

    unit: WorkUnit
    attempts: int = 0
    running: bool = False
    since_ms: int = 0
    restored: bool = False
    finished: dict[str, Committable] | None = None
    facts: tuple[Fact, ...] = ()
    """Facts that its split readers reported, once it has finished."""


@define
class HalfBuiltUnit:
    """Work unit that still receives splits."""

    number: int
    splits: list[Split] = field(factory=list)
    bytes: int = 0
    rows: int = 0
    ordering_keys: set[str | None] = field(factory=set)

    def add(self, split: Split) -> None:
        """Append a split to the unit."""
        self.splits.append(split)
        self.ordering_keys.add(split.ordering_key)
        self.bytes += split.weight_bytes
        self.rows += split.rows

    def as_unit(self) -> WorkUnit:
        """Return the unit with its current splits."""
        return WorkUnit(number=self.number, splits=tuple(self.splits))
