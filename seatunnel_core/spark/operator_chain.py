"""Operator chain of a task: a source with all downstream transforms and sinks.

The driver builds a chain once the schemas are known, and sends it to the tasks without its DataFrame transforms. There
is one chain per source: a sink fed by two sources is in both chains. The exception is a query that combines rows: its
chain reads all splits of one or several joined sources as a single work unit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from attrs import evolve, field, frozen

from seatunnel_core.connector_api.sink import Guarantee, Sink
from seatunnel_core.connector_api.source import FrameSource, Source
from seatunnel_core.connector_api.transform import DataFrameTransform, Transform
from seatunnel_core.errors import ConnectorError, SinkError, TransformError, each_of
from seatunnel_core.findings import Findings
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.bad_rows import OnBadRow
from seatunnel_core.work.row_order import OrderGroup
from seatunnel_core.work.split import Split

Schemas = tuple[TableSchema, ...]


@frozen(kw_only=True)
class FramePlan:
    """Spark's analysis of a DataFrame transform, made without rows."""

    schema: TableSchema
    """Schema of the transform's output."""

    across: str = ""
    """Operation that combines rows and needs all splits together; empty for a row-by-row transform."""


FramePlanner = Callable[[DataFrameTransform, Mapping[str, TableSchema]], FramePlan]
"""Function that analyzes a DataFrame transform, given the schemas of its inputs by view name."""


@frozen(kw_only=True)
class Reader:
    """Source that a chain reads."""

    name: str
    source: Source = field(repr=False)
    schemas: Schemas
    """Output schemas of the source, one per table."""

    parallelism: int | None = None
    """Maximum number of concurrent tasks of the source; ``None`` for the number of slots."""

    skip_bad_rows: bool = False
    """True for ``row_error_handle_way = SKIP``: bad rows are counted and skipped, and do not make their unit fail."""


@frozen(kw_only=True)
class Step:
    """Transform of a chain."""

    name: str
    transform: Transform | DataFrameTransform | None = field(repr=False)
    """The transform; ``None`` in a task for a DataFrame transform, which only the driver applies."""

    inputs: tuple[str, ...]
    """Names of the source and transforms that feed this step."""

    views: tuple[str, ...] = ()
    """Names of the inputs as written in the job, in the same order; empty if they equal ``inputs``."""

    schemas: Schemas = ()
    """Output schemas, one per table."""

    across: str = ""
    """Operation that combines rows, as in ``FramePlan``."""


@frozen(kw_only=True)
class Target:
    """Sink that a chain reaches."""

    name: str
    ordinal: int
    """Number of the sink in its pipeline; part of staged names."""

    sink: Sink = field(repr=False)
    inputs: tuple[str, ...]
    schemas: Schemas = ()
    """Input schemas, one per table."""

    on_bad_row: OnBadRow = OnBadRow.FAIL


@frozen(kw_only=True, eq=False, slots=False)
class OperatorChain:
    """Operator chain of one source in one pipeline. Picklable; equal only to itself."""

    job_id: str
    pipeline_id: int
    source_name: str
    source_ordinal: int
    source: Source = field(repr=False)
    schemas: Schemas
    """Output schemas of the source, one per table."""

    steps: tuple[Step, ...]
    """Downstream transforms, each one after its inputs."""

    targets: tuple[Target, ...]
    order_groups: Mapping[str, OrderGroup] = field(factory=dict, repr=False)
    """Group of each table of the source that may share a target with another one (``ReadContext.order_group``)."""

    parallelism: int | None = None
    skip_bad_rows: bool = False
    beside: tuple[Reader, ...] = ()
    """Further sources that are joined with the first one."""

    splits: Mapping[str, tuple[Split, ...]] | None = field(default=None, repr=False)
    """Splits by source name if the only work unit is a query over all splits; otherwise ``None``."""

    @cached_property
    def writes_at_once(self) -> bool:
        """True if tasks write directly to a target. Two attempts of a unit must then not overlap (rule R15)."""
        return bool(self._at_once)

    @cached_property
    def doubling(self) -> tuple[str, ...]:
        """Names of the sinks that tasks write to directly, so that a repeated unit duplicates its rows."""
        return tuple(each.name for each in self._at_once if each.sink.guarantee is Guarantee.AT_LEAST_ONCE)

    @cached_property
    def _at_once(self) -> tuple[Target, ...]:
        return tuple(target for target in self.targets if target.sink.writes_directly)

    @property
    def readers(self) -> tuple[Reader, ...]:
        """All sources of the chain, in order."""
        first = Reader(
            name=self.source_name,
            source=self.source,
            schemas=self.schemas,
            parallelism=self.parallelism,
            skip_bad_rows=self.skip_bad_rows,
        )
        return (first, *self.beside)

    def reader(self, name: str) -> Reader | None:
        """Return the source with this name; ``None`` if the chain does not read it."""
        return next((reader for reader in self.readers if reader.name == name), None)

    @cached_property
    def on_frames(self) -> bool:
        """True if a source or a transform needs Spark's DataFrames, so that the chain takes the DataFrame path."""
        frames = (*(reader.source for reader in self.readers), *(step.transform for step in self.steps))
        return any(isinstance(each, FrameSource | DataFrameTransform) for each in frames)

    @cached_property
    def behind(self) -> Mapping[str, frozenset[str]]:
        """Names of the steps and targets that are downstream of each source and step."""
        found: dict[str, frozenset[str]] = {}
        nodes: tuple[Step | Target, ...] = (*self.steps, *self.targets)
        for node in reversed(nodes):
            reached = found.get(node.name, frozenset()) | {node.name}
            for name in node.inputs:
                found[name] = found.get(name, frozenset()) | reached
        return found

    def for_tasks(self) -> "OperatorChain":
        """Return the chain without DataFrame transforms, which only the driver needs and which may not be picklable."""
        steps = tuple(
            evolve(step, transform=None) if isinstance(step.transform, DataFrameTransform) else step
            for step in self.steps
        )
        return evolve(self, steps=steps)


