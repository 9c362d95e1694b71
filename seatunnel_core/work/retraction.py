"""A retraction: which of a sink's published outputs go when its pipeline goes back to a base (protocol rule R10)."""

from collections.abc import Mapping

from attrs import field, frozen


@frozen(kw_only=True)
class Retraction:
    """Select which of a sink's published outputs a rewind to a base removes (rule R10).

    In the line of live checkpoints no number names two units, so the base itself defines what came after it: whatever
    was staged by its units in flight, by units that it had not numbered yet, or in newer epochs. What the base names as
    a committable stays: the start has published it, or finds that it was.
    """

    epoch: int
    """Of the start that takes back: what it and later ones publish stays."""

    base_epoch: int
    next_units: Mapping[int, int]
    """By the ordinal of the source: the first number that the base had not given to a unit."""

    in_flight: Mapping[int, frozenset[int]]
    """By the ordinal of the source: the numbers of the units that run again."""

    named: frozenset[str] = field(repr=False)
    """The ids of the committables that the base names for the sink."""

    def takes(self, committable_id: str, *, source: int, epoch: int, unit: int) -> bool:
        """Return whether what was published from a committable goes.

        Args:
            committable_id: Its id.
            source: The ordinal of the source.
            epoch: The epoch in which it was staged.
            unit: The number of the work unit that staged it.
        """
        if epoch >= self.epoch or committable_id in self.named:
            return False
        in_flight = unit in self.in_flight.get(source, frozenset())
        return in_flight or epoch > self.base_epoch or unit >= self.next_units.get(source, unit + 1)

    def misses(self, committable_id: str) -> bool:
        """Return whether a published committable proves that a checkpoint newer than the base existed and is gone.

        It was staged in the base's epoch or a later one, by a unit that the base does not know as finished. What older
        epochs left proves nothing: the user may have gone back and accepted it.
        """
        source, epoch, unit = map(int, committable_id.split("-"))
        return epoch >= self.base_epoch and self.takes(committable_id, source=source, epoch=epoch, unit=unit)
