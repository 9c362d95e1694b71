"""Work units and their attempts."""

from attrs import frozen

from seatunnel_core.stored_fields import Stored, required
from seatunnel_core.work.split import Split


@frozen(kw_only=True)
class WorkUnit(Stored):
    """Splits of one source that one task reads, transforms and stages together."""

    number: int = required(least=1)
    """Number from 1, unique among live checkpoints. After a crash, a newer epoch may use it again."""

    splits: tuple[Split, ...]
    """Splits in the order of the source's enumeration."""

    @property
    def weight_bytes(self) -> int:
        """Sum of the weights of the splits."""
        return sum(split.weight_bytes for split in self.splits)

    @property
    def rows(self) -> int:
        """Sum of the exact or estimated numbers of rows of the splits."""
        return sum(split.rows for split in self.splits)

    @property
    def ordering_keys(self) -> frozenset[str]:
        """Ordering keys of the splits; empty if a split has none, so that the unit commutes with no other one."""
        keys = {split.ordering_key for split in self.splits}
        return frozenset() if None in keys else frozenset(key for key in keys if key is not None)


@frozen(kw_only=True)
class AttemptId(Stored):
    """Identity of an attempt at a work unit. Only the result of the expected attempt counts (rule R14)."""

    unit: int
    """Number of the work unit; unique within its source."""

    epoch: int
    """Epoch that dispatched the attempt."""

    number: int
    """Number from 1, which increases with every retry of the unit in this epoch."""


@frozen(kw_only=True)
class UnitAttempt:
    """An attempt at a work unit, which Spark runs as a whole."""

    unit: WorkUnit
    epoch: int
    """Epoch that dispatches the attempt; part of every staged name."""

    number: int
    """Number from 1, which increases with every retry of the unit in this epoch."""

    @property
    def id(self) -> AttemptId:
        """Identity that a result of this attempt must have."""
        return AttemptId(unit=self.unit.number, epoch=self.epoch, number=self.number)
