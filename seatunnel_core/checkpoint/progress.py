"""Progress of a running pipeline, for users."""

from collections.abc import Mapping

from attrs import field, frozen

from seatunnel_core.checkpoint.transitions import Phase


@frozen(kw_only=True)
class Moved:
    """Rows and bytes, at one moment."""

    rows_read: int = 0
    bytes_read: int = 0
    rows_written: int = 0
    bytes_written: int = 0
    rows_committed: int = 0
    bytes_committed: int = 0
    rows_skipped: int = 0


@frozen(kw_only=True)
class PipelineProgress:
    """Counters of one pipeline since it first started, over all restarts, where a field has no other scope."""

    phase: Phase
    epoch: int | None
    rows_read: int
    rows_written: int
    """Staged for all sinks together: a row that goes to two sinks counts twice."""

    bytes_read: int
    bytes_written: int
    rows_skipped: int
    rows_committed: int
    """Total of all sinks: a row that goes to two sinks counts twice."""

    bytes_committed: int
    by_source: Mapping[str, Moved] = field(factory=dict)
    """Progress of each source."""

    by_sink: Mapping[str, Moved] = field(factory=dict)
    """Rows received and published by each sink."""

    table_rows_by_sink: Mapping[str, Mapping[str, int]] = field(factory=dict)
    """The committed rows of each table, of the sinks that count them."""

    units_in_flight: int
    """Now: being put together, queued, running, waiting for a retry, held back for order."""

    units_running: int
    """Work units that Spark reads or has at hand."""

    units_done: int
    splits_done: int
    splits_total: int | None
    """``None`` until every source is enumerated, and for a pipeline with an unbounded source."""

    uncommitted: int
    """Committables received and not yet published, now."""

    last_completed_id: int | None
    """The last completed checkpoint of this epoch, its restore point included."""

    last_completed_ms: int | None
    """Time at which that checkpoint completed, by the clock that stamps the events."""

    pending: int
    """Checkpoints that are being taken now."""

    degraded: str
    """Why the pipeline does not move as it should; empty when all is well."""

    full_sinks: tuple[str, ...] = ()
    """Names of sinks at their bound (R1), now."""
