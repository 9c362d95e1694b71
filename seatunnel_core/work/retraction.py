"""Selection of a sink's published output to roll back when its pipeline rewinds to an earlier checkpoint (rule R10)."""

from collections.abc import Mapping

from attrs import field, frozen


@frozen(kw_only=True)
class Retraction:
    """Published output of a sink that is rolled back when a pipeline returns to a base checkpoint (rule R10).

    Unit numbers are unique in the lineage of live checkpoints, so the base identifies the later output: units in
    flight, units without a number in the base, and newer epochs. Committables in the base are kept: the start publishes
    them.
    """

    epoch: int
    """Epoch of the start that rolls back: output of this and later epochs is kept."""

    base_epoch: int
    next_units: Mapping[int, int]
    """First unit number that the base had not assigned, by source ordinal."""

    in_flight: Mapping[int, frozenset[int]]
    """Numbers of the units that run again, by source ordinal."""

    named: frozenset[str] = field(repr=False)
    """IDs of the sink's committables in the base."""

    def takes(self, committable_id: str, *, source: int, epoch: int, unit: int) -> bool:
        """Return True if the published output of a committable must be rolled back."""
        if epoch >= self.epoch or committable_id in self.named:
            return False
        in_flight = unit in self.in_flight.get(source, frozenset())
        return in_flight or epoch > self.base_epoch or unit >= self.next_units.get(source, unit + 1)

    def misses(self, committable_id: str) -> bool:
        """Return True if a published committable proves that a checkpoint newer than the base existed and is missing.

        It was staged in the base's epoch or later, by a unit that the base does not know as finished. Older epochs
        prove nothing: the user may have rewound the job and accepted their output.
        """
        source, epoch, unit = map(int, committable_id.split("-"))
        return epoch >= self.base_epoch and self.takes(committable_id, source=source, epoch=epoch, unit=unit)
