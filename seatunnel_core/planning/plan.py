"""A planned job: the input of the engine."""

from collections.abc import Mapping

from attrs import field, frozen

from seatunnel_core.config.document import Position
from seatunnel_core.config.engine import StorageConfig
from seatunnel_core.config.option import Options
from seatunnel_core.config.problem import Problem
from seatunnel_core.connector_api.sink import FrameSink, Sink
from seatunnel_core.connector_api.source import FrameSource, Source
from seatunnel_core.connector_api.transform import DataFrameTransform, Transform
from seatunnel_core.job.binding import Binding
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.bad_rows import OnBadRow

Schemas = tuple[TableSchema, ...] | None
"""Schemas of one or several tables; ``None`` if they are known only when the data is read."""

Plugin = Source | Transform | DataFrameTransform | Sink
"""Plugin of a vertex."""


@frozen(kw_only=True)
class PlannedSource:
    """A source that is ready to be enumerated and read."""

    name: str
    ordinal: int
    """Index among the sources of its pipeline, from 0; constant for the lifetime of the job."""

    source: Source
    parallelism: int
    skip_bad_rows: bool = False
    """True to count and skip rows that cannot be read (``row_error_handle_way = SKIP``)."""

    rows_per_second: int | None = None
    bytes_per_second: int | None = None
    schemas: Schemas = None
    """Schemas known before the data is read; only for ``--check``."""


@frozen(kw_only=True)
class PlannedTransform:
    """A transform that is ready to be applied."""

    name: str
    transform: Transform | DataFrameTransform
    inputs: tuple[str, ...]
    """Names of the sources and transforms that feed the transform."""

    views: tuple[str, ...] = ()
    """Names of the inputs in queries, in the same order: their ``plugin_output`` if set."""

    position: Position | None = None
    """Position in the job file; ``None`` if the job has no file."""


Target = tuple[str, str, str]
"""Plugin, target and search path of a save mode; if all three are equal, a name denotes the same table."""


@frozen(kw_only=True)
class PlannedSink:
    """A sink that is ready to stage and publish."""

    name: str
    ordinal: int
    """Index among the sinks of its pipeline, from 0; constant for the lifetime of the job."""

    sink: Sink
    inputs: tuple[str, ...]
    """Names of the sources and transforms that feed the sink."""

    on_bad_row: OnBadRow = OnBadRow.FAIL

    @property
    def binding(self) -> Binding:
        """Binding that ties the committables to the current options of the sink."""
        terms = {"plugin": self.sink.identifier, **self.sink.bound_to}
        mode = self.sink.save_mode
        return Binding(terms=terms, tracks=self.sink.recognises_by, place="" if mode is None else mode.target)

    @property
    def target(self) -> Target | None:
        """Target in which the sink creates tables; ``None`` if it is unknown, or if the sink only removes rows."""
        mode = None if self.sink.prunes else self.sink.save_mode
        return None if mode is None else (self.sink.identifier, mode.target, mode.search_path)


@frozen(kw_only=True)
class PlannedPipeline:
    """A connected part of the job's graph."""

    id: int
    """Number of the pipeline, from 1; constant for the lifetime of the job."""

    sources: tuple[PlannedSource, ...]
    transforms: tuple[PlannedTransform, ...]
    """Transforms in topological order."""

    sinks: tuple[PlannedSink, ...]
    streaming: bool = False
    """True if ``job.mode`` is ``STREAMING``."""

    @property
    def heading(self) -> str:
        """Prefix of messages about this pipeline."""
        return f"Pipeline {self.id} ({self.title})"

    @property
    def title(self) -> str:
        """Names of the pipeline's sources and sinks: ``flights -> flights_out``."""
        return f"{', '.join(node.name for node in self.sources)} -> {', '.join(node.name for node in self.sinks)}"

    @property
    def on_frames(self) -> bool:
        """True if Spark plans a source, a transform or a sink of the pipeline."""
        return (
            any(isinstance(node.source, FrameSource) for node in self.sources)
            or any(isinstance(node.transform, DataFrameTransform) for node in self.transforms)
            or any(isinstance(node.sink, FrameSink) for node in self.sinks)
        )

    @property
    def writes_directly(self) -> bool:
        """True if tasks write directly to a target, which may then contain rows that no checkpoint covers."""
        return any(each.sink.writes_directly for each in self.sinks)

    @property
    def has_frame_transforms(self) -> bool:
        """True if Spark plans a transform, which may combine the rows of several splits or sources."""
        return any(isinstance(node.transform, DataFrameTransform) for node in self.transforms)

    @property
    def vertices(self) -> tuple[str, ...]:
        """Names of the sources and sinks, which have state."""
        return (*(source.name for source in self.sources), *(sink.name for sink in self.sinks))

    @property
    def bounded(self) -> bool:
        """True if all sources are bounded."""
        return all(node.source.bounded for node in self.sources)

    def source(self, name: str) -> PlannedSource:
        """Return the source with this name."""
        return next(node for node in self.sources if node.name == name)

    def sink(self, name: str) -> PlannedSink:
        """Return the sink with this name."""
        return next(node for node in self.sinks if node.name == name)

    def upstream(self, *names: str) -> set[str]:
        """Return the names of the given sources and transforms, and of everything upstream of them."""
        found = set(names)
        for transform in reversed(self.transforms):
            if transform.name in found:
                found.update(transform.inputs)
        return found

    def roots(self, *names: str) -> set[str]:
        """Return the names of the sources that feed the given sources and transforms."""
        return {source.name for source in self.sources} & self.upstream(*names)


@frozen(kw_only=True)
class PlannedJob:
    """A validated job with all names resolved."""

    name: str
    mode: str
    """``BATCH`` or ``STREAMING``."""

    env: Options
    spark_options: Mapping[str, str] = field(repr=False)
    storage: StorageConfig
    """Configuration of the checkpoint storage, from the engine or the job."""

    pipelines: tuple[PlannedPipeline, ...]
    manifest: Manifest
    """Manifest with an assignment for every vertex. It is stored as the next version before the job starts."""

    dropped: tuple[str, ...] = ()
    """Sources and sinks of the stored job that were removed from this one."""

    warnings: tuple[Problem, ...] = field(default=(), repr=False)

    @property
    def bounded(self) -> bool:
        """True if all pipelines are bounded."""
        return all(pipeline.bounded for pipeline in self.pipelines)

    @property
    def bindings(self) -> Mapping[str, Binding]:
        """Bindings of the committables, by sink."""
        return {sink.name: sink.binding for pipeline in self.pipelines for sink in pipeline.sinks}

    @property
    def vertices(self) -> tuple[str, ...]:
        """Names of all sources and sinks, which have state."""
        return tuple(name for pipeline in self.pipelines for name in pipeline.vertices)
