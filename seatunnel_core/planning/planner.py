"""Planning of a job: construction of plugins, resolution of names and numbering of pipelines."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from attrs import evolve, frozen

from seatunnel_core.config.document import Block, Scalar
from seatunnel_core.config.engine import EngineConfig, StorageConfig, override_storage
from seatunnel_core.config.env import BYTES_PER_SECOND, ENV, JOB_MODE, JOB_NAME, ROWS_PER_SECOND, STREAMING
from seatunnel_core.config.env import PARALLELISM as JOB_PARALLELISM
from seatunnel_core.config.job_file import Kind, RawBlock, RawJob
from seatunnel_core.config.option import Option, Options
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.validation import BlockRules, Unknown, validate
from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connector_api.source import Source
from seatunnel_core.connector_api.transform import DataFrameTransform, Transform
from seatunnel_core.connectors.task_modules import missing
from seatunnel_core.errors import ConfigError, JobError, SeaTunnelError, SourceError
from seatunnel_core.job.columns import Columns, column_options
from seatunnel_core.job.graph import Graph, build_graph, right_part
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.node import BAD_ROWS, COMMON, INPUT, NAME, OUTPUT, PARALLELISM, ROW_ERRORS, Node
from seatunnel_core.job.pipeline import PipelineShape, connected
from seatunnel_core.planning.construction import construct, refuse_columns
from seatunnel_core.planning.guarantee import refuse_more_than_promised
from seatunnel_core.planning.plan import (
    PlannedJob,
    PlannedPipeline,
    PlannedSink,
    PlannedSource,
    PlannedTransform,
    Plugin,
    Schemas,
)
from seatunnel_core.planning.rules import RULES
from seatunnel_core.planning.schemas import planned_schemas, refuse_sinks
from seatunnel_core.registry.not_yet import PLANNED_OPTIONS
from seatunnel_core.spark.bad_rows import OnBadRow
from seatunnel_core.spark.failure import retried
from seatunnel_core.spark.starting.settings import SparkSettings, runs_on_this_machine
from seatunnel_core.transforms.tables import with_tables

_PAUSES_S = (0.5,)
"""Pauses in seconds between attempts to inspect a source."""


class Registry(Protocol):
    """Lookup of plugins by name, not case-sensitive; raises ``SeaTunnelError`` with suggestions for an unknown name."""

    def source(self, identifier: str) -> type[Source]:
        """Return the class of a source."""

    def transform(self, identifier: str) -> type[Transform] | type[DataFrameTransform]:
        """Return the class of a transform."""

    def sink(self, identifier: str) -> type[Sink]:
        """Return the class of a sink."""


@frozen
class _Made:
    """A node and its plugin."""

    node: Node
    plugin: Plugin | None
    """Plugin; ``None`` if it could not be constructed."""

    options: Options
    written: Block
    schemas: Schemas = None


def plan_job(
    raw: RawJob,
    registry: Registry,
    engine: EngineConfig,
    *,
    manifest: Manifest | None = None,
    name: str | None = None,
    master: str | None = None,
    look: bool = False,
    reads_input: bool = True,
) -> PlannedJob:
    """Plan a job, and report all problems together.

    ``manifest`` belongs to a restored job; without it, pipelines are numbered from 1. ``name`` and ``master`` override
    the values in the job. ``reads_input`` checks the input of sources on this machine, except for a restored job. With
    ``look``, for ``--check``, their files are also opened to find the schemas; in a run, tasks open them.

    Raises:
        ConfigError: Options are invalid, or the input of a source is unreadable; the message lists every problem of the
            job, including its graph.
        JobError: Only the graph is invalid, or it does not match ``manifest``.
    """
    problems = raw.problems
    made, storage, shapes = _graph_of(
        raw, registry, engine, reads_input=reads_input and manifest is None, master=master, look=look
    )
    known = manifest or Manifest(job_name=name or raw.env[JOB_NAME])
    seated, numbers = known.extended(shapes)
    pipelines = tuple(
        _pipeline(number, shape, made, seated, raw.env) for number, shape in zip(numbers, shapes, strict=True)
    )
    _refuse_unfit(pipelines, problems)
    problems.raise_errors(JobError)
    return PlannedJob(
        name=name or raw.env[JOB_NAME],
        mode=raw.env[JOB_MODE],
        env=raw.env,
        spark_options=raw.spark_options,
        storage=storage,
        pipelines=pipelines,
        manifest=seated.placed(_target_folders(pipelines))
        .reading(_read_paths(pipelines))
        .declaring(_columns(pipelines)),
        dropped=known.dropped(shapes),
        warnings=(*engine.warnings, *problems.warnings),
    )


def _graph_of(
    raw: RawJob, registry: Registry, engine: EngineConfig, *, reads_input: bool, master: str | None, look: bool
) -> tuple[dict[str, _Made], StorageConfig, tuple[PipelineShape, ...]]:
    """Return the plugins by vertex, the checkpoint storage and the connected parts of the graph.

    Arguments and errors are those of ``plan_job``; all problems are reported together.
    """
    problems = raw.problems
    streaming = raw.env[JOB_MODE] == STREAMING
    made = [_make(block, registry, problems, streaming=streaming) for block in raw.blocks]
    _introduce(each.plugin for each in made)
    storage = override_storage(engine, raw.storage, problems)
    wrong_options = bool(problems.errors)
    graph_problems = Problems(strict=problems.strict)
    graph = build_graph([each.node for each in made], graph_problems, complete=not wrong_options)
    spark = SparkSettings(options={**raw.spark_options, **({} if master is None else {"spark.master": master})})
    here = runs_on_this_machine(spark)
    if reads_input and (here or look):
        looks = look and not _reported_variable(problems)  # no service is called before all values are known
        made = [_with_input(each, problems, look=looks, here=here) for each in made]
    wrong_options = bool(problems.errors)
    problems.found += graph_problems.found
    if problems.errors:
        _refuse_misfits(graph, made, raw.env, problems)
    problems.raise_errors(ConfigError if wrong_options else JobError)
    plugins = {vertex.name: each for vertex, each in zip(graph.vertices, made, strict=True)}
    return plugins, storage, connected(graph)


def _refuse_misfits(graph: Graph, made: Sequence[_Made], env: Options, problems: Problems) -> None:
    """Report nodes that are valid individually but incompatible with each other."""
    right = right_part(graph, [each.plugin is not None for each in made])
    by_position = {id(each.node): each for each in made}
    plugins = {vertex.name: by_position[id(vertex.node)] for vertex in right.vertices}
    shapes = connected(right)
    seated, numbers = Manifest(job_name="").extended(shapes)
    pipelines = tuple(
        _pipeline(number, shape, plugins, seated, env) for number, shape in zip(numbers, shapes, strict=True)
    )
    for pipeline in pipelines:
        refuse_sinks(pipeline, planned_schemas(pipeline, problems), problems)
    _refuse_unfit(pipelines, problems)


def _refuse_unfit(pipelines: tuple[PlannedPipeline, ...], problems: Problems) -> None:
    """Report combinations of nodes that are not allowed in a pipeline or a job."""
    for pipeline in pipelines:
        refuse_more_than_promised(pipeline, problems)
    for refuse in RULES:
        refuse(pipelines, problems)


def _target_folders(pipelines: Sequence[PlannedPipeline]) -> dict[str, str]:
    folders = {sink.name: sink.sink.target_folder for pipeline in pipelines for sink in pipeline.sinks}
    return {name: folder for name, folder in folders.items() if folder is not None}


def _columns(pipelines: Sequence[PlannedPipeline]) -> dict[str, Columns]:
    return {source.name: column_options(source.source.options) for pipeline in pipelines for source in pipeline.sources}


def _read_paths(pipelines: Sequence[PlannedPipeline]) -> dict[str, str]:
    paths = {source.name: source.source.read_path for pipeline in pipelines for source in pipeline.sources}
    return {name: path for name, path in paths.items() if path is not None}


def _introduce(plugins: Iterable[Plugin | None]) -> None:
    """Call ``meet``, which allows the sources of each class to share resources."""
    by_class: dict[type[Source], list[Source]] = {}
    for plugin in plugins:
        if isinstance(plugin, Source):
            by_class.setdefault(type(plugin), []).append(plugin)
    for kind, sources in by_class.items():
        kind.meet(sources)


def _with_input(each: _Made, problems: Problems, *, look: bool, here: bool) -> _Made:
    """Report unreadable input of a source at the position of its path, unless other machines read it.

    With ``look``, return the source with its schemas. The sources of a resumed job are not checked, because its list of
    files is stored, and files that were read may have been removed.
    """
    if not isinstance(each.plugin, Source) or _lacks_variable(each.written, problems):
        return each
    try:
        if look:
            return evolve(each, schemas=retried(each.plugin.planned_schemas, _PAUSES_S))
        retried(each.plugin.require_input, _PAUSES_S)
    except SourceError as error:
        if here:
            path = next((entry.position for entry in each.written if entry.key == "path"), each.node.position)
            problems.error(f"the source {each.node.identifier}: {error}", path)
    return each


def _lacks_variable(written: Block, problems: Problems) -> bool:
    """Return True if the block contains a variable without a value that was reported."""
    has_one = any(isinstance(entry.value, Scalar) and "${" in entry.value.text for entry in written)
    return has_one and _reported_variable(problems)


def _reported_variable(problems: Problems) -> bool:
    return any("the variable ${" in problem.message for problem in problems.found)


def _make(block: RawBlock, registry: Registry, problems: Problems, *, streaming: bool) -> _Made:
    """Return the node of a block, and report errors in it.

    If the plugin is unknown, only common options are checked.
    """
    plugin_class = _class(block, registry, problems)
    identifier = plugin_class.identifier if plugin_class else block.identifier
    what = f"the {block.kind.value} {identifier}"
    common: dict[str, Option[Any]] = {option.key: option for option in COMMON[block.kind]}
    own = {option.key: option for option in _own_options(block.kind, plugin_class)}
    declared = common | own
    written = evolve(block.block, position=block.position)
    if plugin_class is None:
        names = {name for option in common.values() for name in (option.key, *option.aliases)}
        written = evolve(written, entries=tuple(entry for entry in written if entry.key in names))
    rules = BlockRules(what=what, unknown=Unknown.LENIENT, elsewhere=_ELSEWHERE, noted=PLANNED_OPTIONS)
    validated = validate(written, tuple(declared.values()), rules, problems)
    options = validated.options
    wrong = validated.wrong | refuse_columns(written, tuple(declared.values()), what, problems)
    rejected = wrong - (common.keys() - own.keys())
    plugin: Plugin | None = None
    if plugin_class is not None:
        plugin = construct(plugin_class, validated, block, problems, streaming=streaming, rejected=rejected)
        for remark in plugin.remarks if isinstance(plugin, Source | Sink) else ():
            problems.warn(f"{what}: {remark}", block.position)
        if isinstance(plugin, Sink) and options[BAD_ROWS.key] != "FAIL" and not plugin.isolates_bad_rows:
            problems.error(
                f"{what}: option 'row_error_handle_way': this sink cannot isolate bad rows, so the first bad row "
                "makes the pipeline fail; remove the option, and filter bad rows with the DataValidator transform",
                validated.positions.get(BAD_ROWS.key, block.position),
            )
    node = Node(
        kind=block.kind,
        identifier=identifier,
        given_name=options[NAME] if declared[NAME.key] is NAME else None,
        output=options[OUTPUT] if block.kind is not Kind.SINK else None,
        inputs=options[INPUT] or () if block.kind is not Kind.SOURCE else (),
        position=block.position,
    )
    return _Made(node, plugin, options, written)


def _own_options(kind: Kind, plugin_class: type[Plugin] | None) -> tuple[Option[Any], ...]:
    declared: tuple[Option[Any], ...] = plugin_class.declared if plugin_class else ()
    return with_tables(declared) if kind is Kind.TRANSFORM else declared


def _class(block: RawBlock, registry: Registry, problems: Problems) -> type[Plugin] | None:
    try:
        found: type[Plugin] = getattr(registry, block.kind.value)(block.identifier)
    except SeaTunnelError as error:
        problems.error(str(error), block.position)
        return None
    lacking = missing(found)
    if lacking is not None:
        problems.error(lacking, block.position)
        return None
    return found


def _pipeline(
    number: int, shape: PipelineShape, plugins: Mapping[str, _Made], manifest: Manifest, env: Options
) -> PlannedPipeline:
    seats = manifest.seats
    return PlannedPipeline(
        id=number,
        sources=tuple(
            _source(vertex.name, plugins[vertex.name], seats[vertex.name].ordinal, env)
            for vertex in shape.of(Kind.SOURCE)
        ),
        transforms=tuple(
            _transform(vertex.name, plugins, shape.inputs[vertex.name]) for vertex in shape.of(Kind.TRANSFORM)
        ),
        sinks=tuple(
            _sink(vertex.name, plugins[vertex.name], seats[vertex.name].ordinal, shape.inputs[vertex.name])
            for vertex in shape.of(Kind.SINK)
        ),
        streaming=env[JOB_MODE] == STREAMING,
    )


def _source(name: str, made: _Made, ordinal: int, env: Options) -> PlannedSource:
    assert isinstance(made.plugin, Source)
    return PlannedSource(
        name=name,
        ordinal=ordinal,
        source=made.plugin,
        parallelism=made.options[PARALLELISM] or env[JOB_PARALLELISM],
        skip_bad_rows=made.options[ROW_ERRORS.key] == "SKIP",
        rows_per_second=env[ROWS_PER_SECOND],
        bytes_per_second=env[BYTES_PER_SECOND],
        schemas=made.schemas,
    )


def _transform(name: str, plugins: Mapping[str, _Made], inputs: tuple[str, ...]) -> PlannedTransform:
    plugin = plugins[name].plugin
    assert isinstance(plugin, Transform | DataFrameTransform)
    views = tuple(plugins[each].node.output or each for each in inputs)
    position = plugins[name].node.position
    return PlannedTransform(name=name, transform=plugin, inputs=inputs, views=views, position=position)


def _sink(name: str, made: _Made, ordinal: int, inputs: tuple[str, ...]) -> PlannedSink:
    assert isinstance(made.plugin, Sink)
    on_bad_row = OnBadRow(made.options[BAD_ROWS.key])
    return PlannedSink(name=name, ordinal=ordinal, sink=made.plugin, inputs=inputs, on_bad_row=on_bad_row)


_ELSEWHERE = {option.key: "env" for option in ENV if option.key != "parallelism"}
