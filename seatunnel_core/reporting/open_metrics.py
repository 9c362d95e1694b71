"""Metrics page for Prometheus as OpenMetrics text.

It uses only those features of the format that the older Prometheus text format and node_exporter's textfile collector
also accept: no info metrics, state sets or timestamps.
"""

import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.checkpoint.commands import AbortKind
from seatunnel_core.clock import wall_clock
from seatunnel_core.connector_api.source_progress import SnapshotProgress, SourceProgress
from seatunnel_core.errors import StoredValueError
from seatunnel_core.reporting.metrics import Durations, JobMetrics, PipelineMetrics
from seatunnel_core.work.failure import FailureKind

CLUSTER = "seatunnel"
JOB_STATES = ("created", "running", "finished", "failing", "failed", "cancelling", "canceled")

Labels = Mapping[str, str]


@frozen
class Sample:
    """One line of the page."""

    family: str
    suffix: str
    """Suffix of the family's name: ``_total`` for counters, ``_sum`` and ``_count`` for summaries."""

    labels: Labels
    value: float

    def record(self) -> list[Any]:
        """Return the sample as a list of JSON values."""
        return [self.family, self.suffix, dict(self.labels), self.value]

    @classmethod
    def from_record(cls, record: Any) -> "Sample":
        """Return the sample from its ``record``."""
        match record:
            case [str(family), str(suffix), dict(labels), int(value) | float(value)]:
                return cls(family, suffix, {key: stored.text(labels, key) for key in labels}, value)
        raise StoredValueError(f"expected a family, a suffix, labels and a value, found {ascii(record)[:60]}")


Measured = Iterable[tuple[str, Labels, float]]
"""Samples of a family, each with a suffix, additional labels and a value."""


@frozen
class Family:
    """A metric family: all samples with one name."""

    name: str
    kind: str
    """``counter``, ``gauge`` or ``summary``."""

    help: str
    """Description without quotes, backslashes or line breaks, because the two formats escape them differently."""

    labels: tuple[str, ...] = ()
    """Labels in addition to those of the pipeline."""

    measure: Callable[[PipelineMetrics], Measured] | None = None
    """Function that returns the samples of a pipeline; ``None`` for a family that does not belong to a pipeline."""


def _counter(name: str, help: str, read: Callable[[PipelineMetrics], float]) -> Family:
    return Family(name, "counter", help, measure=lambda pipeline: [("_total", {}, read(pipeline))])


def _gauge(name: str, help: str, read: Callable[[PipelineMetrics], float | None]) -> Family:
    """Return a gauge family. It has no sample while the value is ``None``."""

    def measure(pipeline: PipelineMetrics) -> Measured:
        value = read(pipeline)
        return [] if value is None else [("", {}, value)]

    return Family(name, "gauge", help, measure=measure)


def _counter_by(
    name: str, help: str, label: str, kinds: type[Enum], read: Callable[[PipelineMetrics], Mapping[str, int]]
) -> Family:
    """Return a counter family with a sample for each kind even if it is 0, so that the first increase is detected."""

    def measure(pipeline: PipelineMetrics) -> Measured:
        counted = read(pipeline)
        return [("_total", {label: kind.value}, counted.get(kind.value, 0)) for kind in kinds]

    return Family(name, "counter", help, (label,), measure=measure)


def _phases(pipeline: PipelineMetrics) -> Mapping[str, Durations]:
    return {
        "acknowledge": pipeline.checkpoint_acknowledge,
        "store": pipeline.checkpoint_store,
        "commit": pipeline.checkpoint_commit,
    }


def _phase_sums(pipeline: PipelineMetrics) -> Measured:
    for phase, durations in _phases(pipeline).items():
        yield "_sum", {"phase": phase}, durations.total_ms / 1000
        yield "_count", {"phase": phase}, durations.times


def _last_phases(pipeline: PipelineMetrics) -> Measured:
    return [("", {"phase": phase}, each.last_ms / 1000) for phase, each in _phases(pipeline).items() if each.times]


def _sizes(pipeline: PipelineMetrics) -> Measured:
    return [("_sum", {}, pipeline.checkpoint_bytes_total), ("_count", {}, pipeline.checkpoints_completed)]


def _of_sources(name: str, help: str, read: Callable[[SourceProgress], float | None]) -> Family:
    """Return a gauge family with a sample for each source that reads a log, once its value is known."""

    def measure(pipeline: PipelineMetrics) -> Measured:
        found = ((source, read(progress)) for source, progress in pipeline.sources.items())
        return [("", {"source": source}, value) for source, value in found if value is not None]

    return Family(name, "gauge", help, ("source",), measure=measure)


