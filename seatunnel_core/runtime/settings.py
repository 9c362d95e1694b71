"""From the options of a job and its engine to what protocol, restarts and Spark are told."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from seatunnel_core.checkpoint.restart import RestartPolicy
from seatunnel_core.checkpoint.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.trigger import CheckpointPolicy
from seatunnel_core.config import engine as engine_options
from seatunnel_core.config import env as env_options
from seatunnel_core.config.engine import EngineConfig
from seatunnel_core.config.option import Option, Options
from seatunnel_core.runtime.planned import PlannedJob, PlannedPipeline, PlannedSink, PlannedTransform
from seatunnel_core.spark.session import SparkSettings, java_options


def checkpoint_policy(job: PlannedJob, engine: EngineConfig) -> CheckpointPolicy:
    """The job's ``env`` wins over ``seatunnel.yaml``. A batch job that ends by itself has an interval only if its own
    ``env`` sets one."""
    interval = job.env[env_options.CHECKPOINT_INTERVAL]
    if interval is None and (job.mode == env_options.STREAMING or not job.bounded):
        interval = engine.options[engine_options.CHECKPOINT_INTERVAL]
    return CheckpointPolicy(
        interval_ms=interval,
        timeout_ms=_chosen(job.env, env_options.CHECKPOINT_TIMEOUT, engine.options, engine_options.CHECKPOINT_TIMEOUT),
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
    return RestartPolicy(
        retry_times=job.env[env_options.RETRY_TIMES],
        retry_interval_ms=job.env[env_options.RETRY_INTERVAL] * 1000,
    )


def topology_of(pipeline: PlannedPipeline) -> Topology:
    """The shape of the pipeline as the protocol sees it: transforms belong to the tasks of their sources."""
    feeds: dict[str, set[str]] = {}
    nodes: tuple[PlannedTransform | PlannedSink, ...] = (*pipeline.transforms, *pipeline.sinks)
    for node in nodes:
        roots = {source.name for source in pipeline.sources} & set(node.inputs)
        feeds[node.name] = roots.union(*(feeds.get(name, set()) for name in node.inputs))
    return Topology(
        sources=tuple(
            SourceSpec(
                name=source.name,
                ordinal=source.ordinal,
                bounded=source.source.bounded,
                ordered=source.source.ordered,
                sinks=tuple(sink.name for sink in pipeline.sinks if source.name in feeds[sink.name]),
                parallelism=source.parallelism,
                rows_per_second=source.rows_per_second,
                bytes_per_second=source.bytes_per_second,
            )
            for source in pipeline.sources
        ),
        sinks=tuple(
            SinkSpec(name=sink.name, ordinal=sink.ordinal, retracts=sink.sink.retracts) for sink in pipeline.sinks
        ),
    )


def spark_settings(
    job: PlannedJob, *, master: str | None, jvm_options: Sequence[str], log_file: Path | None
) -> SparkSettings:
    """How Spark is started for the job. ``master`` wins over the job's own ``spark.master``."""
    options: Mapping[str, str] = job.spark_options
    if master is not None:
        options = {**options, "spark.master": master}
    on_frames = any(pipeline.on_frames for pipeline in job.pipelines)
    return SparkSettings(
        app_name=job.name,
        options=options,
        java_options=java_options(os.environ, jvm_options),
        on_frames=on_frames,
        log_file=log_file,
    )
