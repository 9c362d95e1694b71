"""What the sinks of a pipeline write to: staged things, and the rows that were published from them."""

from attrs import define, field, frozen

from seatunnel_core.work.committable import Committable

Row = tuple[str, str, int]
"""Enumeration, source, split: every split has one row as far as the model is concerned."""


@frozen
class StagingKey:
    """The name of a staged thing: no two attempts share it (R8)."""

    sink: str
    source: str
    epoch: int
    unit: int
    attempt: str


@define
class StagedThing:
    committable_id: str
    rows: tuple[Row, ...]
    staged_at: int
    told: str = ""
    """What the sink was told when it was staged: where it belongs."""


@frozen
class Published:
    """One publication."""

    key: StagingKey
    rows: tuple[Row, ...]
    by_epoch: int
    told: str = ""


class MissingError(Exception):
    """Nothing is staged under the name, and nobody may have published it before."""


@define
class ModelTarget:
    """Publishing consumes (R8): the staged thing goes away in the same step."""

    staged: dict[StagingKey, StagedThing] = field(factory=dict)
    published: list[Published] = field(factory=list)
    consumed: set[StagingKey] = field(factory=set)
    swept: set[StagingKey] = field(factory=set)
    recorded: dict[tuple[str, str], int] = field(factory=dict)
    """By sink and committable: the epoch that committed it, as databases record it until a sweep forgets it."""

    prepared: int = 0
    """Newest epoch for which the sinks were prepared."""

    def publish(
        self, sink: str, committable: Committable, *, may_be_committed: bool, by_epoch: int
    ) -> Published | None:
        """Publish one committable, or find that it was published before and do nothing."""
        key = StagingKey(sink, committable.source, committable.epoch, committable.unit, committable.body["attempt"])
        thing = self.staged.get(key)
        if thing is None:
            if not may_be_committed:
                raise MissingError(f"{key} is not staged")
            if (sink, committable.id) not in self.recorded:
                raise MissingError(f"{key} is not staged, and nothing says any more that it was committed")
            return None
        self.consume(key)
        self.recorded[sink, committable.id] = by_epoch
        publication = Published(key, thing.rows, by_epoch, thing.told)
        self.published.append(publication)
        return publication

    def refuses(self, epoch: int) -> bool:
        """Return True if a newer engine has prepared the target, so that this one may not complete (R16)."""
        return epoch < self.prepared

    def consume(self, key: StagingKey) -> None:
        del self.staged[key]
        self.consumed.add(key)

    def older_than(self, epoch: int, keep: frozenset[str], *, final: bool) -> frozenset[StagingKey]:
        """What a sweep will remove, as listed now (R9)."""
        return frozenset(
            key
            for key, thing in self.staged.items()
            if (key.epoch < epoch or (final and key.epoch == epoch)) and thing.committable_id not in keep
        )

    def remove(self, keys: frozenset[StagingKey]) -> frozenset[StagingKey]:
        """Remove what is still there, and say what that was."""
        there = keys & self.staged.keys()
        for key in there:
            del self.staged[key]
        self.swept |= there
        return there

    def forget(self, epoch: int, keep: frozenset[str]) -> None:
        """What was committed before an epoch, unless it is kept (R9)."""
        for (sink, committable), by_epoch in list(self.recorded.items()):
            if by_epoch < epoch and committable not in keep:
                del self.recorded[sink, committable]

    def take_back(self, publication: Published) -> bool:
        """Remove one publication, and say whether it was still there."""
        if publication not in self.published:
            return False
        self.published.remove(publication)
        return True