def _of_snapshots(name: str, help: str, read: Callable[[SnapshotProgress], float]) -> Family:
    return _of_sources(name, help, lambda each: None if each.snapshot is None else read(each.snapshot))


def _age_s(pipeline: PipelineMetrics) -> float | None:
    return None if pipeline.last_checkpoint_age_ms is None else pipeline.last_checkpoint_age_ms / 1000


_PHASES = (
    "acknowledge lasts from the trigger to the last acknowledgement, store from then until the checkpoint is durable "
    "and fenced, and commit from then until the last sink has published its output"
)

FAMILIES: tuple[Family, ...] = (
    _counter("SourceReceivedCount", "Rows read.", lambda each: each.rows_read),
    _counter("SourceReceivedBytes", "Bytes read.", lambda each: each.bytes_read),
    _gauge("SourceReceivedQPS", "Rows read per second, over the last minute.", lambda each: each.rows_read_per_second),
    _gauge(
        "SourceReceivedBytesPerSeconds",
        ("Bytes read per second, over the last minute."),
        lambda each: each.bytes_read_per_second,
    ),
    _counter("SinkWriteCount", "Rows staged for sinks; a row for two sinks counts twice.", lambda e: e.rows_written),
    _counter("SinkWriteBytes", "Bytes staged for sinks.", lambda each: each.bytes_written),
    _gauge("SinkWriteQPS", "Rows staged per second, over the last minute.", lambda each: each.rows_written_per_second),
    _gauge(
        "SinkWriteBytesPerSeconds",
        ("Bytes staged per second, over the last minute."),
        lambda each: each.bytes_written_per_second,
    ),
    _counter("SinkCommittedCount", "Rows published by sinks.", lambda each: each.rows_committed),
    _counter("SinkCommittedBytes", "Bytes published by sinks.", lambda each: each.bytes_committed),
    _counter(
        "seatunnel_rows_skipped",
        "Bad rows that a source or transform skipped, as set by its options.",
        lambda e: e.rows_skipped,
    ),
    _counter(
        "seatunnel_units_repeated",
        "Work units that had already started and were run again, in pipelines with sinks that write directly; their "
        "rows may be duplicated.",
        lambda each: each.units_repeated,
    ),
    Family(
        "seatunnel_pipeline_state",
        "gauge",
        "1 for the current state of the pipeline.",
        ("state",),
        measure=lambda pipeline: [("", {"state": pipeline.phase}, 1)],
    ),
    _gauge(
        "seatunnel_pipeline_degraded",
        "1 while the pipeline runs without the expected progress: a sink is at its limit, or no checkpoint has "
        "completed for three intervals. The reason is in `seatunnel --metrics` and in the log.",
        lambda each: int(bool(each.degraded)),
    ),
    _counter("seatunnel_pipeline_restarts", "Starts after a failure.", lambda each: each.restarts),
    _counter(
        "seatunnel_pipeline_restores", "Starts from a stored checkpoint, restarts included.", lambda e: e.restores
    ),
    _counter_by(
        "seatunnel_pipeline_failures",
        "Failures of the pipeline, whether it was restarted or not.",
        "kind",
        FailureKind,
        lambda each: each.failures,
    ),
    _gauge("seatunnel_splits_done", "Splits that have been read completely.", lambda each: each.splits_done),
    _gauge("seatunnel_splits", "Total number of splits, once known.", lambda each: each.splits_total),
    _gauge("seatunnel_units_in_flight", "Work units in progress.", lambda each: each.units_in_flight),
    _gauge("seatunnel_units_running", "Work units that Spark runs or has queued.", lambda each: each.units_running),
    _gauge("seatunnel_uncommitted", "Committables that are staged but not published.", lambda each: each.uncommitted),
    _counter("seatunnel_checkpoints_triggered", "Checkpoints that were started.", lambda e: e.checkpoints_triggered),
    _counter("seatunnel_checkpoints_completed", "Checkpoints that are durable.", lambda e: e.checkpoints_completed),
    _counter(
        "seatunnel_checkpoints_failed",
        "Failed checkpoints: expired, rejected by the storage, or not writable.",
        lambda each: each.checkpoints_failed,
    ),
    _counter_by(
        "seatunnel_checkpoints_aborted",
        "Checkpoints that were started but did not complete. The reasons expired, storage and unwritable are "
        "failures; subsumed, replaced and ended checkpoints were no longer needed.",
        "reason",
        AbortKind,
        lambda each: each.checkpoints_aborted,
    ),
    _gauge("seatunnel_checkpoints_pending", "Checkpoints in progress.", lambda e: e.checkpoints_pending),
    _gauge("seatunnel_checkpoint_age_seconds", "Time since the last completed checkpoint.", _age_s),
    Family(
        "seatunnel_checkpoint_phase_seconds",
        "summary",
        f"Duration of completed checkpoints: {_PHASES}.",
        ("phase",),
        measure=_phase_sums,
    ),
    Family(
        "seatunnel_checkpoint_last_phase_seconds",
        "gauge",
        "The same durations, for the last completed checkpoint only.",
        ("phase",),
        measure=_last_phases,
    ),
    Family("seatunnel_checkpoint_size_bytes", "summary", "The size of completed checkpoints.", measure=_sizes),
    _gauge(
        "seatunnel_checkpoint_last_size_bytes",
        "The size of the last completed checkpoint.",
        lambda each: each.checkpoint_bytes,
    ),
    _of_sources(
        "seatunnel_source_lag_bytes",
        "Size of the part of the log that a source has not read yet. It grows during the initial snapshot.",
        lambda each: each.lag_bytes,
    ),
    _of_sources(
        "seatunnel_source_lag_seconds",
        "Lag of the source behind the end of the log, in seconds; 0 at the end.",
        lambda each: each.lag_seconds,
    ),
    _of_snapshots("seatunnel_snapshot_tables", "Number of tables of the initial snapshot.", lambda each: each.tables),
    _of_snapshots(
        "seatunnel_snapshot_tables_done", "Tables that have been read completely.", lambda each: each.tables_done
    ),
    _of_snapshots(
        "seatunnel_snapshot_chunks_done", "Chunks of tables that have been read completely.", lambda e: e.chunks_done
    ),
    Family("cluster_info", "gauge", "Always 1: the jobs of one user on one machine.", ("cluster", "master")),
    Family("cluster_time", "gauge", "Current time of this machine, in milliseconds since 1970.", ("cluster",)),
    Family("node_count", "gauge", "Processes that run jobs.", ("cluster",)),
    Family(
        "node_state",
        "gauge",
        "1 for each process that runs jobs; the port in the address is the process ID.",
        ("cluster", "address"),
    ),
    Family("job_count", "gauge", "Jobs by their state.", ("cluster", "type")),
)
"""All families, in the order of the page."""


