"""A retraction: which of a sink's published outputs go when its pipeline goes back to a base (protocol rule R10)."""

from collections.abc import Mapping

from attrs import field, frozen


@frozen(kw_only=True)
class Retraction:
    """Tells of one sink's published things which ones go.

    In the line of live checkpoints no number names two units. So the base itself says what came after it: what its
    units in flight and those that it had not numbered yet staged, whenever that was, and all of newer epochs. What the
    base names as a committable stays: the start has published it, or finds that it was.
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
        """Whether what was published from this committable goes.

        Args:
            source: the ordinal of the source.
            epoch: in which it was staged.
        """
        if epoch >= self.epoch or committable_id in self.named:
            return False
        in_flight = unit in self.in_flight.get(source, frozenset())
        return in_flight or epoch > self.base_epoch or unit >= self.next_units.get(source, unit + 1)

    def misses(self, committable_id: str) -> bool:
        """Whether a published committable shows that a checkpoint newer than the base was there and is gone: it was
        staged in the base's epoch, or a later one, by a unit that the base does not know as finished. What older epochs
        left proves nothing: a person may have gone back, and accepted it."""
        source, epoch, unit = map(int, committable_id.split("-"))
        return epoch >= self.base_epoch and self.takes(committable_id, source=source, epoch=epoch, unit=unit)
