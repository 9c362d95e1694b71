"""Selection of a sink's published output to roll back when a pipeline restores an earlier checkpoint (rule R10)."""

from collections.abc import Mapping

from attrs import field, frozen


@frozen(kw_only=True)
class Retraction:
    """Published output of a sink to roll back when its pipeline restores an earlier checkpoint, the base (rule R10).

    Unit numbers are unique among live checkpoints, so the base determines which output is later: the output of units in
    flight, of units that the base has not numbered yet, and of newer epochs. Committables in the base are kept; they
    are published when the pipeline starts.
    """

    epoch: int
    """Epoch of the start that rolls back output. Output of this and later epochs is kept."""

    base_epoch: int
    next_units: Mapping[int, int]
    """First unit number that the base had not assigned, keyed by source ordinal."""

    in_flight: Mapping[int, frozenset[int]]
    """Numbers of the units that run again, keyed by source ordinal."""

    named: frozenset[str] = field(repr=False)
    """IDs of the committables in the base."""

    def takes(self, committable_id: str, *, source: int, epoch: int, unit: int) -> bool:
        """Return True if the published output of a committable must be rolled back."""
        if epoch >= self.epoch or committable_id in self.named:
            return False
        in_flight = unit in self.in_flight.get(source, frozenset())
        return in_flight or epoch > self.base_epoch or unit >= self.next_units.get(source, unit + 1)

    def misses(self, committable_id: str) -> bool:
        """Return True if a published committable proves that a checkpoint after the base existed and is missing.

        This is the case if it was staged in the base's epoch or later, by a unit that is not finished in the base.
        Older epochs prove nothing, because the user may have accepted their output in an earlier restore.
        """
        source, epoch, unit = map(int, committable_id.split("-"))
        return epoch >= self.base_epoch and self.takes(committable_id, source=source, epoch=epoch, unit=unit)
