"""Work units, the attempts at them, and the identity of an attempt."""

from attrs import frozen

from seatunnel_core.work.split import Split


@frozen(kw_only=True)
class WorkUnit:
    """Splits of one source that one task reads, transforms and stages together."""

    number: int
    """From 1. Drawn in order and recorded, so that in the line of live checkpoints no number names two units. A number
    that was drawn after the last checkpoint before a crash is drawn again, in a newer epoch: names carry both."""

    splits: tuple[Split, ...]
    """In the order of the source's enumeration."""

    @property
    def weight_bytes(self) -> int:
        """The sum of the weights of its splits."""
        return sum(split.weight_bytes for split in self.splits)

    @property
    def rows(self) -> int:
        """The sum of the rows of its splits, as far as they are known."""
        return sum(split.rows for split in self.splits)


@frozen(kw_only=True)
class AttemptId:
    """The identity of one attempt at a work unit. A result counts only if it names the awaited attempt (rule R14)."""

    unit: int
    """The number of the work unit; unique within its source."""

    epoch: int
    """The epoch that dispatched the attempt."""

    number: int
    """From 1; grows by 1 with every retry of the unit in this epoch."""


@frozen(kw_only=True)
class UnitAttempt:
    """One attempt at one work unit: what is dispatched to Spark, and retried as a whole."""

    unit: WorkUnit
    epoch: int
    """The epoch that dispatches the attempt; it is part of every staged name."""

    number: int
    """From 1; grows by 1 with every retry of the unit in this epoch."""

    @property
    def id(self) -> AttemptId:
        """What a result of this attempt has to name."""
        return AttemptId(unit=self.unit.number, epoch=self.epoch, number=self.number)
