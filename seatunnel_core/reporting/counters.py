"""Counters of one pipeline in this process, including all restarts."""

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any

from attrs import fields_dict

from seatunnel_core.checkpoint import commands
from seatunnel_core.checkpoint.commands import AbortKind
from seatunnel_core.checkpoint.progress import Moved, PipelineProgress
from seatunnel_core.clock import now_ms
from seatunnel_core.reporting.metrics import Durations, PipelineMetrics, VertexMetrics
from seatunnel_core.reporting.recent import RecentCheckpoints, RecentFailures
from seatunnel_core.reporting.report import PipelineView
from seatunnel_core.reporting.series import Point
from seatunnel_core.reporting.vertex_flow import VertexFlow
from seatunnel_core.work.failure import Failure
from seatunnel_core.work.vertex_work import VertexWork

SAMPLE_S = 5.0
"""Time between two samples, in seconds; rates are computed from the samples."""

SAMPLES = 12
"""Number of samples kept. At one sample every ``SAMPLE_S`` seconds, rates cover the last minute."""

MOST_WARNINGS = 20
"""Maximum number of warnings about rows and files that are kept for a pipeline."""

_MOVED = tuple(fields_dict(Moved))
_VIEWED = tuple(fields_dict(PipelineView))
_RATES = ("rows_read", "bytes_read", "rows_written", "bytes_written")


