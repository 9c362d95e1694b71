"""What a task needs to know to run any work unit of one source: the source, and every step that its rows pass.

A program is built in the driver once the schemas are known, and travels to the tasks as it is. It describes *one*
source's chain: a pipeline with two sources has two programs, and a sink fed by both stands in both.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from attrs import evolve, field, frozen

from seatunnel_core.connectors.sink import Sink
from seatunnel_core.connectors.source import FrameSource, Source
from seatunnel_core.errors import SinkError, TransformError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.transforms.transform import DataFrameTransform, Transform

Schemas = tuple[TableSchema, ...]
FrameSchema = Callable[[DataFrameTransform, TableSchema], TableSchema]
"""Finds out what a DataFrame transform makes of a schema; ``SparkPlane.frame_schema`` is one."""


@frozen(kw_only=True)
class Step:
    """One transform of the chain."""

    name: str
    transform: Transform | DataFrameTransform | None = field(repr=False)
    """``None`` inside a task in place of a DataFrame transform, which only the driver applies."""

    inputs: tuple[str, ...]
    """Names of the source and the transforms whose rows it takes."""

    schemas: Schemas = ()
    """What it gives, one schema per table."""


@frozen(kw_only=True)
class Target:
    """One sink that the chain reaches."""

    name: str
    ordinal: int
    """The sink's number in its pipeline; part of staged names."""

    sink: Sink = field(repr=False)
    inputs: tuple[str, ...]
    schemas: Schemas = ()
    """What arrives, one schema per table."""


@frozen(kw_only=True, eq=False, slots=False)
class Program:
    """One source's chain in one pipeline. Picklable; equal only to itself."""

    job_id: str
    pipeline_id: int
    source_name: str
    source_ordinal: int
    source: Source = field(repr=False)
    schemas: Schemas
    """What the source gives."""

    steps: tuple[Step, ...]
    """In an order in which every step comes after its inputs; only those that the source's rows reach."""

    targets: tuple[Target, ...]
    parallelism: int | None = None
    """How many tasks may read the source at the same time; as many as there are slots when it is ``None``."""

    skip_bad_rows: bool = False
    """``row_error_handle_way = SKIP``: a bad row is counted and left out, instead of failing its unit."""

    @cached_property
    def on_frames(self) -> bool:
        """Whether the source or a step needs Spark's DataFrames, so that the chain takes the DataFrame path."""
        return self.reads_frame or any(isinstance(step.transform, DataFrameTransform) for step in self.steps)

    @property
    def reads_frame(self) -> bool:
        """Whether Spark itself reads the source."""
        return isinstance(self.source, FrameSource)

    def for_tasks(self) -> "Program":
        """The program without what only the driver needs, and perhaps cannot even pickle: the DataFrame transforms."""
        steps = tuple(
            evolve(step, transform=None) if isinstance(step.transform, DataFrameTransform) else step
            for step in self.steps
        )
        return evolve(self, steps=steps)


def build_program(
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
    frame_schema: FrameSchema | None = None,
) -> Program:
    """Cut one source's chain out of a pipeline and work out every schema in it.

    ``steps`` and ``targets`` are those of the whole pipeline, steps after their inputs; schemas in them are ignored.

    Raises:
        TransformError: a transform cannot be applied to what reaches it; names the transform.
        SinkError: a sink cannot write what reaches it; names the sink.
    """
    known: dict[str, Schemas] = {source_name: tuple(schemas)}
    kept: list[Step] = []
    for step in steps:
        arriving = _arriving(step.name, step.inputs, known)
        if arriving:
            if isinstance(step.transform, DataFrameTransform) and len(arriving) > 1:
                tables = ", ".join(repr(schema.table) for schema in arriving)
                raise TransformError(f"transform {step.name!r} works on one table and gets {len(arriving)}: {tables}")
            inputs = tuple(name for name in step.inputs if name in known)
            known[step.name] = distinct_tables(
                step.name, (_schemas_after(step, schema, frame_schema) for schema in arriving)
            )
            kept.append(Step(name=step.name, transform=step.transform, inputs=inputs, schemas=known[step.name]))
    reached = [
        Target(
            name=target.name,
            ordinal=target.ordinal,
            sink=target.sink,
            inputs=tuple(name for name in target.inputs if name in known),
            schemas=arriving,
        )
        for target in targets
        if (arriving := _arriving(target.name, target.inputs, known))
    ]
    for target in reached:
        _check_sink(target)
    return Program(
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
    )


def _arriving(name: str, inputs: Sequence[str], known: dict[str, Schemas]) -> Schemas:
    """The schemas at a node: those of all its inputs, a table that comes twice only once."""
    return distinct_tables(name, (known.get(node, ()) for node in inputs))


def distinct_tables(name: str, given: Iterable[Schemas]) -> Schemas:
    """Each table once.

    Args:
        name: the node that gets or gives them, for the message.
        given: the tables of each of its inputs.

    Raises:
        TransformError: a table comes with different columns.
    """
    tables: dict[str, TableSchema] = {}
    for schema in (schema for schemas in given for schema in schemas):
        other = tables.setdefault(schema.table, schema)
        if not other.columns.equals(schema.columns):
            raise TransformError(
                f"{name!r} gets table {schema.table!r} from several inputs with different columns: "
                f"{_columns(other)} and {_columns(schema)}; make them equal, or give the tables different names"
            )
    return tuple(tables.values())


def _check_sink(target: Target) -> None:
    try:
        target.sink.check_schemas(target.schemas)
    except SinkError as error:
        raise SinkError(f"sink {target.name!r}: {error}") from error


def _columns(schema: TableSchema) -> str:
    return "(" + ", ".join(f"{column.name} {column.type}" for column in schema.columns) + ")"


def _schemas_after(step: Step, schema: TableSchema, frame_schema: FrameSchema | None) -> Schemas:
    transform = step.transform
    try:
        if isinstance(transform, Transform):
            return transform.output_schemas(schema)
        if transform is None or frame_schema is None:
            raise TransformError("what it gives is only known to Spark, which is not running")
        return (frame_schema(transform, schema),)
    except TransformError as error:
        raise TransformError(f"transform {step.name!r}: {error}") from error
