"""Match the vertex states in a checkpoint by name with the vertices of a job."""

from collections.abc import Collection, Iterable, Sequence

from attrs import evolve, frozen

from seatunnel_core.checkpoint.errors import RestoreRefusedError
from seatunnel_core.checkpoint.state.topology import SourceSpec, Topology
from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.checkpoint.state.vertex_state import HeldUnit, SinkState, SourceState, TaskState, VertexStates


@frozen(kw_only=True)
class Comparison:
    """Comparison of the vertices of a job with the stored ones; ``str`` returns a sentence for users."""

    matched: tuple[str, ...]
    """Names in both the checkpoint and the job; these vertices continue from their state."""

    new: tuple[str, ...]
    """Names only in the job; these vertices start from the beginning."""

    dropped: tuple[str, ...]
    """Names only in the checkpoint; their state is not restored."""

    @classmethod
    def of(cls, stored: Collection[str], named: Collection[str]) -> "Comparison":
        """Compare the stored names with the names in the job; each list in the result keeps the original order."""
        known, wanted = set(stored), set(named)
        return cls(
            matched=tuple(name for name in named if name in known),
            new=tuple(name for name in named if name not in known),
            dropped=tuple(name for name in stored if name not in wanted),
        )

    def __str__(self) -> str:
        parts = [f"matched by name: {len(self.matched):,}"]
        parts += [f"new, starting from the beginning: {', '.join(self.new)}"] if self.new else []
        parts += [f"dropped, with their stored state: {', '.join(self.dropped)}"] if self.dropped else []
        return "; ".join(parts)


def compare(states: VertexStates, topology: Topology) -> Comparison:
    """Compare the vertices of the job with the stored states. Vertex titles look like ``source flights``."""
    return Comparison.of(
        _titles(states.sources, states.sinks),
        _titles((source.name for source in topology.sources), (sink.name for sink in topology.sinks)),
    )


def _titles(sources: Iterable[str], sinks: Iterable[str]) -> list[str]:
    return sorted(map(str, [*map(VertexId.source, sources), *map(VertexId.sink, sinks)]))


def fitted(
    states: VertexStates, topology: Topology, *, allow_non_restored: bool = False, is_published: bool = False
) -> VertexStates:
    """Return a state for every vertex of the job: the stored state, or the initial state of a new vertex.

    Args:
        states: The stored states. They may have been written with another parallelism.
        topology: The vertices of the job.
        allow_non_restored: True to drop the states of vertices that were removed from the job.
        is_published: True if all committables in ``states`` are published, as after a savepoint.

    Raises:
        RestoreRefusedError: Some vertices do not match; the message contains their names and the remedy.
    """
    if not states.sources or states.sources.keys() != states.tasks.keys():
        raise RestoreRefusedError(
            f"it contains the sources {sorted(states.sources)} and tasks of the sources {sorted(states.tasks)}, "
            "which must be the same"
        )
    dropped = compare(states, topology).dropped
    if dropped and not allow_non_restored:
        raise RestoreRefusedError(not_restored("it", dropped))
    _require_same_ends(states, topology)
    if not is_published:
        _require_published(states, topology)
    return VertexStates(
        sources={source.name: states.sources.get(source.name, SourceState()) for source in topology.sources},
        tasks={
            source.name: _fitted_task(states.tasks.get(source.name, TaskState()), source, allow_non_restored)
            for source in topology.sources
        },
        sinks={sink.name: states.sinks.get(sink.name, SinkState()) for sink in topology.sinks},
        retracting=states.retracting,
    )


def not_restored(holder: str, names: Sequence[str]) -> str:
    """Return the message for sources and sinks that ``holder``, such as a savepoint, contains but the job does not."""
    return (
        f"{holder} also has {', '.join(names)}, which this job does not have: add them to the job again, or restore "
        "with allow_non_restored_state=True to continue without their stored state"
    )


def staged_elsewhere(sink: str, units: str, changes: str) -> str:
    """Return the message for units that a sink staged for a target that has changed since (R8)."""
    return (
        f"the sink {sink!r} has {units} staged that may still be unpublished, and its {changes}. Undo that change. "
        "To make the change later, first stop the job with a savepoint, which publishes everything"
    )


def _require_same_ends(states: VertexStates, topology: Topology) -> None:
    """Reject a source that has changed from bounded to unbounded, or the reverse, since its state was stored."""
    for source in topology.sources:
        state = states.sources.get(source.name, SourceState())
        if state.attachment is not None and source.bounded is not (state.memory is None):
            was, is_now = ("was unbounded", "is bounded") if source.bounded else ("was bounded", "is unbounded")
            raise RestoreRefusedError(
                f"source {source.name!r} {was} and now {is_now}: restore its options and job.mode, or rename the "
                "source to read it from the beginning"
            )


def _require_published(states: VertexStates, topology: Topology) -> None:
    """Reject the removal of a sink with committables that may be unpublished."""
    named = {sink.name for sink in topology.sinks}
    for name, sink in states.sinks.items():
        if name not in named and sink.uncommitted:
            raise RestoreRefusedError(
                f"sink {name!r} was removed from the job but may have {len(sink.uncommitted)} committables to publish: "
                "add it again, run the job, stop it with a savepoint, then remove the sink"
            )


def _fitted_task(task: TaskState, source: SourceSpec, allow_non_restored: bool) -> TaskState:
    """Return the state without output for sinks that the source no longer feeds; reject such output unless allowed."""
    for held in task.units:
        strange = set(held.committables or ()) - set(source.sinks)
        if strange and not allow_non_restored:
            raise RestoreRefusedError(
                f"unit {held.unit.number} of source {source.name!r} has staged rows for {sorted(strange)}, but the "
                "source no longer feeds them: connect them again, or restore with allow_non_restored_state=True to "
                "continue without them"
            )
    return evolve(task, units=tuple(_fitted_unit(held, source) for held in task.units))


def _fitted_unit(held: HeldUnit, source: SourceSpec) -> HeldUnit:
    if held.committables is None:
        return held
    fed = {sink: committable for sink, committable in held.committables.items() if sink in source.sinks}
    return evolve(held, committables=fed)