def samples(job: JobMetrics) -> list[Sample]:
    """Return the samples of all pipelines of a job."""
    found = []
    for pipeline in job.pipelines:
        where = {
            "job_id": job.job_id,
            "job_name": job.name,
            "pipeline": str(pipeline.id),
            "pipeline_name": pipeline.name,
        }
        for family in FAMILIES:
            measured = [] if family.measure is None else family.measure(pipeline)
            found += [Sample(family.name, suffix, {**where, **more}, value) for suffix, more, value in measured]
    return found


_TOTALLED = tuple(family for family in FAMILIES if family.name.startswith(("Source", "Sink")))


def totals(job: JobMetrics) -> dict[str, float]:
    """Return the sums over all pipelines, keyed by their names in SeaTunnel's API."""
    sums: dict[str, float] = {each.name: 0 for each in _TOTALLED}
    for pipeline in job.pipelines:
        for family in _TOTALLED:
            if family.measure is not None:
                sums[family.name] += sum(value for _, _, value in family.measure(pipeline))
    return sums


def machine_samples(processes: Sequence[int], job_states: Sequence[str]) -> list[Sample]:
    """Return the samples that do not belong to a job: processes by ID, and the number of jobs in each state."""
    host, cluster = socket.gethostname(), {"cluster": CLUSTER}
    found = [
        Sample("cluster_info", "", {**cluster, "master": host}, 1),
        Sample("cluster_time", "", cluster, int(wall_clock() * 1000)),
        Sample("node_count", "", cluster, len(set(processes))),
    ]
    found += [Sample("node_state", "", {**cluster, "address": f"{host}:{each}"}, 1) for each in sorted(set(processes))]
    found += [Sample("job_count", "", {**cluster, "type": each}, job_states.count(each)) for each in JOB_STATES]
    return found


def page(found: Iterable[Sample]) -> str:
    """Return the samples as a page that ends with a newline. Samples of unknown families are omitted."""
    by_family: dict[str, list[Sample]] = {}
    for sample in found:
        by_family.setdefault(sample.family, []).append(sample)
    lines = []
    for family in FAMILIES:
        lines += [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
        lines += [_line(sample) for sample in by_family.get(family.name, ())]
    return "\n".join((*lines, "# EOF", ""))


def own_page(job: JobMetrics) -> str:
    """Return the page for one job, served by its own process."""
    return page([*samples(job), *machine_samples([os.getpid()], [job.state])])


def _line(sample: Sample) -> str:
    labels = ",".join(f'{name}="{_escaped(text)}"' for name, text in sample.labels.items())
    return f"{sample.family}{sample.suffix}{{{labels}}} {sample.value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
