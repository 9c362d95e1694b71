"""The work units that a task vertex has in flight, as this process knows them."""

from attrs import define, field

from seatunnel_core.work.committable import Committable
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import WorkUnit


@define
class UnitInFlight:
    """One unit in flight in this process: queued, running, waiting for a retry, or held back for order."""

    unit: WorkUnit
    attempts: int = 0
    running: bool = False
    since_ms: int = 0
    restored: bool = False
    finished: dict[str, Committable] | None = None


@define
class HalfBuiltUnit:
    """A unit that is still being put together."""

    number: int
    splits: list[Split] = field(factory=list)
    bytes: int = 0
    rows: int = 0

    def add(self, split: Split) -> None:
        """Add a split behind those that it has."""
        self.splits.append(split)
        self.bytes += split.weight_bytes
        self.rows += split.rows

    def as_unit(self) -> WorkUnit:
        """Return the unit with the splits that it has by now."""
        return WorkUnit(number=self.number, splits=tuple(self.splits))
