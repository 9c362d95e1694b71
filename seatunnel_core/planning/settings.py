"""Checkpoint, restart and Spark settings, derived from the options of a job and its engine."""

import io
import os
import pickle
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from seatunnel_core.checkpoint.decisions.restart import RestartPolicy
from seatunnel_core.checkpoint.decisions.trigger import PATIENCE_MS, CheckpointPolicy
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.config import engine_options
from seatunnel_core.config import env as env_options
from seatunnel_core.config.engine import EngineConfig
from seatunnel_core.config.option import Option, Options
from seatunnel_core.connector_api.capabilities import can_roll_back
from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connectors.task_modules import needed
from seatunnel_core.planning.operator_chains import possible_groups
from seatunnel_core.planning.plan import (
    PlannedJob,
    PlannedPipeline,
    PlannedSink,
    PlannedSource,
    PlannedTransform,
    Plugin,
)
from seatunnel_core.spark.shipping import TASK_MODULES, modules_in
from seatunnel_core.spark.starting.settings import SparkSettings, java_options

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def checkpoint_policy(job: PlannedJob, engine: EngineConfig) -> CheckpointPolicy:
    """Return the checkpoint settings of the job. Options in its ``env`` override ``seatunnel.yaml``.

    A bounded batch job takes periodic checkpoints only if its own ``env`` sets an interval. Otherwise the timeout has
    no effect, as in SeaTunnel's engine.
    """
    interval = job.env[env_options.CHECKPOINT_INTERVAL]
    if interval is None and (job.mode == env_options.STREAMING or not job.bounded):
        interval = engine.options[engine_options.CHECKPOINT_INTERVAL]
    timeout_ms = _chosen(job.env, env_options.CHECKPOINT_TIMEOUT, engine.options, engine_options.CHECKPOINT_TIMEOUT)
    return CheckpointPolicy(
        interval_ms=interval,
        timeout_ms=PATIENCE_MS if interval is None else timeout_ms,
        min_pause_ms=max(
            0,
            _chosen(job.env, env_options.CHECKPOINT_MIN_PAUSE, engine.options, engine_options.CHECKPOINT_MIN_PAUSE),
        ),
        max_concurrent=engine.options[engine_options.MAX_CONCURRENT],
        tolerable_failures=engine.options[engine_options.TOLERABLE_FAILURE],
    )


def _chosen(env: Options, own: Option[int], engine: Options, general: Option[int]) -> int:
    value = env[own]
    return int(engine[general] if value is None else value)


def restart_policy(job: PlannedJob) -> RestartPolicy:
    """Return the restart policy of the job."""
    return RestartPolicy(
        retry_times=job.env[env_options.RETRY_TIMES],
        retry_interval_ms=job.env[env_options.RETRY_INTERVAL] * 1000,
    )


def topology_of(pipeline: PlannedPipeline) -> Topology:
    """Return the topology of the pipeline for the checkpoint protocol.

    Transforms belong to the tasks of their sources. If a query may combine rows of several sources, the work unit of
    one source feeds the sinks of all of them.
    """
    feeds: dict[str, set[str]] = {}
    nodes: tuple[PlannedTransform | PlannedSink, ...] = (*pipeline.transforms, *pipeline.sinks)
    for node in nodes:
        roots = {source.name for source in pipeline.sources} & set(node.inputs)
        feeds[node.name] = roots.union(*(feeds.get(name, set()) for name in node.inputs))
    for group in possible_groups(pipeline) if pipeline.has_frame_transforms else ():
        for roots in feeds.values():
            roots |= group if roots & group else set()
    return Topology(
        sources=tuple(
            SourceSpec(
                name=source.name,
                ordinal=source.ordinal,
                bounded=source.source.bounded,
                ordered=is_ordered(pipeline, source),
                serial=_is_serial(pipeline, source),
                keyed=_is_serial(pipeline, source) and not _needs_whole_order(pipeline, source),
                sinks=tuple(sink.name for sink in pipeline.sinks if source.name in feeds[sink.name]),
                parallelism=source.parallelism,
                units_per_slot=_units_per_slot(pipeline, source),
                splits_apart=source.source.bounded and source.source.waits is not False and not pipeline.on_frames,
                rows_per_second=source.rows_per_second,
                bytes_per_second=source.bytes_per_second,
            )
            for source in pipeline.sources
        ),
        sinks=tuple(
            SinkSpec(name=sink.name, ordinal=sink.ordinal, retracts=can_roll_back(sink.sink)) for sink in pipeline.sinks
        ),
    )


