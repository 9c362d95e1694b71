"""What a sink published after a base, and takes back when its pipeline goes back there (R10)."""

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from seatunnel_core.checkpoint.split import Committable
from seatunnel_core.checkpoint.state import TaskState, VertexStates
from seatunnel_core.checkpoint.topology import Topology


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


def retractions(states: VertexStates, topology: Topology, *, epoch: int, base_epoch: int) -> Mapping[str, Retraction]:
    """By sink: what goes when the pipeline starts again from ``states``, which are those of its base."""
    tasks = {source.ordinal: states.tasks[source.name] for source in topology.sources}
    return {
        sink.name: Retraction(
            epoch=epoch,
            base_epoch=base_epoch,
            next_units={ordinal: task.next_unit for ordinal, task in tasks.items()},
            in_flight={ordinal: _running_again(task) for ordinal, task in tasks.items()},
            named=frozenset(committable.id for committable in _named(states, sink.name)),
        )
        for sink in topology.sinks
    }


def _running_again(task: TaskState) -> frozenset[int]:
    return frozenset(held.unit.number for held in task.units if held.committables is None)


def _named(states: VertexStates, sink: str) -> Iterator[Committable]:
    yield from states.sinks[sink].uncommitted
    for task in states.tasks.values():
        for held in task.units:
            if held.committables is not None and sink in held.committables:
                yield held.committables[sink]