def build_chain(
    *,
    job_id: str,
    pipeline_id: int,
    source_name: str,
    source_ordinal: int,
    source: Source,
    schemas: Sequence[TableSchema],
    steps: Iterable[Step],
    targets: Iterable[Target],
    skip_bad_rows: bool = False,
    parallelism: int | None = None,
    beside: Sequence[Reader] = (),
    frame_plan: FramePlanner | None = None,
) -> OperatorChain:
    """Build the chain of one or several sources in a pipeline, and derive all schemas in it.

    ``steps`` and ``targets`` are those of the whole pipeline, with each step after its inputs. Their schemas are
    ignored. If there are problems, the exception lists those of all transforms and sinks.
    """
    known: dict[str, Schemas] = {source_name: tuple(schemas), **{each.name: each.schemas for each in beside}}
    kept: list[Step] = []
    findings = Findings(ConnectorError)
    for step in steps:
        with findings.part():
            reached_step = _reached_step(step, known, frame_plan)
            if reached_step is not None:
                known[step.name] = reached_step.schemas
                kept.append(reached_step)
    reached = _reached_targets(targets, known, findings)
    findings.raise_all()
    return OperatorChain(
        job_id=job_id,
        pipeline_id=pipeline_id,
        source_name=source_name,
        source_ordinal=source_ordinal,
        source=source,
        schemas=tuple(schemas),
        steps=tuple(kept),
        targets=tuple(reached),
        skip_bad_rows=skip_bad_rows,
        parallelism=parallelism,
        beside=tuple(beside),
    )


def _reached_targets(targets: Iterable[Target], known: dict[str, Schemas], findings: Findings) -> list[Target]:
    """Return the targets that receive rows, with their input schemas. Report targets that cannot write these rows."""
    reached: list[Target] = []
    for target in targets:
        with findings.part():
            arriving = _arriving(target.name, target.inputs, known)
            if not arriving:
                continue
            inputs = tuple(name for name in target.inputs if name in known)
            reached.append(evolve(target, inputs=inputs, schemas=arriving))
            _check_sink(reached[-1])
    return reached


def _reached_step(step: Step, known: dict[str, Schemas], frame_plan: FramePlanner | None) -> Step | None:
    """Return the step with its output schemas; ``None`` if no rows reach it."""
    names = step.views or step.inputs
    pairs = [(name, view) for name, view in zip(step.inputs, names, strict=True) if known.get(name)]
    if not pairs:
        return None
    inputs, views = tuple(name for name, _ in pairs), tuple(view for _, view in pairs)
    if isinstance(step.transform, Transform):
        arriving = _arriving(step.name, inputs, known)
        schemas = distinct_tables(step.name, _schemas_after(step.name, step.transform, arriving))
        return evolve(step, inputs=inputs, views=views, schemas=schemas)
    if len(pairs) < len(step.inputs):
        raise TransformError(
            f"transform {step.name!r} reads the rows of several sources, but scope = unit provides only the rows "
            "of one source; remove the option in a batch job, or use a separate transform for each input"
        )
    arriving_views = {view: _one_table(step.name, known[name]) for name, view in pairs}
    plan = _planned(step, arriving_views, frame_plan)
    return evolve(step, inputs=inputs, views=views, schemas=(plan.schema,), across=plan.across)


def _one_table(name: str, arriving: Schemas) -> TableSchema:
    if len(arriving) > 1:
        tables = ", ".join(repr(schema.table) for schema in arriving)
        raise TransformError(f"transform {name!r} accepts one table but receives {len(arriving)}: {tables}")
    return arriving[0]


def _planned(step: Step, arriving: Mapping[str, TableSchema], frame_plan: FramePlanner | None) -> FramePlan:
    try:
        if not isinstance(step.transform, DataFrameTransform) or frame_plan is None:
            raise TransformError("only Spark can determine its output schema, but Spark is not running")
        return frame_plan(step.transform, arriving)
    except TransformError as error:
        raise TransformError(f"transform {step.name!r}: {error}") from error


def _arriving(name: str, inputs: Sequence[str], known: dict[str, Schemas]) -> Schemas:
    """Return the input schemas of a vertex, each table once."""
    return distinct_tables(name, (known.get(node, ()) for node in inputs))


def distinct_tables(name: str, given: Iterable[Schemas]) -> Schemas:
    """Return each table once. Raise TransformError if a table arrives with different columns at ``name``."""
    tables: dict[str, TableSchema] = {}
    for schema in (schema for schemas in given for schema in schemas):
        other = tables.setdefault(schema.table, schema)
        if not other.columns.equals(schema.columns):
            raise TransformError(
                f"{name!r} receives table {schema.table!r} from several inputs with different columns: "
                f"{_columns(other)} and {_columns(schema)}; make the columns equal, or rename one of the tables"
            )
    return tuple(tables.values())


def _check_sink(target: Target) -> None:
    try:
        target.sink.check_schemas(target.schemas)
    except SinkError as error:
        raise SinkError.joined([f"sink {target.name!r}: {each}" for each in each_of(error)]) from error


def _columns(schema: TableSchema) -> str:
    return "(" + ", ".join(f"{column.name} {column.type}" for column in schema.columns) + ")"


def _schemas_after(name: str, transform: Transform, arriving: Schemas) -> Iterator[Schemas]:
    try:
        for schema in arriving:
            yield transform.output_schemas(schema)
    except TransformError as error:
        raise TransformError.joined([f"transform {name!r}: {each}" for each in each_of(error)]) from error
