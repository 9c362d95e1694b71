"""State of each vertex in a checkpoint."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from seatunnel_core.checkpoint.state.topology import Topology
from seatunnel_core.checkpoint.state.vertex_id import VertexId, VertexKind
from seatunnel_core.stored_fields import Stored, required
from seatunnel_core.stored_fields import added as may_lack
from seatunnel_core.work.committable import Committable, added, with_tables
from seatunnel_core.work.fact import Fact
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import WorkUnit
from seatunnel_storage_api.state import CheckpointRef


@frozen(kw_only=True)
class SourceState(Stored):
    """Splits that a source still has to emit (R12): the rest of its stored enumeration, and splits found by polls."""

    attachment: str | None = None
    """Name of the stored enumeration; ``None`` if it does not exist yet."""

    cursor: int = 0
    """Index of the next split to emit."""

    total: int | None = None
    """Number of splits of the enumeration."""

    waiting: tuple[Split, ...] = may_lack(())
    """Splits that polls found and the source has not emitted yet; numbered from ``total`` without gaps."""

    memory: Mapping[str, Any] | None = may_lack(None)
    """Cursor for the next poll of an unbounded source, as JSON values. ``None`` for a bounded source, and before the
    enumeration exists."""

    def record(self) -> dict[str, Any]:
        """Return the JSON values; fields of unbounded sources are omitted for a bounded source."""
        written = super().record()
        if self.memory is None:
            del written["waiting"], written["memory"]
        return written


@frozen(kw_only=True)
class HeldUnit(Stored):
    """Unit in flight: its splits, and its committables if it has finished."""

    unit: WorkUnit = required(inlined=True)
    committables: Mapping[str, Committable] | None = None
    """Committables by sink if the unit has finished and is held back for order. ``None`` if it has to run again."""

    facts: tuple[Fact, ...] = may_lack((), omitted=True)
    """Facts of a finished unit that is held back (R17)."""


@frozen(kw_only=True)
class TaskState(Stored):
    """Units in flight between a source and its sinks (R2), and the counters of the task."""

    next_unit: int = required(1, least=1)
    """Number of the next work unit."""

    units: tuple[HeldUnit, ...] = ()
    """Units in flight, sorted by number: the task has received their splits and has not forwarded their results."""

    units_done: int = 0
    splits_done: int = 0
    rows_read: int = 0
    rows_written: int = 0
    """Rows that successful units staged. A row that two sinks receive counts twice."""

    bytes_read: int = 0
    rows_skipped: int = 0
    facts: tuple[Fact, ...] = may_lack((), omitted=True)
    """Facts of forwarded units that the cursor of the source does not contain yet, in order (R17)."""


@frozen(kw_only=True)
class SinkState(Stored):
    """Committables that may be unpublished (R1), in order of arrival, and counters of the published ones."""

    save_mode_pending: bool = True
    """True if ``data_save_mode`` has not been applied yet (R4)."""

    prepared_in: int = may_lack(0, omitted=True)
    """Newest epoch known to have prepared the target, or 0. A target without traces of this epoch is rejected (R8)."""

    uncommitted: tuple[Committable, ...] = ()
    rows_committed: int = 0
    bytes_committed: int = 0
    table_rows: Mapping[str, int] = may_lack(factory=dict, omitted=True)
    """Committed rows per table, if the committables count them."""

    published_to: Mapping[str, str] = may_lack(factory=dict, omitted=True)
    """Tables to which rows were published, with their identities if known. They are never created again (R8)."""


VertexState = SourceState | TaskState | SinkState

State = TypeVar("State", SourceState, TaskState, SinkState)


def _of_kind(states: Mapping[VertexId, VertexState], kind: VertexKind, state_class: type[State]) -> dict[str, State]:
    found: dict[str, State] = {}
    for vertex, state in states.items():
        if vertex.kind is kind:
            assert isinstance(state, state_class)
            found[vertex.name] = state
    return found


@frozen(kw_only=True)
class VertexStates:
    """States of all vertices of one pipeline, by name. A task has the name of its source."""

    sources: Mapping[str, SourceState] = field(factory=dict)
    tasks: Mapping[str, TaskState] = field(factory=dict)
    sinks: Mapping[str, SinkState] = field(factory=dict)
    retracting: CheckpointRef | None = None
    """Checkpoint to roll back to; ``None`` if nothing is rolled back. It stays set until the first checkpoint after the
    restore point is stored, because the rollback may be incomplete until then (R10).
    """

    @classmethod
    def at_start(cls, topology: Topology) -> "VertexStates":
        """Return the states of a pipeline that never ran."""
        return cls(
            sources={source.name: SourceState() for source in topology.sources},
            tasks={source.name: TaskState() for source in topology.sources},
            sinks={sink.name: SinkState() for sink in topology.sinks},
        )

    @classmethod
    def of(cls, states: Mapping[VertexId, VertexState], *, retracting: CheckpointRef | None = None) -> "VertexStates":
        """Group the states by the kind of their vertices, which the class of each state determines."""
        return cls(
            sources=_of_kind(states, VertexKind.SOURCE, SourceState),
            tasks=_of_kind(states, VertexKind.TASK, TaskState),
            sinks=_of_kind(states, VertexKind.SINK, SinkState),
            retracting=retracting,
        )

    def by_vertex(self) -> dict[VertexId, VertexState]:
        """Return the states by vertex."""
        return {
            **{VertexId.source(name): state for name, state in self.sources.items()},
            **{VertexId.task(name): state for name, state in self.tasks.items()},
            **{VertexId.sink(name): state for name, state in self.sinks.items()},
        }

    def unread(self, source: str, enumerated: Sequence[Split]) -> tuple[Split, ...]:
        """Return the splits that have not been read completely: in flight, or not emitted yet."""
        state = self.sources[source]
        in_flight = [split for held in self.tasks[source].units for split in held.unit.splits]
        return (*in_flight, *enumerated[state.cursor :], *state.waiting)

    def has_emitted_and_finished(self, source: str) -> bool:
        """Return True if the source has emitted splits and none of them is in flight."""
        return self.sources[source].cursor > 0 and not self.tasks[source].units

    def committables(self) -> Iterator[Committable]:
        """Yield every committable, including published ones."""
        for sink in self.sinks.values():
            yield from sink.uncommitted
        for task in self.tasks.values():
            for held in task.units:
                yield from (held.committables or {}).values()

    def committables_for(self, sink: str) -> Iterator[Committable]:
        """Yield every committable of one sink, including published ones."""
        if sink in self.sinks:
            yield from self.sinks[sink].uncommitted
        for task in self.tasks.values():
            for held in task.units:
                if held.committables is not None and sink in held.committables:
                    yield held.committables[sink]

    def without_staged(self) -> "VertexStates":
        """Return the states without staged output. Call it after all committables have been published.

        A finished unit that is held back for order becomes a unit to run again, and its rows are not counted as read.
        """
        return evolve(
            self,
            tasks={name: _unfinished(task) for name, task in self.tasks.items()},
            sinks={name: _published(sink) for name, sink in self.sinks.items()},
        )

    def unprepared(self, same_target: Collection[str] = ()) -> "VertexStates":
        """Return the states for another job, which has not prepared any target yet.

        The tables of the sinks in ``same_target``, which keep their target, must exist.
        """
        kept = {name: sink.published_to if name in same_target else {} for name, sink in self.sinks.items()}
        sinks = {name: evolve(sink, prepared_in=0, published_to=kept[name]) for name, sink in self.sinks.items()}
        return evolve(self, sinks=sinks)


def _unfinished(task: TaskState) -> TaskState:
    finished = [held for held in task.units if held.committables is not None]
    staged = [committable for held in finished for committable in (held.committables or {}).values()]
    return evolve(
        task,
        units=tuple(HeldUnit(unit=held.unit) for held in task.units),  # and reports its facts again
        units_done=task.units_done - len(finished),
        splits_done=task.splits_done - sum(len(held.unit.splits) for held in finished),
        rows_written=task.rows_written - sum(committable.rows for committable in staged),
    )


def _published(sink: SinkState) -> SinkState:
    return evolve(
        sink,
        uncommitted=(),
        rows_committed=sink.rows_committed + sum(committable.rows for committable in sink.uncommitted),
        bytes_committed=sink.bytes_committed + sum(committable.bytes for committable in sink.uncommitted),
        table_rows=added((sink.table_rows, *(committable.table_rows for committable in sink.uncommitted))),
        published_to=with_tables(sink.published_to, sink.uncommitted),
    )
