"""A work unit: splits of one source that one task processes together; and one attempt at it."""

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
        return sum(split.weight_bytes for split in self.splits)

    @property
    def rows(self) -> int:
        return sum(split.rows for split in self.splits)
