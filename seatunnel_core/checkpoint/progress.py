"""Progress of a running pipeline, for users."""

from collections.abc import Mapping

from attrs import field, frozen

from seatunnel_core.checkpoint.transitions import Phase


@frozen(kw_only=True)
class Moved:
    """Number of rows and bytes at a point in time."""

    rows_read: int = 0
    bytes_read: int = 0
    rows_written: int = 0
    bytes_written: int = 0
    rows_committed: int = 0
    bytes_committed: int = 0
    rows_skipped: int = 0


@frozen(kw_only=True)
class PipelineProgress:
    """Counters of one pipeline since its first start, including restarts, unless a field states otherwise."""

    phase: Phase
    epoch: int | None
    rows_read: int
    rows_written: int
    """Rows staged for all sinks. A row that two sinks receive counts twice."""

    bytes_read: int
    bytes_written: int
    rows_skipped: int
    rows_committed: int
    """Rows committed by all sinks. A row that two sinks receive counts twice."""

    bytes_committed: int
    by_source: Mapping[str, Moved] = field(factory=dict)
    """Progress of each source."""

    by_sink: Mapping[str, Moved] = field(factory=dict)
    """Rows received and published by each sink."""

    table_rows_by_sink: Mapping[str, Mapping[str, int]] = field(factory=dict)
    """Committed rows per table, for sinks that count them."""

    units_in_flight: int
    """Number of work units being composed, queued, running, waiting for a retry, or held back for order."""

    units_running: int
    """Number of work units that Spark is running or has queued."""

    units_done: int
    splits_done: int
    splits_total: int | None
    """Number of splits; ``None`` until all sources are enumerated, or if a source is unbounded."""

    uncommitted: int
    """Number of committables that the sinks have received and not yet published."""

    last_completed_id: int | None
    """ID of the last completed checkpoint of this epoch, which may be its restore point."""

    last_completed_ms: int | None
    """Completion time of the last completed checkpoint, on the events' clock."""

    pending: int
    """Number of pending checkpoints."""

    degraded: str
    """Reasons why the pipeline is degraded; empty if it is healthy."""

    full_sinks: tuple[str, ...] = ()
    """Names of the sinks that have reached the limit on staged output (R1)."""
