"""Output of ``seatunnel --check`` for a valid job.

Spark is started only for jobs with columns that only Spark can determine, and then plans DataFrames without rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import evolve

from seatunnel_core.config.engine import EngineConfig, StorageConfig
from seatunnel_core.config.env import CHECKPOINT_INTERVAL, STREAMING
from seatunnel_core.config.option import Options
from seatunnel_core.config.problem import Problems
from seatunnel_core.connector_api.capabilities import SupportsDryRun
from seatunnel_core.connector_api.source import FrameSource, PlanningContext
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.errors import ConnectorError, JobError, SourceError, each_of
from seatunnel_core.findings import Findings
from seatunnel_core.planning.guarantee import weakest
from seatunnel_core.planning.plan import PlannedJob, PlannedPipeline, Schemas
from seatunnel_core.planning.schemas import planned_schemas, refuse_sinks
from seatunnel_core.planning.settings import spark_settings
from seatunnel_core.rows.types import type_name
from seatunnel_core.spark.operator_chain import distinct_tables
from seatunnel_core.spark.starting.session import refuse_connect
from seatunnel_core.spark.starting.settings import runs_on_this_machine
from seatunnel_storage_api.discovery import load_factory
from seatunnel_storage_api.secret import HIDDEN, resolved, shown

if TYPE_CHECKING:
    from seatunnel_core.spark.backend import SparkBackend

_DEPRECATED = "localfile"

_INSPECTED = 10
"""Number of objects, such as files or parts of files, that are inspected per source."""


@contextmanager
def spark_to_ask(job: PlannedJob, *, master: str | None = None) -> "Iterator[SparkBackend | None]":
    """Yield a Spark backend if the job needs Spark for its plan and Spark runs on this machine, else ``None``.

    Raises:
        PlatformError: Spark does not start, so the job would fail; or the job requires Spark Connect.
    """
    settings = spark_settings(job, master=master, jvm_options=(), log_file=None)
    refuse_connect(settings)
    if not (any(_asks_spark(pipeline) for pipeline in job.pipelines) and runs_on_this_machine(settings)):
        yield None
        return
    from seatunnel_core.spark.backend import SparkBackend

    backend = SparkBackend(evolve(settings, on_frames=False))  # no rows are moved: use the fastest flags
    backend.start()
    try:
        yield backend
    finally:
        backend.stop()


def _asks_spark(pipeline: PlannedPipeline) -> bool:
    sources, transforms = pipeline.sources, pipeline.transforms
    return any(isinstance(each.source, FrameSource) for each in sources) or any(
        not isinstance(each.transform, Transform) for each in transforms
    )


def check_report(
    job: PlannedJob,
    engine: EngineConfig,
    *,
    master: str | None = None,
    spark: "SparkBackend | None" = None,
    verbose: bool = False,
) -> str:
    """Return the pipelines, the effective configuration and the warnings as plain text.

    Each pipeline is shown with its schemas, its guarantee and the state of its targets. Without ``spark``, schemas that
    only Spark can determine are omitted.

    Raises:
        JobError: The job would fail, because of its columns, an unreadable source or an unsuitable target.
        StorageConfigurationError: The checkpoint storage is not configured correctly.
        UnknownStorageError, StoragePluginError: The checkpoint storage is not installed, or its plugin is broken.
        PlatformError: The job requires Spark Connect.
    """
    load_factory(job.storage.type).idle_keys(resolved(job.storage.plugin_config))
    settings = spark_settings(job, master=master, jvm_options=(), log_file=None)
    refuse_connect(settings)
    elsewhere = "" if runs_on_this_machine(settings) else settings.options.get("spark.master", "the existing Spark")
    problems = Problems()
    if not elsewhere:
        _inspect(job, problems)
    scopes: dict[str, str] = {}
    schemas = _all_schemas(job, spark, scopes, problems)
    looks = {} if elsewhere else _looks(job, schemas, problems)
    problems.raise_errors(JobError)
    lines: list[str] = []
    for pipeline in job.pipelines:
        lines += _block(f"pipeline {pipeline.id}", _pipeline(pipeline, schemas, scopes, elsewhere, looks))
    lines += _closing(job, engine)
    lines += _in_force(job, engine, verbose=verbose)
    return "\n".join([*lines, *_warnings(job)])


def _in_force(job: PlannedJob, engine: EngineConfig, *, verbose: bool) -> list[str]:
    """Return lines with the effective options of the job, Spark, the checkpoint storage and the engine."""
    lines = _block(f"job {job.name!r}", _settings(job.env, verbose=verbose))
    if job.spark_options:
        lines += _block("spark", (f"{key} = {shown(key, value)}" for key, value in sorted(job.spark_options.items())))
    lines += _block("checkpoint.storage", _storage(job.storage))
    lines.append(f"engine file: {engine.file or 'none, built-in defaults'}")
    lines += _block("engine", _settings(engine.options, verbose=verbose))
    return lines if verbose else [*lines, "options with default values are omitted; --verbose shows them"]


def _looks(job: PlannedJob, schemas: Mapping[str, Schemas], problems: Problems) -> Mapping[str, Sequence[str]]:
    """Return the dry-run results of the sinks by name; report problems that would prevent the job from starting."""
    found: dict[str, Sequence[str]] = {}
    for sink in (sink for pipeline in job.pipelines for sink in pipeline.sinks):
        if not isinstance(sink.sink, SupportsDryRun):
            if sink.sink.bound_to:  # so it has a target
                found[sink.name] = ["target not checked"]
            continue
        arriving = [schemas[name] for name in sink.inputs]
        try:
            known = None if None in arriving else distinct_tables(sink.name, (each or () for each in arriving))
            found[sink.name] = sink.sink.dry_run(known)
        except ConnectorError as error:
            for each in each_of(error):
                if not any(each in problem.message for problem in problems.errors):  # its columns may be reported
                    problems.error(f"the sink {sink.name!r} cannot write to its target: {each}")
    return found


def _closing(job: PlannedJob, engine: EngineConfig) -> list[str]:
    lines = [_checkpoints(job, engine)]
    if not job.bounded:
        lines.append(
            "the job never ends by itself: stop it with Ctrl-C or seatunnel -can, and resume it with seatunnel -r"
        )
    return lines


def _warnings(job: PlannedJob) -> list[str]:
    lines = [f"warning: {warning}" for warning in job.warnings]
    if job.storage.type == _DEPRECATED:
        lines.append(f"warning: {_instead_of_localfile(job.storage)}")
    return lines


def _inspect(job: PlannedJob, problems: Problems) -> None:
    """Inspect the first objects of each source as tasks do, and report the objects that cannot be read."""
    for source in (source for pipeline in job.pipelines for source in pipeline.sources):
        planning = PlanningContext(
            parallelism=source.parallelism,
            rows_per_second=source.rows_per_second,
            bytes_per_second=source.bytes_per_second,
        )
        findings = Findings(SourceError)
        try:
            for item in source.source.discover(planning)[:_INSPECTED]:
                with findings.part():
                    source.source.inspect(item, planning)
            findings.raise_all()
        except SourceError as error:
            for each in each_of(error):
                problems.error(f"the source {source.name!r}: {each}", suggestion="Correct it, or remove it")


def _all_schemas(
    job: PlannedJob, spark: "SparkBackend | None", scopes: dict[str, str], problems: Problems
) -> dict[str, Schemas]:
    found: dict[str, Schemas] = {}
    for pipeline in job.pipelines:
        found |= planned_schemas(pipeline, problems, spark, scopes)
        refuse_sinks(pipeline, found, problems)
    return found


def _block(title: str, lines: Iterator[str]) -> list[str]:
    """Return a title followed by indented lines; an empty list if there are no lines."""
    below = [f"  {line}" for line in lines]
    return [title, *below] if below else []


def _settings(options: Options, *, verbose: bool) -> Iterator[str]:
    """Yield the options that are set and, with ``verbose``, the options with default values."""
    for option in options.declared:
        value = options[option]
        if value is None or not (verbose or options.is_set(option)):
            continue
        shown = HIDDEN if option.secret else _text(value)
        unit = f" {option.unit}" if option.unit else ""
        yield f"{option.key} = {shown}{unit}" + ("" if options.is_set(option) else "  (default)")


def _text(value: object) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _storage(storage: StorageConfig) -> Iterator[str]:
    yield f"type = {storage.type}"
    yield f"max-retained = {storage.max_retained}"
    for key, value in sorted(storage.plugin_config.items()):
        yield f"plugin-config.{key} = {shown(key, value)}"
    yield f"from {storage.origin}"


def _instead_of_localfile(storage: StorageConfig) -> str:
    """Return the warning about a deprecated storage, which the storage itself logs only when it is opened."""
    namespace = storage.plugin_config.get("namespace")
    place = f", namespace: {namespace}" if namespace else ""
    return (
        f"the checkpoint storage localfile is deprecated (configured by {storage.origin}): the storage hdfs uses "
        f"the same files. Set type: hdfs, and plugin-config: {{storage.type: local{place}}}"
    )


def _pipeline(
    pipeline: PlannedPipeline,
    schemas: Mapping[str, Schemas],
    scopes: Mapping[str, str],
    elsewhere: str,
    looks: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    for source in pipeline.sources:
        yield f"source {source.name} ({source.source.identifier}), parallelism {source.parallelism}"
        yield from _columns(schemas[source.name], elsewhere)
        yield from (f"  {line}" for line in source.source.planned_reading())
    for transform in pipeline.transforms:
        yield f"transform {transform.name} ({transform.transform.identifier}) <- {', '.join(transform.inputs)}"
        yield from _columns(schemas[transform.name], elsewhere)
        if transform.name in scopes:
            yield f"  {scopes[transform.name]}"
    for sink in pipeline.sinks:
        yield f"sink {sink.name} ({sink.sink.identifier}) <- {', '.join(sink.inputs)}"
        yield from (f"  {sentence}" for sentence in looks.get(sink.name, ()))
    held = weakest(pipeline)
    if not pipeline.bounded:
        endless = [source.name for source in pipeline.sources if not source.source.bounded]
        ends = "ends by itself" if len(endless) == 1 else "end by themselves"
        yield f"streaming: {', '.join(endless)} never {ends}; rows become visible with each checkpoint"
    yield f"guarantee: {held.guarantee.value}" + (f", because {held.reason}" if held.reason else "")
    yield from (f"but: {source.name}: {source.source.caveat}" for source in pipeline.sources if source.source.caveat)


def _columns(schemas: Schemas, elsewhere: str) -> Iterator[str]:
    if schemas is None:
        where = f" on the machines of {elsewhere}; not checked on this machine" if elsewhere else ""
        yield f"  schema: known when the data is read{where}"
        return
    for schema in schemas:
        columns = ", ".join(f"{column.name} {type_name(column.type)}" for column in schema.columns)
        yield f"  {schema.table}: {columns or 'no columns'}"


def _checkpoints(job: PlannedJob, engine: EngineConfig) -> str:
    interval = job.env[CHECKPOINT_INTERVAL]
    if interval is None and job.mode != STREAMING and job.bounded:
        return "checkpoints: only at the start and at the end; set checkpoint.interval in env to take more"
    return f"checkpoints: every {interval or engine.options['checkpoint.interval']} ms"
