"""Selection of the published outputs of a sink to roll back when its pipeline rewinds to a base (rule R10)."""

from collections.abc import Mapping

from attrs import field, frozen


@frozen(kw_only=True)
class Retraction:
    """Selects the published outputs of a sink that a rewind to a base rolls back (rule R10).

    In the lineage of live checkpoints unit numbers are unique, so the base itself defines the later outputs: those
    staged by its units in flight, by units that it had not numbered yet, or in newer epochs. Committables in the base
    are kept: the start publishes them, or finds them published.
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
        """Return True if the published output of a committable must be rolled back.

        Args:
            committable_id: The committable's ID.
            source: The ordinal of the source.
            epoch: The epoch in which it was staged.
            unit: The number of the work unit that staged it.
        """
        if epoch >= self.epoch or committable_id in self.named:
            return False
        in_flight = unit in self.in_flight.get(source, frozenset())
        return in_flight or epoch > self.base_epoch or unit >= self.next_units.get(source, unit + 1)

    def misses(self, committable_id: str) -> bool:
        """Return True if a published committable proves that a checkpoint newer than the base existed and is missing.

        It was staged in the base's epoch or a later one, by a unit that the base does not know as finished. Output of
        older epochs is no proof: the user may have rewound the job and accepted that output.
        """
        source, epoch, unit = map(int, committable_id.split("-"))
        return epoch >= self.base_epoch and self.takes(committable_id, source=source, epoch=epoch, unit=unit)
