"""Topology of one pipeline: its sources, its sinks, and the connections between them."""

from attrs import field, frozen

from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.errors import UsageError


@frozen(kw_only=True)
class SourceSpec:
    """Source and the task that reads it."""

    name: str
    """Name, unique among the sources of the pipeline; it identifies the stored state."""

    ordinal: int
    """Index among the sources of the pipeline, from 0; part of the names of staged and target files."""

    bounded: bool = True
    """True if the source ends by itself."""

    ordered: bool = False
    """True if committables are forwarded in the order of the splits (R13)."""

    serial: bool = False
    """True if the units also run in order, because a sink of an ordered source writes directly (R13)."""

    keyed: bool = False
    """True if units of a serial source that commute by their ordering keys may overtake each other (R13)."""

    sinks: tuple[str, ...]
    """Names of the sinks that receive the rows; at least one."""

    parallelism: int = 1
    """Maximum number of work units that are read concurrently."""

    units_per_slot: int = 1
    """Number of work units submitted to Spark per parallel reader; one task may run several of them."""

    splits_apart: bool = False
    """True to put only a few splits into a unit, however small they are, because their reader mostly waits for I/O."""

    rows_per_second: int | None = None
    bytes_per_second: int | None = None


@frozen(kw_only=True)
class SinkSpec:
    """Sink vertex."""

    name: str
    """Name, unique among the sinks of the pipeline; it identifies the stored state."""

    ordinal: int
    retracts: bool = False
    """True if the sink can roll back published output (R10)."""


@frozen(kw_only=True)
class Topology:
    """Vertices of one pipeline and their connections: each source has a task, which sends to the source's sinks.

    Raises:
        UsageError: A name is not unique, a source refers to an unknown sink, a sink has no source, no source exists, a
            serial source is not ordered, or a keyed source is not serial.
    """

    sources: tuple[SourceSpec, ...] = field()
    sinks: tuple[SinkSpec, ...] = field()

    def __attrs_post_init__(self) -> None:
        if not self.sources:
            raise UsageError("a pipeline needs at least one source")
        source_names = [source.name for source in self.sources]
        sink_names = [sink.name for sink in self.sinks]
        for kind, names in (("source", source_names), ("sink", sink_names)):
            if len(set(names)) != len(names):
                raise UsageError(f"the {kind} names of a pipeline must be unique; found {sorted(names)}")
        fed = {sink for source in self.sources for sink in source.sinks}
        for source in self.sources:
            if not source.sinks:
                raise UsageError(
                    f"source {source.name!r} is not connected to a sink; every source needs at least one sink"
                )
            if source.serial and not source.ordered:
                raise UsageError(f"source {source.name!r} is serial but not ordered")
            if source.keyed and not source.serial:
                raise UsageError(f"source {source.name!r} is keyed but not serial")
        if fed != set(sink_names):
            raise UsageError(f"the sources feed {sorted(fed)}, but the pipeline's sinks are {sorted(sink_names)}")

    @property
    def vertices(self) -> tuple[VertexId, ...]:
        """All vertices: the sources, their tasks, the sinks."""
        return (
            *(VertexId.source(source.name) for source in self.sources),
            *(VertexId.task(source.name) for source in self.sources),
            *(VertexId.sink(sink.name) for sink in self.sinks),
        )

    def inputs_of(self, sink: str) -> tuple[str, ...]:
        """Return the names of the sources that feed ``sink``."""
        return tuple(source.name for source in self.sources if sink in source.sinks)