def is_ordered(pipeline: PlannedPipeline, source: PlannedSource) -> bool:
    """Return True if the source or one of its sinks requires units in split order."""
    return source.source.ordered or any(sink.needs_order for sink in _fed_by(pipeline, source))


def _is_serial(pipeline: PlannedPipeline, source: PlannedSource) -> bool:
    """Return True if units are written to a target when they run, and must be written in split order."""
    ordered = source.source.ordered
    return any(sink.writes_directly and (ordered or sink.needs_order) for sink in _fed_by(pipeline, source))


def _needs_whole_order(pipeline: PlannedPipeline, source: PlannedSource) -> bool:
    """Return True if a sink needs the order of all splits, including those that commute for the source."""
    return any(sink.needs_order for sink in _fed_by(pipeline, source))


def _fed_by(pipeline: PlannedPipeline, source: PlannedSource) -> tuple[Sink, ...]:
    return tuple(node.sink for node in pipeline.sinks if source.name in pipeline.roots(*node.inputs))


UNITS_PER_SLOT = 8
"""Number of units of a bounded source submitted to Spark per parallel reader. Several units share a task, because the
delay between two tasks is as long as reading a quarter of a unit."""


def _units_per_slot(pipeline: PlannedPipeline, source: PlannedSource) -> int:
    """Return the number of units of a source submitted to Spark per parallel reader.

    It is 1 for ordered and unbounded sources and for sources that Spark itself reads, because their units do not share
    tasks.
    """
    together = source.source.bounded and not is_ordered(pipeline, source) and not pipeline.on_frames
    return UNITS_PER_SLOT if together else 1


_ASKED = 4
"""Maximum number of plugins of each class that are inspected; a job may have ten thousand tables."""

_DESCRIBED_BYTES = 1 << 20


def spark_settings(
    job: PlannedJob, *, master: str | None, jvm_options: Sequence[str], log_file: Path | None
) -> SparkSettings:
    """Return the Spark settings of the job; ``master`` overrides the job's ``spark.master``."""
    options: Mapping[str, str] = job.spark_options
    if master is not None:
        options = {**options, "spark.master": master}
    on_frames = any(pipeline.on_frames for pipeline in job.pipelines)
    return SparkSettings(
        app_name=job.name,
        options=options,
        java_options=java_options(os.environ, jvm_options),
        on_frames=on_frames,
        preloads=_task_modules(job),
        declared=needed(list(_plugins(job))),
        log_file=log_file,
    )


def _task_modules(job: PlannedJob) -> tuple[str, ...]:
    """Return the modules that the tasks of a job import: those of its pickled plugins and of ``task_modules``."""
    found, asked = dict.fromkeys(TASK_MODULES), Counter[type]()
    for plugin in _plugins(job):
        asked[type(plugin)] += 1
        if asked[type(plugin)] > _ASKED:
            continue
        found.update(dict.fromkeys(plugin.task_modules))
        pickled = _Description()
        with suppress(Exception):  # class of a script; unpicklable objects are reported when sent
            pickle.dump(plugin, pickled)
            found.update(dict.fromkeys(sorted(modules_in(pickled.getvalue()))))
    return tuple(found)


class _Description(io.BytesIO):
    """Buffer for the start of a plugin's pickle, without rows, in which module names are searched."""

    def write(self, data: "ReadableBuffer") -> int:
        if self.tell() + memoryview(data).nbytes > _DESCRIBED_BYTES:
            raise OverflowError("the plugin has state in addition to its options")
        return super().write(data)


def _plugins(job: PlannedJob) -> Iterator[Plugin]:
    for pipeline in job.pipelines:
        yield from (source.source for source in pipeline.sources)
        yield from (transform.transform for transform in pipeline.transforms)
        yield from (sink.sink for sink in pipeline.sinks)
