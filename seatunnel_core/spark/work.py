"""Messages from the driver to a Spark task, and the task's results."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connector_api.source import DiscoveredObject, PlanningContext
from seatunnel_core.stored_fields import Stored, required
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.fact import Fact
from seatunnel_core.work.failure import Failure
from seatunnel_core.work.unit import AttemptId, UnitAttempt
from seatunnel_core.work.vertex_work import VertexWork


@frozen(kw_only=True)
class UnitWork:
    """Attempt at a work unit, as sent to a task."""

    chain: str
    """Key of its operator chain in ``TaskBatch.carriers``."""

    attempt: UnitAttempt
    reads: str | None = None
    """Source of the splits; ``None`` for the first source of the chain."""


@frozen(kw_only=True)
class InspectWork:
    """Discovered objects of a source, to be inspected in a task."""

    source: str
    """Key of the source in ``TaskBatch.carriers``."""

    items: tuple[DiscoveredObject, ...] = field(repr=False)
    planning: PlanningContext


@frozen(kw_only=True)
class ProbeWork:
    """Token to write to a sink's target, where the driver must find it with ``Sink.prove``."""

    sink: str
    """Key of the sink in ``TaskBatch.carriers``."""

    context: SinkContext
    token: str


Work = UnitWork | InspectWork | ProbeWork


@frozen
class Address:
    """Address at which the driver listens for the task of a batch (``report_channel``)."""

    host: str
    port: int
    key: str = field(repr=False)


@frozen(kw_only=True)
class TaskBatch:
    """Work items of one Spark task."""

    works: tuple[Work, ...]
    carriers: Mapping[str, Any] = field(repr=False)
    """Pickled objects that the work items need, under their keys. A large pickle is a Spark broadcast."""

    reader_threads: Mapping[str, int] = field(factory=dict)
    """Number of reader threads, keyed by operator chain. If empty, the items run one after the other."""

    channel: Address | None = None
    """Address at which the task requests each unit from the driver; ``None`` if units need no permission."""

    writes_at_once: bool = False
    """True if a unit that begins twice may write rows twice. A repeated task then needs permission to begin units."""


@frozen(kw_only=True)
class UnitResult(Stored):
    """Result of an attempt at a work unit. It is valid only after the driver has checked its numbers (rule R14)."""

    job_id: str
    pipeline_id: int
    source: str
    attempt: AttemptId
    failure: Failure | None
    """Cause of a failure; ``None`` after success. After a failure, the counts below cover the part before it."""

    rows_read: int = 0
    rows_skipped: int = 0
    bytes_read: int = 0
    wall_ms: float = 0.0
    busy_ms: float = 0.0
    """Part of ``wall_ms`` in which the thread ran or waited for a processor, as far as the system reports it.
    """

    committables: Mapping[str, Committable] = field(factory=dict)
    """Staged output by sink, for sinks that received a row. Empty after a failure."""

    shown: Mapping[str, tuple[str, ...]] = required(loose=True, factory=dict, repr=False)
    """Arguments for ``Sink.show``, by sink."""

    notes: tuple[str, ...] = required((), loose=True)
    """Notes for the user about rows that were not completely read or written, one sentence per kind."""

    facts: tuple[Fact, ...] = field(default=(), repr=False)
    """Facts that readers reported to the source, in order (R17). Empty after a failure."""

    vertices: Mapping[str, VertexWork] = field(factory=dict, repr=False)
    """Rows and time by vertex; empty for a unit on the DataFrame path."""


@frozen(kw_only=True)
class InspectResult:
    """Result of an ``InspectWork``."""

    items: tuple[DiscoveredObject, ...] = field(default=(), repr=False)
    """Inspected objects, in order; empty after a failure."""

    failure: Failure | None = None


@frozen(kw_only=True)
class ProbeResult:
    """Result of a ``ProbeWork``."""

    failure: Failure | None = None


Result = UnitResult | InspectResult | ProbeResult
