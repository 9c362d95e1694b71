"""Progress and reports of jobs as plain values."""

import enum
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from seatunnel_core import stored_fields
from seatunnel_core.connector_api.source_progress import SourceProgress
from seatunnel_core.quantity import count, duration, pick
from seatunnel_core.reporting import html

SHORT_FAILURE = 100
"""Maximum length of a failure message in a ``repr``, in characters."""


class JobOutcome(enum.Enum):
    """Outcome of a job in this process."""

    FINISHED = "finished"
    """Every row of every pipeline is committed."""

    STOPPED = "stopped"
    """The job was stopped, and can be resumed."""

    FAILED = "failed"
    """At least one pipeline failed; the others ran to completion, and their rows are committed."""


@frozen(kw_only=True, repr=False)
class PipelineView(stored_fields.Stored):
    """State of one pipeline at a point in time.

    Rows, bytes and splits include earlier processes of the job; checkpoints and restarts are those of this process.
    """

    id: int
    name: str
    """Names of the sources and sinks of the pipeline: ``flights -> flights_out``."""

    phase: str
    """Phase of the protocol in lower case; ``starting Spark`` while the pipeline waits for Spark; ``waiting`` between a
    failure and the restart."""

    rows_read: int = 0
    rows_written: int = 0
    """Rows staged for sinks, committed or not. A row that two sinks receive counts twice."""

    bytes_read: int = 0
    rows_committed: int = 0
    rows_skipped: int = 0
    units_repeated: int = 0
    """Number of repeated work units with tasks that write directly to sinks, including units that started in an earlier
    process. Their rows may be duplicated, and no other counter includes them."""

    splits_done: int = 0
    bounded: bool = True

    splits_total: int | None = None
    """Number of splits; ``None`` before the enumeration of the source, and for unbounded sources."""

    last_checkpoint_id: int | None = None
    last_checkpoint_age_ms: int | None = None
    checkpoints_completed: int = 0
    checkpoints_failed: int = 0
    restarts: int = 0
    degraded: str = ""
    """Reasons why the running pipeline is degraded; empty if it is healthy."""

    failure: str = ""
    """Message of the failure that ended the pipeline, or empty."""

    code: str = ""
    """Code of the error in ``failure``, for ``seatunnel help CODE``, or empty."""

    added: tuple[str, ...] = stored_fields.added((), loose=True)
    """Messages about targets that already contained rows before this job added its own. File names may not be valid
    UTF-8."""

    warnings: tuple[str, ...] = stored_fields.added((), loose=True)
    """Distinct warnings about rows and files while the pipeline ran, up to a maximum number."""

    table_rows: Mapping[str, int] = field(factory=dict)
    """Committed rows of each table over all sinks; empty for pipelines with a single table."""

    sources: Mapping[str, SourceProgress] = stored_fields.added(factory=dict, omitted=True)
    """Progress of the sources that read a log, keyed by source name."""

    def __repr__(self) -> str:
        figures = f"{pick(self.rows_read, 'row')} read, {count(self.rows_committed)} committed"
        return f"<{type(self).__name__} {self.id} {self.name!r} {self.phase}: {figures}{_in_short(self.failure)}>"


@frozen(kw_only=True, repr=False)
class JobProgress:
    """State of a running job at a point in time."""

    job_id: str
    name: str
    pipelines: tuple[PipelineView, ...]

    def __repr__(self) -> str:
        return f"<JobProgress {self.name!r} ({self.job_id}): {sums(self.pipelines)}>"

    def _repr_html_(self) -> str:
        return html.progress_html(self)


@frozen(kw_only=True, repr=False)
class JobReport:
    """Final report of a job."""

    job_id: str
    name: str
    outcome: JobOutcome
    pipelines: tuple[PipelineView, ...]
    started_at: float
    """Time at which this process started the job, in seconds since 1970. For a job that had already ended, the time at
    which its last process started it."""

    ended_at: float
    failure: str = ""
    """Failure of the job itself, not of its pipelines, or empty."""

    code: str = ""
    """Code of the error in ``failure``, or empty."""

    warnings: tuple[str, ...] = ()
    """Warnings about the job and its pipelines."""

    log_file: Path | None = None
    """File with the output of Spark and Java; ``None`` if they were not started."""

    resumed: bool = False
    """True if this process resumed the job."""

    ended_before: bool = False
    """True if the job had already ended in an earlier process, so this one moved no rows."""

    @property
    def in_words(self) -> str:
        """Outcome, duration and total rows."""
        took = duration(self.ended_at - self.started_at)
        return f"{self.outcome.value} in {took}: {sums(self.pipelines)}"

    def __repr__(self) -> str:
        failure = self.failure or next((view.failure for view in self.pipelines if view.failure), "")
        return f"<JobReport {self.name!r} ({self.job_id}) {self.in_words}{_in_short(failure)}>"

    def _repr_html_(self) -> str:
        return html.report_html(self)


def warnings_of(pipelines: Sequence[PipelineView]) -> tuple[str, ...]:
    """Return the warnings of pipelines, prefixed with the name of the pipeline if there are several."""
    several = len(pipelines) > 1
    return tuple(
        f"pipeline {view.id} {view.name}: {warning}" if several else warning
        for view in pipelines
        for warning in view.warnings
    )


def sums(pipelines: Sequence[PipelineView]) -> str:
    """Return the total rows of several pipelines: ``2 pipelines, 10 rows read, 8 committed``."""
    read, committed = (sum(getattr(view, figure) for view in pipelines) for figure in ("rows_read", "rows_committed"))
    return f"{pick(len(pipelines), 'pipeline')}, {pick(read, 'row')} read, {count(committed)} committed"


def _in_short(failure: str) -> str:
    if not failure:
        return ""
    first = failure.splitlines()[0]
    return f"; failed: {first[:SHORT_FAILURE] + '…' if len(first) > SHORT_FAILURE else first!r}"
