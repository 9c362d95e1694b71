"""Determine the output that each sink has to roll back to a restored checkpoint (protocol rule R10)."""

from collections.abc import Mapping

from seatunnel_core.checkpoint.state.topology import Topology
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.work.retraction import Retraction


def retractions(states: VertexStates, topology: Topology, *, epoch: int, base_epoch: int) -> Mapping[str, Retraction]:
    """Return the output to roll back, by sink, when a pipeline restarts in ``epoch`` from a state of ``base_epoch``."""
    tasks = {source.ordinal: states.tasks[source.name] for source in topology.sources}
    return {
        sink.name: Retraction(
            epoch=epoch,
            base_epoch=base_epoch,
            next_units={ordinal: task.next_unit for ordinal, task in tasks.items()},
            in_flight={
                ordinal: frozenset(held.unit.number for held in task.units if held.committables is None)
                for ordinal, task in tasks.items()
            },
            named=frozenset(committable.id for committable in states.committables_for(sink.name)),
        )
        for sink in topology.sinks
    }
