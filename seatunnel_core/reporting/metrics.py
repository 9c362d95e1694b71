"""Metrics of a running job as plain values, for Python, ``seatunnel --metrics`` and OpenMetrics."""

from collections.abc import Mapping

from attrs import field, frozen

from seatunnel_core.checkpoint.progress import Moved
from seatunnel_core.reporting import html
from seatunnel_core.reporting.recent import RecentFailure
from seatunnel_core.reporting.report import JobOutcome, PipelineView, sums
from seatunnel_core.reporting.vertex_flow import VertexLoad

STATES = {JobOutcome.FINISHED: "finished", JobOutcome.FAILED: "failed", JobOutcome.STOPPED: "canceled"}
"""SeaTunnel's names for the states of ended jobs."""


@frozen(kw_only=True)
class Durations:
    """Durations of a repeated operation in this process."""

    times: int = 0
    total_ms: int = 0
    last_ms: int = 0
    longest_ms: int = 0

    def and_one(self, duration_ms: int) -> "Durations":
        """Return the durations with one more operation."""
        return Durations(
            times=self.times + 1,
            total_ms=self.total_ms + duration_ms,
            last_ms=duration_ms,
            longest_ms=max(self.longest_ms, duration_ms),
        )


@frozen(kw_only=True)
class VertexMetrics(Moved):
    """Rows, bytes and rates of a source or a sink, as in ``PipelineMetrics``."""

    rows_read_per_second: float = 0.0
    bytes_read_per_second: float = 0.0
    rows_written_per_second: float = 0.0
    bytes_written_per_second: float = 0.0


@frozen(kw_only=True, repr=False)
class PipelineMetrics(PipelineView):
    """``PipelineView`` with metrics.

    Rows and bytes never decrease while the process runs. After a restart of the pipeline, they remain constant until it
    has caught up.
    """

    epoch: int | None = None
    bytes_written: int = 0
    bytes_committed: int = 0
    rows_read_per_second: float = 0.0
    """Rate over the last minute, or since the start of this process if that is more recent. This applies to all
    rates."""

    bytes_read_per_second: float = 0.0
    rows_written_per_second: float = 0.0
    bytes_written_per_second: float = 0.0
    units_in_flight: int = 0
    """Number of work units that are being composed, queued, running, waiting for a retry, or held back for order."""

    units_running: int = 0
    """Number of work units that Spark is running or has queued."""

    uncommitted: int = 0
    """Number of committables that are staged and not published yet."""

    checkpoints_triggered: int = 0
    checkpoints_pending: int = 0
    checkpoints_expired: int = 0
    """Number of failed checkpoints that exceeded their timeout."""

    checkpoints_subsumed: int = 0
    """Number of checkpoints aborted because a newer one completed first. They do not count as failures."""

    checkpoints_aborted: Mapping[str, int] = field(factory=dict)
    """Triggered checkpoints that did not complete, by ``seatunnel_core.checkpoint.commands.AbortKind``."""

    checkpoint_acknowledge: Durations = Durations()
    """Time from the trigger until every vertex had acknowledged, for completed checkpoints."""

    checkpoint_store: Durations = Durations()
    """Time from the last acknowledgement until the checkpoint was durable and no newer engine was found."""

    checkpoint_commit: Durations = Durations()
    """Time from the completion of a checkpoint until all sinks had published its output."""

    checkpoint_bytes: int = 0
    """Size of the last completed checkpoint."""

    checkpoint_bytes_total: int = 0
    restores: int = 0
    """Number of starts from a stored checkpoint, including restarts."""

    vertices: Mapping[str, VertexMetrics] = field(factory=dict)
    """Metrics of the sources by name if there are several, and of the sinks if there are several."""

    failures: Mapping[str, int] = field(factory=dict)
    """Number of failures of the pipeline by kind, including those after which it restarted."""

    recent_failures: tuple[RecentFailure, ...] = ()
    """Last failures in this process, oldest first."""

    loads: Mapping[str, VertexLoad] = field(factory=dict)
    """Rows, rates and back pressure of each source, transform and sink, by name. DataFrame transforms, and vertices
    without a finished unit in this process, are omitted."""

    full_sinks: tuple[str, ...] = ()
    """Names of sinks that have reached the limit on uncommitted output. The sources that feed them pause."""


@frozen(kw_only=True, repr=False)
class JobMetrics:
    """Metrics of a job, current or final."""

    job_id: str
    name: str
    started_at: float
    """Time at which this process started the job, in seconds since 1970."""

    state: str
    """``running``, or the final state: ``finished``, ``failed`` or ``canceled``."""

    pipelines: tuple[PipelineMetrics, ...]

    def __repr__(self) -> str:
        return f"<JobMetrics {self.name!r} ({self.job_id}) {self.state}: {sums(self.pipelines)}>"

    def _repr_html_(self) -> str:
        return html.metrics_html(self)