class Flow:
    """Row and byte counters that never decrease, and their rates. Any thread may read them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._moved = Moved()
        self._samples: deque[tuple[float, Moved]] = deque(maxlen=SAMPLES)

    def seen(self, progress: PipelineProgress | Moved) -> Moved:
        """Return the total number of rows and bytes.

        A restarted pipeline rewinds to its last checkpoint. The counters stay constant until it has caught up.
        """
        with self._lock:
            had = self._moved
            self._moved = Moved(**{name: max(getattr(had, name), getattr(progress, name)) for name in _MOVED})
            return self._moved

    def sample(self, progress: PipelineProgress | Moved) -> None:
        """Record the current totals. The first sample is taken when the restored state is known."""
        self._samples.append((self._clock(), self.seen(progress)))

    def rest(self) -> None:
        """Record that the totals have not changed since the last sample."""
        self._samples.append((self._clock(), self._moved))

    def per_second(self, name: str) -> float:
        """Return the recent increase per second of a field of ``Moved``; 0 before the first sample."""
        then, had = next(iter(tuple(self._samples)), (self._clock(), self._moved))
        seconds = self._clock() - then
        grown: int = getattr(self._moved, name) - getattr(had, name)
        return round(grown / seconds, 3) if seconds > 0 else 0.0

    def measured(self, progress: PipelineProgress | Moved) -> dict[str, Any]:
        """Return the totals and the recent rates, keyed by the field names of the metrics."""
        moved = self.seen(progress)
        rates = {f"{name}_per_second": self.per_second(name) for name in _RATES}
        return {**{name: getattr(moved, name) for name in _MOVED}, **rates}


def vertices(progress: PipelineProgress) -> dict[str, Moved]:
    """Return the totals of each source if there are several, and of each sink if there are several."""
    return {
        name: moved
        for of_kind in (progress.by_source, progress.by_sink)
        if len(of_kind) > 1
        for name, moved in of_kind.items()
    }


class Metrics:
    """Counters of one pipeline. Only the loop's thread writes them; any thread may read."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._flow = Flow(clock)
        self._flows: defaultdict[str, Flow] = defaultdict(lambda: Flow(clock))
        """Rates of each source and sink in ``vertices``, by name."""

        self._work = VertexFlow(SAMPLES, clock)
        self._sampled = Point()
        self._live = Point()

        self.checkpoints_completed = 0
        self._triggered = 0
        self._aborted: Counter[AbortKind] = Counter()
        self._acknowledge = Durations()
        self._store = Durations()
        self._commit = Durations()
        self._bytes = 0
        self._bytes_total = 0
        self._completed_ms: int | None = None
        self._restores = 0
        self._failures: Counter[str] = Counter()
        self.units_repeated = 0
        self.recent = RecentCheckpoints()
        self._warnings: list[str] = []
        self._recent_failures = RecentFailures()

    @property
    def checkpoints_failed(self) -> int:
        """Number of failed checkpoints, excluding subsumed ones and those that ended with the pipeline."""
        return sum(number for kind, number in dict(self._aborted).items() if kind.is_failure)

    def sample(self, progress: PipelineProgress) -> None:
        """Record the current totals, like ``Flow.sample``."""
        self._flow.sample(progress)
        self._work.sample()
        moved = self._flow.seen(progress)
        self._sampled = Point(
            moved.rows_read,
            moved.rows_written,
            moved.rows_committed,
            moved.bytes_read,
            progress.units_in_flight,
            progress.uncommitted,
        )
        for name, moved in vertices(progress).items():
            self._flows[name].sample(moved)

    def rest(self) -> None:
        """Record that the totals have not changed since the last sample."""
        self._work.sample()
        for flow in (self._flow, *tuple(self._flows.values())):
            flow.rest()

    @property
    def point(self) -> Point:
        """Counters and gauges at the last sample, plus the rows that running units have moved since."""
        return self._sampled + self._live

    def under_way(self, *, rows_read: int, rows_written: int) -> None:
        """Record the rows that running units have moved so far. The counters include them once the units have ended."""
        self._live = Point(rows_read=rows_read, rows_written=rows_written)

    def worked(self, work: Mapping[str, VertexWork]) -> None:
        """Add the rows and times of each vertex in a unit."""
        self._work.worked(work)

    def epoch_started(self, notice: commands.EpochStarted) -> None:
        """Count a start from a stored checkpoint, after its restore point is durable."""
        self._restores += notice.base is not None
        self._completed_ms = now_ms()
        self.recent.epoch_started(notice.epoch)

    def triggered(self) -> None:
        """Count a triggered checkpoint."""
        self._triggered += 1

    def completed(self, notice: commands.CheckpointCompleted) -> None:
        """Count a completed checkpoint, with its durations and its size."""
        self.checkpoints_completed += 1
        self._acknowledge = self._acknowledge.and_one(notice.acknowledge_ms)
        self._store = self._store.and_one(notice.store_ms)
        self._bytes = notice.state_bytes
        self._bytes_total += notice.state_bytes
        self._completed_ms = now_ms()
        self.recent.completed(notice)

    def published(self, notice: commands.CheckpointPublished) -> None:
        """Record the time taken to publish the output of a checkpoint."""
        self._commit = self._commit.and_one(notice.commit_ms)

    def aborted(self, notice: commands.CheckpointAborted) -> None:
        """Count an aborted checkpoint by its reason."""
        self._aborted[notice.kind] += 1
        self.recent.aborted(notice)

    def begun_again(self) -> None:
        """Count a repeated work unit that writes its rows directly to the target."""
        self.units_repeated += 1

    def warned(self, warning: str) -> None:
        """Store a warning about rows or files, unless it is already stored."""
        if warning not in self._warnings and len(self._warnings) <= MOST_WARNINGS:
            more = "the log of the job contains further warnings"
            self._warnings.append(warning if len(self._warnings) < MOST_WARNINGS else more)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings so far, in the order in which they were logged."""
        return tuple(self._warnings)

    def failed(self, failure: Failure) -> None:
        """Count a failure of the pipeline by its kind. The pipeline may restart."""
        self._failures[failure.kind.value] += 1
        self._recent_failures.failed(failure)

    def measured(self, view: PipelineView, progress: PipelineProgress | None) -> PipelineMetrics:
        """Return ``view`` with its metrics; ``progress`` is ``None`` before the first epoch."""
        aborted = dict(self._aborted)
        values: dict[str, Any] = {name: getattr(view, name) for name in _VIEWED}
        values |= {
            "last_checkpoint_age_ms": None if self._completed_ms is None else now_ms() - self._completed_ms,
            "checkpoints_triggered": self._triggered,
            "checkpoints_expired": aborted.get(AbortKind.EXPIRED, 0),
            "checkpoints_subsumed": aborted.get(AbortKind.SUBSUMED, 0),
            "checkpoints_aborted": {kind.value: number for kind, number in aborted.items()},
            "checkpoint_acknowledge": self._acknowledge,
            "checkpoint_store": self._store,
            "checkpoint_commit": self._commit,
            "checkpoint_bytes": self._bytes,
            "checkpoint_bytes_total": self._bytes_total,
            "restores": self._restores,
            "failures": dict(self._failures),
            "recent_failures": self._recent_failures.listed(view.id),
            "loads": self._work.loads(),
        }
        return PipelineMetrics(**values | ({} if progress is None else self._moving(progress)))

    def _moving(self, progress: PipelineProgress) -> dict[str, Any]:
        return {
            **self._flow.measured(progress),
            "vertices": {
                name: VertexMetrics(**self._flows[name].measured(moved)) for name, moved in vertices(progress).items()
            },
            "epoch": progress.epoch,
            "units_in_flight": progress.units_in_flight,
            "units_running": progress.units_running,
            "uncommitted": progress.uncommitted,
            "checkpoints_pending": progress.pending,
            "full_sinks": progress.full_sinks,
        }
