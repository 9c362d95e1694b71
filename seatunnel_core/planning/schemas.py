"""Output schemas of sources and transforms, and mismatches that can be found before rows are read."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from seatunnel_core.config.problem import Problems
from seatunnel_core.connector_api.source import FrameSource
from seatunnel_core.connector_api.transform import ALL, AUTO, UNIT, DataFrameTransform, Transform
from seatunnel_core.errors import SinkError, SourceError, TransformError, each_of
from seatunnel_core.findings import Findings
from seatunnel_core.planning.operator_chains import SEVERAL_INPUTS, joins, refuse_across
from seatunnel_core.planning.plan import PlannedPipeline, PlannedTransform, Schemas
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.operator_chain import FramePlan, distinct_tables

if TYPE_CHECKING:
    from seatunnel_core.spark.backend import SparkBackend


def planned_schemas(
    pipeline: PlannedPipeline,
    problems: Problems,
    spark: "SparkBackend | None" = None,
    scopes: dict[str, str] | None = None,
) -> dict[str, Schemas]:
    """Return the output schemas of each source and transform by name, as far as they are known before reading.

    Without ``spark``, schemas that only Spark can determine are ``None``. ``scopes`` is filled with a description, for
    each Spark transform, of the rows that it processes together and the reason.
    """
    found: dict[str, Schemas] = {source.name: source.schemas for source in pipeline.sources}
    for source in pipeline.sources:
        if spark is not None and isinstance(source.source, FrameSource):
            try:
                found[source.name] = (spark.source_schema(source.source),)
            except SourceError as error:
                problems.error(f"the source {source.name!r}: {error}")
    for transform in pipeline.transforms:
        if isinstance(transform.transform, Transform):
            found[transform.name] = _transformed(transform, transform.transform, found, problems)
            continue
        plan = _planned_by_spark(transform, transform.transform, found, problems, spark)
        found[transform.name] = None if plan is None else (plan.schema,)
        scope = _scope(pipeline, transform, transform.transform, plan, problems)
        if scopes is not None:
            scopes[transform.name] = scope
    return found


def refuse_sinks(pipeline: PlannedPipeline, known: Mapping[str, Schemas], problems: Problems) -> None:
    """Report sinks that cannot write their input, where this can be determined without the data."""
    for sink in pipeline.sinks:
        try:
            sink.sink.check_schemas(distinct_tables(sink.name, (known[name] or () for name in sink.inputs)))
        except (SinkError, TransformError) as error:
            for each in each_of(error):
                problems.error(f"the sink {sink.name!r} cannot write the rows that it receives: {each}")


def _transformed(
    planned: PlannedTransform, transform: Transform, known: Mapping[str, Schemas], problems: Problems
) -> Schemas:
    after: list[TableSchema] = []
    is_known = True
    for name in planned.inputs:
        findings = Findings(TransformError)
        for schema in known[name] or ():
            with findings.part():
                after += transform.output_schemas(schema)
        try:
            findings.raise_all()
        except TransformError as error:
            is_known = False
            for each in each_of(error):
                problems.error(f"the transform {planned.name!r} cannot process the rows of {name!r}: {each}")
        is_known = is_known and known[name] is not None
    return tuple(after) if is_known else None


def _planned_by_spark(
    planned: PlannedTransform,
    transform: DataFrameTransform,
    known: Mapping[str, Schemas],
    problems: Problems,
    spark: "SparkBackend | None",
) -> FramePlan | None:
    """Return Spark's plan of a transform; ``None`` if its input tables are unknown or an input has several tables."""
    arriving: dict[str, TableSchema] = {}
    for name, view in zip(planned.inputs, planned.views, strict=True):
        tables = {schema.table: schema for schema in known[name] or ()}
        if len(tables) > 1:
            problems.error(
                f"the transform {planned.name!r} accepts one table but receives {len(tables)}: {', '.join(tables)}",
                suggestion="Use a separate source for each table, or the Sql or Python transform",
            )
        if len(tables) == 1:
            arriving[view] = next(iter(tables.values()))
    if spark is None or len(arriving) < len(planned.inputs):
        return None
    try:
        return spark.frame_plan(transform, arriving)
    except TransformError as error:
        problems.error(
            f"the transform {planned.name!r} cannot process the rows of {', '.join(planned.inputs)}: {error}"
        )
        return None


def _scope(
    pipeline: PlannedPipeline,
    planned: PlannedTransform,
    transform: DataFrameTransform,
    plan: FramePlan | None,
    problems: Problems,
) -> str:
    """Describe which rows the transform processes together and why; report scopes that streaming rejects."""
    across = plan.across if plan is not None else ""
    if not across and joins(pipeline, planned):
        across = SEVERAL_INPUTS
    if not across and transform.scope == ALL:
        across = "scope = all"
    if across:
        try:
            refuse_across(pipeline, planned.name, across)
        except TransformError as error:
            problems.error(str(error))
        sources = ", ".join(sorted(pipeline.roots(planned.name)))
        return f"scope all, because of {across}: one Spark query over all splits of {sources}"
    if transform.scope == UNIT:
        return "scope unit, as set in the job: each work unit is a separate table, and a group may occur several times"
    if plan is None and transform.scope == AUTO:
        return "scope auto: decided by the query plan once the columns are known"
    return "scope unit: the transform processes row by row"
