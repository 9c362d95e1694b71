"""What travels from a source to its tasks: splits, and the work units that are put together from them."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen


@frozen(kw_only=True)
class Split:
    """A replayable piece of a source, with a definite start and end: reading it twice gives the same rows."""

    index: int
    """The position in the source's enumeration, from 0, without gaps."""

    weight_bytes: int
    """How many bytes a task has to read, as far as known; decides packing and unit size, never correctness."""

    rows: int
    """How many rows it has: exact or estimated, at least 1. Used for speed limits and prediction only."""

    body: Mapping[str, Any] = field(repr=False)
    """What the source needs to read it: JSON values only, a few hundred bytes. Opaque to the protocol."""


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


@frozen(kw_only=True)
class Committable:
    """What one work unit staged for one sink: enough to publish it, in this process or in a later one."""

    id: str
    """Unique within its sink: source ordinal, epoch and unit number. Commits are recorded by it."""

    epoch: int
    """The epoch in whose staging folder the staged thing lies."""

    unit: int
    """The number of the work unit."""

    source: str
    """The name of the source vertex that the rows come from."""

    rows: int
    bytes: int
    body: Mapping[str, Any] = field(repr=False)
    """What the sink needs to publish it (for files: staged and target names). JSON values only."""

    table_rows: Mapping[str, int] = field(factory=dict)
    """How many of the rows each table has, for a sink that wants to know in the end; else empty."""


def added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum for each name that stands in any of them."""
    total: dict[str, int] = {}
    for count in counts:
        for name, rows in count.items():
            total[name] = total.get(name, 0) + rows
    return total
