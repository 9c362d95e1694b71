"""What the driver asks of a task, and what the task answers."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.connectors.sink import SinkContext
from seatunnel_core.connectors.source import Item, Planning
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import Failure
from seatunnel_core.work.unit import AttemptId, UnitAttempt


@frozen(kw_only=True)
class UnitWork:
    """One attempt at one work unit."""

    program: str
    """The key of its program among the packet's parcels."""

    attempt: UnitAttempt
    reads: str | None = None
    """Which of the program's sources the splits are of; ``None`` for the first."""


@frozen(kw_only=True)
class InspectWork:
    """Look inside some of the items that a source discovered."""

    source: str
    """The key of the source among the packet's parcels."""

    items: tuple[Item, ...] = field(repr=False)
    planning: Planning


@frozen(kw_only=True)
class ProbeWork:
    """Leave a token where the driver must find it."""

    sink: str
    """The key of the sink among the packet's parcels."""

    context: SinkContext
    token: str


Work = UnitWork | InspectWork | ProbeWork


@frozen
class Address:
    """Where the driver listens to the task of one packet (``line``)."""

    host: str
    port: int
    key: str = field(repr=False)


@frozen(kw_only=True)
class Packet:
    """What one Spark task gets to do."""

    works: tuple[Work, ...]
    parcels: Mapping[str, Any] = field(repr=False)
    """By key: what the works need, pickled; or a Spark broadcast of that, when it is big."""

    lanes: Mapping[str, int] = field(factory=dict)
    """By the key of a program: how many of its units are read at once, in threads. Without any, the works are done one
    after the other."""

    line: Address | None = None
    """Where the task asks before it begins a unit."""

    writes_at_once: bool = False
    """Whether a unit that begins twice may write its rows twice: then none begins in another attempt of the task that
    nobody can be asked about."""


@frozen(kw_only=True)
class UnitResult:
    """What became of one attempt of one work unit: a claim, until the driver has checked its numbers (R14)."""

    job_id: str
    pipeline_id: int
    source: str
    attempt: AttemptId
    failure: Failure | None
    """Why it failed; everything below counts only what had happened until then."""

    rows_read: int = 0
    rows_skipped: int = 0
    bytes_read: int = 0
    wall_ms: float = 0.0
    busy_ms: float = 0.0
    """For how much of that it had a processor or waited for one, as far as the operating system tells."""

    committables: Mapping[str, Committable] = field(factory=dict)
    """By sink; a sink that got no row from the unit is absent. Empty after a failure."""

    shown: Mapping[str, tuple[str, ...]] = field(factory=dict, repr=False)
    """By sink: what its ``show`` gets."""

    notes: tuple[str, ...] = ()
    """What whoever runs the job should know of rows that were read or written, but not all that stands in them."""


@frozen(kw_only=True)
class InspectResult:
    items: tuple[Item, ...] = field(default=(), repr=False)
    failure: Failure | None = None


@frozen(kw_only=True)
class ProbeResult:
    failure: Failure | None = None


Result = UnitResult | InspectResult | ProbeResult
