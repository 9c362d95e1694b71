"""What the driver sends to a Spark task, and the results that the task returns."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connector_api.source import DiscoveredObject, PlanningContext
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import Failure
from seatunnel_core.work.unit import AttemptId, UnitAttempt
from seatunnel_core.work.vertex_work import VertexWork


@frozen(kw_only=True)
class UnitWork:
    """One attempt at one work unit, as it is sent to a task."""

    chain: str
    """The key of its chain in ``TaskBatch.carriers``."""

    attempt: UnitAttempt
    reads: str | None = None
    """The name of the chain's source that the splits belong to; ``None`` for the chain's first source."""


@frozen(kw_only=True)
class InspectWork:
    """Items that a source discovered, to be inspected in a task."""

    source: str
    """The key of the source in ``TaskBatch.carriers``."""

    items: tuple[DiscoveredObject, ...] = field(repr=False)
    planning: PlanningContext


@frozen(kw_only=True)
class ProbeWork:
    """A token to be left in a sink's target, where ``Sink.prove`` must find it in the driver."""

    sink: str
    """The key of the sink in ``TaskBatch.carriers``."""

    context: SinkContext
    token: str


Work = UnitWork | InspectWork | ProbeWork


@frozen
class Address:
    """The address at which the driver listens to the task of one batch (``report_channel``)."""

    host: str
    port: int
    key: str = field(repr=False)


@frozen(kw_only=True)
class TaskBatch:
    """The works of one Spark task."""

    works: tuple[Work, ...]
    carriers: Mapping[str, Any] = field(repr=False)
    """The pickled objects that the works need, by key; a big one is a Spark broadcast of its pickle."""

    reader_threads: Mapping[str, int] = field(factory=dict)
    """How many units of a chain are read at once, in threads, by the chain's key. Empty: the works are done one
    after the other."""

    channel: Address | None = None
    """Where the task asks the driver before it begins a unit; ``None``: it does not ask."""

    writes_at_once: bool = False
    """Whether a unit that begins twice may write its rows twice. If so, a repeated task that cannot reach the driver
    begins no unit."""


@frozen(kw_only=True)
class UnitResult:
    """The result of one attempt at one work unit; it counts only once the driver has checked its numbers (rule R14)."""

    job_id: str
    pipeline_id: int
    source: str
    attempt: AttemptId
    failure: Failure | None
    """Why the attempt failed; ``None`` if it did not. After a failure, everything below counts only what had happened
    until then."""

    rows_read: int = 0
    rows_skipped: int = 0
    bytes_read: int = 0
    wall_ms: float = 0.0
    busy_ms: float = 0.0
    """For how much of ``wall_ms`` its thread had a processor or waited for one, as far as the operating system reports
    it."""

    committables: Mapping[str, Committable] = field(factory=dict)
    """What was staged, by sink; a sink that got no row from the unit is absent. Empty after a failure."""

    shown: Mapping[str, tuple[str, ...]] = field(factory=dict, repr=False)
    """What ``Sink.show`` is called with, by sink."""

    notes: tuple[str, ...] = ()
    """Sentences for the user about rows that were not read or not written in full, one for each kind."""

    vertices: Mapping[str, VertexWork] = field(factory=dict, repr=False)
    """Rows and time of each vertex; empty for a unit that Spark's DataFrames run."""


@frozen(kw_only=True)
class InspectResult:
    """The result of an ``InspectWork``."""

    items: tuple[DiscoveredObject, ...] = field(default=(), repr=False)
    """The inspected items, in their order; empty after a failure."""

    failure: Failure | None = None


@frozen(kw_only=True)
class ProbeResult:
    """The result of a ``ProbeWork``."""

    failure: Failure | None = None


Result = UnitResult | InspectResult | ProbeResult
